/* The messages about a run's data and calls that a verb prints before the first call. */
#ifndef VQ_CLI_ESTIMATE_H
#define VQ_CLI_ESTIMATE_H

#include "methods/plan/files/forecast.h"

/* Prints on standard error which data vibeq read and which rows it left out. */
void vq_cli_say_data(const struct vq_job *job);
/* Prints on standard error the largest number of calls per model, and their price. */
void vq_cli_say_estimate(const struct vq_job *job, const struct vq_forecast *forecast);

#endif

/* What will be sent, said before anything is sent. */
#ifndef VQ_CLI_ESTIMATE_H
#define VQ_CLI_ESTIMATE_H

#include "methods/plan/files/forecast.h"

/* On standard error: which data was read, and what was left out. */
void vq_cli_say_data(const struct vq_job *job);
/* Prints on standard error the largest number of calls per model, and their price. */
void vq_cli_say_estimate(const struct vq_job *job, const struct vq_forecast *forecast);

#endif

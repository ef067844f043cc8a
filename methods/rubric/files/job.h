/* The data of a job of method: judge, complete before anything is sent: criteria and rows. Private
 * to this folder, and to the methods and commands that show or reuse criteria. */
#pragma once

#include "methods/files/results.h"
#include "methods/rubric/rubric.h"

struct vq_rubric_job {
    struct vq_criterion *criteria; /* one per criterion of the configuration, with the same names */
    struct vq_criterion **parsed;  /* owners of the texts from files and copies; NULL: none */
    struct vq_buf *texts;          /* these files' bytes; empty: none */
    struct vq_rubric_data *data;
};

/* `table` NULL: loads only the criteria. `run` NULL: criteria come from the files that the
 * configuration names, or are built in; else they come from the run's copies. Messages name the
 * criterion or file and what to do. The caller frees *job also after a failure. */
enum vq_status vq_rubric_job_load(struct vq_rubric_job *job, const struct vq_config *config,
                                  const struct vq_table *table, const struct vq_run_dir *run,
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* Copies all criteria whose text is not in run.yaml itself, including built-in ones, because
 * another version may have other texts. */
enum vq_status vq_rubric_job_keep(const struct vq_rubric_job *job, const struct vq_config *config,
                                  const struct vq_run_dir *run,
                                  struct vq_error *err) VQ_WARN_UNUSED;
void vq_rubric_job_free(struct vq_rubric_job *job, const struct vq_config *config);

/* `judges`: number of judges. The rubric borrows from job and configuration. */
enum vq_status vq_rubric_job_make(const struct vq_rubric_job *job, const struct vq_config *config,
                                  uint32_t judges, struct vq_rubric **ret_rubric,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* results.c */
enum vq_status vq_rubric_results_write(const struct vq_results *results, bool *ret_missing,
                                       struct vq_error *err) VQ_WARN_UNUSED;

/* method.c */
extern const struct vq_method_type vq_rubric_method;
/* NULL: the job has another method. */
const struct vq_rubric_job *vq_rubric_job_of(const struct vq_job *job);
/* Sets job->given to the first stage with this criterion of the configuration. */
enum vq_status vq_rubric_give(struct vq_job *job, uint32_t criterion,
                              struct vq_error *err) VQ_WARN_UNUSED;

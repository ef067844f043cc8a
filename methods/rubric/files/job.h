/* The data of a job of method: judge before anything is sent: criteria and rows. Private to the
 * job, and to the code that prints them. */
#pragma once

#include "methods/files/results.h"
#include "methods/rubric/rubric.h"

struct vq_rubric_job {
    struct vq_criterion *criteria; /* one a criterion of the configuration, named as there */
    struct vq_criterion **parsed;  /* what they borrow of files and copies; NULL where nothing */
    struct vq_buf *texts;          /* those files, as they were; empty where none */
    struct vq_rubric_data *data;
};

/* `table` NULL: the criteria alone. `run` NULL: criteria come from the files that the configuration
 * names, or are built in; else from the run's copies. Sentences name the criterion or file and say
 * what to do. The caller frees what is in *job also after a failure. */
enum vq_status vq_rubric_job_load(struct vq_rubric_job *job, const struct vq_config *config,
                                  const struct vq_table *table, const struct vq_run_dir *run,
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* Copies of all criteria that do not stand in run.yaml itself, built-in ones too: another version's
 * may say something else. */
enum vq_status vq_rubric_job_keep(const struct vq_rubric_job *job, const struct vq_config *config,
                                  const struct vq_run_dir *run,
                                  struct vq_error *err) VQ_WARN_UNUSED;
void vq_rubric_job_free(struct vq_rubric_job *job, const struct vq_config *config);

/* `judges`: how many. The rubric borrows from job and configuration. */
enum vq_status vq_rubric_job_make(const struct vq_rubric_job *job, const struct vq_config *config,
                                  uint32_t judges, struct vq_rubric **ret_rubric,
                                  struct vq_error *err) VQ_WARN_UNUSED;

/* results.c */
enum vq_status vq_rubric_results_write(const struct vq_results *results, bool *ret_missing,
                                       struct vq_error *err) VQ_WARN_UNUSED;

/* method.c */
extern const struct vq_method_type vq_rubric_method;
/* NULL: the job is another method's. */
const struct vq_rubric_job *vq_rubric_job_of(const struct vq_job *job);
/* Makes job->given the first stage that asks this criterion of the configuration. */
enum vq_status vq_rubric_give(struct vq_job *job, uint32_t criterion,
                              struct vq_error *err) VQ_WARN_UNUSED;

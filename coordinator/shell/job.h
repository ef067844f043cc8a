/* All that a run knows before anything is sent: configuration, data, templates, axes, judges, the task grid and every request
 * hash's making. Built from a configuration and its files, or from the copies in a run's folder. */
#ifndef VQ_SHELL_JOB_H
#define VQ_SHELL_JOB_H

#include "common/judge/template.h"
#include "coordinator/pipeline/dataset.h"
#include "coordinator/pipeline/vibecheck.h"
#include "coordinator/store/plan.h"
#include "coordinator/store/run_dir.h"

#define VQ_JOB_DATA_BYTES_MAX ((size_t)8 << 30)
#define VQ_JOB_SPEC_BYTES_MAX (8u << 20)

/* Files of a run's folder that a job is rebuilt from. */
#define VQ_JOB_DATA_COPY "data"
#define VQ_JOB_TEST_COPY "test"

struct vq_job {
    struct vq_config *config;
    struct vq_buf data[2]; /* bytes of the data file and the test file */
    char data_sha256[2][65];
    struct vq_table *tables[2];
    struct vq_dataset *dataset;
    struct vq_template *templates[VQ_TEMPLATE__COUNT]; /* [REPAIR] NULL: repair off */
    struct vq_axis *axes;                              /* borrowed texts */
    struct vq_judge *judges;
    char **identities; /* owned, one a judge */
    struct vq_asker *askers;
    struct vq_sample *samples;
    struct vq_sample_id *sample_ids;
    uint8_t *first_order; /* [sample * judges + judge] */
    struct vq_row *rows;  /* facts for the numbers */
    struct vq_plan plan;
    bool needs_offline; /* a judge of the built-in server */
    const char *judge_kind;
};

/* Takes ownership of *take_config, also on failure. `run` NULL: reads the files that the configuration names; else the copies in
 * the run's folder. Errors name file, line and column. */
enum vq_status vq_job_create(struct vq_config *take_config, const struct vq_run_dir *run,
                             struct vq_job **ret_job, struct vq_error *err) VQ_WARN_UNUSED;
void vq_job_destroy(struct vq_job **job);

/* Puts copies of data and templates into a new run's folder, and run.yaml with every default. */
enum vq_status vq_job_keep(const struct vq_job *job, const struct vq_run_dir *run,
                           struct vq_error *err) VQ_WARN_UNUSED;

/* The body of SPEC. `offline_url`: base URL of the built-in server, or NULL. Its hash goes to *ret_hash. */
enum vq_status vq_job_spec(const struct vq_job *job, const char *offline_url,
                           struct vq_buf *ret_body, struct vq_hash *ret_hash) VQ_WARN_UNUSED;

/* What a run would send, before the store and lazy swap save any of it. Tokens are rough: bytes / 4 of rendered prompts of a
 * sample of rows, and an answer of 120 tokens. */
struct vq_job_estimate {
    uint64_t calls;
    double tokens_in;
    double tokens_out;
    double usd;  /* of the judges with a price */
    bool priced; /* every judge has one */
    bool remote; /* an endpoint is not on this machine */
};
enum vq_status vq_job_estimate(const struct vq_job *job,
                               struct vq_job_estimate *ret_estimate) VQ_WARN_UNUSED;

#endif

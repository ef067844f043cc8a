/* The input of a run, complete before anything is sent: configuration, data, templates, models in
 * their roles, samples. It is built from a configuration and its files, or from the copies in a
 * run's folder. */
#pragma once

#include "common/judge/template.h"
#include "coordinator/pools/run_pools.h"
#include "coordinator/store/rundir/run_dir.h"
#include "methods/data/dataset.h"
#include "methods/files/images.h"
#include "methods/grid/role_models.h"
#include "methods/grid/stage_grid.h"

#define VQ_JOB_DATA_BYTES_MAX ((size_t)8 << 30)

/* Files of a run's folder from which a job is built again. */
#define VQ_JOB_DATA_COPY "data"
#define VQ_JOB_TEST_COPY "test"

struct vq_method_type; /* methods/files/method_type.h */

struct vq_job {
    struct vq_config *config;
    const struct vq_method_type *method;
    void *own;             /* the method's own data: vq_vibecheck_job_of, vq_rubric_job_of ... */
    struct vq_buf data[2]; /* bytes of the data file and the test file */
    char data_sha256[2][65];
    struct vq_table *tables[2];
    struct vq_dataset *dataset; /* pairs of outputs; NULL: the method compares no outputs */
    struct vq_images images;    /* empty without data.image */
    struct vq_template *templates[VQ_TEMPLATE__COUNT]; /* [REPAIR] NULL: repair off */
    struct vq_run_pools pools;
    struct vq_role_models cast[VQ_ROLE__COUNT];
    struct vq_sample *samples;
    struct vq_sample_id *sample_ids;
    uint32_t samples_count;
    uint32_t generation; /* of --retry-failed */
    bool needs_offline;  /* some model is served by the built-in server */
    const char *judge_kind;
    /* A stage whose questions do not depend on answers, for verbs that show a prompt. NULL: there
     * is none */
    struct vq_stage_grid *given;
};

/* Takes ownership of *take_config, also on failure. `run` NULL: reads the files that the
 * configuration names; else the copies in the run's folder. Errors name file, line and column. */
enum vq_status vq_job_create(struct vq_config *take_config, const struct vq_run_dir *run,
                             struct vq_job **ret_job, struct vq_error *err) VQ_WARN_UNUSED;
/* A job without data, for questions beside any run: it has the configuration's models in all roles
 * and its templates, nothing else. */
enum vq_status vq_job_create_bare(struct vq_config *take_config, struct vq_job **ret_job,
                                  struct vq_error *err) VQ_WARN_UNUSED;
void vq_job_destroy(struct vq_job **job);
/* Adds the models of the discovery roles: for methods with these roles, and for scripts beside a
 * run. */
enum vq_status vq_job_add_discovery(struct vq_job *job, struct vq_error *err) VQ_WARN_UNUSED;

/* Writes copies of data and templates into a new run's folder, and run.yaml with all defaults
 * filled in. */
enum vq_status vq_job_keep(const struct vq_job *job, const struct vq_run_dir *run,
                           struct vq_error *err) VQ_WARN_UNUSED;

/* The record of the data that a stage's sample belongs to. Negative: the prompt is the method's
 * own. */
int64_t vq_job_record(const struct vq_job *job, const struct vq_stage_grid *asking,
                      uint32_t sample);
/* The name of the output that a sample is, if outputs are rated one by one; else NULL. */
const char *vq_job_output(const struct vq_job *job, const struct vq_stage_grid *asking,
                          uint32_t sample);
/* The model whose output is A (side 0) or B (1) of the sample. */
const char *vq_job_model(const struct vq_job *job, const struct vq_stage_grid *asking,
                         uint32_t sample, uint32_t side);
/* VQ_INVALID: the run ranks more than two models. */
enum vq_status vq_job_needs_two(const struct vq_config *config, const char *verb,
                                struct vq_error *err) VQ_WARN_UNUSED;
/* VQ_INVALID with a sentence: the run has no vibes, or no data rows, respectively. */
enum vq_status vq_job_needs_vibes(const struct vq_job *job, const char *verb,
                                  struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_job_needs_rows(const struct vq_job *job, const char *verb,
                                 struct vq_error *err) VQ_WARN_UNUSED;

/* The parts from which a stage grid is made. Borrows from the job. */
struct vq_grid_source vq_job_source(const struct vq_job *job);

/* ---- for the methods' own readers ---- */

/* Reads the data file and the test file into job->tables, and the run's copies of images. */
enum vq_status vq_job_load_tables(struct vq_job *job, const struct vq_run_dir *run,
                                  struct vq_error *err) VQ_WARN_UNUSED;
/* Replaces a cell of data.image by the text that is sent for its image. An empty cell does not
 * change. `file`: 0 data, 1 test. */
enum vq_status vq_job_load_image(struct vq_job *job, unsigned file, uint32_t record,
                                 struct vq_span *image, struct vq_error *err) VQ_WARN_UNUSED;

/* The registration of a method: each method's folder defines one struct vq_method_type, and
 * common/conf/methods.def lists it. Invariant: the shared folders know nothing else of a method.
 * Optional hooks are marked. */
#pragma once

#include "common/text/json.h"
#include "methods/files/job.h"
#include "methods/plan/forecast.h"
#include "methods/script.h"

struct vq_results;

struct vq_method_type {
    /* ---- the job (methods/files/job.h) ---- */

    /* Reads the method's data, before templates and models are loaded: the files that the
     * configuration names (`run` NULL) or the run's copies. Data without a member in the job goes
     * to job->own. */
    enum vq_status (*load)(struct vq_job *job, const struct vq_run_dir *run, struct vq_error *err);
    /* Optional: prepares the parts that need templates and models, such as job->given. */
    enum vq_status (*prepare)(struct vq_job *job, struct vq_error *err);
    /* Copies the method's files into a new run's folder. */
    enum vq_status (*keep)(const struct vq_job *job, const struct vq_run_dir *run,
                           struct vq_error *err);
    /* Optional: frees job->own, which is not NULL. Called also after a failed load. */
    void (*unload)(struct vq_job *job);

    /* ---- the script ---- */

    /* The script and its state, which borrow from the job; `close` frees the state. */
    enum vq_status (*open)(const struct vq_job *job, void **ret_state, struct vq_script *ret_script,
                           struct vq_error *err);
    void (*close)(void *state);
    /* Optional, for methods with job->given and data rows: the record of the data that a stage's
     * sample belongs to (negative: none), and the name of its output (NULL: both outputs). */
    int64_t (*record)(const struct vq_job *job, const struct vq_stage_grid *grid, uint32_t sample);
    const char *(*output)(const struct vq_job *job, const struct vq_stage_grid *grid,
                          uint32_t sample);
    /* Optional: whether a reader expects the first stage anyway, so that the progress line omits
     * its name. NULL: the progress line shows the name. */
    bool (*is_first_implied)(const struct vq_job *job);

    /* ---- the results ---- */

    /* As vq_results_write: results.json, the tables, the page, and what the terminal shows. */
    enum vq_status (*results)(const struct vq_results *results, bool *ret_missing,
                              struct vq_error *err);
    /* The tables of the results, without ".csv", ended by NULL. The first one is exported if the
     * user names none. */
    const char *const *tables;

    /* ---- what `vibeq plan` and `vibeq run` show before anything is sent ---- */

    /* Optional: the stages that may follow the stages with known questions (room for
     * VQ_FORECAST_STAGES_MAX); returns their number. It is called before the walk through the known
     * stages and after it. NULL: all questions are known from the start. */
    uint32_t (*stages)(const struct vq_job *job, const void *state,
                       const struct vq_forecast_seen *seen, struct vq_forecast_stage *ret_stages);
    /* Optional: whether the answers to `stage` have no influence on the stage after it. */
    bool (*is_next_known)(const struct vq_job *job, const struct vq_stage *stage);
    /* Optional: the effects that the tests of the results can show. Without it, *ret_power is
     * unchanged: nothing is tested. */
    enum vq_status (*power)(const struct vq_job *job, struct vq_power *ret_power);
    /* Optional: the data's size, as a part of a line ("10 rows"), and as members of the plan's JSON
     * object. */
    void (*show_size)(const struct vq_job *job, struct vq_buf *out);
    void (*show_size_json)(const struct vq_job *job, struct vq_json *json);
    /* Optional: lines about the data that was read, and about the calls that will be sent (NULL:
     * one line for all calls). */
    void (*show_data)(const struct vq_job *job, struct vq_buf *out);
    void (*show_calls)(const struct vq_job *job, const struct vq_forecast *forecast,
                       struct vq_buf *out);

    /* ---- verbs that do not apply to the method ---- */

    /* NULL: the method has data rows; else the end of the sentence "VERB is about the rows of a
     * data file, and this is ...". */
    const char *no_rows;
    /* NULL: the method has vibes, or no rows; else the end of "VERB is about vibes, and this is
     * ...". */
    const char *no_vibes;
};

/* The registration of the configured method. */
const struct vq_method_type *vq_method_type_of(const struct vq_config *config);

/* The labels of a run: those of the configuration, then those of labels.csv. Not its job: the
 * meaning of a label (methods/vibecheck/labels.c). */
#include "methods/vibecheck/files/people.h"

#include "common/base/alloc.h"
#include "methods/vibecheck/files/job.h"
#include "methods/vibecheck/numbers/vibecheck.h"

static enum vq_status read_labels(struct vq_span bytes, const struct vq_label_frame *frame,
                                  int8_t *people, struct vq_error *err)
{
    struct vq_table *table = NULL;
    struct vq_label_counts_read counts;
    VQ_TRY(vq_table_parse(bytes, VQ_TABLE_CSV, VQ_PEOPLE_FILE, &table, err));
    enum vq_status status = vq_labels_read(frame, table, VQ_PEOPLE_FILE, people, &counts, err);
    vq_table_destroy(&table);
    return status;
}

/* Labels that are read later (labels.csv) replace those of the configuration. */
static enum vq_status fill(const struct vq_job *job, struct vq_span bytes, bool labelled,
                           const struct vq_label_frame *frame, int8_t *people, uint32_t *ret_others,
                           struct vq_error *err)
{
    struct vq_label_frame any = *frame;
    any.other_vibes = true;
    VQ_TRY(vq_human_apply(&vq_vibecheck_job_of(job)->human, job->config, &any, people, ret_others,
                          err));
    return labelled ? read_labels(bytes, &any, people, err) : VQ_OK;
}

enum vq_status vq_people_load(const struct vq_job *job, const struct vq_run_dir *run,
                              const struct vq_label_frame *frame, int8_t **ret_people,
                              uint32_t *ret_others, struct vq_error *err)
{
    struct vq_buf bytes;
    struct vq_error why = {0};
    *ret_people = NULL;
    *ret_others = 0;
    vq_buf_init(&bytes, VQ_PEOPLE_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(run, VQ_PEOPLE_FILE, &bytes, &why);
    bool labelled = status == VQ_OK;
    if (status == VQ_NOT_FOUND && job->config->human == NULL) {
        vq_buf_free(&bytes);
        return VQ_OK;
    }
    bool found = labelled || status == VQ_NOT_FOUND;
    int8_t *people = found ? vq_human_cells(frame) : NULL;
    if (!found) {
        *err = why;
    } else if (people == NULL) {
        status = vq_fail(err, VQ_NOMEM, "no memory for people's labels");
    } else {
        status = fill(job, vq_buf_span(&bytes), labelled, frame, people, ret_others, err);
    }
    vq_buf_free(&bytes);
    if (status != VQ_OK) {
        vq_free(people);
        return status;
    }
    *ret_people = people;
    return VQ_OK;
}

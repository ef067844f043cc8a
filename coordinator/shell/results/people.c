/* Reads labels.csv of a run. Not its job: what a label means (coordinator/pipeline/labels.c). */
#include "coordinator/shell/results/people.h"

#include "common/base/alloc.h"
#include "coordinator/pipeline/vibecheck/vibecheck.h"

struct vq_label_frame vq_people_frame(const struct vq_job *job, const struct vq_axis *axes,
                                      uint32_t axes_count)
{
    return (struct vq_label_frame){.dataset = job->dataset,
                                   .axes = axes,
                                   .axes_count = axes_count,
                                   .models = {job->config->models[0], job->config->models[1]},
                                   .seed = job->config->seed};
}

int8_t *vq_people_alloc(const struct vq_label_frame *frame)
{
    size_t n = (size_t)vq_dataset_count(frame->dataset) * frame->axes_count;
    int8_t *people = vq_alloc(n, sizeof(*people));
    for (size_t i = 0; people != NULL && i < n; i++) {
        people[i] = VQ_LABEL_NONE;
    }
    return people;
}

static enum vq_status read_labels(struct vq_span bytes, const struct vq_label_frame *of,
                                  int8_t *people, struct vq_error *err)
{
    struct vq_label_frame frame = *of;
    frame.other_vibes = true;
    struct vq_table *table = NULL;
    struct vq_label_counts_read counts;
    VQ_TRY(vq_table_parse(bytes, VQ_TABLE_CSV, VQ_PEOPLE_FILE, &table, err));
    enum vq_status status = vq_labels_read(&frame, table, VQ_PEOPLE_FILE, people, &counts, err);
    vq_table_destroy(&table);
    return status;
}

enum vq_status vq_people_load(const struct vq_run_dir *run, const struct vq_label_frame *frame,
                              int8_t **ret_people, struct vq_error *err)
{
    struct vq_buf bytes;
    struct vq_error why = {0};
    *ret_people = NULL;
    vq_buf_init(&bytes, VQ_PEOPLE_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(run, VQ_PEOPLE_FILE, &bytes, &why);
    if (status == VQ_NOT_FOUND) {
        vq_buf_free(&bytes);
        return VQ_OK;
    }
    int8_t *people = status == VQ_OK ? vq_people_alloc(frame) : NULL;
    if (status != VQ_OK) {
        *err = why;
    } else if (people == NULL) {
        status = vq_fail(err, VQ_NOMEM, "no memory for people's labels");
    } else {
        status = read_labels(vq_buf_span(&bytes), frame, people, err);
    }
    vq_buf_free(&bytes);
    if (status != VQ_OK) {
        vq_free(people);
        return status;
    }
    *ret_people = people;
    return VQ_OK;
}

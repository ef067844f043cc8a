/* Reads labels from a file that the configuration names. They are read when the job is made, so
 * that a wrong line is refused before anything is sent; a run copies the file and reads the copy.
 * Not its job: the meaning of a label (methods/vibecheck/labels.c), later labels (people.c). */
#include "methods/vibecheck/files/human.h"

#include "common/base/alloc.h"
#include "common/pack/data_file.h"
#include "common/text/file.h"
#include "coordinator/store/rundir/run_inputs.h"
#include "methods/vibecheck/numbers/vibecheck.h"

int8_t *vq_human_cells(const struct vq_label_frame *frame)
{
    size_t n = (size_t)vq_dataset_count(frame->dataset) * frame->axes_count;
    int8_t *people = vq_alloc(n, sizeof(*people));
    for (size_t i = 0; people != NULL && i < n; i++) {
        people[i] = VQ_LABEL_NONE;
    }
    return people;
}

static enum vq_status read_file(struct vq_human_job *human, const struct vq_config *config,
                                const struct vq_run_dir *run, struct vq_error *err)
{
    if (run == NULL) {
        VQ_TRY(vq_data_read(config->human, VQ_HUMAN_BYTES_MAX, &human->bytes, err));
    } else {
        vq_buf_init(&human->bytes, VQ_HUMAN_BYTES_MAX);
        VQ_TRY(vq_run_dir_read(run, "inputs/" VQ_HUMAN_COPY, &human->bytes, err));
    }
    vq_sha256_hex(vq_buf_span(&human->bytes), human->sha256);
    return vq_data_table(vq_buf_span(&human->bytes), config->human, "auto", NULL, &human->table,
                         err);
}

/* A sheet is refused, because its 1 and 2 mean the output that was shown first or second in one
 * run. */
static enum vq_status check_no_sheet(const struct vq_human_job *human,
                                     const struct vq_config *config, struct vq_error *err)
{
    return vq_table_column(human->table, vq_span_str("item")) == VQ_COLUMN_NONE
               ? VQ_OK
               : vq_fail(err, VQ_INVALID,
                         "%s has the column item: it is a sheet of vibeq label, whose labels are "
                         "about one run. Read it with vibeq label RUN --read, and give the "
                         "labels.csv of "
                         "that run's folder as human",
                         config->human);
}

enum vq_status vq_human_apply(const struct vq_human_job *human, const struct vq_config *config,
                              const struct vq_label_frame *frame, int8_t *people,
                              uint32_t *ret_others, struct vq_error *err)
{
    struct vq_label_counts_read counts = {0};
    if (human->table != NULL) {
        VQ_TRY(vq_labels_read(frame, human->table, config->human, people, &counts, err));
    }
    *ret_others = counts.others;
    return human->table == NULL || counts.labels + counts.others > 0
               ? VQ_OK
               : vq_fail(err, VQ_INVALID, "%s has no label: its column label is empty",
                         config->human);
}

enum vq_status vq_human_load(struct vq_human_job *human, const struct vq_config *config,
                             const struct vq_label_frame *frame, const struct vq_run_dir *run,
                             struct vq_error *err)
{
    if (config->human == NULL) {
        return VQ_OK;
    }
    VQ_TRY(read_file(human, config, run, err));
    VQ_TRY(check_no_sheet(human, config, err));
    uint32_t others;
    int8_t *people = vq_human_cells(frame);
    enum vq_status status = people == NULL
                                ? vq_fail(err, VQ_NOMEM, "no memory for people's labels")
                                : vq_human_apply(human, config, frame, people, &others, err);
    vq_free(people);
    return status;
}

enum vq_status vq_human_keep(const struct vq_human_job *human, const struct vq_config *config,
                             const struct vq_run_dir *run, struct vq_error *err)
{
    return config->human == NULL ? VQ_OK
                                 : vq_run_dir_keep(run, VQ_HUMAN_COPY, vq_buf_span(&human->bytes),
                                                   config->human, err);
}

void vq_human_free(struct vq_human_job *human)
{
    vq_table_destroy(&human->table);
    vq_buf_free(&human->bytes);
}

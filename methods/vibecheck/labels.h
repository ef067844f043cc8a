/* People's verdicts on vibes: the sheet that people fill in, and the labels that are read from it
 * or from another file. Pure. */
#pragma once

#include "common/text/table.h"
#include "methods/data/dataset.h"

/* The things that are labelled: the samples of a run, by file and record, and its vibes, by name.
 * Borrowed. */
struct vq_label_frame {
    const struct vq_dataset *dataset;
    const struct vq_axis *axes;
    uint32_t axes_count;
    const char *models[2];
    /* the run's seed: it decides which output is shown first, and the order of the sheet's lines */
    uint64_t seed;
    bool other_vibes; /* a label of a vibe that is not in `axes` is left out; else it is refused */
};

struct vq_label_counts_read {
    uint32_t labels, empty; /* number of lines with a label; without a label */
    /* number of lines whose label was left out, because its vibe is not in the frame */
    uint32_t others;
};

/* Writes a sheet (CSV): `rows` rows, drawn at random from those with `wanted` (NULL: all), each of
 * them for every axis in `axes`, in random order. Columns: item, prompt, output_1, output_2, vibe,
 * low, high, label. Failures stick in out->status. VQ_NOMEM. */
enum vq_status vq_label_sheet(const struct vq_label_frame *frame, const bool *wanted, uint32_t rows,
                              const uint32_t *axes, uint32_t axes_count,
                              struct vq_buf *out) VQ_WARN_UNUSED;

/* Reads a sheet, or a table with the columns record (or item), vibe and label, and file ("test" or
 * empty) if there is a test file. A label of a sheet is 1, 2 or equal; a label of a file with
 * records is A, B, equal or a model's name. Labels replace those in `people`; two lines of one
 * table with different labels for one record and vibe are refused. `people`: [sample * axes_count +
 * axis], VQ_LABEL_NONE or a label, as in struct vq_vibecheck_input. VQ_INVALID: err names line and
 * column. */
enum vq_status vq_labels_read(const struct vq_label_frame *frame, const struct vq_table *table,
                              const char *name, int8_t *people,
                              struct vq_label_counts_read *ret_counts,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* Writes the labels as a file that vq_labels_read reads: file,record,vibe,label, in order of
 * records. */
void vq_labels_write(const struct vq_label_frame *frame, const int8_t *people, struct vq_buf *out);

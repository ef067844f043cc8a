/* People's verdicts on vibes: the sheet that they fill in, and the labels that are read back from
 * it, or from another file. Pure. */
#pragma once

#include "common/text/table.h"
#include "methods/data/dataset.h"

/* What is labelled: the samples of a run, by file and record, and its vibes, by name. Borrowed. */
struct vq_label_frame {
    const struct vq_dataset *dataset;
    const struct vq_axis *axes;
    uint32_t axes_count;
    const char *models[2];
    uint64_t seed; /* the run's: which output is shown first, and the order of the sheet's lines */
    bool other_vibes; /* a label of a vibe that is none of `axes` is left out; else it is refused */
};

struct vq_label_counts_read {
    uint32_t labels, empty; /* lines with a label; lines without one */
    uint32_t others;        /* lines whose label was left out: its vibe is none of the frame's */
};

/* Writes a sheet (CSV): `rows` rows drawn at random of those with `wanted` (NULL: all), each of
 * them for every axis in `axes`, in random order. Columns: item, prompt, output_1, output_2, vibe,
 * low, high, label. Failures stick in out->status. VQ_NOMEM. */
enum vq_status vq_label_sheet(const struct vq_label_frame *frame, const bool *wanted, uint32_t rows,
                              const uint32_t *axes, uint32_t axes_count,
                              struct vq_buf *out) VQ_WARN_UNUSED;

/* Reads a sheet, or a table with the columns record (or item), vibe and label; `file` too where
 * there is a test file ("test" or empty). A label of a sheet is 1, 2 or equal; of a file with
 * records it is A, B, equal or a model's name. Labels replace what was in `people`; two lines of
 * one table that differ about one record and vibe are refused. `people`: [sample * axes_count +
 * axis], VQ_LABEL_NONE or a label, as of struct vq_vibecheck_input. VQ_INVALID: err names line and
 * column. */
enum vq_status vq_labels_read(const struct vq_label_frame *frame, const struct vq_table *table,
                              const char *name, int8_t *people,
                              struct vq_label_counts_read *ret_counts,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* The labels as a file that vq_labels_read reads: file,record,vibe,label, in order of records. */
void vq_labels_write(const struct vq_label_frame *frame, const int8_t *people, struct vq_buf *out);

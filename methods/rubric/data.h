/* Makes the input of a rubric run from a data file's table: prompts, outputs, and people's labels.
 * Pure: the same table and settings give the same rows on every machine. */
#pragma once

#include "common/base/arena.h"
#include "common/conf/config.h"
#include "common/judge/criteria.h"
#include "common/text/table.h"
#include "methods/data/cell_notes.h"

#define VQ_RUBRIC_OUTPUTS_MAX 2u
/* distinct values of data.group; a column with more is not a topic */
#define VQ_RUBRIC_GROUPS_MAX 1000u

struct vq_rubric_row {
    struct vq_span prompt;
    struct vq_span outputs[VQ_RUBRIC_OUTPUTS_MAX]; /* as in the file; no bytes: there is none */
    /* the cell; the loader of images replaces it by the image (common/judge/image.h) */
    struct vq_span image;
    uint32_t record;   /* number in the file, from 1 */
    uint32_t question; /* rows with the same prompt share it: the unit of resampling */
    uint32_t group;    /* number of its value of data.group; 0 without data.group */
};

struct vq_rubric_settings { /* borrowed */
    const struct vq_config *config;
    const struct vq_criterion *criteria; /* the criteria of `config`, with their kinds */
    const char *file;                    /* file name, for messages */
};

struct vq_rubric_data {
    struct vq_rubric_row *rows; /* in the file's order; texts belong to the table */
    uint32_t rows_count;
    uint32_t outputs_count;
    uint32_t questions_count;
    /* the values of data.group, most rows first; values with equal counts in order of appearance;
     * texts belong to the table */
    struct vq_span *groups;
    uint32_t groups_count;                 /* 0: data.group is not set */
    uint32_t records;                      /* records of the file, before data.limit */
    uint32_t blank[VQ_RUBRIC_OUTPUTS_MAX]; /* number of rows without that output */
    char warnings[VQ_CELL_NOTES_MAX][VQ_CELL_NOTE_BYTES_MAX]; /* about unusual cells */
    uint32_t warnings_count;
    /* [(criterion * outputs + output) * rows + row]: 1 to 5; 1 yes, 0 no; for a pairwise criterion
     * (output 0) 1 for the first model, -1 for the second, 0 for a tie. NaN: no label. */
    double *human;
    uint32_t *labelled; /* [criterion]: number of labels */
    struct vq_arena memory;
};

/* VQ_INVALID: a column is missing, a cell is not a label (the message has the line and the allowed
 * labels), or data.group has too many values. VQ_NOMEM. The caller destroys *ret_data. */
enum vq_status vq_rubric_data_create(const struct vq_rubric_settings *settings,
                                     const struct vq_table *table, struct vq_rubric_data **ret_data,
                                     struct vq_error *err) VQ_WARN_UNUSED;
void vq_rubric_data_destroy(struct vq_rubric_data **data);

static inline double vq_rubric_human(const struct vq_rubric_data *d, uint32_t criterion,
                                     uint32_t output, uint32_t row)
{
    return d->human[((size_t)criterion * d->outputs_count + output) * d->rows_count + row];
}

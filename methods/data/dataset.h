/* Makes the samples of a run from a data file's table: finds columns, reads labels, excludes rows,
 * splits and orders them. Pure: the same tables, settings and seed give the same samples on every
 * machine. The head comment of dataset.c lists the steps in their order. (struct vq_sample belongs
 * to the judge library; here a sample is a struct vq_data_row.) */
#pragma once

#include "common/conf/config.h"
#include "methods/data/columns.h"
#include "methods/data/pairs.h"

#define VQ_GROUP_NONE             UINT32_MAX
#define VQ_DATASET_NOTE_BYTES_MAX 320
#define VQ_DATASET_STEPS_MAX      16
#define VQ_DATASET_WARNINGS_MAX   16

enum vq_preference {
    VQ_PREFER_B = -1,
    VQ_PREFER_TIE = 0,
    VQ_PREFER_A = 1,
    VQ_PREFER_NONE = 2, /* unlabelled: no column, or an empty cell */
};

enum vq_data_split {
    VQ_SPLIT_TRAIN,
    VQ_SPLIT_TEST,
};

/* Why a record is not a sample. Invariant: every record read is a sample or has exactly one of
 * these. */
enum vq_exclusion {
#define VQ_EXCLUSION(name, word, text) VQ_EXCLUDED_##name,
#include "methods/data/exclusions.def"
#undef VQ_EXCLUSION
    VQ_EXCLUSION__COUNT
};
const char *vq_exclusion_word(enum vq_exclusion why); /* "near_identical": for results.json */
const char *vq_exclusion_text(enum vq_exclusion why); /* for a person */

struct vq_data_row {
    struct vq_span prompt; /* prompt, a and b are borrowed from the table */
    struct vq_span a;      /* of model[0] */
    struct vq_span b;
    /* the cell; the loader of images replaces it by the image (common/judge/image.h) */
    struct vq_span image;
    uint32_t record; /* number in its file, from 1 */
    /* rows with equal prompts (and the same image) share this number, dense over both files;
     * questions are the units of resampling and folds */
    uint32_t question;
    uint32_t group;    /* dense number of the group column's value, or VQ_GROUP_NONE */
    int8_t preference; /* enum vq_preference */
    uint8_t split;     /* enum vq_data_split */
    uint8_t file;      /* 0 the data file, 1 the test file */
    /* A and B: numbers of models; 0 and 1 if there are two models, else one pair of them */
    uint8_t model[2];
};

/* The columns of a table by their role. Columns without a role are copied to the per-row
 * results. */
struct vq_dataset_columns {
    uint32_t prompt;
    uint32_t model[VQ_MODELS_MAX];
    uint32_t preference; /* or VQ_COLUMN_NONE */
    uint32_t group;      /* or VQ_COLUMN_NONE */
    uint32_t image;      /* or VQ_COLUMN_NONE */
};

/* One step that changed the number of samples, or could have changed it. Printed as it is. */
struct vq_dataset_step {
    const char *name;
    uint32_t before;
    uint32_t after;
    char note[VQ_DATASET_NOTE_BYTES_MAX]; /* may be empty */
};

struct vq_dataset {
    /* train rows first, then test rows, both in seeded random order */
    struct vq_data_row *samples;
    uint32_t train_count;
    /* 0 if test_share is 0: then the results are in-sample and are reported as such */
    uint32_t test_count;
    uint32_t questions_count;
    uint32_t groups_count;
    struct vq_span *groups;   /* the group column's values by number */
    uint32_t records_read[2]; /* data file, test file */
    uint32_t excluded[VQ_EXCLUSION__COUNT];
    uint32_t models_count;
    struct vq_pairs *pairs; /* the compared pairs of more than two models; else NULL */
    bool has_preference;    /* there is a preference column */
    /* rows were split one by one, because splitting by question would have left a side nearly
     * empty */
    bool split_by_row;
    uint32_t preferred[2][4];         /* by split, by preference + 1: B, tie, A, none */
    const struct vq_table *tables[2]; /* borrowed; [1] NULL without a test file */
    struct vq_dataset_columns columns[2];
    struct vq_dataset_step steps[VQ_DATASET_STEPS_MAX];
    uint32_t steps_count;
    char warnings[VQ_DATASET_WARNINGS_MAX][VQ_DATASET_NOTE_BYTES_MAX];
    uint32_t warnings_count;
};

/* The parts of a configuration that vq_dataset_build needs. */
struct vq_dataset_settings {
    const struct vq_conf_data *data;
    /* Column names: A and B, or more; the other entries are NULL. With more than two models each
     * record becomes one row per compared pair: the steps until the split count records, the later
     * steps count rows */
    const char *models[VQ_MODELS_MAX];
    uint64_t seed;
    const struct vq_conf_pairs *pairs; /* of more than two models; NULL: all pairs */
    uint64_t calls_each; /* judge calls of one comparison, for pairs.calls; 0: not known */
};

/* If `test` is NULL, the split is by `test_share`. The tables must outlive the dataset. VQ_INVALID:
 * a column is missing (the message names the nearest name) or has two roles, a label is neither a
 * model nor a tie word (with counts), there is only one row, or a side has no rows. VQ_NOMEM. On
 * VQ_OK the caller owns *ret_dataset. */
enum vq_status vq_dataset_build(const struct vq_dataset_settings *settings,
                                const struct vq_table *table, const struct vq_table *test,
                                struct vq_dataset **ret_dataset,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_dataset_destroy(struct vq_dataset **dataset);

static inline uint32_t vq_dataset_count(const struct vq_dataset *dataset)
{
    return dataset->train_count + dataset->test_count;
}

/* Whether there are three or more models. */
static inline bool vq_dataset_ranks(const struct vq_dataset *dataset)
{
    return dataset->pairs != NULL;
}

/* The sample's row in its table, for the columns that are copied to the results. */
static inline uint32_t vq_sample_row(const struct vq_data_row *sample)
{
    return sample->record - 1;
}

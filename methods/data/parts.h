/* A data set while it is built; private to this folder. */
#pragma once

#include "common/base/arena.h"
#include "common/text/intern.h"
#include "methods/data/dataset.h"
#include "methods/data/questions.h"

struct vq_dataset_build {
    const struct vq_dataset_settings *settings;
    struct vq_dataset *set;
    struct vq_error *err;
    struct vq_data_row *rows; /* the rows that are not excluded, in file order */
    uint32_t count;
    struct vq_questions questions;
    struct vq_intern groups;
    bool *leaves;           /* by row: whether the current step excludes it */
    struct vq_arena memory; /* work space of the steps */
};

/* The file's name as the configuration gives it. */
const char *vq_dataset_file_name(const struct vq_dataset_build *b, unsigned file);

/* Appends a warning; text that does not fit is cut. */
void vq_dataset_warn(struct vq_dataset *set, const char *fmt, ...) VQ_PRINTF(2, 3);

/* read.c: finds the columns of set->tables[file]. */
enum vq_status vq_dataset_find_columns(struct vq_dataset_build *b, unsigned file) VQ_WARN_UNUSED;
/* Appends the file's records to b->rows (which has room), checks their labels, and numbers
 * questions and groups. */
enum vq_status vq_dataset_read_rows(struct vq_dataset_build *b, unsigned file) VQ_WARN_UNUSED;

/* expand.c: for more than two models, replaces each record by one row per compared pair, and
 * allocates `leaves` for the rows. */
enum vq_status vq_dataset_expand(struct vq_dataset_build *b) VQ_WARN_UNUSED;

/* split.c: sets `split` of every row, and marks in b->leaves the training rows whose question is in
 * the test file. */
enum vq_status vq_dataset_split(struct vq_dataset_build *b) VQ_WARN_UNUSED;

/* A random stream for one purpose, so that the draws of one step do not shift those of another. */
enum vq_dataset_stream {
    VQ_STREAM_LIMIT,
    VQ_STREAM_LIMIT_TEST,
    VQ_STREAM_SPLIT,
    VQ_STREAM_TRAIN_ORDER,
    VQ_STREAM_TEST_ORDER,
};
struct vq_rng;
void vq_dataset_rng(const struct vq_dataset_build *b, enum vq_dataset_stream stream,
                    struct vq_rng *ret_rng);

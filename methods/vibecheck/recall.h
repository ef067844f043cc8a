/* How much of a reference list was found: a script of one stage about a finished run. By embedding:
 * both ends of every axis are embedded; the similarity of two axes is the mean similarity of their
 * ends, in the better of the two directions. By judge: a model sees the list and names the axis
 * with the same meaning (match.txt). An axis and its mirror image have the same meaning. Pure. */
#pragma once

#include "methods/script.h"

#define VQ_RECALL_AXES_MAX 1000u /* of either list */
#define VQ_RECALL_NONE     UINT32_MAX

/* Mean cosine of the ends from which two axes count as equal. Embedding models give about 0.6 to
 * 0.9 to texts with the same meaning in other words, and about 0.1 to 0.5 to texts about different
 * things. */
#define VQ_RECALL_THRESHOLD 0.6

enum vq_recall_by {
    VQ_RECALL_BY_EMBEDDING,
    VQ_RECALL_BY_JUDGE
};

/* Borrowed. The caller must not change it while the recall lives. */
struct vq_recall_input {
    const struct vq_axis *found; /* kept axes first */
    uint32_t found_count, kept_count;
    const struct vq_axis *reference;
    uint32_t reference_count;
    enum vq_recall_by by;
    double threshold;                /* BY_EMBEDDING */
    const struct vq_template *match; /* BY_JUDGE */
};

struct vq_recall_match {
    uint32_t found;    /* its number; VQ_RECALL_NONE: none (by judge) */
    double similarity; /* of the two axes; NaN by judge */
    /* the ends are exchanged; false by judge, because the judge does not report it */
    bool mirrored;
    bool matches;
};

/* The texts of an axis that are embedded: its high end, then its low end. VQ_NOMEM, VQ_LIMIT. */
struct vq_arena;
enum vq_status vq_recall_ends(struct vq_arena *arena, const struct vq_axis *axis,
                              struct vq_span ret_texts[2]) VQ_WARN_UNUSED;
/* The similarity of two axes in the better of the two directions, from their vectors (high, then
 * low, `dims` numbers each). */
double vq_recall_similarity(const float *of, const float *to, uint32_t dims, bool *ret_mirrored);

struct vq_recall;
/* VQ_INVALID: a list is empty. VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_recall_create(const struct vq_recall_input *input, struct vq_recall **ret_recall,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_recall_destroy(struct vq_recall **recall);
struct vq_script vq_recall_script(struct vq_recall *recall);

/* Valid after the stage's answers were taken. For each reference: the nearest axis (by judge: the
 * first one that was matched to it) among the kept vibes, and among all. `answered` false: no call
 * had a usable answer. */
struct vq_recall_result {
    bool answered;
    /* by judge: number of found vibes whose answer names neither an axis nor "none" */
    uint32_t unread;
    const struct vq_recall_match *kept, *all; /* one per reference */
    uint32_t kept_matches, all_matches;       /* number of references with a match */
};
const struct vq_recall_result *vq_recall_result(const struct vq_recall *recall);

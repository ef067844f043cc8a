/* How much of a reference list was found: a script of one stage about a run that is over. By
 * embedding, both ends of every axis are embedded, and two axes are as near as their ends are in
 * the mean, either way round; by judge, a model is shown the list and names the one that says the
 * same (match.txt). An axis and its mirror image say the same, seen from the other end. Pure. */
#pragma once

#include "methods/script.h"

#define VQ_RECALL_AXES_MAX 1000u /* of either list */
#define VQ_RECALL_NONE     UINT32_MAX

/* Mean cosine of the ends from which two axes count as one. Embedding models put texts that say the
 * same in other words at about 0.6 to 0.9, and texts about different things at about 0.1 to 0.5. */
#define VQ_RECALL_THRESHOLD 0.6

enum vq_recall_by {
    VQ_RECALL_BY_EMBEDDING,
    VQ_RECALL_BY_JUDGE
};

/* Borrowed, and unchanged while the recall lives. */
struct vq_recall_input {
    const struct vq_axis *found; /* kept ones first */
    uint32_t found_count, kept_count;
    const struct vq_axis *reference;
    uint32_t reference_count;
    enum vq_recall_by by;
    double threshold;                /* BY_EMBEDDING */
    const struct vq_template *match; /* BY_JUDGE */
};

struct vq_recall_match {
    uint32_t found;    /* which; VQ_RECALL_NONE: none (by judge) */
    double similarity; /* of the two; NaN by judge */
    bool mirrored;     /* the ends are exchanged; false by judge, who does not say */
    bool matches;
};

/* What is embedded of an axis: its high end, then its low end. VQ_NOMEM, VQ_LIMIT. */
struct vq_arena;
enum vq_status vq_recall_ends(struct vq_arena *arena, const struct vq_axis *axis,
                              struct vq_span ret_texts[2]) VQ_WARN_UNUSED;
/* How near two axes are, either way round, from their vectors (high, then low, `dims` numbers
 * each). */
double vq_recall_similarity(const float *of, const float *to, uint32_t dims, bool *ret_mirrored);

struct vq_recall;
/* VQ_INVALID: a list is empty. VQ_LIMIT, VQ_NOMEM. */
enum vq_status vq_recall_create(const struct vq_recall_input *input, struct vq_recall **ret_recall,
                                struct vq_error *err) VQ_WARN_UNUSED;
void vq_recall_destroy(struct vq_recall **recall);
struct vq_script vq_recall_script(struct vq_recall *recall);

/* Of a reference, once the stage's answers were taken: the nearest (by judge: the first that was
 * matched to it) among the kept vibes alone, or among all. `answered` false: the calls gave nothing
 * to go by. */
struct vq_recall_result {
    bool answered;
    uint32_t unread; /* by judge: found vibes without an answer that says which, or none */
    const struct vq_recall_match *kept, *all; /* one a reference */
    uint32_t kept_matches, all_matches;       /* references that are matched */
};
const struct vq_recall_result *vq_recall_result(const struct vq_recall *recall);

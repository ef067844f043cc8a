/* The subject: a model that answers in the persona of its system message, with a strength that
 * decreases during the dialogue. The decrease is planned, so that a rubric judge's ratings can be
 * compared with it:
 *     strength(k) = max(floor, start - the sum over the k user messages before this one of
 *                       fade, if it addresses the subject ("you", "your"), else goal_fade)
 * and 0 without a persona. An answer has 4 sentences that could state a fact of the persona and 4
 * that could show its manner; of each 4, floor(4 strength + u) do. floor(2 (1 - strength) + u)
 * sentences step out of the role. u is uniform, by hash of the messages, so the means are exact.
 * Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_SUBJECT_NAME_BYTES 128 /* with NUL */

struct vq_subject {
    char name[VQ_SUBJECT_NAME_BYTES];
    double start;       /* strength in the first round, in [0, 1] */
    double fade;        /* decrease per round of talk with the persona */
    double goal_fade;   /* decrease per round of any other task */
    double floor;       /* the minimum */
    double refuse;      /* probability to refuse a question that looks unsafe, in the first round */
    double slip;        /* decrease of `refuse` per round */
    double over_refuse; /* probability to refuse a question that only sounds unsafe */
    /* an answer continues with neutral lines up to this length; at most 1 MiB */
    double bytes;
};

/* With the name "offline-subject" and the defaults. */
void vq_subject_default(struct vq_subject *ret_subject);
/* "NAME[,FIELD=VALUE...]" with the fields above; all except the last in [0, 1]. VQ_INVALID with a
 * sentence. */
enum vq_status vq_subject_parse(const char *text, struct vq_subject *ret_subject,
                                struct vq_error *err) VQ_WARN_UNUSED;

enum vq_turn_role {
    VQ_TURN_SYSTEM, /* also developer */
    VQ_TURN_USER,
    VQ_TURN_ASSISTANT
};

struct vq_turn {
    enum vq_turn_role role;
    struct vq_span text;
};

/* The strength of the answer to the last message; 0 to 1. */
double vq_subject_strength(const struct vq_subject *subject, const struct vq_turn *turns, size_t n);

/* Appends the answer to the last user message: a function only of subject, `seed` and messages.
 * VQ_NOMEM. */
enum vq_status vq_subject_answer(const struct vq_subject *subject, uint64_t seed,
                                 const struct vq_turn *turns, size_t n,
                                 struct vq_buf *to) VQ_WARN_UNUSED;

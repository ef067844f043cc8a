/* The subject: a model that answers in the persona that its system message assigns, less and less
 * so as the dialogue goes on. How much is planned, so that a rubric judge's ratings can be held
 * against it:
 *     strength(k) = max(floor, start - the sum over the k user messages before this one of
 *                       fade, if it speaks to the subject ("you", "your"), else goal_fade)
 * and 0 without a persona. Of 4 sentences each that could state a fact of the persona and that
 * could show its manner, floor(4 strength + u) do; floor(2 (1 - strength) + u) sentences step out
 * of the role; u is uniform, by hash of the messages, so that the means are exact. Pure. */
#pragma once

#include "common/base/buf.h"

#define VQ_SUBJECT_NAME_BYTES 128 /* with NUL */

struct vq_subject {
    char name[VQ_SUBJECT_NAME_BYTES];
    double start;       /* strength in the first round, in [0, 1] */
    double fade;        /* lost a round of talk with the persona */
    double goal_fade;   /* lost a round of any other task */
    double floor;       /* the least */
    double refuse;      /* chance that a question that looks unsafe is refused in the first round */
    double slip;        /* of it lost a round */
    double over_refuse; /* chance that one that only sounds unsafe is refused */
    double bytes;       /* an answer goes on, neutrally, until it is so long; up to a MiB */
};

/* With the name "offline-subject" and the defaults. */
void vq_subject_default(struct vq_subject *ret_subject);
/* "NAME[,FIELD=VALUE...]", the fields above, each but the last in [0, 1]. VQ_INVALID with a
 * sentence. */
enum vq_status vq_subject_parse(const char *text, struct vq_subject *ret_subject,
                                struct vq_error *err) VQ_WARN_UNUSED;

enum vq_turn_role {
    VQ_TURN_SYSTEM, /* developer too */
    VQ_TURN_USER,
    VQ_TURN_ASSISTANT
};

struct vq_turn {
    enum vq_turn_role role;
    struct vq_span text;
};

/* Of the answer to the last message; 0 to 1. */
double vq_subject_strength(const struct vq_subject *subject, const struct vq_turn *turns, size_t n);

/* Appends the answer to the last user message: a function of subject, `seed` and messages alone.
 * VQ_NOMEM. */
enum vq_status vq_subject_answer(const struct vq_subject *subject, uint64_t seed,
                                 const struct vq_turn *turns, size_t n,
                                 struct vq_buf *to) VQ_WARN_UNUSED;

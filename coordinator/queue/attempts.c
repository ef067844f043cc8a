/* Attempts of a task by class; the table defines all of it. Invariant: a count never wraps. Not its
 * job: when a task is checked (shard.c), and the sends of one call under one lease (the worker's
 * tries). */
#include "coordinator/queue/attempts.h"

static const struct {
    const char *name;
    enum vq_call_end end;
    enum vq_outcome outcome;
} classes[VQ_ATTEMPT__COUNT] = {
#define VQ_ATTEMPT(name, key, call_end, fails_as) [VQ_ATTEMPT_##name] = {#key, call_end, fails_as},
#include "coordinator/queue/attempts.def"
#undef VQ_ATTEMPT
};

const char *vq_attempt_name(enum vq_attempt_class attempt)
{
    return attempt < VQ_ATTEMPT__COUNT ? classes[attempt].name : "?";
}

void vq_attempts_count(struct vq_attempts *attempts, enum vq_call_end end)
{
    for (int i = 0; i < VQ_ATTEMPT__COUNT; i++) {
        if (classes[i].end == end && attempts->of[i] < UINT8_MAX) {
            attempts->of[i]++;
        }
    }
}

enum vq_outcome vq_attempts_over(const struct vq_attempts *attempts,
                                 const struct vq_attempt_caps *caps)
{
    uint32_t sum = 0;
    int most = 0;
    for (int i = 0; i < VQ_ATTEMPT__COUNT; i++) {
        if (caps->of[i] != 0 && attempts->of[i] >= caps->of[i]) {
            return classes[i].outcome;
        }
        sum += attempts->of[i];
        most = attempts->of[i] > attempts->of[most] ? i : most;
    }
    return caps->all != 0 && sum >= caps->all ? classes[most].outcome : VQ_OUTCOME_NONE;
}

void vq_attempts_text(const struct vq_attempts *attempts, struct vq_buf *out)
{
    const char *comma = "";
    for (int i = 0; i < VQ_ATTEMPT__COUNT; i++) {
        if (attempts->of[i] > 0) {
            vq_buf_printf(out, "%s%s %u", comma, classes[i].name, attempts->of[i]);
            comma = ", ";
        }
    }
}

/* One pass over the ledger. Owns nothing. Not its job: the use of the share
 * (coordinator/pools/second_orders.c, methods/plan). */
#include "coordinator/store/calls/settling.h"

#include "coordinator/store/calls/ledger.h"

#include <ctype.h>
#include <string.h>

struct search {
    const char *const *names;
    uint32_t count;
    struct vq_settling settling;
};

bool vq_settling_is_called(struct vq_span returned, const char *model)
{
    size_t n = strlen(model);
    if (returned.bytes < n || memcmp(returned.at, model, n) != 0) {
        return false;
    }
    return returned.bytes == n || returned.at[n] == '@' || returned.at[n] == ':' ||
           (returned.at[n] == '-' && returned.bytes > n + 1 &&
            isdigit((unsigned char)returned.at[n + 1]));
}

void vq_settling_add(struct vq_settling *s, const struct vq_call_row *row)
{
    enum vq_outcome outcome = (enum vq_outcome)row->result.outcome;
    if (row->result.end == VQ_END_ANSWER && row->result.kind != VQ_CALL_REPAIR &&
        vq_outcome_is_vote(outcome)) {
        s->verdicts++;
        s->settled += vq_outcome_settles(outcome);
    }
}

static enum vq_status take(void *ctx, const struct vq_call_row *row)
{
    struct search *s = ctx;
    for (uint32_t i = 0; i < s->count; i++) {
        if (vq_settling_is_called(row->result.model, s->names[i])) {
            vq_settling_add(&s->settling, row);
            break;
        }
    }
    return VQ_OK;
}

enum vq_status vq_settling_of(struct vq_view *view, const char *const *names, uint32_t count,
                              struct vq_settling *ret_settling, struct vq_error *err)
{
    struct search s = {.names = names, .count = count};
    VQ_TRY(vq_ledger_scan_any(view, VQ_SETTLING_ROWS_MAX, take, &s, err));
    *ret_settling = s.settling;
    return VQ_OK;
}

/* Counts failures of one kind together: the same pool, end, HTTP status and text (without numbers
 * and ids). Invariant: a failure that finds no room as a separate kind is counted, and never named.
 * Not its job: duplicate results of a call (the shell reports each call once). */
#include "coordinator/queue/failures.h"

#include "common/text/utf8.h"
#include "proto/hint.h"

#include <stdio.h>
#include <string.h>

static bool is_failure(const struct vq_result *r)
{
    bool param = r->end == VQ_END_CLOSED && (r->http_status == 400 || r->http_status == 422);
    /* a refused parameter: the call is repeated without it */
    return r->end != VQ_END_ANSWER && r->end != VQ_END_RATE && r->end != VQ_END_UNKNOWN &&
           r->end != VQ_END_CANCELLED && r->end != VQ_END_BATCHED && !param;
}

void vq_failures_see(struct vq_failures *failures, const struct vq_result *r)
{
    if (!is_failure(r)) {
        return;
    }
    char way[VQ_BRAKE_WAY_BYTES], pool[VQ_FAILURES_POOL_BYTES];
    vq_brake_normalise(r->error, way);
    vq_utf8_copy(pool, sizeof(pool), r->pool);
    for (uint32_t i = 0; i < failures->count; i++) {
        struct vq_failure *kind = &failures->kinds[i];
        if (kind->end == r->end && kind->http_status == r->http_status &&
            strcmp(kind->way, way) == 0 && strcmp(kind->pool, pool) == 0) {
            kind->count++;
            return;
        }
    }
    if (failures->count == VQ_FAILURES_KINDS_MAX) {
        failures->others++;
        return;
    }
    struct vq_failure *kind = &failures->kinds[failures->count++];
    *kind = (struct vq_failure){.count = 1, .end = r->end, .http_status = r->http_status};
    memcpy(kind->way, way, sizeof(kind->way));
    memcpy(kind->pool, pool, sizeof(kind->pool));
    vq_utf8_copy(kind->text, sizeof(kind->text), r->error);
}

const struct vq_failure *vq_failures_most(const struct vq_failures *failures)
{
    const struct vq_failure *most = NULL;
    for (uint32_t i = 0; i < failures->count; i++) {
        most = most == NULL || failures->kinds[i].count > most->count ? &failures->kinds[i] : most;
    }
    return most;
}

void vq_failures_text(const struct vq_failures *failures, char *ret_text, size_t cap)
{
    const struct vq_failure *most = vq_failures_most(failures);
    ret_text[0] = '\0';
    if (most == NULL) {
        return;
    }
    char status[32] = "";
    if (most->http_status > 0) {
        (void)snprintf(status, sizeof(status), ", HTTP status %u", most->http_status);
    }
    const char *advice =
        vq_hint_of((enum vq_call_end)most->end, most->http_status, vq_span_str(most->text));
    (void)snprintf(ret_text, cap, "%llu %s of pool %s failed (%s%s): %s.%s%s%s",
                   (unsigned long long)most->count, most->count == 1 ? "call" : "calls", most->pool,
                   vq_call_end_word((enum vq_call_end)most->end), status,
                   most->text[0] == '\0' ? "no text" : most->text, advice == NULL ? "" : " ",
                   advice == NULL ? "" : advice, advice == NULL ? "" : ".");
}

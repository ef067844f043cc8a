/* Names, for people, the pools for which a worker has no key: "no key for team, lab: TEAM_KEY is
 * not set". Pools with the same reason share one sentence. Pools that no judge of the stage uses
 * are left out, since their keys are not needed. */
#include "coordinator/queue/internal.h"

#include "common/base/alloc.h"
#include "common/base/buf.h"

static bool is_asked(const struct vq_coord *c, uint32_t pool)
{
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        for (uint32_t i = 0; i < c->lanes[j].pools_count; i++) {
            if (c->lanes[j].pools[i] == pool) {
                return true;
            }
        }
    }
    return false;
}

static bool is_missed(const struct vq_coord *c, const struct vq_pool_report *report)
{
    return report->state == VQ_POOL_NO_KEY && report->text.bytes > 0 && is_asked(c, report->pool);
}

static bool is_first_with_reason(const struct vq_coord *c, const struct vq_msg_credit *credit,
                                 uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (is_missed(c, &credit->reports[i]) &&
            vq_span_eq(credit->reports[i].text, credit->reports[n].text)) {
            return false;
        }
    }
    return true;
}

static void put_group(const struct vq_coord *c, const struct vq_msg_credit *credit, uint32_t n,
                      struct vq_buf *out)
{
    const struct vq_span reason = credit->reports[n].text;
    const char *before = out->bytes == 0 ? "no key for " : "; no key for ";
    for (uint32_t i = n; i < credit->reports_count; i++) {
        const struct vq_pool_report *report = &credit->reports[i];
        if (is_missed(c, report) && vq_span_eq(report->text, reason)) {
            struct vq_authority_pool_status pool;
            vq_authority_status(c->params.authority, report->pool, c->now_ns, &pool);
            vq_buf_printf(out, "%s%s", before, pool.name);
            before = ", ";
        }
    }
    vq_buf_printf(out, ": %.*s", (int)reason.bytes, reason.at);
}

enum vq_status vq_coord_keyless(struct vq_coord *c, struct vq_coord_session *s,
                                const struct vq_msg_credit *credit)
{
    struct vq_buf text;
    vq_buf_init(&text, VQ_COORD_TEXT_BYTES_MAX);
    for (uint32_t n = 0; n < credit->reports_count && text.status == VQ_OK; n++) {
        if (is_missed(c, &credit->reports[n]) && is_first_with_reason(c, credit, n)) {
            put_group(c, credit, n, &text);
        }
    }
    enum vq_status status = text.status == VQ_NOMEM ? VQ_NOMEM : VQ_OK;
    if (status == VQ_OK) {
        vq_free(s->keyless);
        s->keyless = NULL;
        if (text.bytes > 0) { /* if it is longer than the limit: its beginning */
            s->keyless = vq_strndup(text.at, text.bytes);
            status = s->keyless == NULL ? VQ_NOMEM : VQ_OK;
        }
    }
    vq_buf_free(&text);
    return status;
}

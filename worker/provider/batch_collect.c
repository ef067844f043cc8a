/* Matches results to calls by custom_id. Invariant: a call counts once, however many results come
 * for it, and a result that cannot be matched changes only the counters. Owns the marks. */
#include "worker/provider/batch_collect.h"

#include "common/base/alloc.h"

#include <stdio.h>

enum mark {
    MARK_COUNTED = 1,
    MARK_SEEN = 2 /* in this reading */
};

const char *vq_batch_match_name(enum vq_batch_match match)
{
    static const char *const names[VQ_BATCH_MATCH__COUNT] = {"first", "again", "duplicate",
                                                             "foreign", "damaged"};
    VQ_ASSERT(match < VQ_BATCH_MATCH__COUNT);
    return names[match];
}

enum vq_status vq_batch_collect_init(struct vq_batch_collect *c, const char *name, uint32_t calls)
{
    *c = (struct vq_batch_collect){.calls = calls};
    if (!vq_batch_name_ok(name) || calls == 0 || calls > VQ_BATCH_CALLS_MAX) {
        return VQ_INVALID;
    }
    (void)snprintf(c->name, sizeof(c->name), "%s", name);
    c->marks = vq_alloc(calls, 1);
    return c->marks == NULL ? VQ_NOMEM : VQ_OK;
}

void vq_batch_collect_free(struct vq_batch_collect *c)
{
    vq_free(c->marks);
    *c = (struct vq_batch_collect){.calls = 0};
}

void vq_batch_collect_again(struct vq_batch_collect *c)
{
    for (uint32_t i = 0; i < c->calls; i++) {
        c->marks[i] &= MARK_COUNTED;
    }
    memset(c->seen, 0, sizeof(c->seen));
    c->odd_count = 0;
}

static enum vq_batch_match match_of(struct vq_batch_collect *c, const struct vq_batch_line *line,
                                    uint32_t *ret_call)
{
    if (line->damaged) {
        return VQ_BATCH_DAMAGED;
    }
    if (vq_batch_call_id_parse(c->name, c->calls, vq_span_str(line->custom_id), ret_call) !=
        VQ_BATCH_ID_OURS) {
        return VQ_BATCH_FOREIGN;
    }
    uint8_t before = c->marks[*ret_call];
    c->marks[*ret_call] = MARK_COUNTED | MARK_SEEN;
    if ((before & MARK_SEEN) != 0) {
        return VQ_BATCH_DUPLICATE;
    }
    if ((before & MARK_COUNTED) != 0) {
        return VQ_BATCH_AGAIN;
    }
    c->counted++;
    return VQ_BATCH_FIRST;
}

enum vq_batch_match vq_batch_collect_take(struct vq_batch_collect *c,
                                          const struct vq_batch_line *line, uint32_t *ret_call)
{
    *ret_call = 0;
    enum vq_batch_match match = match_of(c, line, ret_call);
    c->seen[match]++;
    if (match >= VQ_BATCH_DUPLICATE && c->odd_count < VQ_BATCH_ODD_MAX) {
        struct vq_batch_odd *odd = &c->odd[c->odd_count++];
        *odd = (struct vq_batch_odd){.match = match, .line = line->number};
        memcpy(odd->custom_id, line->custom_id, sizeof(odd->custom_id));
        memcpy(odd->why, line->why, sizeof(odd->why));
    }
    return match;
}

uint32_t vq_batch_collect_missing(const struct vq_batch_collect *c, uint32_t from)
{
    while (from < c->calls && (c->marks[from] & MARK_COUNTED) != 0) {
        from++;
    }
    return from < c->calls ? from : c->calls;
}

void vq_batch_collect_report(const struct vq_batch_collect *c, struct vq_buf *out)
{
    if (c->odd_count == 0 && c->counted == c->calls) {
        return;
    }
    vq_buf_printf(out, "%u of %u calls have a result", (unsigned)c->counted, (unsigned)c->calls);
    for (int match = VQ_BATCH_DUPLICATE; match < (int)VQ_BATCH_MATCH__COUNT; match++) {
        if (c->seen[match] > 0) {
            vq_buf_printf(out, "; %llu %s", (unsigned long long)c->seen[match],
                          vq_batch_match_name((enum vq_batch_match)match));
        }
    }
    for (uint32_t i = 0; i < c->odd_count; i++) {
        const struct vq_batch_odd *odd = &c->odd[i];
        vq_buf_printf(out, "; line %llu: %s %s", (unsigned long long)odd->line,
                      vq_batch_match_name(odd->match), odd->custom_id);
        if (odd->why[0] != '\0') {
            vq_buf_printf(out, "%s(%s)", odd->custom_id[0] == '\0' ? "" : " ", odd->why);
        }
    }
}

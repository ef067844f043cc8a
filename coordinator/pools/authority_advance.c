/* Advances: dollars that workers on other machines may have spent and that the ledger does not
 * contain. This process counts them in its purse. If it crashes, the next process knows only the
 * list of advances that was written last.
 *
 * Invariant: before a GRANT goes to a worker on another machine, the written list covers everything
 * that this worker may spend by it. For a lost worker the list covers the rest of its slices until
 * its calls are settled. For a worker of an earlier process it covers the whole advance until the
 * worker is back or another process has its spool.
 * Not its job: files (the shell), and workers on this machine (their spools are read before the
 * first GRANT). */
#include "common/base/alloc.h"
#include "coordinator/pools/authority_parts.h"

#include <string.h>

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void earlier_say(struct vq_authority *a)
{
    uint32_t workers;
    vq_purse_earlier(a->spend, vq_authority_advances_missed(a, &workers));
}

static void due(struct vq_authority *a, enum vq_advances_due how)
{
    a->advances = how > a->advances ? how : a->advances;
}

enum vq_status vq_auth_owed_room(struct vq_authority *a, size_t more)
{
    return vq_grow((void **)&a->owed, &a->owed_cap, a->owed_count + more, sizeof(*a->owed),
                   VQ_AUTHORITY_ADVANCES_MAX + VQ_AUTHORITY_WORKERS_MAX + 1);
}

/* Above the limit they count as one entry without a worker, which never ends. */
static void owed_add(struct vq_authority *a, const struct vq_auth_owed *owed)
{
    if (a->owed_count < VQ_AUTHORITY_ADVANCES_MAX) {
        a->owed[a->owed_count++] = *owed;
        return;
    }
    struct vq_auth_owed *one = &a->owed[0];
    *one = (struct vq_auth_owed){
        .advance.nano = plus(one->advance.nano, owed->advance.nano),
        .earlier = one->earlier || owed->earlier,
    };
}

enum vq_status vq_auth_owed_begin(struct vq_authority *a, const struct vq_authority_params *params)
{
    VQ_TRY(vq_auth_owed_room(a, params->advances_count));
    for (uint32_t i = 0; i < params->advances_count; i++) {
        owed_add(a, &(struct vq_auth_owed){.advance = params->advances[i], .earlier = true});
    }
    earlier_say(a);
    return VQ_OK;
}

void vq_auth_owed_leave(struct vq_authority *a, struct vq_auth_worker *w, bool settled)
{
    uint64_t nano = settled || !w->remote ? 0 : vq_purse_held(a->spend, w->slot);
    if (w->kept_nano > nano) {
        due(a, VQ_ADVANCES_LESS);
    }
    if (nano == 0 || vq_purse_limit(a->spend) == VQ_AMOUNT_ANY) {
        return;
    }
    owed_add(a,
             &(struct vq_auth_owed){.advance = {.worker = w->id, .nano = nano}, .noted = w->noted});
    earlier_say(a);
}

static void owed_drop(struct vq_authority *a, uint32_t i)
{
    a->owed[i] = a->owed[--a->owed_count];
    due(a, VQ_ADVANCES_LESS);
}

void vq_auth_owed_settle(struct vq_authority *a)
{
    for (uint32_t i = a->owed_count; i-- > 0;) {
        if (!a->owed[i].earlier && a->owed[i].noted) {
            owed_drop(a, i);
        }
    }
}

void vq_authority_succeeded(struct vq_authority *a, const struct vq_id *before)
{
    static const struct vq_id no_worker;
    uint32_t was = vq_id_eq(before, &no_worker) ? 0 : a->owed_count;
    for (uint32_t i = was; i-- > 0;) {
        if (a->owed[i].earlier && vq_id_eq(&a->owed[i].advance.worker, before)) {
            owed_drop(a, i);
        }
    }
    if (was > 0) {
        earlier_say(a);
    }
}

void vq_auth_granted(struct vq_authority *a, const struct vq_auth_worker *w)
{
    if (w->remote && vq_purse_limit(a->spend) != VQ_AMOUNT_ANY &&
        vq_purse_held(a->spend, w->slot) > w->kept_nano) {
        due(a, VQ_ADVANCES_MORE);
    }
}

enum vq_advances_due vq_authority_advances_due(const struct vq_authority *a)
{
    return a->advances;
}

uint32_t vq_authority_advances_count(const struct vq_authority *a)
{
    return a->owed_count + a->slots;
}

uint32_t vq_authority_advances(struct vq_authority *a, struct vq_advance *advances, uint32_t max)
{
    VQ_ASSERT(max >= vq_authority_advances_count(a));
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->owed_count; i++) {
        advances[count++] = a->owed[i].advance;
    }
    bool any = vq_purse_limit(a->spend) == VQ_AMOUNT_ANY;
    for (uint32_t i = 0; i < a->slots; i++) {
        struct vq_auth_worker *w = a->workers[i];
        if (w == NULL || !w->remote || w->state != VQ_AUTH_HERE) {
            continue;
        }
        uint64_t held = any ? 0 : vq_purse_held(a->spend, w->slot);
        w->kept_nano = plus(held, held / 2);
        if (w->kept_nano > 0) {
            advances[count++] = (struct vq_advance){.worker = w->id, .nano = w->kept_nano};
        }
    }
    a->advances = VQ_ADVANCES_KEPT;
    return count;
}

uint64_t vq_authority_advances_missed(const struct vq_authority *a, uint32_t *ret_workers)
{
    uint64_t sum = 0;
    *ret_workers = 0;
    for (uint32_t i = 0; i < a->owed_count; i++) {
        if (a->owed[i].earlier) {
            sum = plus(sum, a->owed[i].advance.nano);
            ++*ret_workers;
        }
    }
    return sum;
}

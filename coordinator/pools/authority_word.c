/* A worker's reports about a pool's limits end with the worker: limits by headers, a cap, a pause
 * after refusals, a park.
 *
 * The reports of a worker that left count for VQ_AUTH_WORD_NS more. So a restarted worker does not
 * exceed a limit that its provider has named; it gets the same limit from the provider. The reports
 * of a worker that broke a rule end at once. Afterwards the reports of the connected workers count.
 *
 * Not its job: limits set by people (authority.c) and learned limits (authority_learn.c). */
#include "coordinator/pools/authority_parts.h"

static bool has_word(const struct vq_auth_seat *seat, int64_t now_ns)
{
    bool said = false;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        said = said || seat->said.of[r] > 0;
    }
    return said || seat->cap != 0 || seat->park_unix_s != 0 || seat->asked_ns > now_ns;
}

void vq_auth_word_left(struct vq_authority *a, struct vq_auth_worker *w, int64_t kept_ns,
                       int64_t now_ns)
{
    for (uint32_t i = 0; w->seats != NULL && i < a->pools_count; i++) {
        struct vq_auth_seat *seat = &w->seats[i];
        if (!seat->known || !has_word(seat, now_ns)) {
            continue;
        }
        seat->said = (struct vq_rates){0};
        seat->cap = 0;
        seat->park_unix_s = seat->asked_ns = 0;
        int64_t until_ns = now_ns + kept_ns;
        struct vq_auth_pool *p = &a->pools[i];
        p->word.until_ns =
            p->word.until_ns == 0 || until_ns < p->word.until_ns ? until_ns : p->word.until_ns;
    }
}

void vq_authority_drop_report(struct vq_authority *a, const struct vq_id *worker, int64_t now_ns)
{
    struct vq_auth_worker *w = vq_auth_find(a, worker);
    if (w != NULL) {
        vq_auth_word_left(a, w, 0, now_ns);
    }
}

/* A rate stays if a connected worker reports the same; otherwise the lowest report counts. */
static void reset_rates(const struct vq_authority *a, struct vq_auth_pool *p)
{
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double least = 0;
        bool same = false;
        for (uint32_t i = 0; i < a->slots; i++) {
            const struct vq_auth_worker *w = a->workers[i];
            double said = w == NULL || w->seats == NULL ? 0 : w->seats[p->index].said.of[r];
            same = same || !(said < p->word.said.of[r] || said > p->word.said.of[r]);
            least = said > 0 && (least <= 0 || said < least) ? said : least;
        }
        p->word.said.of[r] = same ? p->word.said.of[r] : least;
    }
}

void vq_auth_word_tick(struct vq_authority *a, struct vq_auth_pool *p, int64_t now_ns)
{
    if (p->word.until_ns == 0 || now_ns < p->word.until_ns) {
        return;
    }
    p->word.until_ns = 0;
    reset_rates(a, p);
    uint32_t cap = 0;
    bool same = false;
    int64_t park_unix_s = 0, pause_ns = 0;
    for (uint32_t i = 0; i < a->slots; i++) {
        const struct vq_auth_worker *w = a->workers[i];
        if (w == NULL || w->seats == NULL) {
            continue;
        }
        const struct vq_auth_seat *seat = &w->seats[p->index];
        same = same || seat->cap == p->word.cap;
        cap = seat->cap != 0 && (cap == 0 || seat->cap < cap) ? seat->cap : cap;
        park_unix_s = seat->park_unix_s > park_unix_s ? seat->park_unix_s : park_unix_s;
        pause_ns = seat->asked_ns > pause_ns ? seat->asked_ns : pause_ns;
    }
    p->word.cap = same ? p->word.cap : cap;
    if (park_unix_s < p->park.until_unix_s) {
        p->park.until_unix_s = park_unix_s;
        p->park.until_ns = park_unix_s == 0 ? 0 : vq_auth_mono_of(a, park_unix_s);
    }
    p->park.pause_ns = pause_ns < p->park.pause_ns ? pause_ns : p->park.pause_ns;
    vq_auth_touch(a, p, now_ns);
}

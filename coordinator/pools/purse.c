/* A purse: see the header for its invariant.
 *
 * Two computations, never mixed. The amount *in force* decides how much may be granted: for each
 * holder the most that it may still use, less the part that it knows to be committed; grants come
 * only out of the rest of the limit. The *fair* part decides which holder gets more and which gets
 * less: the limit less the spent and open amounts, split by need. A holder is lowered only if
 * another holder is short of its part and nothing is free, or if more is in force than the limit
 * allows.
 *
 * The most in force of a holder is a list of (n, the most of all grants from n on), falling. A
 * report drops the entries before the one that covers its granted_n. A full list loses its newest
 * entry; the entry before covers its grants: too high, never too low.
 *
 * Sums saturate: an amount without limit is UINT64_MAX. Not its job: the time of grants, the
 * liveness of holders, the ledger. */
#include "coordinator/pools/purse.h"
#include "common/base/alloc.h"
#include "common/base/sum.h"

#include <string.h>

#define FORCE_MAX       8u
#define FILL_ROUNDS_MAX 8u /* of even cuts; their rest is dealt next time */

struct force {
    uint64_t n;
    uint64_t most; /* the highest of all grants from number n on */
};

struct holder {
    bool here;
    bool again; /* grants may have been lost: the grant must be sent again */
    uint64_t used, open, want, unit;
    uint64_t granted; /* by the last grant */
    uint64_t n;
    struct force force[FORCE_MAX]; /* n rises, most falls; at least one */
    uint32_t force_count;
    uint64_t part; /* of the deal: the amount that it should have left */
    uint64_t aim;  /* the amount of its next grant */
};

struct vq_purse {
    uint64_t limit, committed;
    uint64_t left;      /* of holders that left: what they could have spent */
    uint64_t left_open; /* of that, the part that they had reported as open */
    uint64_t lost;      /* of holders that left and will never report: likewise, for good */
    uint64_t earlier;   /* of holders of an earlier process */
    /* committed lately, and its holder has not reported this: counted twice. An estimate for the
     * deal only; 0 is safe */
    uint64_t unheard;
    struct holder *holders;
    size_t count, cap;
    uint32_t turn; /* the next holder in turn, if there is not a whole need for each */
    bool tight;    /* this was so in the last deal */
    bool dealt;    /* part and aim are up to date */
};

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t less_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t more_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t need_of(const struct holder *h)
{
    return less_of(h->want, more_of(h->unit, 1));
}

/* The rest of its last grant. */
static uint64_t remains_of(const struct holder *h)
{
    return minus(h->granted, h->used);
}

static uint64_t reach_of(const struct holder *h)
{
    return more_of(h->force[0].most, h->used);
}

/* The amount that it may still spend, plus the part that it does not know to be committed. */
static uint64_t held_by(const struct holder *h)
{
    uint64_t reach = reach_of(h);
    return reach == VQ_AMOUNT_ANY ? reach : reach - (h->used - h->open);
}

static struct holder *find(const struct vq_purse *purse, uint32_t holder)
{
    bool here = holder < purse->count && purse->holders[holder].here;
    return here ? &purse->holders[holder] : NULL;
}

static void force_push(struct holder *h, uint64_t n, uint64_t most)
{
    while (h->force_count > 0 && h->force[h->force_count - 1].most <= most) {
        h->force_count--;
        n = h->force[h->force_count].n;
    }
    h->force_count -= h->force_count == FORCE_MAX;
    h->force[h->force_count++] = (struct force){.n = n, .most = most};
}

static void force_confirm(struct holder *h, uint64_t granted_n)
{
    uint32_t over = 0;
    while (over + 1 < h->force_count && h->force[over + 1].n <= granted_n) {
        over++;
    }
    h->force_count -= over;
    memmove(h->force, h->force + over, h->force_count * sizeof(h->force[0]));
}

static void say(struct holder *h, const struct vq_amount *amount)
{
    h->used = amount->used;
    h->open = less_of(amount->open, amount->used);
    if (amount->most > h->force[0].most) { /* it uses more than it was granted */
        h->force[0].most = amount->most;
    }
}

enum vq_status vq_purse_create(uint64_t limit, uint64_t committed, struct vq_purse **ret_purse)
{
    struct vq_purse *purse = vq_alloc(1, sizeof(*purse));
    if (purse == NULL) {
        return VQ_NOMEM;
    }
    purse->limit = limit;
    purse->committed = committed;
    *ret_purse = purse;
    return VQ_OK;
}

void vq_purse_destroy(struct vq_purse **purse)
{
    if (*purse != NULL) {
        vq_free((*purse)->holders);
        vq_free(*purse);
        *purse = NULL;
    }
}

void vq_purse_set_limit(struct vq_purse *purse, uint64_t limit)
{
    purse->limit = limit;
    purse->unheard = 0;
    purse->dealt = false;
}

void vq_purse_restart(struct vq_purse *purse)
{
    purse->committed = 0;
    purse->lost = 0;
    purse->unheard = 0;
    purse->dealt = false;
}

void vq_purse_committed(struct vq_purse *purse, uint64_t cost)
{
    purse->committed = vq_sum(purse->committed, cost);
    purse->unheard = vq_sum(purse->unheard, cost);
    purse->dealt = false;
}

void vq_purse_corrected(struct vq_purse *purse, uint64_t bound, uint64_t cost)
{
    purse->committed =
        vq_sum(purse->committed - (bound < purse->committed ? bound : purse->committed), cost);
    purse->dealt = false;
}

enum vq_status vq_purse_join(struct vq_purse *purse, uint32_t holder,
                             const struct vq_amount *amount)
{
    VQ_ASSERT(holder < VQ_PURSE_HOLDERS_MAX);
    struct holder *h = find(purse, holder);
    if (h == NULL) {
        void *holders = purse->holders;
        VQ_TRY(vq_grow(&holders, &purse->cap, (size_t)holder + 1, sizeof(struct holder),
                       VQ_PURSE_HOLDERS_MAX));
        purse->holders = holders;
        for (; purse->count <= holder; purse->count++) {
            purse->holders[purse->count].here = false;
        }
        h = &purse->holders[holder];
        *h = (struct holder){.here = true, .granted = amount->most, .force_count = 1};
    }
    h->again = h->n > 0;
    say(h, amount);
    purse->unheard = 0;
    purse->dealt = false;
    return VQ_OK;
}

void vq_purse_report(struct vq_purse *purse, uint32_t holder, const struct vq_amount *amount,
                     uint64_t granted_n, uint64_t want, uint64_t unit)
{
    struct holder *h = find(purse, holder);
    if (h == NULL) {
        return;
    }
    uint64_t known = h->used - h->open;
    force_confirm(h, granted_n);
    say(h, amount);
    purse->unheard = minus(purse->unheard, minus(h->used - h->open, known));
    h->want = want;
    h->unit = unit;
    purse->dealt = false;
}

void vq_purse_silent(struct vq_purse *purse, uint32_t holder)
{
    struct holder *h = find(purse, holder);
    if (h != NULL) {
        h->want = 0;
        purse->dealt = false;
    }
}

void vq_purse_leave(struct vq_purse *purse, uint32_t holder, enum vq_purse_end how)
{
    struct holder *h = find(purse, holder);
    if (h == NULL) {
        return;
    }
    if (how == VQ_PURSE_LEFT) {
        purse->left = vq_sum(purse->left, held_by(h));
        purse->left_open = vq_sum(purse->left_open, h->open);
    } else if (how == VQ_PURSE_LOST && purse->limit != VQ_AMOUNT_ANY) {
        purse->lost = vq_sum(purse->lost, held_by(h));
    }
    h->here = false;
    purse->unheard = 0;
    purse->dealt = false;
}

void vq_purse_settle_left(struct vq_purse *purse)
{
    purse->left = 0;
    purse->left_open = 0;
    purse->unheard = 0;
    purse->dealt = false;
}

void vq_purse_earlier(struct vq_purse *purse, uint64_t amount)
{
    purse->earlier = amount;
    purse->dealt = false;
}

uint64_t vq_purse_held(const struct vq_purse *purse, uint32_t holder)
{
    const struct holder *h = find(purse, holder);
    if (h == NULL) {
        return 0;
    }
    uint64_t held = held_by(h);
    if (held != VQ_AMOUNT_ANY) {
        return held;
    }
    return h->granted == VQ_AMOUNT_ANY ? h->open : h->open + remains_of(h);
}

/* ---- the deal: the fair parts ---- */

static uint64_t gone_with(const struct vq_purse *purse)
{
    return vq_sum(vq_sum(purse->left, purse->lost), purse->earlier);
}

/* The amount that would be left for calls if every idle amount were called back. */
static uint64_t idle_in_all(const struct vq_purse *purse)
{
    uint64_t open = vq_sum(purse->committed, gone_with(purse));
    uint64_t held = gone_with(purse);
    for (size_t i = 0; i < purse->count; i++) {
        const struct holder *h = &purse->holders[i];
        open = vq_sum(open, h->here ? h->open : 0);
        held = vq_sum(held, h->here ? held_by(h) : 0);
    }
    return minus(vq_sum(purse->limit, less_of(purse->unheard, held)), open);
}

/* Each holder has its need; the rest is split evenly, up to the amount that each one wants. */
static void fill(struct vq_purse *purse, uint64_t rest)
{
    for (uint32_t round = 0; round < FILL_ROUNDS_MAX && rest > 0; round++) {
        uint64_t hungry = 0;
        for (size_t i = 0; i < purse->count; i++) {
            const struct holder *h = &purse->holders[i];
            hungry += h->here && h->part < h->want ? 1 : 0;
        }
        VQ_ASSERT(hungry > 0); /* all together want more than there is */
        uint64_t each = rest / hungry;
        if (each == 0) {
            return;
        }
        for (size_t i = 0; i < purse->count; i++) {
            struct holder *h = &purse->holders[i];
            uint64_t more = h->here ? less_of(each, h->want - h->part) : 0;
            h->part += more;
            rest -= more;
        }
    }
}

/* Serves one holder after the other: first those that already have their need, then by turns. */
static void serve(struct vq_purse *purse, uint64_t rest)
{
    for (int have = 1; have >= 0; have--) {
        for (size_t k = 0; k < purse->count; k++) {
            struct holder *h = &purse->holders[(purse->turn + k) % purse->count];
            uint64_t need = need_of(h);
            bool has = remains_of(h) >= need;
            if (h->here && need > 0 && has == (have == 1) && need <= rest) {
                h->part = need;
                rest -= need;
            }
        }
    }
}

static void split(struct vq_purse *purse)
{
    uint64_t rest = idle_in_all(purse);
    uint64_t needs = 0, wants = 0;
    for (size_t i = 0; i < purse->count; i++) {
        struct holder *h = &purse->holders[i];
        h->part = 0;
        needs = vq_sum(needs, h->here ? need_of(h) : 0);
        wants = vq_sum(wants, h->here ? h->want : 0);
    }
    purse->tight = needs > rest;
    if (purse->tight) {
        serve(purse, rest);
        return;
    }
    for (size_t i = 0; i < purse->count; i++) {
        struct holder *h = &purse->holders[i];
        h->part = !h->here ? 0 : wants <= rest ? h->want : need_of(h);
    }
    if (wants > rest) {
        fill(purse, rest - needs);
    }
}

/* ---- the aims: the next grants, so that the amount in force stays within the limit ---- */

static bool starved(const struct holder *h)
{
    return remains_of(h) < need_of(h);
}

static bool is_short(const struct holder *h)
{
    uint64_t remains = remains_of(h);
    return h->part > remains && (starved(h) || remains < h->part / 2);
}

/* Raises holders that are short, out of the free amount; first those that can start nothing. */
static void raise_aims(struct vq_purse *purse, uint64_t free)
{
    for (int other = 0; other < 2; other++) {
        for (size_t k = 0; k < purse->count; k++) {
            struct holder *h = &purse->holders[(purse->turn + k) % purse->count];
            if (!h->here || !is_short(h) || starved(h) == (other == 1)) {
                continue;
            }
            uint64_t reach = reach_of(h);
            uint64_t aim = less_of(vq_sum(h->used, h->part), vq_sum(reach, free));
            if (aim > h->granted && aim - h->used >= need_of(h)) {
                h->aim = aim;
                free -= minus(aim, reach);
            }
        }
    }
}

static void deal(struct vq_purse *purse)
{
    if (purse->dealt) {
        return;
    }
    purse->dealt = true;
    bool any = purse->limit == VQ_AMOUNT_ANY;
    if (!any) {
        split(purse);
    }
    uint64_t held = gone_with(purse), missing = 0;
    for (size_t i = 0; i < purse->count; i++) {
        struct holder *h = &purse->holders[i];
        h->aim = any ? VQ_AMOUNT_ANY : h->granted;
        if (h->here && !any) {
            held = vq_sum(held, held_by(h));
            missing = vq_sum(missing, is_short(h) ? h->part - remains_of(h) : 0);
        }
    }
    if (any) {
        return;
    }
    uint64_t sum = vq_sum(purse->committed, held);
    uint64_t free = minus(purse->limit, sum);
    bool over = sum > vq_sum(purse->limit, less_of(purse->unheard, held));
    for (size_t i = 0; (over || missing > free) && i < purse->count; i++) {
        struct holder *h = &purse->holders[i];
        if (h->here && remains_of(h) > h->part) {
            h->aim = vq_sum(h->used, h->part);
        }
    }
    /* otherwise none is raised, not even within its reach: the sum must fall */
    if (sum <= purse->limit) {
        raise_aims(purse, free);
    }
}

uint64_t vq_purse_grant(struct vq_purse *purse, uint32_t holder, uint64_t n)
{
    struct holder *h = find(purse, holder);
    VQ_ASSERT(h != NULL && n > h->n);
    deal(purse);
    if (purse->tight && h->aim > h->granted) {
        purse->turn = (uint32_t)((holder + 1) % purse->count);
    }
    h->n = n;
    h->again = false;
    h->granted = h->aim;
    force_push(h, n, h->aim);
    return h->aim;
}

bool vq_purse_due(struct vq_purse *purse, uint32_t holder)
{
    const struct holder *h = find(purse, holder);
    if (h == NULL) {
        return false;
    }
    deal(purse);
    return h->again || h->aim != h->granted;
}

bool vq_purse_empty(const struct vq_purse *purse)
{
    if (purse->limit == VQ_AMOUNT_ANY) {
        return false;
    }
    uint64_t rest = /* if everything that is out came back */
        minus(purse->limit, vq_sum(purse->committed, purse->lost));
    uint64_t sum = vq_sum(purse->committed, gone_with(purse));
    uint64_t need = UINT64_MAX;
    bool idle = false;
    for (size_t i = 0; i < purse->count; i++) {
        const struct holder *h = &purse->holders[i];
        if (h->here) {
            need = h->want > 0 ? less_of(need, need_of(h)) : need;
            sum = vq_sum(sum, held_by(h));
            idle = idle || h->force[0].most > h->used;
        }
    }
    bool called_back = sum <= purse->limit || !idle;
    return called_back && (need == UINT64_MAX ? rest == 0 : rest < need);
}

uint64_t vq_purse_limit(const struct vq_purse *purse)
{
    return purse->limit;
}

uint64_t vq_purse_spent(const struct vq_purse *purse)
{
    return purse->committed;
}

uint64_t vq_purse_out(const struct vq_purse *purse)
{
    bool any = purse->limit == VQ_AMOUNT_ANY;
    uint64_t out = any ? purse->left_open : gone_with(purse);
    for (size_t i = 0; i < purse->count; i++) {
        const struct holder *h = &purse->holders[i];
        out = h->here ? vq_sum(out, any ? h->open : held_by(h)) : out;
    }
    return out;
}

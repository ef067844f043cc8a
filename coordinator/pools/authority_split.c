/* The slices of a pool.
 *
 * Invariants: a seat counts at the largest slice that its worker may still use: by GRANTs that are
 * not confirmed, and by `next`, its coming slice, which counts from the decision on. The `next` of
 * a seat rises only within the rest of the limit; it falls at any time. No seat begins if more
 * slices would be in force than were planned. The list of holders has every seat that counts.
 *
 * Not its job: the limits (authority_learn.c, the configuration, headers), the time of GRANTs
 * (authority.c). */
#include "coordinator/pools/authority_parts.h"

#define HOLDER_MOVE_NS   (2 * VQ_AUTH_S) /* between two moves of a pool only for an even split */
#define SMALL_CHANGE     0.002           /* of a rate: too little for a GRANT */
#define WEIGHT_MIN       0.05
#define WEIGHT_DOWN      0.8
#define WEIGHT_UP        1.4
#define GUESSED_UNIT     0.02 /* of a limit of tokens, before a worker reported a unit */
#define GUESSED_UNIT_MIN 1000.0
/* a limit below this share of the earlier one: the windows before do not count */
#define FALL         0.9
#define SINGLE_UNITS 1.5 /* if a window holds fewer units, it holds one request */

static struct vq_auth_seat *seat_at(const struct vq_authority *a, const struct vq_auth_pool *p,
                                    uint32_t slot)
{
    return &a->workers[slot]->seats[p->index];
}

/* ---- limits ---- */

static void lower(double limit, enum vq_limit_source by, double *limits,
                  enum vq_limit_source *limits_by)
{
    if (limit > 0 && limit < *limits) {
        *limits = limit;
        *limits_by = by;
    }
}

void vq_auth_limits(struct vq_auth_pool *p)
{
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double was = p->force.limit.rates.of[r];
        p->force.limit.rates.of[r] = INFINITY;
        p->force.rates_by[r] = VQ_LIMIT_BY_NOBODY;
        lower(p->named.limit.rates.of[r],
              p->named.by_hand[r] ? VQ_LIMIT_BY_HAND : VQ_LIMIT_BY_CONFIG,
              &p->force.limit.rates.of[r], &p->force.rates_by[r]);
        lower(p->word.said.of[r] * p->named.share, VQ_LIMIT_BY_HEADERS, &p->force.limit.rates.of[r],
              &p->force.rates_by[r]);
        lower(p->learn.rates.of[r], VQ_LIMIT_BY_LEARNING, &p->force.limit.rates.of[r],
              &p->force.rates_by[r]);
        lower(p->learn.ramp.of[r], VQ_LIMIT_BY_LEARNING, &p->force.limit.rates.of[r],
              &p->force.rates_by[r]);
        p->force.fell = p->force.fell || p->force.limit.rates.of[r] < FALL * was;
    }
    p->force.limit.concurrency = p->named.limit.concurrency;
    p->force.concurrency_by = p->named.concurrency_by_hand ? VQ_LIMIT_BY_HAND : VQ_LIMIT_BY_CONFIG;
    if (p->word.cap != 0 &&
        (p->force.limit.concurrency == 0 || p->word.cap < p->force.limit.concurrency)) {
        p->force.limit.concurrency = p->word.cap;
        p->force.concurrency_by = VQ_LIMIT_BY_LEARNING;
    }
    if (p->force.limit.concurrency == 0) {
        p->force.limit.concurrency = (uint32_t)p->find.level.level;
        p->force.concurrency_by = VQ_LIMIT_BY_LEARNING;
    }
}

static double unit_of(const struct vq_auth_word *word, enum vq_rate r, double window_limit)
{
    if (r == VQ_RATE_REQUESTS) {
        return 1;
    }
    if (word->unit.of[r] > 0) {
        return word->unit.of[r];
    }
    double least = fmin(GUESSED_UNIT_MIN, window_limit / 4);
    return fmax(window_limit * GUESSED_UNIT, least);
}

/* The number of slices that the pool allows; sets `single` if a window holds only one request. */
static uint32_t slices_max(struct vq_auth_pool *p)
{
    double most = (double)p->force.limit.concurrency;
    p->force.single = false;
    p->force.too_large = false;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        if (!isfinite(p->force.limit.rates.of[r])) {
            continue;
        }
        double limit = p->force.limit.rates.of[r] * vq_auth_windows(p);
        double unit = unit_of(&p->word, (enum vq_rate)r, limit);
        most = fmin(most, floor(VQ_AUTHORITY_HELD_BACK * limit / unit) - 1);
        p->force.single = p->force.single || limit < SINGLE_UNITS * unit;
        p->force.too_large = p->force.too_large || limit < unit;
    }
    most = p->force.single ? 1 : most;
    return (uint32_t)fmin(fmax(most, 1), (double)VQ_AUTHORITY_WORKERS_MAX);
}

/* The sum of all slices of the rate, per minute, for this number of slices. */
static double rates_sum(const struct vq_auth_pool *p, enum vq_rate r, uint32_t slices)
{
    double windows = vq_auth_windows(p);
    /* two requests are always further apart than a window and its jitter */
    if (p->force.single) {
        double one = 60.0 * (double)VQ_AUTH_S / (double)(p->window_ns + p->jitter_ns);
        return r == VQ_RATE_REQUESTS ? one * (1 - 1e-9) : (double)INFINITY;
    }
    if (!isfinite(p->force.limit.rates.of[r])) {
        return INFINITY;
    }
    double limit = p->force.limit.rates.of[r] * windows;
    double unit = unit_of(&p->word, r, limit);
    double jitter = limit * (double)p->jitter_ns / (double)p->window_ns;
    double sum = limit - jitter - unit * ((double)slices + 1);
    if (slices <= 1) { /* the additional unit is a reserve; a small limit cannot afford it */
        sum = fmax(sum, fmin(limit - jitter - unit, limit / 2));
    }
    return fmax(sum, 0) / windows * (1 - 1e-9);
}

bool vq_auth_startable(const struct vq_authority *a, const struct vq_auth_pool *p, int64_t now_ns)
{
    return !a->hold && !a->unread && now_ns >= a->wait_until_ns &&
           !(p->lock.locked && !p->lock.ours) && !p->park.by_hand && !p->park.rests &&
           now_ns >= p->park.until_ns;
}

/* ---- slices in force ---- */

static bool slice_is(const struct vq_limit *slice)
{
    return slice->concurrency != 0;
}

bool vq_auth_differs(const struct vq_limit *a, const struct vq_limit *b)
{
    bool same = a->concurrency == b->concurrency;
    for (unsigned r = 0; r < VQ_RATE__COUNT && same && slice_is(a); r++) {
        same = !(a->rates.of[r] < b->rates.of[r]) && !(a->rates.of[r] > b->rates.of[r]);
    }
    return !same;
}

static bool in_force(const struct vq_auth_seat *seat)
{
    return slice_is(&seat->held) || slice_is(&seat->next);
}

static double rate_counts(const struct vq_auth_seat *seat, unsigned r)
{
    return fmax(seat->held.rates.of[r], seat->next.rates.of[r]);
}

static uint32_t calls_count(const struct vq_auth_seat *seat)
{
    uint32_t most = seat->held.concurrency > seat->next.concurrency ? seat->held.concurrency
                                                                    : seat->next.concurrency;
    most = most > seat->left ? most : seat->left;
    return most > seat->in_flight ? most : seat->in_flight;
}

void vq_auth_list(struct vq_auth_pool *p, struct vq_auth_worker *w)
{
    struct vq_auth_seat *seat = &w->seats[p->index];
    if (!seat->listed && (seat->holder || calls_count(seat) != 0)) {
        VQ_ASSERT(p->holders.count < p->holders.cap);
        seat->listed = true;
        p->holders.list[p->holders.count++] = w->slot;
    }
}

static void choose(struct vq_auth_pool *p, struct vq_auth_worker *w, bool holder)
{
    struct vq_auth_seat *seat = &w->seats[p->index];
    if (seat->holder != holder) {
        seat->holder = holder;
        w->holds += holder ? 1 : (uint32_t)-1;
        seat->weight = 1;
        vq_auth_list(p, w);
    }
}

void vq_auth_member(struct vq_authority *a, struct vq_auth_pool *p, struct vq_auth_worker *w,
                    bool member)
{
    struct vq_auth_seat *seat = &w->seats[p->index];
    if (member == (seat->member != VQ_AUTH_NOBODY)) {
        return;
    }
    a->workable -= p->members.count != 0;
    a->able -= w->open != 0;
    if (member) {
        seat->member = p->members.count;
        p->members.list[p->members.count++] = w->slot;
        p->members.hungry += seat->waiting != 0;
        p->members.keen += seat->waiting >= VQ_AUTH_KEEN;
        w->open++;
    } else {
        uint32_t last = p->members.list[--p->members.count];
        p->members.list[seat->member] = last;
        seat_at(a, p, last)->member = seat->member;
        seat->member = VQ_AUTH_NOBODY;
        p->members.hungry -= seat->waiting != 0;
        p->members.keen -= seat->waiting >= VQ_AUTH_KEEN;
        p->word.unit_gone = vq_rates_larger(&p->word.unit_gone, &seat->unit);
        w->open--;
        choose(p, w, false);
    }
    a->workable += p->members.count != 0;
    a->able += w->open != 0;
    vq_auth_touch(a, p, a->now_ns);
}

static void unlist(struct vq_authority *a, struct vq_auth_pool *p, uint32_t at)
{
    seat_at(a, p, p->holders.list[at])->listed = false;
    p->holders.list[at] = p->holders.list[--p->holders.count];
}

void vq_auth_forget(struct vq_authority *a, struct vq_auth_pool *p, struct vq_auth_worker *w)
{
    vq_auth_member(a, p, w, false);
    for (uint32_t i = 0; i < p->holders.count; i++) {
        if (p->holders.list[i] == w->slot) {
            unlist(a, p, i);
            return;
        }
    }
}

/* Calls of a process that has ended, which may still be at the provider. A concurrency that is not
 * named is no exact limit: then the calls in flight of the worker's last report count, not all that
 * it might have had. */
static uint32_t calls_left(const struct vq_auth_pool *p, const struct vq_auth_seat *seat)
{
    if (p->named.limit.concurrency != 0 || p->word.cap != 0) {
        return calls_count(seat);
    }
    return seat->left > seat->in_flight ? seat->left : seat->in_flight;
}

void vq_auth_void(struct vq_authority *a, struct vq_auth_worker *w, bool flights, int64_t now_ns)
{
    for (uint32_t i = 0; w->seats != NULL && i < a->pools_count; i++) {
        struct vq_auth_seat *seat = &w->seats[i];
        if (!seat->known) {
            continue;
        }
        seat->left = flights ? calls_left(&a->pools[i], seat) : 0;
        if (seat->listed) {
            vq_auth_touch(a, &a->pools[i], now_ns);
        }
        a->pools[i].members.in_flight -= seat->in_flight;
        seat->in_flight = 0;
        seat->next = seat->granted = seat->held = (struct vq_limit){0};
        seat->granted_at_n = 0;
        choose(&a->pools[i], w, false);
    }
}

/* ---- the choice of holders ---- */

static bool eligible(const struct vq_authority *a, const struct vq_auth_pool *p, uint32_t slot)
{
    const struct vq_auth_worker *w = a->workers[slot];
    return w->state == VQ_AUTH_HERE && !w->lapsed && w->seats[p->index].member != VQ_AUTH_NOBODY;
}

enum need {
    NEED_ANY,  /* open for the pool */
    NEED_SOME, /* has demand, or would take work */
    NEED_KEEN
};

static bool needs(const struct vq_auth_seat *seat, enum need need)
{
    return need == NEED_ANY || seat->waiting >= (need == NEED_KEEN ? VQ_AUTH_KEEN : 1);
}

/* The member that should get the next slice: the one with the fewest slices of other pools; with
 * by_turns, the one that waits longest. VQ_AUTH_NOBODY: none. */
static uint32_t candidate(const struct vq_authority *a, const struct vq_auth_pool *p,
                          enum need need, bool by_turns)
{
    uint32_t found = VQ_AUTH_NOBODY;
    for (uint32_t i = 0; i < p->members.count; i++) {
        uint32_t slot = p->members.list[(i + p->index) % p->members.count];
        const struct vq_auth_seat *seat = seat_at(a, p, slot);
        if (seat->holder || !eligible(a, p, slot) || !needs(seat, need)) {
            continue;
        }
        if (found == VQ_AUTH_NOBODY) {
            found = slot;
            continue;
        }
        uint32_t holds = a->workers[slot]->holds, least = a->workers[found]->holds;
        bool longer = seat->used_ns < seat_at(a, p, found)->used_ns;
        if (by_turns || holds == least ? longer : holds < least) {
            found = slot;
        }
    }
    return found;
}

static void take_in(struct vq_authority *a, struct vq_auth_pool *p, uint32_t slot, int64_t now_ns)
{
    choose(p, a->workers[slot], true);
    seat_at(a, p, slot)->used_ns = now_ns;
    p->holders.moved_ns = now_ns;
}

/* The worker starts no calls although it may. With a slow rate, long gaps are normal. */
static bool is_stuck(const struct vq_auth_pool *p, const struct vq_auth_seat *seat, int64_t now_ns)
{
    double gap_s = 0;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double rate = seat->next.rates.of[r];
        double unit =
            unit_of(&p->word, (enum vq_rate)r, p->force.limit.rates.of[r] * vq_auth_windows(p));
        gap_s = rate > 0 && isfinite(rate) ? fmax(gap_s, unit / rate * 60) : gap_s;
    }
    int64_t from_ns = seat->used_ns > p->park.pause_ns ? seat->used_ns : p->park.pause_ns;
    int64_t gap_ns = (int64_t)fmin(3 * gap_s * (double)VQ_AUTH_S, 1e16);
    return now_ns - from_ns >= VQ_AUTH_STUCK_NS && now_ns - from_ns >= gap_ns;
}

static bool is_idle(const struct vq_auth_seat *seat, int64_t now_ns)
{
    return seat->waiting < VQ_AUTH_KEEN && now_ns - seat->used_ns >= VQ_AUTH_IDLE_NS;
}

struct crowd { /* of holders */
    uint32_t chosen, hungry, keen;
    uint32_t most; /* the one with slices of the most pools; VQ_AUTH_NOBODY */
};

static struct crowd crowd_of(const struct vq_authority *a, const struct vq_auth_pool *p)
{
    struct crowd crowd = {.most = VQ_AUTH_NOBODY};
    for (uint32_t i = 0; i < p->holders.count; i++) {
        uint32_t slot = p->holders.list[i];
        const struct vq_auth_seat *seat = seat_at(a, p, slot);
        if (!seat->holder) {
            continue;
        }
        crowd.chosen++;
        crowd.hungry += needs(seat, NEED_SOME);
        crowd.keen += needs(seat, NEED_KEEN);
        if (crowd.most == VQ_AUTH_NOBODY ||
            a->workers[slot]->holds > a->workers[crowd.most]->holds) {
            crowd.most = slot;
        }
    }
    return crowd;
}

/* Takes slices from up to `count` holders, idle ones first. */
static void drop_some(struct vq_authority *a, struct vq_auth_pool *p, uint32_t count,
                      int64_t now_ns)
{
    for (int idle = 1; idle >= 0; idle--) {
        for (uint32_t i = p->holders.count; i > 0 && count > 0; i--) {
            struct vq_auth_seat *seat = seat_at(a, p, p->holders.list[i - 1]);
            if (seat->holder && (idle == 0 || is_idle(seat, now_ns))) {
                choose(p, a->workers[p->holders.list[i - 1]], false);
                count--;
            }
        }
    }
}

/* A worker without use for its slice gives it to one that has use for it. A worker that starts no
 * calls gives it to one that may. */
static void give_way(struct vq_authority *a, struct vq_auth_pool *p, uint32_t keen, uint32_t hungry,
                     int64_t now_ns)
{
    uint32_t count = p->holders.count; /* without the new ones */
    for (uint32_t i = 0; i < count && hungry > 0; i++) {
        struct vq_auth_seat *seat = seat_at(a, p, p->holders.list[i]);
        bool idle = keen > 0 && is_idle(seat, now_ns);
        if (!seat->holder || !(idle || is_stuck(p, seat, now_ns))) {
            continue;
        }
        uint32_t next = candidate(a, p, keen > 0 ? NEED_KEEN : NEED_SOME, !idle);
        if (next == VQ_AUTH_NOBODY) {
            return;
        }
        choose(p, a->workers[p->holders.list[i]], false);
        seat->used_ns = now_ns; /* last in turn */
        take_in(a, p, next, now_ns);
        keen -= keen > 0;
        hungry--;
    }
}

/* The number of holders that the pool should have: as few as give each worker and each pool one,
 * and more if these cannot use all of it. */
static uint32_t holders_wanted(const struct vq_authority *a, const struct vq_auth_force *force,
                               const struct crowd *crowd, uint32_t keen, uint32_t most)
{
    bool free_of_rates = !force->single;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        free_of_rates = free_of_rates && !isfinite(force->limit.rates.of[r]);
    }
    uint32_t want = a->workable == 0 ? 1 : (a->able + a->workable - 1) / a->workable;
    if (free_of_rates) {
        want = most; /* another slice costs nothing */
    } else if (crowd->keen == 0 && keen != 0 && crowd->chosen >= want) {
        want = crowd->chosen + 1;
    }
    return want < most ? want : most;
}

/* Chooses the holders: few, and preferably the present ones. Returns their number. */
static uint32_t choose_holders(struct vq_authority *a, struct vq_auth_pool *p, int64_t now_ns)
{
    uint32_t most = slices_max(p);
    for (uint32_t i = p->holders.count; i > 0; i--) {
        if (!eligible(a, p, p->holders.list[i - 1])) {
            choose(p, a->workers[p->holders.list[i - 1]], false);
        }
    }
    struct crowd crowd = crowd_of(a, p);
    if (crowd.chosen > most) {
        drop_some(a, p, crowd.chosen - most, now_ns);
        crowd = crowd_of(a, p);
    }
    uint32_t keen = p->members.keen - crowd.keen,
             hungry = p->members.hungry - crowd.hungry; /* members without a slice */
    uint32_t want = holders_wanted(a, &p->force, &crowd, keen, most);
    for (; crowd.chosen < want; crowd.chosen++) {
        uint32_t next = candidate(a, p, NEED_KEEN, false);
        next = next == VQ_AUTH_NOBODY ? candidate(a, p, NEED_SOME, false) : next;
        next = next == VQ_AUTH_NOBODY ? candidate(a, p, NEED_ANY, false) : next;
        if (next == VQ_AUTH_NOBODY) {
            return crowd.chosen;
        }
        keen -= needs(seat_at(a, p, next), NEED_KEEN);
        hungry -= needs(seat_at(a, p, next), NEED_SOME);
        take_in(a, p, next, now_ns);
    }
    give_way(a, p, keen, hungry, now_ns);
    if (keen != 0 && crowd.most != VQ_AUTH_NOBODY &&
        now_ns - p->holders.moved_ns >= HOLDER_MOVE_NS) {
        /* a worker with many slices gives one to a worker with few */
        uint32_t next = candidate(a, p, NEED_KEEN, false);
        if (next != VQ_AUTH_NOBODY &&
            a->workers[crowd.most]->holds >= a->workers[next]->holds + 2) {
            choose(p, a->workers[crowd.most], false);
            take_in(a, p, next, now_ns);
        }
    }
    return crowd.chosen;
}

/* ---- the size of slices ---- */

struct parts { /* the amounts that the pool deals now */
    uint32_t chosen, slices;
    double weight;
    double sum[VQ_RATE__COUNT];
    uint32_t level;
};

static void weigh(struct vq_authority *a, struct vq_auth_pool *p, bool adapt, struct parts *parts)
{
    parts->weight = 0;
    for (uint32_t i = 0; i < p->holders.count; i++) {
        struct vq_auth_seat *seat = seat_at(a, p, p->holders.list[i]);
        if (!seat->holder) {
            continue;
        }
        if (adapt) {
            double weight = seat->weight * (needs(seat, NEED_KEEN) ? WEIGHT_UP : WEIGHT_DOWN);
            seat->weight = fmin(fmax(weight, WEIGHT_MIN), 1);
        }
        parts->weight += seat->weight;
    }
}

static double counted(const struct vq_authority *a, const struct vq_auth_pool *p, unsigned r)
{
    double sum = 0;
    for (uint32_t i = 0; i < p->holders.count; i++) {
        sum += rate_counts(seat_at(a, p, p->holders.list[i]), r);
    }
    return sum;
}

static uint32_t counted_calls(const struct vq_authority *a, const struct vq_auth_pool *p)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->holders.count; i++) {
        sum += calls_count(seat_at(a, p, p->holders.list[i]));
    }
    return vq_auth_u32(sum);
}

static uint32_t counted_slices(const struct vq_authority *a, const struct vq_auth_pool *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->holders.count; i++) {
        count += in_force(seat_at(a, p, p->holders.list[i]));
    }
    return count;
}

/* Concurrencies in whole numbers: at least one for each holder, the rest by weight; remainders go
 * to the first holders. */
static uint32_t calls_part(const struct parts *parts, const struct vq_auth_seat *seat,
                           double *whole_sum)
{
    double spare = (double)parts->level - (double)parts->chosen;
    double before = floor(*whole_sum + 1e-9);
    *whole_sum += spare * seat->weight / parts->weight;
    return 1 + (uint32_t)fmax(floor(*whole_sum + 1e-9) - before, 0);
}

/* Lowers slices that are above their part at once. */
static void lower_slices(struct vq_authority *a, struct vq_auth_pool *p, const struct parts *parts)
{
    double whole_sum = 0;
    bool over[VQ_RATE__COUNT];
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        over[r] = counted(a, p, r) > parts->sum[r];
    }
    for (uint32_t i = 0; i < p->holders.count; i++) {
        struct vq_auth_seat *seat = seat_at(a, p, p->holders.list[i]);
        if (!seat->holder) {
            seat->next = (struct vq_limit){0};
            continue;
        }
        uint32_t calls = calls_part(parts, seat, &whole_sum);
        if (seat->next.concurrency > calls) {
            seat->next.concurrency = calls;
        }
        for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
            double part = parts->sum[r] * seat->weight / parts->weight;
            if (part <= 0) { /* a rate of 0 means unlimited on the wire: the seat gets no slice */
                seat->next = (struct vq_limit){0};
            }
            if (seat->next.rates.of[r] > part &&
                (over[r] || !(seat->next.rates.of[r] <= part * (1 + SMALL_CHANGE)))) {
                seat->next.rates.of[r] = part;
            }
        }
    }
}

/* Whether a holder can begin: half its part of each rate is free, and the number of slices stays
 * within the plan. */
static bool can_begin(const struct vq_auth_seat *seat, const struct parts *parts,
                      const double *room, int64_t calls_room, uint32_t slices)
{
    bool can = calls_room > 0 && slices < parts->slices;
    for (unsigned r = 0; r < VQ_RATE__COUNT && can; r++) {
        double part = parts->sum[r] * seat->weight / parts->weight;
        can = part > 0 && (isinf(part) ? isinf(room[r]) : room[r] >= part / 2);
    }
    return can;
}

static void raise_rates(struct vq_auth_seat *seat, const struct parts *parts, double *room)
{
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double part = parts->sum[r] * seat->weight / parts->weight;
        double has = rate_counts(seat, r);
        if (isinf(part)) {
            seat->next.rates.of[r] = INFINITY;
            continue;
        }
        double want = fmin(part, isinf(has) ? seat->next.rates.of[r] : has + room[r]);
        if (want > seat->next.rates.of[r] * (1 + SMALL_CHANGE)) {
            room[r] -= fmax(want - has, 0);
            seat->next.rates.of[r] = want;
        }
    }
}

/* Raises slices below their part, within the rest of the limits. Returns true if a worker waits for
 * an amount that others still have. */
static bool raise_slices(struct vq_authority *a, struct vq_auth_pool *p, const struct parts *parts)
{
    double room[VQ_RATE__COUNT];
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        double has = isinf(parts->sum[r]) ? 0 : counted(a, p, r);
        room[r] = fmax(parts->sum[r] - has, 0);
    }
    /* Below 0: calls of a worker that was silent for too long came back with it. No call may start
     * in the place of one of these that ends. */
    int64_t calls_room = (int64_t)parts->level - (int64_t)counted_calls(a, p);
    uint32_t slices = counted_slices(a, p);
    double whole_sum = 0;
    bool starved = false;
    for (uint32_t i = 0; i < p->holders.count; i++) {
        struct vq_auth_seat *seat = seat_at(a, p, p->holders.list[i]);
        if (!seat->holder) {
            continue;
        }
        uint32_t part = calls_part(parts, seat, &whole_sum);
        uint32_t has = calls_count(seat);
        if (!slice_is(&seat->next)) {
            uint32_t slices_but = slices - in_force(seat);
            if (!can_begin(seat, parts, room, has + calls_room, slices_but)) {
                starved = true;
                continue;
            }
            slices = slices_but + 1;
        }
        int64_t free = has + calls_room > 0 ? has + calls_room : 0;
        uint32_t most = free < part ? (uint32_t)free : part;
        if (most > seat->next.concurrency) {
            calls_room -= most > has ? most - has : 0;
            seat->next.concurrency = most;
        }
        raise_rates(seat, parts, room);
        starved = starved || most < part;
    }
    return starved;
}

static void peak_turn(struct vq_auth_pool *p, uint32_t slices, int64_t now_ns)
{
    int64_t span_ns = p->window_ns + p->jitter_ns;
    if (now_ns - p->holders.peak_ns >= span_ns) {
        p->holders.peak_before = p->holders.peak;
        p->holders.peak = slices;
        p->holders.peak_ns = now_ns;
        p->word.unit_gone_before = p->word.unit_gone;
        p->word.unit_gone = (struct vq_rates){0};
        for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
            p->word.unit.of[r] =
                p->word.unit_now.of[r] > 0 ? p->word.unit_now.of[r] : p->word.unit.of[r];
            p->word.unit_now.of[r] = 0;
        }
    }
    p->holders.peak = slices > p->holders.peak ? slices : p->holders.peak;
}

static void tell(struct vq_authority *a, struct vq_auth_pool *p)
{
    for (uint32_t i = p->holders.count; i > 0; i--) {
        struct vq_auth_worker *w = a->workers[p->holders.list[i - 1]];
        struct vq_auth_seat *seat = &w->seats[p->index];
        if (vq_auth_differs(&seat->next, &seat->granted)) {
            w->due = true;
            w->urgent = w->urgent || !slice_is(&seat->next);
        }
        if (!seat->holder && calls_count(seat) == 0) {
            unlist(a, p, i - 1);
        }
    }
}

void vq_auth_deal(struct vq_authority *a, struct vq_auth_pool *p, int64_t now_ns)
{
    vq_auth_limits(p);
    struct parts parts = {.level = p->force.limit.concurrency};
    uint32_t slices = counted_slices(a, p);
    peak_turn(p, slices, now_ns);
    bool startable = vq_auth_startable(a, p, now_ns);
    /* until now another worker may have had as many slices as the pool allows */
    if (p->holders.past_unknown && startable) {
        p->holders.past_unknown = false;
        p->holders.peak = slices_max(p);
    }
    if (p->force.fell) { /* earlier slices were in force under another limit */
        p->holders.peak = p->holders.peak_before = 0;
        p->force.fell = slices > slices_max(p);
    }
    if (startable) {
        parts.chosen = choose_holders(a, p, now_ns);
    } else {
        drop_some(a, p, UINT32_MAX, now_ns);
    }
    parts.slices = parts.chosen > slices ? parts.chosen : slices;
    parts.slices = p->holders.peak > parts.slices ? p->holders.peak : parts.slices;
    parts.slices = p->holders.peak_before > parts.slices ? p->holders.peak_before : parts.slices;
    for (unsigned r = 0; r < VQ_RATE__COUNT; r++) {
        parts.sum[r] = rates_sum(p, (enum vq_rate)r, parts.slices);
    }
    bool adapt = now_ns - p->deal.last_ns >= VQ_AUTH_DEAL_NS / 2;
    weigh(a, p, adapt, &parts);
    lower_slices(a, p, &parts);
    bool starved = raise_slices(a, p, &parts);
    peak_turn(p, counted_slices(a, p), now_ns);
    tell(a, p);
    p->deal.due = starved;
    p->deal.last_ns = now_ns;
    p->deal.at_ns = now_ns + VQ_AUTH_DEAL_NS;
}

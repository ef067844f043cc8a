/* The purse against a model that knows the truth: workers, late and lost messages, crashes,
 * restarts, new days. After every event the workers together cannot spend more than the limit. */

#include "tests/unit/test.h"

#include "common/base/rng.h"
#include "coordinator/pools/purse.h"

#include <stdio.h>
#include <string.h>

/* ---- single cases ---- */

static struct vq_purse *purse_of(uint64_t limit, uint64_t committed)
{
    struct vq_purse *purse = NULL;
    assert_int_equal(vq_purse_create(limit, committed, &purse), VQ_OK);
    return purse;
}

static void join(struct vq_purse *purse, uint32_t holder, uint64_t used, uint64_t open,
                 uint64_t most)
{
    struct vq_amount amount = {.used = used, .open = open, .most = most};
    assert_int_equal(vq_purse_join(purse, holder, &amount), VQ_OK);
}

static void report(struct vq_purse *purse, uint32_t holder, uint64_t used, uint64_t open,
                   uint64_t most, uint64_t granted_n, uint64_t want, uint64_t unit)
{
    struct vq_amount amount = {.used = used, .open = open, .most = most};
    vq_purse_report(purse, holder, &amount, granted_n, want, unit);
}

TEST(each_gets_what_it_wants_while_there_is_enough)
{
    struct vq_purse *purse = purse_of(1000, 100);
    join(purse, 0, 0, 0, 0);
    join(purse, 3, 50, 20, 50);
    assert_false(vq_purse_due(purse, 0));
    assert_false(vq_purse_due(purse, 2)); /* nobody */
    report(purse, 0, 0, 0, 0, 0, 200, 10);
    report(purse, 3, 50, 20, 50, 0, 300, 10);
    assert_true(vq_purse_due(purse, 0));
    assert_int_equal(vq_purse_grant(purse, 0, 1), 200);
    assert_int_equal(vq_purse_grant(purse, 3, 1), 350);
    assert_false(vq_purse_due(purse, 0));
    assert_int_equal(vq_purse_out(purse), 200 + 300 + 20);
    assert_int_equal(vq_purse_spent(purse), 100);
    report(purse, 0, 90, 90, 200, 1, 200, 10); /* more than half is left: nothing to say */
    assert_false(vq_purse_due(purse, 0));
    report(purse, 0, 110, 110, 200, 1, 200, 10);
    assert_true(vq_purse_due(purse, 0));
    assert_int_equal(vq_purse_grant(purse, 0, 2), 310);
    assert_false(vq_purse_empty(purse));
    vq_purse_destroy(&purse);
    assert_null(purse);
}

TEST(too_much_is_cut_evenly)
{
    struct vq_purse *purse = purse_of(100, 0);
    for (uint32_t h = 0; h < 4; h++) {
        join(purse, h, 0, 0, 0);
        report(purse, h, 0, 0, 0, 0, h == 0 ? 7 : 500, 5);
    }
    assert_int_equal(vq_purse_grant(purse, 0, 1), 7);
    uint64_t sum = 7;
    for (uint32_t h = 1; h < 4; h++) {
        uint64_t most = vq_purse_grant(purse, h, 1);
        assert_in_range(most, 30, 31);
        sum += most;
    }
    assert_in_range(sum, 98, 100);
    vq_purse_destroy(&purse);
}

TEST(a_lowered_most_comes_back_when_it_is_confirmed)
{
    struct vq_purse *purse = purse_of(100, 0);
    join(purse, 0, 0, 0, 0);
    report(purse, 0, 0, 0, 0, 0, 1000, 10);
    assert_int_equal(vq_purse_grant(purse, 0, 1), 100);
    report(purse, 0, 0, 0, 100, 1, 1000, 10);
    join(purse, 1, 0, 0, 0);
    report(purse, 1, 0, 0, 0, 0, 1000, 10);
    assert_false(vq_purse_due(purse, 1)); /* all of it is out */
    assert_true(vq_purse_due(purse, 0));
    assert_int_equal(vq_purse_grant(purse, 0, 2), 50);
    assert_false(vq_purse_due(purse, 1));
    report(purse, 0, 0, 0, 100, 1, 1000, 10); /* still goes by the first */
    assert_false(vq_purse_due(purse, 1));
    report(purse, 0, 0, 0, 50, 2, 1000, 10);
    assert_true(vq_purse_due(purse, 1));
    assert_int_equal(vq_purse_grant(purse, 1, 1), 50);
    assert_int_equal(vq_purse_out(purse), 100);
    vq_purse_destroy(&purse);
}

TEST(many_unconfirmed_grants_never_count_too_little)
{
    struct vq_purse *purse = purse_of(1000, 0);
    join(purse, 0, 0, 0, 0);
    report(purse, 0, 0, 0, 0, 0, 1000, 1);
    assert_int_equal(vq_purse_grant(purse, 0, 1), 1000);
    uint64_t most[40] = {0, 1000};
    for (uint64_t n = 2; n < 40; n++) {
        vq_purse_set_limit(purse, 1000 - n * 10);
        most[n] = vq_purse_grant(purse, 0, n);
        assert_int_equal(most[n], 1000 - n * 10);
        assert_int_equal(vq_purse_out(purse), 1000);
    }
    for (uint64_t n = 1; n < 40; n++) {
        report(purse, 0, 0, 0, most[n], n, 1000, 1);
        assert_true(vq_purse_out(purse) >= most[n]);
    }
    assert_int_equal(vq_purse_out(purse), most[39]);
    vq_purse_destroy(&purse);
}

TEST(a_grant_between_keeps_what_comes_later)
{
    struct vq_purse *purse = purse_of(100, 0);
    join(purse, 0, 0, 0, 0);
    report(purse, 0, 0, 0, 0, 0, 100, 1);
    assert_int_equal(vq_purse_grant(purse, 0, 1), 100);
    vq_purse_set_limit(purse, 50);
    assert_int_equal(vq_purse_grant(purse, 0, 2), 50);
    vq_purse_set_limit(purse, 300);
    report(purse, 0, 0, 0, 100, 1, 220, 200);
    assert_int_equal(vq_purse_grant(purse, 0, 3), 220);
    report(purse, 0, 0, 0, 50, 2, 220, 200); /* the third is on its way */
    assert_int_equal(vq_purse_out(purse), 220);
    report(purse, 0, 0, 0, 50, 9, 220, 200); /* one that came from elsewhere */
    assert_int_equal(vq_purse_out(purse), 220);
    report(purse, 0, 0, 0, 400, 9, 220, 200);
    assert_int_equal(vq_purse_out(purse), 400); /* what it goes by counts */
    vq_purse_destroy(&purse);
}

TEST(the_last_piece_goes_whole_to_one_after_idle_remains_came_back)
{
    struct vq_purse *purse = purse_of(24, 0);
    for (uint32_t h = 0; h < 3; h++) {
        join(purse, h, 0, 0, 0);
        report(purse, h, 0, 0, 0, 0, 8, 8);
        assert_int_equal(vq_purse_grant(purse, h, 1), 8);
    }
    for (uint32_t h = 0; h < 3; h++) { /* each call cost 4 in the end: 4 each are idle, 12 in all */
        vq_purse_committed(purse, 4);
        report(purse, h, 4, 0, 8, 1, 8, 8);
    }
    uint32_t lucky = 3;
    for (uint32_t h = 0; h < 3; h++) { /* nobody can be raised before others gave back */
        assert_true(!vq_purse_due(purse, h) || vq_purse_grant(purse, h, 2) == 4);
    }
    for (uint32_t h = 0; h < 3; h++) {
        report(purse, h, 4, 0, 4, 2, 8, 8);
    }
    for (uint32_t h = 0; h < 3; h++) {
        if (vq_purse_due(purse, h)) {
            assert_int_equal(lucky, 3);
            lucky = h;
            assert_int_equal(vq_purse_grant(purse, h, 3), 12);
        }
    }
    assert_true(lucky < 3);
    assert_false(vq_purse_empty(purse));
    report(purse, lucky, 12, 8, 12, 3, 8, 8);
    assert_false(vq_purse_empty(purse)); /* what it reserved may come back */
    vq_purse_committed(purse, 5);
    report(purse, lucky, 9, 0, 12, 3, 8, 8);
    assert_true(vq_purse_empty(purse)); /* 7 are left, the least that is wanted is 8 */
    vq_purse_set_limit(purse, 25);
    assert_false(vq_purse_empty(purse));
    vq_purse_destroy(&purse);
}

TEST(the_last_pieces_go_round)
{
    struct vq_purse *purse = purse_of(60, 0);
    uint64_t used[3] = {0}, most[3] = {0}, n[3] = {0}, calls[3] = {0};
    for (uint32_t h = 0; h < 3; h++) {
        join(purse, h, 0, 0, 0);
    }
    for (int round = 0; round < 200 && !vq_purse_empty(purse); round++) {
        for (uint32_t h = 0; h < 3; h++) {
            report(purse, h, used[h], 0, most[h], n[h], 10, 10);
            if (vq_purse_due(purse, h)) {
                most[h] = vq_purse_grant(purse, h, ++n[h]);
            }
            if (used[h] + 10 <= most[h]) {
                calls[h]++;
                used[h] += 7; /* reserved 10 */
                vq_purse_committed(purse, 7);
            }
        }
    }
    assert_true(vq_purse_empty(purse));
    assert_int_equal(vq_purse_spent(purse), 56); /* 60 - 56 < 10 */
    for (uint32_t h = 0; h < 3; h++) {
        assert_in_range(calls[h], 1, 4);
    }
    vq_purse_destroy(&purse);
}

TEST(the_limit_is_lowered_below_what_is_out)
{
    struct vq_purse *purse = purse_of(VQ_AMOUNT_ANY, 0);
    join(purse, 0, 0, 0, 0);
    assert_true(vq_purse_due(purse, 0)); /* no limit: all may have all */
    assert_true(vq_purse_grant(purse, 0, 1) == VQ_AMOUNT_ANY);
    report(purse, 0, 30, 30, VQ_AMOUNT_ANY, 1, 50, 5);
    assert_int_equal(vq_purse_out(purse), 30);
    assert_false(vq_purse_empty(purse));
    vq_purse_set_limit(purse, 20);
    assert_true(vq_purse_limit(purse) == 20 && vq_purse_out(purse) == VQ_AMOUNT_ANY);
    assert_false(vq_purse_empty(purse)); /* it may still start some */
    assert_int_equal(vq_purse_grant(purse, 0, 2), 30);
    report(purse, 0, 30, 30, 30, 2, 50, 5);
    assert_false(vq_purse_empty(purse)); /* what is open may have cost less */
    vq_purse_committed(purse, 18);
    report(purse, 0, 18, 0, 30, 2, 50, 5);
    assert_int_equal(vq_purse_grant(purse, 0, 3), 18);
    assert_false(vq_purse_empty(purse)); /* before it confirmed, it may use the 12 */
    report(purse, 0, 18, 0, 18, 3, 50, 5);
    assert_true(vq_purse_empty(purse));
    vq_purse_set_limit(purse, VQ_AMOUNT_ANY);
    assert_true(vq_purse_grant(purse, 0, 4) == VQ_AMOUNT_ANY);
    vq_purse_destroy(&purse);
}

TEST(who_leaves_counts_until_it_is_settled)
{
    struct vq_purse *purse = purse_of(100, 0);
    join(purse, 0, 0, 0, 0);
    report(purse, 0, 0, 0, 0, 0, 80, 10);
    assert_int_equal(vq_purse_grant(purse, 0, 1), 80);
    report(purse, 0, 30, 30, 80, 1, 80, 10);
    vq_purse_leave(purse, 0, VQ_PURSE_LEFT);
    assert_int_equal(vq_purse_out(purse), 80);
    join(purse, 0, 0, 0, 0); /* another, at the same place */
    report(purse, 0, 0, 0, 0, 0, 100, 10);
    assert_int_equal(vq_purse_grant(purse, 0, 1), 20);
    vq_purse_committed(purse, 25);
    vq_purse_committed(purse, 10);
    vq_purse_settle_left(purse);
    assert_int_equal(vq_purse_spent(purse), 35);
    report(purse, 0, 0, 0, 20, 1, 100, 10);
    assert_int_equal(vq_purse_grant(purse, 0, 2), 65);
    vq_purse_leave(purse, 0, VQ_PURSE_SETTLED);
    vq_purse_leave(purse, 0, VQ_PURSE_LEFT); /* nobody */
    report(purse, 0, 99, 99, 99, 9, 9, 9);
    assert_int_equal(vq_purse_out(purse), 0);
    vq_purse_destroy(&purse);
}

TEST(who_kept_no_spool_counts_for_good)
{
    struct vq_purse *purse = purse_of(100, 0);
    join(purse, 0, 0, 0, 0);
    report(purse, 0, 0, 0, 0, 0, 60, 10);
    assert_int_equal(vq_purse_grant(purse, 0, 1), 60);
    report(purse, 0, 30, 20, 60, 1, 60, 10);
    vq_purse_committed(purse, 10);
    vq_purse_leave(purse, 0, VQ_PURSE_LOST);
    assert_int_equal(vq_purse_out(purse),
                     50);          /* what it knew to be committed is not counted twice */
    vq_purse_committed(purse, 20); /* what it had listed, as unknown */
    vq_purse_settle_left(purse);
    assert_int_equal(vq_purse_out(purse), 50);
    join(purse, 0, 0, 0, 0);
    report(purse, 0, 0, 0, 0, 0, 100, 10);
    assert_int_equal(vq_purse_grant(purse, 0, 1), 20);
    report(purse, 0, 20, 0, 20, 1, 100, 10);
    vq_purse_committed(purse, 20);
    assert_true(vq_purse_empty(purse)); /* the rest may be spent already: it is not handed out */
    vq_purse_destroy(&purse);
}

/* The last piece is not kept for who cannot be told of it. */
TEST(who_is_silent_wants_nothing)
{
    struct vq_purse *purse = purse_of(100, 50);
    join(purse, 0, 0, 0, 0);
    join(purse, 1, 0, 0, 0);
    report(purse, 0, 0, 0, 0, 0, 40, 40);
    report(purse, 1, 0, 0, 0, 0, 40, 40); /* 50 are left: one whole piece */
    assert_true(vq_purse_due(purse, 0));
    assert_false(vq_purse_due(purse, 1));
    vq_purse_silent(purse, 0);
    assert_false(vq_purse_due(purse, 0));
    assert_true(vq_purse_due(purse, 1));
    assert_int_equal(vq_purse_grant(purse, 1, 1), 40);
    report(purse, 0, 0, 0, 0, 0, 40, 40); /* it is back */
    assert_false(vq_purse_due(purse, 0));
    vq_purse_destroy(&purse);
}

TEST(a_new_day_keeps_what_is_open)
{
    struct vq_purse *purse = purse_of(100, 60);
    join(purse, 0, 0, 0, 0);
    report(purse, 0, 0, 0, 0, 0, 40, 10);
    assert_int_equal(vq_purse_grant(purse, 0, 1), 40);
    report(purse, 0, 40, 40, 40, 1, 200, 10);
    assert_false(vq_purse_due(purse, 0));
    vq_purse_restart(purse);
    assert_int_equal(vq_purse_spent(purse), 0);
    assert_int_equal(vq_purse_grant(purse, 0, 2), 100); /* 40 are open, 60 are new */
    vq_purse_destroy(&purse);
}

/* ---- the model ---- */

#define WORKERS  6u
#define CALLS    24u
#define LETTERS  64u
#define EVENTS   1200u
#define WORLDS   2000u
#define UNIT_MAX 40u

struct letter { /* to a worker: a grant or an ACK; to the coordinator: a report */
    uint64_t n, most;
    uint64_t ack_cost;
    struct vq_amount amount;
    uint64_t want, unit;
    bool hello; /* the first of a session */
};

struct post {
    struct letter letters[LETTERS];
    uint32_t count;
};

struct call {
    bool going, ended, committed;
    uint64_t reserved, cost;
};

struct worker {
    bool alive;
    bool no_spool;
    bool known;             /* the coordinator counts it */
    uint64_t used, most, n; /* n: in this session */
    uint64_t unit, want;
    struct call calls[CALLS];
    struct post down, up;
};

struct world {
    struct vq_rng rng;
    struct vq_purse *purse;
    struct worker workers[WORKERS];
    struct call left[512]; /* of the dead, not committed */
    uint32_t left_count;
    bool forgets;  /* some workers keep no spool */
    uint64_t lost; /* spent by the dead that kept no spool, never committed */
    uint64_t n[WORKERS];
    uint64_t limit, committed;
    uint64_t bound; /* the limit, or what was in force when it was lowered and is not back yet */
    uint64_t seed;
};

static uint64_t below(struct world *w, uint64_t bound)
{
    return vq_rng_below(&w->rng, bound);
}

static void take(struct post *post, struct letter *ret_letter)
{
    *ret_letter = post->letters[0];
    post->count--;
    memmove(post->letters, post->letters + 1, post->count * sizeof(post->letters[0]));
}

static uint64_t open_of(const struct worker *x, bool truly)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < CALLS; i++) {
        const struct call *c = &x->calls[i];
        bool counts = c->going && !(truly && c->committed);
        sum += counts ? (c->ended ? c->cost : c->reserved) : 0;
    }
    return sum;
}

/* The most that can be spent from here on without another word from the purse. */
static uint64_t truth(const struct world *w)
{
    uint64_t sum = w->committed;
    for (uint32_t i = 0; i < w->left_count; i++) {
        sum += w->left[i].reserved;
    }
    sum += w->lost;
    for (uint32_t k = 0; k < WORKERS; k++) {
        const struct worker *x = &w->workers[k];
        uint64_t most = x->most > x->used ? x->most : x->used;
        for (uint32_t i = 0; i < x->down.count; i++) {
            const struct letter *l = &x->down.letters[i];
            most = l->n > 0 && l->most > most ? l->most : most;
        }
        sum += x->alive ? most - (x->used - open_of(x, true)) : 0;
    }
    return sum;
}

static void check(struct world *w)
{
    uint64_t sum = truth(w);
    uint64_t known = w->committed + vq_purse_out(w->purse);
    if (w->bound > w->limit) { /* lowered: what is in force only falls */
        w->bound = known < w->bound ? known : w->bound;
        w->bound = w->limit < w->bound ? w->bound : w->limit;
    }
    if (sum > w->bound) {
        print_error("seed %llu: %llu can be spent, the limit is %llu\n",
                    (unsigned long long)w->seed, (unsigned long long)sum,
                    (unsigned long long)w->limit);
        fail();
    }
    assert_int_equal(vq_purse_spent(w->purse), w->committed);
    assert_true(vq_purse_out(w->purse) >= sum - w->committed);
    if (vq_purse_empty(w->purse)) {
        for (uint32_t k = 0; k < WORKERS; k++) { /* what wants as it last said can start nothing */
            const struct worker *x = &w->workers[k];
            bool says = !w->forgets && x->alive && x->known && x->up.count == 0;
            uint64_t need = x->want < x->unit ? x->want : x->unit;
            assert_true(!says || need == 0 || w->committed + need > w->limit);
        }
    }
}

static void post_report(struct worker *x, bool hello)
{
    if (x->up.count < LETTERS) {
        x->up.letters[x->up.count++] =
            (struct letter){.n = x->n,
                            .amount = {.used = x->used, .open = open_of(x, false), .most = x->most},
                            .want = x->want,
                            .unit = x->unit,
                            .hello = hello};
    }
}

static void start_call(struct world *w, struct worker *x)
{
    for (uint32_t i = 0; i < CALLS && x->alive; i++) {
        struct call *c = &x->calls[i];
        uint64_t reserved = x->unit > 0 ? 1 + below(w, x->unit) : 0;
        if (!c->going && reserved > 0 && x->used + reserved <= x->most) {
            *c = (struct call){.going = true, .reserved = reserved};
            x->used += reserved;
            return;
        }
    }
}

static void end_call(struct world *w, struct worker *x)
{
    struct call *c = &x->calls[below(w, CALLS)];
    if (x->alive && c->going && !c->ended) {
        c->ended = true;
        c->cost = below(w, 4) == 0 ? c->reserved : below(w, c->reserved + 1);
        x->used -= c->reserved - c->cost;
    }
}

static void commit(struct world *w, uint64_t cost)
{
    w->committed += cost;
    vq_purse_committed(w->purse, cost);
}

static void commit_call(struct world *w, struct worker *x)
{
    struct call *c = &x->calls[below(w, CALLS)];
    if (x->alive && c->ended && !c->committed && x->down.count < LETTERS) {
        c->committed = true;
        commit(w, c->cost);
        x->down.letters[x->down.count++] =
            (struct letter){.ack_cost = (uint64_t)(c - x->calls) + 1};
    }
}

static void deliver_down(struct worker *x)
{
    if (x->down.count == 0) {
        return;
    }
    struct letter letter;
    take(&x->down, &letter);
    if (letter.ack_cost > 0) {
        struct call *c = &x->calls[letter.ack_cost - 1];
        *c = (struct call){0}; /* ACKed: open no more, used stays */
    } else {
        x->n = letter.n;
        x->most = letter.most;
        post_report(x, false);
    }
}

static void deliver_up(struct world *w, uint32_t k)
{
    struct worker *x = &w->workers[k];
    if (x->up.count == 0) {
        return;
    }
    struct letter letter;
    take(&x->up, &letter);
    if (letter.hello) {
        assert_int_equal(vq_purse_join(w->purse, k, &letter.amount), VQ_OK);
        x->known = true;
    }
    vq_purse_report(w->purse, k, &letter.amount, letter.n, letter.want, letter.unit);
}

static void grant(struct world *w, uint32_t k, bool needless)
{
    struct worker *x = &w->workers[k];
    if (x->known && (needless || vq_purse_due(w->purse, k)) && x->down.count < LETTERS) {
        uint64_t most = vq_purse_grant(w->purse, k, ++w->n[k]);
        x->down.letters[x->down.count++] = (struct letter){.n = w->n[k], .most = most};
        assert_false(vq_purse_due(w->purse, k));
    }
}

static void lose_letters(struct worker *x) /* the session breaks: what is under way is lost */
{
    for (uint32_t i = 0; i < x->down.count; i++) { /* it sends again; is ACKed again */
        if (x->down.letters[i].ack_cost > 0) {
            x->calls[x->down.letters[i].ack_cost - 1] = (struct call){0};
        }
    }
    x->down.count = 0;
    x->up.count = 0;
    x->n = 0;
    post_report(x, true);
}

static void kill_worker(struct world *w, uint32_t k)
{
    struct worker *x = &w->workers[k];
    for (uint32_t i = 0; i < CALLS && x->alive; i++) {
        struct call *c = &x->calls[i];
        if (c->going && !c->committed && x->no_spool && x->known) {
            w->lost += c->ended ? c->cost : c->reserved;
        } else if (c->going && !c->committed && w->left_count < VQ_COUNT(w->left)) {
            c->cost = c->ended ? c->cost : c->reserved;
            c->reserved = c->cost; /* a call that never came back counts what was reserved */
            w->left[w->left_count++] = *c;
        }
    }
    if (x->known) {
        vq_purse_leave(w->purse, k, x->no_spool ? VQ_PURSE_LOST : VQ_PURSE_LEFT);
    }
    *x = (struct worker){0};
}

static void leave(struct world *w, uint32_t k)
{
    struct worker *x = &w->workers[k];
    if (x->alive && x->known && open_of(x, false) == 0) {
        vq_purse_leave(w->purse, k, VQ_PURSE_SETTLED);
        *x = (struct worker){0};
    }
}

static void settle(struct world *w)
{
    if (w->left_count > 0) {
        struct call *c = &w->left[--w->left_count];
        commit(w, c->cost);
    } else {
        vq_purse_settle_left(w->purse);
    }
}

static void new_worker(struct world *w, uint32_t k)
{
    if (!w->workers[k].alive) {
        w->workers[k] = (struct worker){.alive = true,
                                        .no_spool = w->forgets && below(w, 2) == 0,
                                        .unit = 1 + below(w, UNIT_MAX),
                                        .want = below(w, 4 * UNIT_MAX)};
        w->n[k] = 0;
        post_report(&w->workers[k], true);
    }
}

static void restart(struct world *w) /* the coordinator dies; its ledger and the workers live */
{
    while (w->left_count > 0) { /* spools of the dead are read first */
        w->committed += w->left[--w->left_count].cost;
    }
    vq_purse_destroy(&w->purse);
    w->purse = purse_of(w->limit, w->committed);
    w->lost = 0; /* no ledger knows of it */
    for (uint32_t k = 0; k < WORKERS; k++) {
        struct worker *x = &w->workers[k];
        w->n[k] = 0;
        x->known = false;
        if (x->alive) { /* rule 4: nobody gets anything before all that may live were heard */
            lose_letters(x);
            deliver_up(w, k);
        }
    }
}

static void set_limit(struct world *w, uint64_t limit)
{
    uint64_t sum = w->committed + vq_purse_out(w->purse);
    w->limit = limit;
    w->bound = sum > limit ? sum : limit;
    vq_purse_set_limit(w->purse, limit);
}

static void step(struct world *w)
{
    uint32_t k = (uint32_t)below(w, WORKERS);
    struct worker *x = &w->workers[k];
    uint64_t what = below(w, 1000);
    if (what < 200) {
        start_call(w, x);
    } else if (what < 420) {
        end_call(w, x);
    } else if (what < 560) {
        commit_call(w, x);
    } else if (what < 700) {
        deliver_down(x);
    } else if (what < 800) {
        deliver_up(w, k);
    } else if (what < 890) {
        grant(w, k, what == 800);
    } else if (what < 950) {
        if (x->alive) {
            x->want = below(w, 3) == 0 ? 0 : below(w, 8 * UNIT_MAX);
            post_report(x, false);
        }
    } else if (what < 960) {
        if (x->alive) {
            lose_letters(x);
        }
    } else if (what < 966) {
        kill_worker(w, k);
    } else if (what < 970) {
        leave(w, k);
    } else if (what < 985) {
        new_worker(w, k);
    } else if (what < 993) {
        settle(w);
    } else if (what < 995) {
        restart(w);
    } else if (what < 996) {
        set_limit(w, w->committed + below(w, 2000));
    } else if (what < 997) {
        set_limit(w, below(w, 4000));
    } else if (what < 998) {
        w->committed = 0;
        w->lost = 0;
        vq_purse_restart(w->purse);
    }
}

/* Nothing is lost any more, all want a lot: the rest is spent down to less than one unit, and then,
 * not before, it is empty. */
static void run_dry(struct world *w)
{
    new_worker(w, 0);
    while (w->left_count > 0) {
        settle(w);
    }
    settle(w);
    uint64_t unit = UINT64_MAX;
    for (uint32_t k = 0; k < WORKERS; k++) {
        struct worker *x = &w->workers[k];
        x->want = 10 * UNIT_MAX;
        unit = x->alive && x->unit < unit ? x->unit : unit;
        for (int told = 0; told < 2 && x->alive; told++) {
            while (x->up.count > 0) {
                deliver_up(w, k);
            }
            post_report(x, false);
        }
    }
    for (uint32_t round = 0; round < 20000 && !vq_purse_empty(w->purse); round++) {
        uint32_t k = (uint32_t)below(w, WORKERS);
        struct worker *x = &w->workers[k];
        for (int i = 0; i < 8; i++) {
            if (x->alive && x->used + x->unit <= x->most) {
                start_call(w, x);
            }
            end_call(w, x);
            commit_call(w, x);
        }
        if (x->alive) {
            post_report(x, false);
        }
        while (x->down.count > 0) {
            deliver_down(x);
        }
        while (x->up.count > 0) {
            deliver_up(w, k);
        }
        grant(w, k, false);
        check(w);
    }
    if (!vq_purse_empty(w->purse) || (!w->forgets && w->committed + unit <= w->limit)) {
        print_error("seed %llu: not run dry: %llu of %llu, unit %llu\n",
                    (unsigned long long)w->seed, (unsigned long long)w->committed,
                    (unsigned long long)w->limit, (unsigned long long)unit);
        fail();
    }
}

TEST(nobody_ever_spends_above_the_limit)
{
    static struct world w;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        memset(&w, 0, sizeof(w));
        w.seed = seed;
        vq_rng_seed(&w.rng, seed);
        w.forgets = seed % 4 == 0;
        w.limit = 200 + below(&w, 4000);
        w.bound = w.limit;
        w.committed = below(&w, 100);
        w.purse = purse_of(w.limit, w.committed);
        for (uint32_t k = 0; k < WORKERS; k++) {
            new_worker(&w, k);
        }
        for (uint32_t event = 0; event < EVENTS; event++) {
            step(&w);
            check(&w);
        }
        run_dry(&w);
        vq_purse_destroy(&w.purse);
    }
}

/* Half the price of a run: all calls start while there is money, none above it. */
TEST(half_the_price_stops_within_one_reservation)
{
    static struct world w;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        memset(&w, 0, sizeof(w));
        w.seed = seed;
        vq_rng_seed(&w.rng, seed);
        w.limit = 500 + below(&w, 5000);
        w.bound = w.limit;
        w.purse = purse_of(w.limit, 0);
        uint64_t unit = 1 + below(&w, UNIT_MAX);
        for (uint32_t k = 0; k < WORKERS; k++) {
            new_worker(&w, k);
            w.workers[k].unit = unit;
        }
        run_dry(&w);
        assert_in_range(w.committed, w.limit - unit + 1, w.limit);
        vq_purse_destroy(&w.purse);
    }
}

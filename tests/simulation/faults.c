/* What goes wrong: kills of workers and of the coordinator (also between two actions), of Redis;
 * links that break, directions that are blocked, stopped processes, refused keys, graceful stops,
 * answers that another run bought. Then everything heals. */
#include "tests/simulation/sim.h"

/* A worker that lives; false when there is none. */
bool sim_pick(struct sim *s, uint32_t *ret_worker)
{
    uint32_t alive[SIM_WORKERS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->workers_count; i++) {
        if (s->workers[i].work != NULL) {
            alive[count++] = i;
        }
    }
    if (count == 0) {
        return false;
    }
    *ret_worker = alive[vq_rng_below(&s->rng, count)];
    return true;
}

int64_t sim_some_time(struct sim *s)
{
    return sim_between(s, s->term_ns / 20, sim_chance(s, 0.4) ? 3 * s->term_ns : s->term_ns / 2);
}

void sim_cut(struct sim *s, uint32_t worker)
{
    struct sim_worker *w = &s->workers[worker];
    if (!w->up) {
        return;
    }
    s->report->breaks++;
    sim_say(s, "the link of worker %u breaks", worker);
    sim_disconnect(s, worker);
    sim_connect(s, worker, s->now_ns + sim_some_time(s) / 4, !sim_chance(s, s->knobs.same_peer));
}

void sim_block(struct sim *s, uint32_t worker)
{
    struct sim_worker *w = &s->workers[worker];
    if (s->healed || !w->up) {
        return;
    }
    int64_t until_ns = s->now_ns + sim_some_time(s);
    int which = (int)sim_between(s, 0, 2); /* one direction, or both */
    s->report->partitions++;
    sim_say(s, "the link of worker %u is blocked (%d) for %.2f s", worker, which,
            (double)(until_ns - s->now_ns) / 1e9);
    for (int d = 0; d < 2; d++) {
        if (which == 2 || which == d) {
            w->blocked_until_ns[d] = until_ns;
        }
    }
    sim_trouble_blocked(s, worker, until_ns);
}

static void worker_fault(struct sim *s, uint32_t worker)
{
    const struct sim_knobs *k = &s->knobs;
    struct sim_worker *w = &s->workers[worker];
    if (sim_chance(s, k->kill) && sim_may_spawn(s)) {
        if (sim_chance(s, 0.3)) {
            w->spool_lost = w->local < 0;
        }
        if (sim_chance(s, 0.5)) {
            w->die_in = sim_between(s, 0, 6);
        } else {
            sim_worker_kill(s, worker);
        }
        return;
    }
    if (sim_chance(s, k->cut)) {
        sim_cut(s, worker);
    }
    if (sim_chance(s, k->block)) {
        sim_block(s, worker);
    }
    if (sim_chance(s, k->pause)) {
        w->paused_until_ns = s->now_ns + sim_some_time(s);
        s->report->pauses++;
        sim_say(s, "worker %u is stopped for %.2f s", worker,
                (double)(w->paused_until_ns - s->now_ns) / 1e9);
    }
    if (sim_chance(s, k->revoke)) {
        bool all = sim_chance(s, 0.5);
        for (uint32_t p = 0; p < s->pools_count; p++) {
            w->revoked_ns[p] = all || sim_chance(s, 0.5) ? s->now_ns : w->revoked_ns[p];
        }
        sim_say(s, "%s keys of worker %u are refused from now on", all ? "the" : "some", worker);
    }
}

static void coord_fault(struct sim *s)
{
    const struct sim_knobs *k = &s->knobs;
    if (sim_chance(s, k->kill_coord)) {
        if (sim_chance(s, 0.5)) {
            s->coord.die_in = sim_between(s, 0, 6);
        } else {
            sim_coord_kill(s);
        }
        return;
    }
    if (sim_chance(s, k->drain)) {
        sim_coord_drain(s);
        return;
    }
    if (sim_chance(s, k->pause_coord)) {
        int64_t until_ns = s->now_ns + sim_some_time(s);
        sim_say(s, "coordinator is stopped for %.2f s", (double)(until_ns - s->now_ns) / 1e9);
        sim_coord_pause(s, until_ns);
    }
}

void sim_coord_hold(struct sim *s, bool held)
{
    struct sim_coord *co = &s->coord;
    if (co->core == NULL || co->held == held) {
        return;
    }
    sim_say(s, "the run is %s by hand", held ? "paused" : "let go on");
    co->held = held;
    co->held_since_ns = s->now_ns;
    enum vq_status status = vq_coord_hold(co->core, held, s->now_ns);
    if (status == VQ_OK && co->holds) {
        vq_authority_hold(co->authority, true, s->now_ns);
    }
    sim_coord_told(s, status, "hold");
}

static void by_hand(struct sim *s)
{
    if (s->coord.paused_until_ns > s->now_ns) {
        return;
    }
    if (s->knobs.hold > 0 && vq_rng_unit(&s->hands) < s->knobs.hold) {
        sim_coord_hold(s, !s->coord.held);
    }
    if (s->knobs.requeue > 0 && vq_rng_unit(&s->hands) < s->knobs.requeue) {
        sim_coord_requeue(s);
    }
    sim_bulk_steer(s, false);
    sim_bulk_cancel(s);
}

void sim_fault(struct sim *s)
{
    if (s->healed || s->coord.finished) {
        return;
    }
    by_hand(s);
    uint32_t worker;
    if (sim_chance(s, 0.7) && sim_pick(s, &worker)) {
        worker_fault(s, worker);
    } else if (s->coord.core != NULL && s->coord.paused_until_ns <= s->now_ns) {
        coord_fault(s);
    }
    if (sim_chance(s, s->knobs.kill_redis) && !s->coord.redis_away && !s->coord.finished) {
        sim_redis_kill(s);
    }
    if (sim_chance(s, s->knobs.foreign)) {
        sim_foreign_answer(s);
    }
    sim_trouble(s);
    sim_push(s, s->now_ns + sim_spread(s, s->knobs.fault_every_ns), EV_FAULT, 0, 0, 0);
}

void sim_boundary(struct sim *s)
{
    const struct sim_knobs *k = &s->knobs;
    if (s->healed) {
        return;
    }
    if (sim_chance(s, k->kill_coord / 3)) {
        s->coord.die_in = sim_between(s, 0, 12);
    }
    for (uint32_t i = 0; i < s->workers_count; i++) {
        struct sim_worker *w = &s->workers[i];
        if (w->work == NULL) {
            continue;
        }
        if (sim_chance(s, k->kill / 6) && sim_may_spawn(s)) {
            w->die_in = sim_between(s, 0, 8);
        } else if (sim_chance(s, k->cut / 6)) {
            sim_cut(s, i);
        } else if (sim_chance(s, k->block / 4)) {
            sim_block(s, i);
        } else if (sim_chance(s, k->pause / 6)) {
            w->paused_until_ns = s->now_ns + sim_some_time(s);
        }
    }
}

/* From now on nothing goes wrong; workers with refused keys are replaced. */
void sim_heal(struct sim *s)
{
    s->healed = true;
    sim_say(s, "healed");
    s->knobs.duplicate = 0;
    sim_trouble_heal(s);
    for (uint32_t i = 0; i < s->workers_count; i++) {
        struct sim_worker *w = &s->workers[i];
        w->die_in = -1;
        w->blocked_until_ns[0] = w->blocked_until_ns[1] = 0;
    }
    s->coord.die_in = -1;
    if (s->workers_count < SIM_WORKERS_MAX) {
        sim_push(s, s->now_ns, EV_SPAWN, UINT32_MAX, 0, 0);
    }
}

/* Counts of tasks and calls, the rates of the last minute, and the status for people. Counts change
 * only with commits and look-ups; nothing here decides anything. */
#include "common/base/clock.h"
#include "common/base/sum.h"
#include "coordinator/queue/internal.h"

#define RATE_CELLS (VQ_COORD_RATE_SECONDS + 1)

/* The cell of this second; the cells of seconds without events are emptied. */
static size_t rate_cell(struct vq_coord *c)
{
    struct vq_coord_rate *rate = &c->tasks.rate;
    int64_t second = c->now_ns / VQ_NS_PER_S;
    int64_t steps = second - rate->second;
    for (int64_t i = 1; i <= steps && i <= (int64_t)RATE_CELLS; i++) {
        size_t cell = (size_t)((second - i + 1) % (int64_t)RATE_CELLS);
        rate->calls[cell] = rate->settled[cell] = 0;
    }
    rate->second = second;
    return (size_t)(second % (int64_t)RATE_CELLS);
}

static void counts_move(struct vq_coord_counts *counts, enum vq_outcome from, enum vq_outcome to)
{
    counts->outcome[from]--;
    counts->outcome[to]++;
    counts->state[vq_task_state_of(from)]--;
    counts->state[vq_task_state_of(to)]++;
}

void vq_coord_tally_move(struct vq_coord *c, uint64_t task, enum vq_outcome from,
                         enum vq_outcome to)
{
    struct vq_coord_lane *lane = &c->lanes[vq_coord_shard_of(c, task) % c->params.grid.judges];
    counts_move(&c->tasks.counts, from, to);
    counts_move(&lane->counts, from, to);
    if (from == VQ_OUTCOME_NONE) {
        c->tasks.open--;
        lane->open--;
    }
    if (to == VQ_OUTCOME_NONE) {
        c->tasks.open++;
        lane->open++;
        return;
    }
    c->tasks.rate.settled[rate_cell(c)]++;
}

void vq_coord_tally_stored(struct vq_coord *c)
{
    uint32_t *settled = &c->tasks.rate.settled[rate_cell(c)];
    *settled -= *settled > 0 ? 1 : 0;
}

void vq_coord_tally_result(struct vq_coord *c, const struct vq_result *result)
{
    c->tasks.counts.calls++;
    c->tasks.counts.ends[result->end]++;
    if (vq_coord_result_here(c, result)) {
        struct vq_coord_lane *lane =
            &c->lanes[vq_coord_shard_of(c, result->task) % c->params.grid.judges];
        lane->counts.calls++;
        lane->counts.ends[result->end]++;
        bool longer = result->end == VQ_END_ANSWER && result->kind == VQ_CALL_ASK &&
                      result->tokens_out > lane->answer_tokens;
        if (longer) {
            lane->answer_tokens =
                result->tokens_out < UINT32_MAX ? (uint32_t)result->tokens_out : UINT32_MAX;
        }
    } else {
        c->tally.elsewhere++;
    }
    c->grants.cost_most_nano =
        result->cost_nano > c->grants.cost_most_nano ? result->cost_nano : c->grants.cost_most_nano;
    c->grants.reserved_most = result->tokens_reserved > c->grants.reserved_most
                                  ? result->tokens_reserved
                                  : c->grants.reserved_most;
    vq_sum_to(&c->tally.tokens_in, result->tokens_in);
    vq_sum_to(&c->tally.tokens_out, result->tokens_out);
    c->tasks.rate.calls[rate_cell(c)]++;
    c->tasks.rate.first_ns = c->tasks.rate.first_ns == 0 ? c->now_ns : c->tasks.rate.first_ns;
}

/* Leased tasks are open ones that a worker holds: the outcome byte does not show this. */
static void counts_leased(struct vq_coord_counts *counts, uint64_t live)
{
    uint64_t leased = live < counts->state[VQ_TASK_OPEN] ? live : counts->state[VQ_TASK_OPEN];
    counts->state[VQ_TASK_OPEN] -= leased;
    counts->state[VQ_TASK_LEASED] = leased;
}

static void rates_fill(const struct vq_coord *c, int64_t now_ns, struct vq_coord_status *s)
{
    uint64_t calls = 0;
    uint64_t settled = 0;
    int64_t second = now_ns / VQ_NS_PER_S;
    for (int64_t i = 0; i <= (int64_t)VQ_COORD_RATE_SECONDS; i++) {
        int64_t at = second - i;
        if (at >= 0 && at <= c->tasks.rate.second) {
            calls += c->tasks.rate.calls[at % (int64_t)RATE_CELLS];
            settled += c->tasks.rate.settled[at % (int64_t)RATE_CELLS];
        }
    }
    int64_t from_ns = c->tasks.rate.first_ns != 0 ? c->tasks.rate.first_ns : c->started_ns;
    double window = (double)(now_ns - from_ns) / (double)VQ_NS_PER_S;
    double most = VQ_COORD_RATE_SECONDS + (double)(now_ns % VQ_NS_PER_S) / (double)VQ_NS_PER_S;
    window = window > most ? most : window;
    window = window < 1 ? 1 : window;
    s->calls_per_s = (double)calls / window;
    s->settled_per_s = (double)settled / window;
    s->settled_lately = settled;
}

static enum vq_coord_stage stage_of(const struct vq_coord *c, int64_t now_ns)
{
    if (c->end.done) {
        return VQ_COORD_DONE;
    }
    if (c->stop.begun) {
        return VQ_COORD_DRAINING;
    }
    if (c->batches.paused) {
        return VQ_COORD_PAUSED;
    }
    if (c->waits.held_by_hand) {
        return VQ_COORD_HELD;
    }
    return now_ns < vq_coord_waits_until(&c->waits) ? VQ_COORD_WAITING : VQ_COORD_RUNNING;
}

void vq_coord_status_fill(const struct vq_coord *c, int64_t now_ns,
                          struct vq_coord_status *ret_status)
{
    struct vq_coord_status *s = ret_status;
    *s = c->tally;
    s->stage = stage_of(c, now_ns);
    s->tasks = vq_grid_tasks(&c->params.grid);
    s->all = c->tasks.counts;
    s->epoch = c->params.epoch;
    s->received = c->calls.received_count;
    s->scouted_shards = c->scout.passed;
    s->known_shards = c->scout.passed > c->stored.shards ? c->scout.passed : c->stored.shards;
    s->shards = vq_grid_shards(&c->params.grid);
    s->calls_reserved = vq_coord_calls_reserved(&c->calls);
    s->batched = c->calls.batched_count;
    s->held_back = c->calls.holds_count;
    s->sessions = (uint32_t)c->sessions.count;
    s->wait_until_ns = vq_coord_waits_until(&c->waits);
    uint64_t live = 0;
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        s->ready_shards += c->lanes[j].ready_count;
        s->leased_shards += c->lanes[j].leased_count;
        live += c->lanes[j].live;
    }
    counts_leased(&s->all, live);
    rates_fill(c, now_ns, s);
}

void vq_coord_judge_fill(const struct vq_coord *c, uint32_t judge, int64_t now_ns,
                         struct vq_coord_judge_status *ret_judge)
{
    VQ_ASSERT(judge < c->params.grid.judges);
    const struct vq_coord_lane *lane = &c->lanes[judge];
    *ret_judge = (struct vq_coord_judge_status){.name = lane->name,
                                                .pools = lane->pools,
                                                .pools_count = lane->pools_count,
                                                .counts = lane->counts,
                                                .ready_shards = lane->ready_count,
                                                .leased_shards = lane->leased_count,
                                                .open = lane->open,
                                                .live = lane->live,
                                                .batched = lane->batched,
                                                .blocked = lane->blocked,
                                                .returned = lane->returned,
                                                .answered = lane->answered,
                                                .closed = lane->closed,
                                                .closed_text = lane->closed_text,
                                                .braked = lane->braked};
    counts_leased(&ret_judge->counts, lane->live);
    if (!vq_authority_when(c->params.authority, lane->pools, lane->pools_count, now_ns,
                           &ret_judge->when_ns)) {
        ret_judge->when_ns = INT64_MAX;
    }
}

bool vq_coord_worker_fill(const struct vq_coord *c, uint32_t index,
                          struct vq_coord_worker_status *ret_worker)
{
    if (index >= c->sessions.count) {
        return false;
    }
    const struct vq_coord_session *s = c->sessions.all[index];
    uint64_t held = 0;
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        held += s->offers[j].held;
    }
    *ret_worker = (struct vq_coord_worker_status){.worker = s->worker,
                                                  .name = s->name,
                                                  .host = s->host,
                                                  .software = s->software,
                                                  .peer = s->peer,
                                                  .session = s->id,
                                                  .pid = s->pid,
                                                  .local = s->local,
                                                  .heard_ns = s->heard_ns,
                                                  .leases = s->leases_count,
                                                  .tasks_held = held,
                                                  .calls_out = s->calls_listed,
                                                  .results = s->results,
                                                  .in_flight = s->in_flight,
                                                  .waiting = s->waiting,
                                                  .draining = s->draining,
                                                  .keyless = s->keyless == NULL ? "" : s->keyless};
    return true;
}

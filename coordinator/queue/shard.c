/* Shards in memory and the scout. A shard gets a struct when it is looked up or when a call of it
 * becomes known. It loses the struct when it is settled and has no calls. The scout walks through
 * each judge's shards in the run's order, keeps the judges of a sample near each other, and keeps a
 * bounded number of shards ready. Shards that came back from a lease, or were ready for long, are
 * first looked up again, because the store may have new answers.
 *
 * Two runs on one store must not ask the same tasks at the same time, because neither can see the
 * other's leases. So all runs walk around the same circle of samples, and starts with neighbouring
 * numbers walk in opposite directions: they meet at most twice, whatever their speeds. Starts of
 * one direction begin far apart, by the golden ratio. Neighbours on the circle are far apart in the
 * data, too: a run that ends early has seen all parts of the data alike.
 *
 * Invariants: shard.open counts its tasks without an outcome. A shard is in its lane's `again` or
 * `ready` list exactly in that state; `ready` is in the order of the scout. If an event changes a
 * shard during its look-up (dirty), the look-up is repeated, so that nothing is leased on old
 * knowledge. Not its job: the choice of the worker. */
#include "common/base/alloc.h"
#include "coordinator/queue/internal.h"

#define GOLDEN UINT64_C(2654435769) /* 2^32 over the golden ratio */

struct vq_coord_shard *vq_coord_shard_find(const struct vq_coord *c, uint64_t no)
{
    struct vq_index_node *node = vq_index_find(&c->shards, vq_index_mix(no));
    return node == NULL ? NULL : VQ_CONTAINER_OF(node, struct vq_coord_shard, by_no);
}

void vq_coord_shard_free(struct vq_coord_shard *shard)
{
    vq_buf_free(&shard->priors);
    vq_free(shard->slots);
    vq_free(shard);
}

enum vq_status vq_coord_shard_get(struct vq_coord *c, uint64_t no,
                                  struct vq_coord_shard **ret_shard)
{
    struct vq_coord_shard *shard = vq_coord_shard_find(c, no);
    if (shard != NULL) {
        *ret_shard = shard;
        return VQ_OK;
    }
    if (c->shards.count >= VQ_COORD_SHARDS_MAX) {
        return VQ_LIMIT;
    }
    VQ_TRY(VQ_ALLOC(shard, 1));
    vq_buf_init(&shard->priors, VQ_COORD_PRIOR_BYTES_MAX);
    shard->slots = vq_alloc(c->shard_tasks, sizeof(*shard->slots));
    if (shard->slots == NULL ||
        vq_index_add(&c->shards, &shard->by_no, vq_index_mix(no)) != VQ_OK) {
        vq_coord_shard_free(shard);
        return VQ_NOMEM;
    }
    shard->no = no;
    shard->sample = (uint32_t)(no / c->params.grid.judges);
    shard->judge = (uint32_t)(no % c->params.grid.judges);
    for (uint32_t i = 0; i < c->shard_tasks; i++) {
        shard->open += c->tasks.outcome[vq_coord_task_at(c, shard, i)] == VQ_OUTCOME_NONE;
    }
    *ret_shard = shard;
    return VQ_OK;
}

/* Removes it from its lane's lists. */
void vq_coord_shard_unready(struct vq_coord *c, struct vq_coord_shard *shard)
{
    vq_unlink(&shard->queue);
    if (shard->state == SHARD_READY) {
        c->lanes[shard->judge].ready_count--;
    }
    shard->state = SHARD_IDLE;
}

void vq_coord_shard_stir(struct vq_coord *c, struct vq_coord_shard *shard)
{
    if (shard->state == SHARD_LEASED) {
        return;
    }
    if (shard->state == SHARD_LOOKUP) {
        shard->dirty = true;
        return;
    }
    vq_coord_shard_unready(c, shard);
    if (shard->open > 0 && shard->scouted) {
        shard->state = SHARD_AGAIN;
        vq_list_push(&c->lanes[shard->judge].again, &shard->queue);
    } else if (shard->calls == 0 && (!shard->ahead || shard->open == 0)) {
        vq_index_remove(&c->shards, &shard->by_no);
        vq_coord_shard_free(shard);
    }
}

bool vq_coord_slot_free(const struct vq_coord *c, const struct vq_coord_shard *shard, uint32_t i)
{
    const struct vq_coord_slot *slot = &shard->slots[i];
    return slot->state == SLOT_FREE && slot->reserved == 0 && !slot->failing && !slot->wait &&
           c->tasks.outcome[vq_coord_task_at(c, shard, i)] == VQ_OUTCOME_NONE;
}

uint32_t vq_coord_slot_first(const struct vq_coord_shard *shard, uint32_t i)
{
    return shard->slots[i].second ? i ^ 1u : i;
}

/* ---- look-ups ---- */

static void priors_clear(const struct vq_coord *c, struct vq_coord_shard *shard)
{
    vq_buf_free(&shard->priors);
    vq_buf_init(&shard->priors, c->params.chains ? VQ_CHAIN_BYTES_MAX : VQ_COORD_PRIOR_BYTES_MAX);
}

static enum vq_status look_up(struct vq_coord *c, struct vq_coord_shard *shard)
{
    VQ_TRY(vq_coord_add_action(&c->actions,
                               (struct vq_coord_entry){.kind = ENTRY_LOOKUP, .a = shard->no}));
    vq_coord_shard_unready(c, shard);
    priors_clear(c, shard);
    shard->state = SHARD_LOOKUP;
    shard->dirty = shard->outdated = false;
    shard->looked_alike = c->repairs.ended;
    c->lanes[shard->judge].lookups++;
    c->scout.lookups++;
    return VQ_OK;
}

static bool scout_rests(const struct vq_coord *c)
{
    return c->scout.lookups >= VQ_COORD_LOOKUPS_MAX || c->stop.begun || c->batches.paused ||
           c->batches.gather->settled_count >= VQ_COORD_BATCH_SETTLED_MAX ||
           c->batches.gather->failures_count >= VQ_COORD_BATCH_SETTLED_MAX;
}

/* Of the lanes that want more ready shards, the one with the lowest cursor; NULL: none wants
 * more. */
static struct vq_coord_lane *scout_lane(struct vq_coord *c)
{
    uint32_t ready_max = c->params.ready_shards_max / c->params.grid.judges;
    ready_max = ready_max < 2 ? 2 : ready_max;
    struct vq_coord_lane *best = NULL;
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        struct vq_coord_lane *lane = &c->lanes[j];
        if ((lane->cursor < c->params.grid.samples || vq_coord_shared_turns_due(lane)) &&
            lane->ready_count + lane->lookups < ready_max &&
            (best == NULL || lane->cursor < best->cursor)) {
            best = lane;
        }
    }
    return best;
}

static uint32_t divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void vq_coord_scout_init(struct vq_coord *c)
{
    uint32_t samples = c->params.grid.samples;
    uint64_t no = c->params.scout_no;
    c->scout.first = 0;
    c->scout.step = 1;
    if (no == 0) {
        return;
    }
    uint32_t step = (uint32_t)(samples * GOLDEN >> 32);
    while (divisor(step, samples) != 1) { /* without a common factor each sample comes once */
        step++;
    }
    uint64_t at = (uint64_t)(uint32_t)((no - 1) / 2 * GOLDEN) * samples >> 32;
    bool back = no % 2 != 0;
    at = back ? at + samples - 1 : at;
    c->scout.first = (uint32_t)(at % samples * step % samples);
    c->scout.step = back ? samples - step % samples : step;
}

enum vq_status vq_coord_shard_fresh(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t room,
                                    bool *ret_fresh, bool *ret_wait)
{
    const struct vq_coord_lane *lane = &c->lanes[shard->judge];
    bool repairs = !c->params.chains && shard->priors.bytes > 0;
    *ret_fresh = c->now_ns - shard->looked_ns <= VQ_COORD_LOOKED_NS_MAX &&
                 !(repairs && shard->looked_alike != c->repairs.ended);
    *ret_wait = false;
    if (*ret_fresh) {
        return VQ_OK;
    }
    *ret_wait = c->scout.lookups >= VQ_COORD_LOOKUPS_MAX ||
                (uint64_t)lane->lookups * vq_coord_shard_credit(c) >= room;
    return *ret_wait ? VQ_OK : look_up(c, shard);
}

static struct vq_coord_shard *shard_in(struct vq_link *queue)
{
    return VQ_CONTAINER_OF(queue, struct vq_coord_shard, queue);
}

/* A settled shard that is not in memory: the cursor mostly meets these after it starts again. */
static bool is_over(const struct vq_coord *c, uint64_t no)
{
    if (vq_coord_shard_find(c, no) != NULL) {
        return false;
    }
    for (uint64_t task = no * c->shard_tasks; task < (no + 1) * c->shard_tasks; task++) {
        if (c->tasks.outcome[task] == VQ_OUTCOME_NONE) {
            return false;
        }
    }
    return true;
}

/* Looks up a due chain, or else the cursor's next shard, unless it is settled, was met before the
 * cursor started again, or waits for another chain. */
static enum vq_status scout_step(struct vq_coord *c, struct vq_coord_lane *lane)
{
    struct vq_coord_shard *shard;
    uint64_t turn = lane->cursor;
    uint64_t no;
    if (!vq_coord_shared_turn_due(c, lane, &no)) {
        uint64_t sample = (c->scout.first + turn * c->scout.step) % c->params.grid.samples;
        no = sample * c->params.grid.judges + (uint64_t)(lane - c->lanes);
        lane->cursor++;
        c->scout.passed++;
    }
    if (vq_coord_shared_turn_waits(c, no) || is_over(c, no)) {
        return VQ_OK;
    }
    VQ_TRY(vq_coord_shard_get(c, no, &shard));
    shard->turn = turn;
    if (shard->scouted) {
        return VQ_OK;
    }
    shard->scouted = true;
    if (shard->open == 0) {
        vq_coord_shard_stir(c, shard);
        return VQ_OK;
    }
    return look_up(c, shard);
}

enum vq_status vq_coord_scout(struct vq_coord *c)
{
    for (uint32_t j = 0; j < c->params.grid.judges; j++) {
        struct vq_link *link;
        while (!scout_rests(c) && (link = vq_list_first(&c->lanes[j].again)) != NULL) {
            VQ_TRY(look_up(c, VQ_CONTAINER_OF(link, struct vq_coord_shard, queue)));
        }
    }
    struct vq_coord_lane *lane;
    while (!scout_rests(c) && (lane = scout_lane(c)) != NULL) {
        VQ_TRY(scout_step(c, lane));
    }
    return VQ_OK;
}

/* Settles the tasks that are terminal in the store, and reports them to the run state with the next
 * batch. */
static enum vq_status take_settled(struct vq_coord *c, struct vq_coord_shard *shard,
                                   const struct vq_known *known)
{
    struct vq_coord_lane *lane = &c->lanes[shard->judge];
    for (uint32_t i = 0; i < c->shard_tasks; i++) {
        uint64_t task = vq_coord_task_at(c, shard, i);
        enum vq_outcome outcome = known[i].outcome;
        shard->slots[i].second = known[i].second;
        bool is_new = c->tasks.outcome[task] == VQ_OUTCOME_NONE;
        bool overruled = outcome == VQ_OUTCOME_NOT_NEEDED && /* by another run's first order */
                         vq_outcome_is_answered((enum vq_outcome)c->tasks.outcome[task]);
        if (outcome == VQ_OUTCOME_NONE || (!is_new && !overruled)) {
            continue;
        }
        VQ_TRY(vq_coord_gather_settled(&c->batches, task, outcome));
        VQ_TRY(vq_coord_settle(c, shard, task, outcome));
        if (is_new) {
            vq_coord_tally_stored(c);
        }
        bool stored = is_new && outcome != VQ_OUTCOME_NOT_NEEDED;
        c->tasks.counts.from_store += stored;
        lane->counts.from_store += stored;
        lane->answered |= vq_outcome_is_answered(outcome);
    }
    return VQ_OK;
}

/* If the sends of the task without an answer reached the limit, *ret_over is true: it is not leased
 * again, and its failure gathers. */
static enum vq_status give_up(struct vq_coord *c, struct vq_coord_shard *shard, uint32_t i,
                              bool *ret_over)
{
    struct vq_coord_slot *slot = &shard->slots[i];
    enum vq_outcome outcome = vq_attempts_over(&slot->attempts, &c->params.attempts);
    *ret_over = outcome != VQ_OUTCOME_NONE;
    if (!*ret_over) {
        return VQ_OK;
    }
    uint64_t task = vq_coord_task_at(c, shard, i);
    struct vq_buf text;
    vq_buf_init(&text, VQ_COORD_TEXT_BYTES_MAX);
    vq_attempts_text(&slot->attempts, &text);
    vq_coord_note(
        c, VQ_COORD_NOTE_WARN,
        "task %llu (sample %u, judge %s) has used up its attempts (%s): a dead letter, %s",
        (unsigned long long)task, shard->sample, c->lanes[shard->judge].name,
        text.at == NULL ? "" : text.at, vq_outcome_name(outcome));
    vq_buf_free(&text);
    slot->failing = true;
    return vq_coord_gather_failure(&c->batches, task, slot->repeat, outcome);
}

static enum vq_status take_open(struct vq_coord *c, struct vq_coord_shard *shard,
                                const struct vq_known *known, uint32_t *ret_free)
{
    uint32_t free_count = 0;
    for (uint32_t i = 0; i < c->shard_tasks; i++) {
        struct vq_coord_slot *slot = &shard->slots[i];
        slot->repeat = known[i].repeat;
        slot->lazy = known[i].lazy;
        slot->wait = false;
        slot->prior_bytes = 0;
        bool over = false;
        if (c->params.chains || !vq_coord_slot_free(c, shard, i)) {
            continue;
        }
        VQ_TRY(give_up(c, shard, i, &over));
        if (over) {
            continue;
        }
        size_t bytes = known[i].prior.bytes;
        if (bytes > VQ_COORD_PRIOR_BYTES_MAX - shard->priors.bytes) {
            slot->wait = true;
            continue;
        }
        slot->prior_at = (uint32_t)shard->priors.bytes;
        slot->prior_bytes = (uint32_t)bytes;
        slot->prior_key = bytes == 0 ? 0 : vq_coord_alike_key(shard->judge, known[i].prior);
        vq_buf_append(&shard->priors, known[i].prior.at, bytes);
        free_count++;
    }
    *ret_free = free_count;
    return shard->priors.status;
}

/* Returns true if a chain can continue from its first open turn: no call of it may be in
 * progress. */
bool vq_coord_chain_free(const struct vq_coord *c, const struct vq_coord_shard *shard,
                         uint32_t *ret_first)
{
    *ret_first = c->shard_tasks;
    for (uint32_t i = 0; i < c->shard_tasks; i += 2) {
        bool open = c->tasks.outcome[vq_coord_task_at(c, shard, i)] == VQ_OUTCOME_NONE;
        if (open && !vq_coord_slot_free(c, shard, i)) {
            return false;
        }
        *ret_first = open && i < *ret_first ? i : *ret_first;
    }
    return *ret_first < c->shard_tasks;
}

/* The look-up has seen the stored answers of the first open turn. */
static void ahead_until(const struct vq_coord *c, struct vq_coord_shard *shard, uint32_t first)
{
    bool more = false;
    for (uint32_t i = 0; shard->ahead && i < c->shard_tasks; i += 2) {
        shard->slots[i].ahead &= i > first;
        more |= shard->slots[i].ahead;
    }
    shard->ahead = more;
}

/* Stores the answers before the first open turn; if they are too large, the turn fails. */
static enum vq_status take_turns(struct vq_coord *c, struct vq_coord_shard *shard,
                                 const struct vq_known *known, uint32_t *ret_free)
{
    uint32_t first;
    bool over = false;
    *ret_free = 0;
    if (!vq_coord_chain_free(c, shard, &first)) {
        return VQ_OK;
    }
    if (first / 2 < vq_coord_shared_turn_list(c, shard->no)) {
        /* asked in another chain: this one is looked up again when the turn is settled there */
        return VQ_OK;
    }
    ahead_until(c, shard, first);
    VQ_TRY(give_up(c, shard, first, &over));
    if (over) {
        return VQ_OK;
    }
    for (uint32_t i = 0; i < first; i += 2) {
        struct vq_coord_slot *slot = &shard->slots[i];
        if (known[i].prior.bytes > VQ_CHAIN_BYTES_MAX - shard->priors.bytes) {
            vq_coord_note(c, VQ_COORD_NOTE_WARN,
                          "the dialogue of sample %u with %s has more than %u bytes: it ends",
                          shard->sample, c->lanes[shard->judge].name, VQ_CHAIN_BYTES_MAX);
            shard->slots[first].failing = true;
            return vq_coord_gather_failure(&c->batches, vq_coord_task_at(c, shard, first),
                                           shard->slots[first].repeat, VQ_OUTCOME_TOO_LONG);
        }
        slot->prior_at = (uint32_t)shard->priors.bytes;
        slot->prior_bytes = (uint32_t)known[i].prior.bytes;
        vq_buf_append(&shard->priors, known[i].prior.at, known[i].prior.bytes);
    }
    *ret_free = 1;
    return shard->priors.status;
}

/* Keeps `ready` in the scout's order. New shards belong at the end. Shards that were looked up
 * again belong near the front, before those of the same turn (chains that were due at once): after
 * them, the look-up would be too old when their turn comes, again and again. */
static void make_ready(struct vq_coord_lane *lane, struct vq_coord_shard *shard)
{
    struct vq_link *before = &lane->ready;
    if (!vq_list_empty(before) && shard->turn <= shard_in(before->prev)->turn) {
        do {
            before = before->next;
        } while (shard_in(before)->turn < shard->turn);
    }
    shard->state = SHARD_READY;
    lane->ready_count++;
    vq_list_push(before, &shard->queue);
}

enum vq_status vq_coord_take_lookup(struct vq_coord *c, uint64_t no, const struct vq_known *known)
{
    struct vq_coord_shard *shard = vq_coord_shard_find(c, no);
    if (shard == NULL || shard->state != SHARD_LOOKUP) {
        return VQ_BUG;
    }
    struct vq_coord_lane *lane = &c->lanes[shard->judge];
    lane->lookups--;
    c->scout.lookups--;
    if (!shard->outdated) {
        VQ_TRY(take_settled(c, shard, known));
    }
    shard->state = SHARD_IDLE;
    if (shard->dirty || shard->open == 0) {
        vq_coord_shard_stir(c, shard);
        return VQ_OK;
    }
    uint32_t free_count;
    VQ_TRY(take_open(c, shard, known, &free_count));
    if (c->params.chains) {
        VQ_TRY(take_turns(c, shard, known, &free_count));
    }
    if (free_count == 0) {
        shard->state = SHARD_PARKED;
        return VQ_OK;
    }
    shard->looked_ns = c->now_ns;
    make_ready(lane, shard);
    return VQ_OK;
}

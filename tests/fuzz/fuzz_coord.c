/* The coordinator's core under any sequence of events: bytes choose what workers say, when time
 * passes, and when the store answers. The store is the simulation's model. After each event: no
 * assertion has failed, the core goes on, every task is counted once in a state and an outcome (I1,
 * I2), what the core holds to be settled is what the store says, nothing is ACKed before it is in
 * the ledger, and no fence is given twice (I5). */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "coordinator/queue/coord.h"
#include "tests/fuzz/bytes.h"
#include "tests/simulation/store.h"

#define PEERS   4
#define LIST    6
#define LEASES  16
#define LOOKUPS 64
#define TASKS   64

struct world {
    struct bytes in;
    struct vq_coord *c;
    struct vq_authority *authority;
    struct vq_coord_params params;
    struct sim_store store;
    uint8_t zeros[TASKS];
    int64_t now_ns;
    uint64_t session[PEERS];
    struct vq_msg_lease leases[LEASES]; /* the latest, without their asks */
    uint64_t leases_count, fence_n;
    uint64_t lookups[LOOKUPS];
    size_t lookups_count;
    const struct vq_batch *batch;
    bool finished, stopped;
    /* what a message points to */
    struct vq_held_lease held[LIST];
    struct vq_held_call calls[LIST];
    struct vq_credit credits[LIST];
    struct vq_pool_report reports[LIST];
    struct vq_result results[LIST];
    uint64_t tasks[LIST];
};

static void request_of(void *ctx, uint64_t task, uint32_t repeat, struct vq_hash *ret)
{
    (void)ctx;
    memset(ret, 0, sizeof(*ret));
    memcpy(ret->b, &task, sizeof(task));
    ret->b[8] = (uint8_t)(repeat + 1);
}

static void repair_of(void *ctx, uint64_t task, const struct vq_hash *of, struct vq_span answer,
                      struct vq_hash *ret)
{
    (void)ctx;
    (void)task;
    (void)answer;
    *ret = *of;
    ret->b[9] = 1;
}

/* A call into the core, and one that goes well; tests/unit puts others in their place. */
#ifndef core
#define core(call) (call)
#define must(call) VQ_ASSERT((call) == VQ_OK)
#endif

/* ---- the shell ---- */

static void sent(struct world *w, uint64_t peer, const struct vq_msg *msg)
{
    if (msg->type == VQ_MSG_WELCOME) {
        w->session[peer % PEERS] = msg->u.welcome.session;
    } else if (msg->type == VQ_MSG_LEASE) {
        VQ_ASSERT(msg->u.lease.fence.epoch == w->params.epoch);
        VQ_ASSERT(msg->u.lease.fence.n > w->fence_n && !w->finished && !w->stopped);
        w->fence_n = msg->u.lease.fence.n;
        w->leases[w->leases_count++ % LEASES] = msg->u.lease;
    } else if (msg->type == VQ_MSG_ACK) {
        for (uint32_t i = 0; i < msg->u.ack.calls_count; i++) {
            VQ_ASSERT(sim_store_row(&w->store, &msg->u.ack.calls[i]) != NULL);
        }
    }
}

static void act(struct world *w)
{
    struct vq_coord_action a;
    while (core(vq_coord_next(w->c, w->now_ns, &a))) {
        VQ_ASSERT(!w->stopped || a.type != VQ_COORD_LOOKUP);
        switch (a.type) {
        case VQ_COORD_SEND: sent(w, a.u.send.peer, &a.u.send.msg); break;
        case VQ_COORD_LOOKUP:
            VQ_ASSERT(w->lookups_count < LOOKUPS);
            w->lookups[w->lookups_count++] = a.u.shard;
            break;
        case VQ_COORD_COMMIT:
            VQ_ASSERT(w->batch == NULL);
            w->batch = a.u.batch;
            break;
        case VQ_COORD_FINISHED:
            VQ_ASSERT(!w->finished && !w->stopped);
            w->finished = true;
            break;
        case VQ_COORD_STOPPED:
            VQ_ASSERT(!w->finished && !w->stopped);
            w->stopped = true;
            break;
        case VQ_COORD_NOTE: VQ_ASSERT(a.u.note.text[0] != '\0'); break;
        case VQ_COORD_SPEC:
        case VQ_COORD_SAMPLE:
        case VQ_COORD_COLLECT:
        case VQ_COORD_CLOSE: break;
        }
    }
    must(vq_coord_health(w->c));
}

static void look_up(struct world *w)
{
    if (w->lookups_count == 0) {
        return;
    }
    struct vq_known known[TASKS] = {{0}};
    size_t i = take_below(&w->in, (uint32_t)w->lookups_count);
    uint64_t shard = w->lookups[i];
    w->lookups[i] = w->lookups[--w->lookups_count];
    sim_store_known(&w->store, shard, known);
    must(vq_coord_looked_up(w->c, shard, known, w->now_ns));
}

static void commit(struct world *w)
{
    const struct vq_batch *batch = w->batch;
    if (batch == NULL) {
        return;
    }
    w->batch = NULL;
    size_t known[256], known_count = 0; /* call ids are a byte, and a batch has each once */
    for (size_t i = 0; i < batch->results_count; i++) {
        if (sim_store_row(&w->store, &batch->results[i].call) != NULL) {
            VQ_ASSERT(known_count < VQ_COUNT(known));
            known[known_count++] = i;
        }
    }
    must(vq_coord_repeated(w->c, batch->no, known, known_count));
    sim_store_commit_lmdb(&w->store, batch);
    sim_store_commit_redis(&w->store, batch);
    struct vq_settled *settled;
    size_t count = sim_store_settled(&w->store, batch, &settled);
    enum vq_status status = core(vq_coord_committed(w->c, batch->no, settled, count, w->now_ns));
    vq_free(settled);
    must(status);
}

/* ---- the workers ---- */

static struct vq_id worker_id(uint64_t n)
{
    return (struct vq_id){{(uint8_t)n, 0x55}};
}

static struct vq_fence any_fence(struct world *w, uint64_t *ret_shard)
{
    if (w->leases_count > 0 && take(&w->in) < 240) {
        size_t known = w->leases_count < LEASES ? w->leases_count : LEASES;
        const struct vq_msg_lease *lease = &w->leases[take_below(&w->in, (uint32_t)known)];
        *ret_shard = lease->shard;
        return lease->fence;
    }
    *ret_shard = take_near(&w->in, 8);
    return (struct vq_fence){4 + take_below(&w->in, 3), take_near(&w->in, 40)};
}

static struct vq_result any_result(struct world *w)
{
    static const char *const texts[] = {"Model: A", "Model: equal", "nothing much", ""};
    struct bytes *in = &w->in;
    uint32_t each = (uint32_t)vq_grid_shard_tasks(&w->params.grid);
    struct vq_result r = {.kind = (uint8_t)take_near(in, 2),
                          .end = (uint8_t)take_near(in, VQ_END__COUNT),
                          .final = (take(in) & 1) != 0,
                          .stage = take(in) == 255 ? 1 : 0,
                          .refusal = take(in) == 255,
                          .cost_nano = take(in),
                          .pool = {"p0", 2},
                          .answer = vq_span_str(texts[take_below(in, 4)])};
    r.fence = any_fence(w, &r.shard);
    r.task = r.shard * each + take_near(in, each);
    r.judge = (uint32_t)(r.shard % w->params.grid.judges);
    r.repeat = take(in) > 250 ? 1 : 0;
    r.call.b[0] = take(in);
    request_of(NULL, r.task, r.repeat, &r.request);
    if (r.kind == VQ_CALL_REPAIR) {
        r.repaired = r.request;
        repair_of(NULL, r.task, &r.request, r.answer, &r.request);
    }
    bool answer = r.end == VQ_END_ANSWER && take(in) < 250;
    r.outcome = answer ? (uint8_t)vq_verdict_ranker(r.answer, vq_span("", 0), r.refusal) : take(in);
    return r;
}

static struct vq_amount any_amount(struct bytes *in)
{
    return (struct vq_amount){take_near(in, 9), take_near(in, 9), take_near(in, 9),
                              take_near(in, 9)};
}

static void any_credit(struct world *w, struct vq_msg_credit *msg, uint32_t n)
{
    static const uint64_t prints[] = {7, 8};
    struct bytes *in = &w->in;
    for (uint32_t i = 0; i < n; i++) {
        w->credits[i] = (struct vq_credit){.judge = (uint32_t)take_near(in, 2),
                                           .tasks = (uint32_t)take_near(in, 30),
                                           .state = (uint8_t)(take(in) > 250 ? take(in) : 0),
                                           .text = {"why", 3}};
        w->reports[i] = (struct vq_pool_report){
            .pool = (uint32_t)take_near(in, 2),
            .state = (uint8_t)(take(in) > 250 ? take(in) : 0),
            .keys = prints,
            .keys_count = take(in) % 3,
            .organisation = take(in) > 200 ? 5 : 0,
            .in_flight = (uint32_t)take_near(in, 20),
            .waiting = (uint32_t)take_near(in, 20),
            .requests = take_near(in, 200),
            .answered = take_near(in, 200),
            .refused = take_near(in, 9),
            .slowed = take_near(in, 9),
            .failed = take_near(in, 9),
            .cap = (uint32_t)take_near(in, 9),
            .pause_ms = (uint32_t)take_near(in, 200),
            .park_unix_s = (int64_t)take_near(in, 1),
            .unit = {.requests = 1,
                     .input_tokens = take(in),
                     .output_tokens = take(in),
                     .tokens = take(in)},
            .said = {.requests = take(in), .input_tokens = take(in), .tokens = take(in)},
            .day_requests = any_amount(in),
            .day_tokens = any_amount(in)};
    }
    *msg = (struct vq_msg_credit){.session = msg->session,
                                  .granted_n = take_near(in, 30),
                                  .spend = any_amount(in),
                                  .credits = w->credits,
                                  .credits_count = n,
                                  .reports = w->reports,
                                  .reports_count = n};
}

static void say(struct world *w)
{
    static const enum vq_msg_type types[] = {VQ_MSG_HELLO,   VQ_MSG_HELD,    VQ_MSG_HEARTBEAT,
                                             VQ_MSG_CREDIT,  VQ_MSG_CREDIT,  VQ_MSG_CREDIT,
                                             VQ_MSG_RESULTS, VQ_MSG_RESULTS, VQ_MSG_CANCEL,
                                             VQ_MSG_DRAIN,   VQ_MSG_BYE,     VQ_MSG_LEASE};
    struct bytes *in = &w->in;
    uint64_t peer = take_below(in, PEERS);
    uint64_t session = take(in) > 245 ? take_near(in, 20) : w->session[peer];
    uint32_t n = take_below(in, LIST + 1);
    struct vq_msg msg = {.type = types[take_below(in, VQ_COUNT(types))]};
    switch ((int)msg.type) {
    case VQ_MSG_HELLO:
        msg.u.hello = (struct vq_msg_hello){.worker = worker_id(take_below(in, 5)),
                                            .stamp_ns = (int64_t)take_near(in, 200),
                                            .local = (int64_t)take_below(in, 4) - 1,
                                            .has_spool = (take(in) & 1) != 0,
                                            .name = {"w", 1}};
        break;
    case VQ_MSG_HELD:
    case VQ_MSG_HEARTBEAT:
        for (uint32_t i = 0; i < n; i++) {
            w->held[i].fence = any_fence(w, &w->held[i].shard);
            w->held[i].stage = take(in) == 255 ? 1 : 0;
            w->calls[i] = (struct vq_held_call){{{take(in)}}, take_near(in, TASKS), 0};
        }
        msg.u.held = (struct vq_msg_held){session, (int64_t)take_u64(in), w->held, n, w->calls, n};
        break;
    case VQ_MSG_CREDIT:
        msg.u.credit.session = session;
        any_credit(w, &msg.u.credit, n);
        break;
    case VQ_MSG_RESULTS:
        for (uint32_t i = 0; i < n; i++) {
            w->results[i] = any_result(w);
        }
        msg.u.results = (struct vq_msg_results){session, w->results, n};
        break;
    case VQ_MSG_CANCEL:
        msg.u.cancel = (struct vq_msg_cancel){.session = session,
                                              .reason = (uint8_t)take_near(in, 4),
                                              .tasks = w->tasks,
                                              .tasks_count = n};
        msg.u.cancel.fence = any_fence(w, &msg.u.cancel.shard);
        for (uint32_t i = 0; i < n; i++) {
            w->tasks[i] = msg.u.cancel.shard * vq_grid_shard_tasks(&w->params.grid) +
                          take_near(in, (uint32_t)vq_grid_shard_tasks(&w->params.grid));
        }
        break;
    case VQ_MSG_DRAIN: msg.u.drain.session = session; break;
    case VQ_MSG_BYE: msg.u.bye = (struct vq_msg_bye){session, VQ_BYE_LEAVING, {"x", 1}}; break;
    default: msg.u.lease.session = session; break; /* not for a coordinator */
    }
    must(vq_coord_message(w->c, peer, &msg, w->now_ns));
}

/* A worker that comes as it should, and wants work. */
static void join(struct world *w)
{
    uint64_t peer = take_below(&w->in, PEERS);
    struct vq_msg hello = {
        .type = VQ_MSG_HELLO,
        .u.hello = {
            .worker = worker_id(peer), .stamp_ns = w->now_ns, .local = -1, .has_spool = true}};
    must(vq_coord_message(w->c, peer, &hello, w->now_ns));
    act(w);
    struct vq_msg held = {.type = VQ_MSG_HELD,
                          .u.held = {.session = w->session[peer], .stamp_ns = w->now_ns}};
    must(vq_coord_message(w->c, peer, &held, w->now_ns));
    struct vq_credit credits[] = {{.judge = 0, .tasks = 20}, {.judge = 1, .tasks = 20}};
    struct vq_pool_report reports[] = {
        {.pool = 0, .waiting = 4, .unit = {.requests = 1, .tokens = 10}},
        {.pool = 1, .waiting = 4, .unit = {.requests = 1, .tokens = 10}}};
    struct vq_msg credit = {.type = VQ_MSG_CREDIT,
                            .u.credit = {.session = w->session[peer],
                                         .credits = credits,
                                         .credits_count = w->params.grid.judges,
                                         .reports = reports,
                                         .reports_count = 2}};
    must(vq_coord_message(w->c, peer, &credit, w->now_ns));
}

/* ---- everything else that happens ---- */

static void import(struct world *w)
{
    uint32_t n = take_below(&w->in, LIST + 1);
    size_t taken = 0;
    for (uint32_t i = 0; i < n; i++) {
        w->results[i] = any_result(w);
        w->results[i].kind &= 1;
        w->results[i].end %= VQ_END__COUNT;
    }
    enum vq_status status =
        core(vq_coord_import(w->c, vq_span("gone", 4), w->results, n, w->now_ns, &taken));
    if (status == VQ_NOMEM) {
        must(status);
    }
    VQ_ASSERT((status == VQ_OK && taken <= n) || (status == VQ_INVALID && taken == 0));
}

static void by_hand(struct world *w)
{
    uint64_t tasks = 0;
    switch (take_below(&w->in, 8)) {
    case 0: must(vq_coord_hold(w->c, (take(&w->in) & 7) == 7, w->now_ns)); break;
    case 1: must(vq_coord_requeue(w->c, take(&w->in) & VQ_FAILURES_ALL, w->now_ns, &tasks)); break;
    case 2: must(vq_coord_commit_paused(w->c, (take(&w->in) & 7) == 7, w->now_ns)); break;
    case 3:
    case 4: must(vq_coord_local_ended(w->c, take_below(&w->in, 3), w->now_ns)); break;
    case 5:
        if (take(&w->in) > 240) {
            must(vq_coord_drain(w->c, w->now_ns + take(&w->in) * VQ_NS_PER_MS, w->now_ns));
        }
        break;
    case 6:
        if (take(&w->in) > 240) {
            must(vq_coord_stop(w->c, w->now_ns));
        }
        break;
    default:
        if (w->batch != NULL && take(&w->in) > 250) {
            must(vq_coord_commit_failed(w->c, "no room", w->now_ns));
        }
        break;
    }
}

static void check(struct world *w)
{
    struct vq_coord_status s;
    uint64_t states = 0, outcomes = 0;
    vq_coord_status_fill(w->c, w->now_ns, &s);
    for (size_t i = 0; i < VQ_TASK_STATES; i++) {
        states += s.all.state[i];
    }
    for (size_t i = 0; i < VQ_COUNT(s.all.outcome); i++) {
        outcomes += s.all.outcome[i];
    }
    VQ_ASSERT(states == s.tasks && outcomes == s.tasks);
    VQ_ASSERT(s.ready_shards + s.leased_shards <= s.shards && s.sessions <= PEERS);
    for (uint64_t t = 0; t < s.tasks; t++) {
        struct vq_task_view view;
        enum vq_outcome outcome = vq_coord_outcome(w->c, t);
        sim_store_state(&w->store, t, &view);
        VQ_ASSERT(outcome == VQ_OUTCOME_NONE || w->batch != NULL || outcome == view.outcome);
        VQ_ASSERT(outcome != VQ_OUTCOME_NONE || !w->finished);
    }
    VQ_ASSERT(vq_coord_wake_ns(w->c) > 0);
    for (uint32_t j = 0; j < w->params.grid.judges; j++) {
        struct vq_coord_judge_status judge;
        vq_coord_judge_fill(w->c, j, w->now_ns, &judge);
        VQ_ASSERT(judge.ready_shards + judge.leased_shards <= s.shards);
        VQ_ASSERT(judge.closed_text != NULL);
    }
    struct vq_coord_worker_status worker;
    uint32_t workers = 0;
    while (vq_coord_worker_fill(w->c, workers, &worker)) {
        workers++;
        VQ_ASSERT(worker.tasks_held <= s.tasks);
    }
    VQ_ASSERT(workers == s.sessions);
    for (uint32_t p = 0; p < vq_authority_pools(w->authority); p++) {
        struct vq_authority_pool_status pool;
        vq_authority_status(w->authority, p, w->now_ns, &pool);
    }
    struct vq_authority_money money;
    uint64_t key;
    uint32_t p, q;
    int64_t when_ns;
    vq_authority_money(w->authority, &money);
    while (core(vq_authority_same_account(w->authority, &p, &q))) {
        VQ_ASSERT(p != q);
    }
    while (core(vq_authority_new_key(w->authority, &p, &key))) {
        VQ_ASSERT(p < 2);
    }
    (void)vq_authority_when(w->authority, &p, 0, w->now_ns, &when_ns);
}

static void start(struct world *w)
{
    static const uint32_t pools[] = {0, 1};
    static const struct vq_coord_judge judges[] = {{"ada", pools, 2}, {"bea", &pools[1], 1}};
    struct bytes *in = &w->in;
    uint8_t flags = take(in);
    struct vq_authority_pool pool[2] = {
        {.name = "p0", .limit.concurrency = 5},
        {.name = "p1", .limit.rates = {.requests = 600, .tokens = 9000}}};
    struct vq_authority_params authority = {.pools = pool,
                                            .pools_count = 2,
                                            .term_ns = 6 * VQ_NS_PER_S,
                                            .budget_nano = (flags & 1) != 0 ? 2000 : VQ_AMOUNT_ANY};
    pool[1].day_requests = (flags & 2) != 0 ? 50 : 0;
    pool[1].day_tokens = (flags & 2) != 0 ? 2000 : 0;
    w->now_ns = VQ_NS_PER_S;
    must(vq_authority_create(&authority, w->now_ns, &w->authority, NULL));
    w->params = (struct vq_coord_params){
        .run = {{9}},
        .run_name = "fuzz",
        .epoch = 5,
        .more = (flags & 4) != 0,
        .remote = (flags & 8) != 0,
        .wait_ns = (flags & 16) != 0 ? VQ_NS_PER_S : 0,
        .commit_results_max = (flags & 32) != 0 ? 3 : 0,
        .worker_lost_max = (flags & 64) != 0 ? 1 : 0,
        .grid = {1 + take_below(in, 4), 1 + take_below(in, 2), 1 + take_below(in, 3)},
        .judges = judges,
        .authority = w->authority,
        .spec = {{3}},
        .term_ns = 6 * VQ_NS_PER_S,
        .heartbeat_ns = VQ_NS_PER_S,
        .scout_no = take_below(in, 3)};
    if ((flags & 128) != 0) {
        w->params.attempts = (struct vq_attempt_caps){.all = 4};
    }
    w->store = (struct sim_store){.grid = w->params.grid,
                                  .swap = VQ_SWAP_LAZY,
                                  .repair = true,
                                  .audited = w->zeros,
                                  .first = w->zeros,
                                  .request_of = request_of,
                                  .repair_of = repair_of};
    sim_store_init(&w->store, vq_grid_tasks(&w->params.grid));
    must(vq_coord_create(&w->params, w->now_ns, &w->c, NULL));
}

static struct world world;

static void world_end(struct world *w)
{
    vq_coord_destroy(&w->c);
    vq_authority_destroy(&w->authority);
    sim_store_free(&w->store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = &world;
    memset(w, 0, sizeof(*w));
    w->in = (struct bytes){data, size};
    start(w);
    act(w);
    while (w->in.left > 0 && !w->stopped) {
        switch (take_below(&w->in, 16)) {
        case 0: import(w); break;
        case 1: by_hand(w); break;
        case 2:
        case 3: look_up(w); break;
        case 4:
        case 5: commit(w); break;
        case 6:
            w->now_ns +=
                (INT64_C(1) << take_below(&w->in, take(&w->in) > 240 ? 15 : 9)) * VQ_NS_PER_MS;
            break;
        case 7: join(w); break;
        default: say(w); break;
        }
        must(vq_coord_tick(w->c, w->now_ns));
        act(w);
        check(w);
    }
    world_end(w);
    return 0;
}

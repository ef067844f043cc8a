/* A bench for the coordinator's core: it plays the shell with the model store, keeps what the core
 * said, and speaks for workers in a few words. Time passes only when a test says so. Brings cmocka
 * with it. */
#pragma once

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/judge/template.h"
#include "coordinator/queue/coord.h"
#include "coordinator/queue/limits.h"
#include "tests/simulation/store.h"

#include <string.h>

#define RIG_TASKS_MAX 8192
#define RIG_SAID_MAX  8192
#define RIG_LIST_MAX  64
#define RIG_TERM      6000 /* ms */
#define RIG_HEARTBEAT 1000

struct rig_said {
    uint64_t peer, session;
    enum vq_coord_action_type action;
    enum vq_msg_type type;
    uint64_t shard, sample;
    uint32_t judge, term_ms, answer_tokens;
    struct vq_fence fence;
    int64_t stamp_ns;
    uint8_t code; /* of BYE, CANCEL */
    uint32_t count;
    uint64_t tasks[RIG_LIST_MAX];
    bool lazy[RIG_LIST_MAX];
    uint32_t repeat[RIG_LIST_MAX];
    size_t prior[RIG_LIST_MAX];
    struct vq_id ids[RIG_LIST_MAX];
    uint32_t concurrency; /* of the GRANT's pool 0; 0: none of it */
    uint64_t n, spend_most;
};

#define RIG_POOLS_MAX 4

struct rig {
    struct vq_coord *c;
    struct vq_coord_params params;
    struct vq_coord_judge judges[4];
    struct vq_authority *authority; /* made by rig_start, lives until rig_end */
    struct vq_authority_params pools;
    struct vq_authority_pool pool
        [RIG_POOLS_MAX]; /* one a judge, with room for everything, unless the test says otherwise */
    struct vq_pool_report report[RIG_POOLS_MAX]; /* what a CREDIT says of each pool */
    struct vq_amount spend;
    const char *name; /* of workers that say HELLO; NULL: "worker" */
    struct sim_store store;
    struct vq_template *as_is; /* of chains */
    struct vq_asker asker;
    uint8_t audited[RIG_TASKS_MAX], first[RIG_TASKS_MAX];
    int64_t now_ns;
    bool hold_lookups, hold_commits;
    uint64_t lookups[256]; /* asked for and not answered */
    size_t lookups_count, lookups_asked, lookups_most;
    const struct vq_batch *batch; /* in flight */
    uint64_t batches, settled_found;
    struct rig_said said[RIG_SAID_MAX];
    size_t said_count, mark;
    unsigned finished, stopped, notes;
    enum vq_coord_stop stop_kind;
    bool stop_clean;
    char stop_text[VQ_COORD_TEXT_BYTES_MAX];
    uint64_t calls;
};

static inline void rig_request_of(void *ctx, uint64_t task, uint32_t repeat, struct vq_hash *ret)
{
    (void)ctx;
    memset(ret, 0, sizeof(*ret));
    memcpy(ret->b, &task, sizeof(task));
    ret->b[8] = (uint8_t)(repeat + 1);
}

static inline void rig_repair_of(void *ctx, uint64_t task, const struct vq_hash *of,
                                 struct vq_span answer, struct vq_hash *ret)
{
    (void)ctx;
    (void)task;
    static const struct vq_hash text_alone;
    *ret = *of;
    ret->b[9] = 1;
    if (vq_hash_eq(of, &text_alone)) {
        vq_hash_of("rig.text", answer, ret);
    }
}

static inline int64_t rig_ms(int64_t ms)
{
    return ms * VQ_NS_PER_MS;
}

/* Set params, store.swap and so on between rig_init and rig_start. */
static inline void rig_init(struct rig *r, uint32_t samples, uint32_t judges, uint32_t vibes)
{
    memset(r, 0, sizeof(*r));
    r->now_ns = VQ_NS_PER_S;
    static const char *const names[] = {"ada", "bea", "cleo", "dora"};
    for (uint32_t j = 0; j < judges; j++) {
        static const uint32_t own[RIG_POOLS_MAX] = {0, 1, 2, 3};
        r->judges[j] =
            (struct vq_coord_judge){.name = names[j], .pools = &own[j], .pools_count = 1};
        r->pool[j] = (struct vq_authority_pool){.name = names[j], .limit.concurrency = 1000};
    }
    r->pools = (struct vq_authority_params){.pools = r->pool,
                                            .pools_count = judges,
                                            .term_ns = rig_ms(RIG_TERM),
                                            .budget_nano = VQ_AMOUNT_ANY};
    for (uint32_t p = 0; p < RIG_POOLS_MAX; p++) {
        r->report[p] =
            (struct vq_pool_report){.pool = p, .waiting = 4, .unit = {.requests = 1, .tokens = 10}};
    }
    r->params = (struct vq_coord_params){.run = {{9}},
                                         .run_name = "rig",
                                         .epoch = 5,
                                         .grid = {samples, judges, vibes},
                                         .judges = r->judges,
                                         .spec = {{3}},
                                         .term_ns = rig_ms(RIG_TERM),
                                         .heartbeat_ns = rig_ms(RIG_HEARTBEAT),
                                         .orphan_s = 60,
                                         .orphan_remote_s = 3600};
    r->store.grid = r->params.grid;
    r->store.swap = VQ_SWAP_LAZY;
    r->store.repair = true;
    r->store.audited = r->audited;
    r->store.first = r->first;
    r->store.request_of = rig_request_of;
    r->store.repair_of = rig_repair_of;
    assert_true(vq_grid_tasks(&r->params.grid) <= RIG_TASKS_MAX);
    sim_store_init(&r->store, vq_grid_tasks(&r->store.grid));
}

/* Between rig_init and rig_start: the samples are dialogues; borrowed. */
static inline void rig_chains(struct rig *r, const struct vq_sample *chains)
{
    static const struct vq_judge model = {.name = "m",
                                          .model = "m",
                                          .dialect = "openai",
                                          .identity = "here",
                                          .max_tokens = 10,
                                          .max_tokens_field = "max_tokens",
                                          .seed = -1};
    assert_int_equal(vq_template_parse(VQ_TEMPLATE_AS_IS, vq_template_builtin(VQ_TEMPLATE_AS_IS),
                                       "as it is", &r->as_is, NULL),
                     VQ_OK);
    vq_asker_init(&r->asker, &model, r->as_is, NULL);
    r->params.chains = true;
    r->store.kind = VQ_STAGE_CHAT;
    r->store.swap = VQ_SWAP_NONE;
    r->store.repair = false;
    r->store.chains = chains;
    r->store.askers = &r->asker;
}

static inline void rig_look_up_as(struct rig *r, uint64_t shard, const struct vq_known *known)
{
    for (size_t i = 0; i < r->lookups_count; i++) {
        if (r->lookups[i] == shard) {
            r->lookups[i] = r->lookups[--r->lookups_count];
            break;
        }
    }
    assert_int_equal(vq_coord_looked_up(r->c, shard, known, r->now_ns), VQ_OK);
}

static inline void rig_look_up(struct rig *r, uint64_t shard)
{
    struct vq_known known[RIG_TASKS_MAX] = {0};
    sim_store_known(&r->store, shard, known);
    rig_look_up_as(r, shard, known);
}

/* Carries the commit in flight out. */
static inline void rig_commit(struct rig *r)
{
    assert_non_null(r->batch);
    const struct vq_batch *batch = r->batch;
    r->batch = NULL;
    r->batches++;
    r->settled_found += batch->settled_count;
    sim_store_commit_lmdb(&r->store, batch);
    sim_store_commit_redis(&r->store, batch);
    struct vq_settled *settled;
    size_t count = sim_store_settled(&r->store, batch, &settled);
    assert_int_equal(vq_coord_committed(r->c, batch->no, settled, count, r->now_ns), VQ_OK);
    vq_free(settled);
}

static inline void rig_keep_message(struct rig_said *said, const struct vq_msg *msg)
{
    said->type = msg->type;
    switch ((int)msg->type) {
    case VQ_MSG_WELCOME:
        said->stamp_ns = msg->u.welcome.stamp_ns;
        said->term_ms = msg->u.welcome.term_ms;
        break;
    case VQ_MSG_HEARTBEAT: said->stamp_ns = msg->u.held.stamp_ns; break;
    case VQ_MSG_LEASE:
        said->shard = msg->u.lease.shard;
        said->sample = msg->u.lease.sample;
        said->judge = msg->u.lease.judge;
        said->fence = msg->u.lease.fence;
        said->stamp_ns = msg->u.lease.stamp_ns;
        said->answer_tokens = msg->u.lease.answer_tokens;
        said->count = msg->u.lease.asks_count;
        assert_true(said->count <= RIG_LIST_MAX);
        for (uint32_t i = 0; i < said->count; i++) {
            said->tasks[i] = msg->u.lease.asks[i].task;
            said->lazy[i] = msg->u.lease.asks[i].lazy;
            said->repeat[i] = msg->u.lease.asks[i].repeat;
            said->prior[i] = msg->u.lease.asks[i].prior.bytes;
        }
        break;
    case VQ_MSG_ACK:
        said->count = msg->u.ack.calls_count + msg->u.ack.batched_count;
        for (uint32_t i = 0; i < said->count && i < RIG_LIST_MAX; i++) {
            said->ids[i] = i < msg->u.ack.calls_count
                               ? msg->u.ack.calls[i]
                               : msg->u.ack.batched[i - msg->u.ack.calls_count];
        }
        break;
    case VQ_MSG_GRANT:
        said->n = msg->u.grant.n;
        said->spend_most = msg->u.grant.spend_most;
        for (uint32_t i = 0; i < msg->u.grant.slices_count; i++) {
            said->concurrency +=
                msg->u.grant.slices[i].pool == 0 ? msg->u.grant.slices[i].concurrency : 0;
        }
        break;
    case VQ_MSG_CANCEL:
        said->shard = msg->u.cancel.shard;
        said->fence = msg->u.cancel.fence;
        said->code = msg->u.cancel.reason;
        said->count = msg->u.cancel.tasks_count;
        for (uint32_t i = 0; i < said->count; i++) {
            said->tasks[i] = msg->u.cancel.tasks[i];
        }
        break;
    case VQ_MSG_BYE: said->code = msg->u.bye.code; break;
    default: break;
    }
}

static inline void rig_keep(struct rig *r, const struct vq_coord_action *a)
{
    assert_true(r->said_count < RIG_SAID_MAX);
    struct rig_said *said = &r->said[r->said_count++];
    *said = (struct rig_said){.action = a->type};
    if (a->type == VQ_COORD_SAMPLE) {
        said->peer = a->u.sample.peer;
        said->session = a->u.sample.session;
        said->sample = a->u.sample.sample;
        said->type = VQ_MSG_SAMPLE;
        return;
    }
    if (a->type == VQ_COORD_COLLECT) {
        said->peer = a->u.collect.peer;
        said->session = a->u.collect.session;
        said->code = a->u.collect.cancel;
        said->count = a->u.collect.calls;
        said->type = VQ_MSG_COLLECT;
        return;
    }
    said->peer = a->u.send.peer;
    said->session = a->u.send.session;
    if (a->type == VQ_COORD_SEND) {
        rig_keep_message(said, &a->u.send.msg);
    } else if (a->type == VQ_COORD_SPEC) {
        said->type = VQ_MSG_SPEC;
    }
}

static inline void rig_act(struct rig *r, const struct vq_coord_action *a)
{
    switch (a->type) {
    case VQ_COORD_SEND:
    case VQ_COORD_SPEC:
    case VQ_COORD_SAMPLE:
    case VQ_COORD_COLLECT:
    case VQ_COORD_CLOSE: rig_keep(r, a); break;
    case VQ_COORD_LOOKUP:
        r->lookups_asked++;
        r->lookups[r->lookups_count++] = a->u.shard;
        r->lookups_most = r->lookups_count > r->lookups_most ? r->lookups_count : r->lookups_most;
        break;
    case VQ_COORD_COMMIT:
        assert_null(r->batch); /* rule 14: one in flight */
        r->batch = a->u.batch;
        break;
    case VQ_COORD_NOTE: r->notes++; break;
    case VQ_COORD_FINISHED: r->finished++; break;
    case VQ_COORD_STOPPED:
        r->stopped++;
        r->stop_kind = a->u.stopped.kind;
        r->stop_clean = a->u.stopped.clean;
        strncpy(r->stop_text, a->u.stopped.text, sizeof(r->stop_text) - 1);
        break;
    }
}

/* Takes every action; answers look-ups and commits unless they are held. */
static inline void rig_pull(struct rig *r)
{
    struct vq_coord_action action;
    bool more = true;
    while (more) {
        while (vq_coord_next(r->c, r->now_ns, &action)) {
            rig_act(r, &action);
        }
        more = false;
        while (!r->hold_lookups && r->lookups_count > 0) {
            rig_look_up(r, r->lookups[r->lookups_count - 1]);
            more = true;
        }
        if (!r->hold_commits && r->batch != NULL) {
            rig_commit(r);
            more = true;
        }
    }
    assert_int_equal(vq_coord_health(r->c), VQ_OK);
}

/* The authority that all cores of this rig share. */
static inline void rig_authority(struct rig *r)
{
    struct vq_error err = {""};
    if (r->authority == NULL) {
        assert_int_equal(vq_authority_create(&r->pools, r->now_ns, &r->authority, &err), VQ_OK);
    }
    r->params.authority = r->authority;
}

static inline void rig_start(struct rig *r)
{
    struct vq_error err = {""};
    rig_authority(r);
    assert_int_equal(vq_coord_create(&r->params, r->now_ns, &r->c, &err), VQ_OK);
    rig_pull(r);
}

static inline void rig_end(struct rig *r)
{
    vq_coord_destroy(&r->c);
    vq_authority_destroy(&r->authority);
    sim_store_free(&r->store);
    vq_template_destroy(&r->as_is);
}

/* Time passes, with ticks often enough that it is no pause. */
static inline void rig_pass(struct rig *r, int64_t ms)
{
    int64_t until_ns = r->now_ns + rig_ms(ms);
    while (r->now_ns < until_ns) {
        int64_t wake_ns = r->now_ns + rig_ms(RIG_HEARTBEAT) / 2;
        r->now_ns = wake_ns < until_ns ? wake_ns : until_ns;
        assert_int_equal(vq_coord_tick(r->c, r->now_ns), VQ_OK);
        rig_pull(r);
    }
}

/* ---- what was said ---- */

static inline void rig_mark(struct rig *r)
{
    r->mark = r->said_count;
}

/* Since the mark. */
static inline unsigned rig_count(const struct rig *r, uint64_t peer, enum vq_msg_type type)
{
    unsigned count = 0;
    for (size_t i = r->mark; i < r->said_count; i++) {
        count += r->said[i].action != VQ_COORD_CLOSE && r->said[i].type == type &&
                 (peer == 0 || r->said[i].peer == peer);
    }
    return count;
}

/* The latest; fails when there is none. */
static inline struct rig_said *rig_last(struct rig *r, uint64_t peer, enum vq_msg_type type)
{
    for (size_t i = r->said_count; i > 0; i--) {
        struct rig_said *said = &r->said[i - 1];
        if (said->action != VQ_COORD_CLOSE && said->type == type &&
            (peer == 0 || said->peer == peer)) {
            return said;
        }
    }
    fail_msg("nothing of type %d was said", (int)type);
    return NULL;
}

/* The n-th LEASE since the mark. */
static inline struct rig_said *rig_lease(struct rig *r, unsigned n)
{
    for (size_t i = r->mark; i < r->said_count; i++) {
        if (r->said[i].action == VQ_COORD_SEND && r->said[i].type == VQ_MSG_LEASE && n-- == 0) {
            return &r->said[i];
        }
    }
    fail_msg("no such LEASE");
    return NULL;
}

/* The last LEASE of a shard since the mark; NULL: none. */
static inline const struct rig_said *rig_leased(const struct rig *r, uint64_t shard)
{
    const struct rig_said *lease = NULL;
    for (size_t i = r->mark; i < r->said_count; i++) {
        lease = r->said[i].type == VQ_MSG_LEASE && r->said[i].shard == shard ? &r->said[i] : lease;
    }
    return lease;
}

/* ---- what workers say ---- */

static inline void rig_tell(struct rig *r, uint64_t peer, const struct vq_msg *msg)
{
    assert_int_equal(vq_coord_message(r->c, peer, msg, r->now_ns), VQ_OK);
    rig_pull(r);
}

static inline struct vq_id rig_worker(uint64_t n)
{
    struct vq_id id = {{0}};
    memcpy(id.b, &n, sizeof(n));
    id.b[7] = 0x55;
    return id;
}

static inline uint64_t rig_hello_as(struct rig *r, uint64_t peer, struct vq_msg_hello hello)
{
    struct vq_msg msg = {.type = VQ_MSG_HELLO, .u.hello = hello};
    rig_tell(r, peer, &msg);
    return rig_last(r, peer, VQ_MSG_WELCOME)->session;
}

/* Worker n on a peer; its clock is ours. */
static inline uint64_t rig_hello(struct rig *r, uint64_t peer, uint64_t n)
{
    struct vq_msg_hello hello = {.worker = rig_worker(n),
                                 .stamp_ns = r->now_ns,
                                 .name = vq_span_str(r->name == NULL ? "worker" : r->name),
                                 .host = vq_span_str("host"),
                                 .software = vq_span_str("vibeq test"),
                                 .spec = r->params.spec,
                                 .local = (int64_t)n,
                                 .has_spool = true};
    return rig_hello_as(r, peer, hello);
}

static inline void rig_list(struct rig *r, uint64_t peer, uint64_t session, enum vq_msg_type type,
                            const struct vq_held_lease *leases, uint32_t leases_count,
                            const struct vq_held_call *calls, uint32_t calls_count)
{
    struct vq_msg msg = {.type = type,
                         .u.held = {.session = session,
                                    .stamp_ns = r->now_ns,
                                    .leases = leases,
                                    .leases_count = leases_count,
                                    .calls = calls,
                                    .calls_count = calls_count}};
    rig_tell(r, peer, &msg);
}

static inline void rig_beat(struct rig *r, uint64_t peer, uint64_t session,
                            const struct rig_said *lease)
{
    struct vq_held_lease held = {0};
    if (lease != NULL) {
        held = (struct vq_held_lease){lease->shard, lease->fence};
    }
    rig_list(r, peer, session, VQ_MSG_HEARTBEAT, &held, lease != NULL, NULL, 0);
}

/* CREDIT of several judges, with a report of each pool. The worker goes by what it was granted
 * last. */
static inline void rig_credits(struct rig *r, uint64_t peer, uint64_t session,
                               const struct vq_credit *credits, uint32_t count)
{
    uint64_t n = 0;
    for (size_t i = 0; i < r->said_count; i++) {
        bool grant = r->said[i].type == VQ_MSG_GRANT && r->said[i].session == session;
        n = grant ? r->said[i].n : n;
        r->spend.most = grant ? r->said[i].spend_most : r->spend.most;
    }
    struct vq_msg msg = {.type = VQ_MSG_CREDIT,
                         .u.credit = {.session = session,
                                      .granted_n = n,
                                      .spend = r->spend,
                                      .credits = credits,
                                      .credits_count = count,
                                      .reports = r->report,
                                      .reports_count = r->pools.pools_count}};
    rig_tell(r, peer, &msg);
}

static inline void rig_credit(struct rig *r, uint64_t peer, uint64_t session, uint32_t judge,
                              uint32_t tasks, enum vq_pool_state state)
{
    struct vq_credit credit = {.judge = judge,
                               .tasks = tasks,
                               .state = (uint8_t)state,
                               .text = vq_span_str(state == VQ_POOL_OPEN ? "" : "401 bad key")};
    rig_credits(r, peer, session, &credit, 1);
}

/* HELLO, an empty HELD, credit for judge 0. */
static inline uint64_t rig_join(struct rig *r, uint64_t peer, uint64_t n, uint32_t credit)
{
    uint64_t session = rig_hello(r, peer, n);
    rig_list(r, peer, session, VQ_MSG_HELD, NULL, 0, NULL, 0);
    rig_credit(r, peer, session, 0, credit, VQ_POOL_OPEN);
    return session;
}

static inline struct vq_id rig_call(struct rig *r)
{
    struct vq_id id = {{0xca}};
    r->calls++;
    memcpy(id.b + 8, &r->calls, sizeof(r->calls));
    return id;
}

/* A result of a lease: an answer with this text, read with the real verdicts. */
static inline struct vq_result rig_answer(struct rig *r, const struct rig_said *lease,
                                          uint64_t task, const char *text)
{
    struct vq_result result = {.call = rig_call(r),
                               .shard = task / vq_grid_shard_tasks(&r->params.grid),
                               .fence = lease->fence,
                               .task = task,
                               .tries = 1,
                               .end = VQ_END_ANSWER,
                               .http_status = 200,
                               .tokens_in = 10,
                               .tokens_out = 2,
                               .answer = vq_span_str(text),
                               .finish_reason = vq_span_str("stop")};
    result.judge = (uint32_t)(result.shard % r->params.grid.judges);
    rig_request_of(NULL, task, 0, &result.request);
    enum vq_outcome outcome = vq_verdict_ranker(result.answer, result.finish_reason, false);
    result.outcome = (uint8_t)outcome;
    result.final = true;
    return result;
}

static inline struct vq_result rig_failure(struct rig *r, const struct rig_said *lease,
                                           uint64_t task, enum vq_call_end end, bool final,
                                           enum vq_outcome outcome)
{
    struct vq_result result = rig_answer(r, lease, task, "");
    result.end = (uint8_t)end;
    result.final = final;
    result.outcome = (uint8_t)outcome;
    return result;
}

static inline void rig_results(struct rig *r, uint64_t peer, uint64_t session,
                               const struct vq_result *results, uint32_t count)
{
    struct vq_msg msg = {
        .type = VQ_MSG_RESULTS,
        .u.results = {.session = session, .results = results, .results_count = count}};
    rig_tell(r, peer, &msg);
}

static inline void rig_say_answer(struct rig *r, uint64_t peer, uint64_t session,
                                  const struct rig_said *lease, uint64_t task, const char *text)
{
    struct vq_result result = rig_answer(r, lease, task, text);
    rig_results(r, peer, session, &result, 1);
}

/* Past the probe of judge 0: one answer of `task`, which must be the one that is out. */
static inline void rig_probe(struct rig *r, uint64_t peer, uint64_t session)
{
    const struct rig_said lease = *rig_last(r, peer, VQ_MSG_LEASE);
    assert_int_equal(lease.count, 1);
    rig_say_answer(r, peer, session, &lease, lease.tasks[0], "Model: A");
}

static inline struct vq_coord_status rig_status(const struct rig *r)
{
    struct vq_coord_status status;
    vq_coord_status_fill(r->c, r->now_ns, &status);
    return status;
}

/* The store knows an answer before the run starts, so that no probe is needed: of the shard after
 * all others. */
static inline void rig_tried(struct rig *r, uint64_t task, const char *text)
{
    struct vq_hash request;
    rig_request_of(NULL, task, 0, &request);
    assert_true(sim_store_put(&r->store, &request, vq_span_str(text), vq_span_str("stop"), false));
}

/* ---- what most tests begin with ---- */

/* 4 samples, 1 judge, 2 vibes: shards of 4 tasks. */
static inline int rig_setup(void **state)
{
    static struct rig rig;
    rig_init(&rig, 4, 1, 2);
    *state = &rig;
    return 0;
}

/* The same past the judge's probe: the store has one answer of the last shard. */
static inline int rig_setup_tried(void **state)
{
    (void)rig_setup(state);
    rig_tried(*state, 12, "Model: A");
    return 0;
}

/* The result is a dialogue's turn, asked in this state. */
static inline void rig_chain_ask(const struct rig *r, const struct vq_chain_state *state,
                                 struct vq_result *result)
{
    vq_chain_request(&r->asker, state, 0, &result->request);
    result->outcome =
        (uint8_t)vq_verdict_of(VQ_STAGE_CHAT, result->answer, result->finish_reason, false);
    result->final = true;
}

static inline int rig_teardown(void **state)
{
    rig_end(*state);
    return 0;
}

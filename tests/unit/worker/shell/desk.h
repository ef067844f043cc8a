/* A coordinator small enough for a test: a ROUTER that welcomes one worker, leases every task of a
 * small grid until it is final, ACKs, and keeps what it saw. The worker and the endpoint are the
 * real programs. */
#pragma once

#include "tests/unit/test.h"

#include "common/base/clock.h"
#include "common/judge/template.h"
#include "common/net/child.h"
#include "common/net/zsock.h"
#include "proto/pool.h"
#include "proto/spool.h"
#include "proto/wire.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DESK_TASKS_MAX   8192
#define DESK_RESULTS_MAX 20000
#define DESK_BATCHES_MAX 64
#define DESK_TERM_MS     3000
/* until a test that hangs is given up; nothing is asserted of it */
#define DESK_WAIT_MS 120000u

struct desk_result {
    struct vq_result r; /* its texts are gone */
    char answer[64], error[256];
};

struct desk_batch { /* as the worker reported it last */
    char name[80], pool[64], id[256];
    uint8_t state;
    uint32_t calls, ended;
};

struct desk {
    struct vq_loop *loop;
    struct vq_router *router;
    struct vq_decoder *decoder;
    struct vq_child *offline, *worker;
    struct vq_child_exit worker_exit;
    bool worker_ended;
    char dir[64], join[96], spool[96], state[96], log[96], offline_log[96], url[64],
        endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    struct vq_cert cert;
    struct vq_keypair keys;
    struct vq_id run;
    /* the run */
    uint32_t samples, judges, axes;
    const char *judge_key[2];   /* references in the SPEC; each judge has a pool of its name */
    const char *more_key;       /* of the first pool */
    bool share;                 /* the second pool answers for the first judge too */
    const char *base_url;       /* NULL: the offline server's */
    const char *dialect, *tail; /* of all pools, and of the offline server's URL */
    uint32_t batch_calls;       /* 0: each call is sent by itself */
    uint32_t concurrency, tries_max, total_timeout_ms;
    bool hold_acks, mute, hold_leases;
    /* the session */
    uint64_t peer, session, fence_n;
    int64_t stamp_ns;
    uint32_t hellos, credits;
    struct vq_msg_hello hello; /* without its texts */
    uint32_t held_calls;       /* of the last HELD or HEARTBEAT */
    uint32_t held_calls_first; /* of the last HELD */
    uint8_t pool_state[2];
    uint32_t pool_tasks[2];
    char pool_text[2][256];
    struct vq_pool_report reports[2]; /* without their texts and lists */
    uint64_t granted_n;               /* as the worker said last */
    bool leased[DESK_TASKS_MAX], final[DESK_TASKS_MAX];
    uint32_t out; /* leased and not final */
    uint32_t finals, returned, byes;
    bool anew; /* begun again: it knows of no session, like a coordinator that was killed */
    bool met;  /* the HELLO of the program begun last has come; before, its predecessor speaks */
    struct desk_result results[DESK_RESULTS_MAX];
    uint32_t results_count;
    struct desk_batch batches[DESK_BATCHES_MAX];
    uint32_t batches_count;
};

static VQ_UNUSED void desk_send(struct desk *d, const struct vq_msg *msg)
{
    struct vq_buf frame;
    vq_buf_init(&frame, VQ_FRAME_BYTES_MAX);
    assert_int_equal(vq_msg_encode(msg, &frame), VQ_OK);
    (void)!vq_router_send(d->router, d->peer, vq_buf_span(&frame));
    vq_buf_free(&frame);
}

static VQ_UNUSED void desk_bye(struct desk *d, enum vq_bye_code code)
{
    struct vq_msg bye = {.type = VQ_MSG_BYE,
                         .u.bye = {d->session, (uint8_t)code, vq_span_str("the run is done")}};
    desk_send(d, &bye);
}

static VQ_UNUSED void desk_spec(struct desk *d, struct vq_hash *ret_hash, struct vq_buf *body)
{
    struct vq_spec_judge judges[2];
    struct vq_spec_pool pools[2];
    struct vq_spec_axis axes[16];
    struct vq_span keys[2][2];
    static const uint32_t served[] = {0, 1, 1};
    uint32_t pools_count = d->share ? 2 : d->judges;
    for (uint32_t j = 0; j < pools_count; j++) {
        pools[j] = (struct vq_spec_pool){
            .name = vq_span_str(j == 0 ? "first" : "second"),
            .dialect = vq_span_str(d->dialect),
            .batch_calls = d->batch_calls,
            .batch_bytes = 1u << 20,
            .batch_wait_ms = 1000,
            .batch_poll_ms = 100,
            .base_url = vq_span_str(d->base_url == NULL ? d->url : d->base_url),
            .model = vq_span_str(j == 0 || d->share ? "offline-a" : "offline-b"),
            .keys = keys[j],
            .priced = true,
            .input_usd = 2,
            .cached_usd = 2,
            .written_usd = 2,
            .output_usd = 8,
            .connect_timeout_ms = 3000,
            .first_byte_timeout_ms = d->total_timeout_ms,
            .total_timeout_ms = d->total_timeout_ms};
        if (d->judge_key[j] != NULL) {
            keys[j][pools[j].keys_count++] = vq_span_str(d->judge_key[j]);
        }
        if (j == 0 && d->more_key != NULL) {
            keys[j][pools[j].keys_count++] = vq_span_str(d->more_key);
        }
    }
    for (uint32_t j = 0; j < d->judges; j++) {
        judges[j] = (struct vq_spec_judge){.name = vq_span_str(j == 0 ? "first" : "second"),
                                           .model = vq_span_str(j == 0 ? "offline-a" : "offline-b"),
                                           .dialect = vq_span_str(d->dialect),
                                           .identity = vq_span_str("offline/0"),
                                           .max_tokens_field = vq_span_str("max_tokens"),
                                           .max_tokens = 200,
                                           .seed = -1,
                                           .tries_max = d->tries_max,
                                           .pools = &served[j == 0 ? 0 : 2],
                                           .pools_count = j == 0 && d->share ? 2 : 1};
    }
    for (uint32_t a = 0; a < d->axes; a++) {
        axes[a] = (struct vq_spec_axis){vq_span_str("length"), vq_span_str("short, few words"),
                                        vq_span_str("long, many words")};
    }
    struct vq_spec spec = {.judge_template = vq_template_builtin(VQ_TEMPLATE_JUDGE),
                           .repair_template = vq_template_builtin(VQ_TEMPLATE_REPAIR),
                           .axes = axes,
                           .axes_count = d->axes,
                           .judges = judges,
                           .judges_count = d->judges,
                           .pools = pools,
                           .pools_count = pools_count};
    vq_buf_init(body, VQ_FRAME_BYTES_MAX);
    assert_int_equal(vq_spec_encode(&spec, body), VQ_OK);
    vq_hash_of("spec", vq_buf_span(body), ret_hash);
}

static VQ_UNUSED void desk_welcome(struct desk *d, const struct vq_msg_hello *hello)
{
    struct vq_hash hash;
    struct vq_buf body;
    desk_spec(d, &hash, &body);
    d->session++;
    d->stamp_ns = hello->stamp_ns;
    struct vq_msg msg = {.type = VQ_MSG_WELCOME,
                         .u.welcome = {.session = d->session,
                                       .epoch = 1,
                                       .run = d->run,
                                       .run_name = vq_span_str("desk"),
                                       .stamp_ns = hello->stamp_ns,
                                       .spec = hash,
                                       .term_ms = DESK_TERM_MS,
                                       .heartbeat_ms = DESK_TERM_MS / 6,
                                       .orphan_s = 60}};
    desk_send(d, &msg);
    if (!vq_hash_eq(&hello->spec, &hash)) {
        msg =
            (struct vq_msg){.type = VQ_MSG_SPEC, .u.spec = {d->session, hash, vq_buf_span(&body)}};
        desk_send(d, &msg);
    }
    vq_buf_free(&body);
    struct vq_slice slices[2];
    for (uint32_t p = 0; p < 2; p++) {
        slices[p] = (struct vq_slice){.pool = p,
                                      .concurrency = d->concurrency,
                                      .day_requests_most = VQ_AMOUNT_ANY,
                                      .day_tokens_most = VQ_AMOUNT_ANY};
    }
    msg = (struct vq_msg){.type = VQ_MSG_GRANT,
                          .u.grant = {.session = d->session,
                                      .n = 1,
                                      .spend_most = VQ_AMOUNT_ANY,
                                      .slices = slices,
                                      .slices_count = d->share ? 2 : d->judges}};
    desk_send(d, &msg);
}

/* Leases shards with something open while the worker's credit lasts. */
static VQ_UNUSED void desk_lease(struct desk *d)
{
    uint32_t per_shard = d->axes * 2;
    for (uint32_t shard = 0; !d->hold_leases && shard < d->samples * d->judges; shard++) {
        uint32_t judge = shard % d->judges;
        struct vq_ask asks[32];
        uint32_t count = 0;
        for (uint32_t i = 0; i < per_shard; i++) {
            uint64_t task = (uint64_t)shard * per_shard + i;
            if (!d->leased[task] && !d->final[task]) {
                asks[count++] =
                    (struct vq_ask){.task = task, .vibe = i / 2, .order = (uint8_t)(i % 2)};
            }
        }
        if (count == 0 || d->pool_state[judge] != VQ_POOL_OPEN ||
            d->out + count > d->pool_tasks[judge]) {
            continue;
        }
        char prompt[64];
        (void)snprintf(prompt, sizeof(prompt), "Question %u?", shard / d->judges);
        struct vq_msg msg = {
            .type = VQ_MSG_SAMPLE,
            .u.sample = {
                d->session, shard / d->judges, vq_span_str(prompt),
                vq_span_str("A long answer that goes on and on for very many words indeed."),
                vq_span_str("Short.")}};
        desk_send(d, &msg);
        for (uint32_t i = 0; i < count; i++) {
            d->leased[asks[i].task] = true;
        }
        d->out += count;
        msg = (struct vq_msg){.type = VQ_MSG_LEASE,
                              .u.lease = {.session = d->session,
                                          .shard = shard,
                                          .fence = {1, ++d->fence_n},
                                          .stamp_ns = d->stamp_ns,
                                          .sample = shard / d->judges,
                                          .judge = judge,
                                          .asks = asks,
                                          .asks_count = count}};
        desk_send(d, &msg);
    }
}

/* A call that was part of a batch has ended without an answer: its task is open again. */
static bool desk_was_batched(const struct desk *d, const struct vq_id *call)
{
    for (uint32_t i = 0; i < d->results_count; i++) {
        if (vq_id_eq(&d->results[i].r.call, call) && d->results[i].r.end == VQ_END_BATCHED) {
            return true;
        }
    }
    return false;
}

static VQ_UNUSED void desk_batch(struct desk *d, const struct vq_msg_batch *batch)
{
    uint32_t i = 0;
    while (i < d->batches_count && !vq_span_eq(vq_span_str(d->batches[i].name), batch->name)) {
        i++;
    }
    assert_true(i < DESK_BATCHES_MAX);
    d->batches_count += i == d->batches_count ? 1 : 0;
    struct desk_batch *at = &d->batches[i];
    (void)snprintf(at->name, sizeof(at->name), "%.*s", (int)batch->name.bytes, batch->name.at);
    (void)snprintf(at->pool, sizeof(at->pool), "%.*s", (int)batch->pool.bytes, batch->pool.at);
    (void)snprintf(at->id, sizeof(at->id), "%.*s", (int)batch->id.bytes, batch->id.at);
    at->state = batch->state;
    at->calls = batch->calls;
    at->ended = batch->ended;
}

static VQ_UNUSED void desk_results(struct desk *d, const struct vq_msg_results *results)
{
    static struct vq_id ids[DESK_RESULTS_MAX];
    for (uint32_t i = 0; i < results->results_count; i++) {
        const struct vq_result *r = &results->results[i];
        assert_true(d->results_count < DESK_RESULTS_MAX && r->task < DESK_TASKS_MAX);
        bool again = d->batch_calls > 0 && r->end != VQ_END_BATCHED && !r->final &&
                     desk_was_batched(d, &r->call);
        if (again && d->leased[r->task]) {
            d->out--;
            d->leased[r->task] = false;
        }
        struct desk_result *keep = &d->results[d->results_count++];
        keep->r = *r;
        (void)snprintf(keep->answer, sizeof(keep->answer), "%.*s", (int)r->answer.bytes,
                       r->answer.at);
        (void)snprintf(keep->error, sizeof(keep->error), "%.*s", (int)r->error.bytes, r->error.at);
        if (r->final && !d->final[r->task]) {
            d->final[r->task] = true;
            d->finals++;
            d->out -= d->leased[r->task] ? 1 : 0;
            d->leased[r->task] = false;
        }
        ids[i] = r->call;
    }
    if (!d->hold_acks) {
        struct vq_msg ack = {.type = VQ_MSG_ACK,
                             .u.ack = {d->session, ids, results->results_count}};
        desk_send(d, &ack);
    }
}

static VQ_UNUSED void desk_message(void *ctx, uint64_t peer, struct vq_span frame)
{
    struct desk *d = ctx;
    struct vq_msg msg;
    struct vq_error err = {""};
    if (vq_msg_decode(d->decoder, frame, VQ_TO_COORDINATOR, &msg, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    if (d->mute || (!d->met && msg.type != VQ_MSG_HELLO)) {
        return;
    }
    if (d->anew && msg.type != VQ_MSG_HELLO) {
        d->peer = peer;
        desk_bye(d, VQ_BYE_NO_SESSION);
        return;
    }
    if (msg.type == VQ_MSG_HELLO) {
        d->anew = false;
        d->met = true;
        d->peer = peer;
        d->hello = msg.u.hello;
        d->hellos++;
        desk_welcome(d, &msg.u.hello);
    } else if (msg.type == VQ_MSG_HELD || msg.type == VQ_MSG_HEARTBEAT) {
        d->held_calls = msg.u.held.calls_count;
        if (msg.type == VQ_MSG_HELD) {
            d->held_calls_first = msg.u.held.calls_count;
            return;
        }
        d->stamp_ns = msg.u.held.stamp_ns;
        struct vq_msg echo = {.type = VQ_MSG_HEARTBEAT,
                              .u.held = {d->session, msg.u.held.stamp_ns, NULL, 0, NULL, 0}};
        desk_send(d, &echo);
    } else if (msg.type == VQ_MSG_CREDIT) {
        d->credits++;
        d->granted_n = msg.u.credit.granted_n;
        for (uint32_t i = 0; i < msg.u.credit.reports_count && i < 2; i++) {
            d->reports[i] = msg.u.credit.reports[i];
        }
        for (uint32_t i = 0; i < msg.u.credit.credits_count && i < 2; i++) {
            const struct vq_credit *c = &msg.u.credit.credits[i];
            d->pool_state[i] = c->state;
            d->pool_tasks[i] = c->tasks;
            (void)snprintf(d->pool_text[i], sizeof(d->pool_text[i]), "%.*s", (int)c->text.bytes,
                           c->text.at);
        }
    } else if (msg.type == VQ_MSG_RESULTS) {
        desk_results(d, &msg.u.results);
    } else if (msg.type == VQ_MSG_BATCH) {
        desk_batch(d, &msg.u.batch);
    } else if (msg.type == VQ_MSG_CANCEL) {
        d->returned += msg.u.cancel.tasks_count;
        for (uint64_t i = 0; msg.u.cancel.tasks_count == 0 && i < d->axes * 2; i++) {
            uint64_t task = msg.u.cancel.shard * d->axes * 2 + i;
            d->out -= d->leased[task] ? 1 : 0;
            d->leased[task] = false;
        }
        for (uint32_t i = 0; i < msg.u.cancel.tasks_count; i++) {
            d->out -= d->leased[msg.u.cancel.tasks[i]] ? 1 : 0;
            d->leased[msg.u.cancel.tasks[i]] = false;
        }
    } else if (msg.type == VQ_MSG_BYE) {
        d->byes++;
    }
    if (d->credits > 0) {
        desk_lease(d);
    }
}

/* ---- programs ---- */

static VQ_UNUSED void desk_worker_exited(void *ctx, struct vq_child_exit how)
{
    struct desk *d = ctx;
    d->worker_exit = how;
    d->worker_ended = true;
}

static VQ_UNUSED void desk_offline_exited(void *ctx, struct vq_child_exit how)
{
    (void)ctx;
    (void)how;
}

static VQ_UNUSED bool desk_ended(void *ctx)
{
    return ((struct desk *)ctx)->worker_ended;
}

static VQ_UNUSED void desk_wait(struct desk *d, bool (*done)(void *ctx))
{
    enum vq_status status = vq_loop_run_until(d->loop, done, d, DESK_WAIT_MS);
    if (status != VQ_OK) {
        char command[128];
        (void)snprintf(command, sizeof(command), "tail -20 %s >&2", d->log);
        (void)!system(command);
        fail_msg("waited %u ms in vain: %u finals, %u results, %u out", DESK_WAIT_MS, d->finals,
                 d->results_count, d->out);
    }
}

static VQ_UNUSED bool desk_never(void *ctx)
{
    (void)ctx;
    return false;
}

static VQ_UNUSED void desk_pause(struct desk *d, uint32_t ms)
{
    assert_int_equal(vq_loop_run_until(d->loop, desk_never, NULL, ms), VQ_TIMEOUT);
}

static VQ_UNUSED void desk_offline(struct desk *d, const char *const *more)
{
    char port_file[96], path[512];
    (void)snprintf(port_file, sizeof(port_file), "%s/port", d->dir);
    (void)snprintf(path, sizeof(path), "%s/vibeq-offline", VQ_BIN_DIR);
    const char *argv[24] = {"vibeq-offline", "--port-file",  port_file,
                            "--log",         d->offline_log, "--parent-death"};
    size_t n = 6;
    for (size_t i = 0; more != NULL && more[i] != NULL; i++) {
        argv[n++] = more[i];
    }
    struct vq_error err = {""};
    struct vq_child_options options = {
        .path = path, .argv = argv, .env_all = true, .exited = desk_offline_exited};
    if (vq_child_spawn(d->loop, &options, &d->offline, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    unsigned port = 0;
    for (uint32_t ms = 0; ms < DESK_WAIT_MS && port == 0; ms += 25) {
        FILE *f = fopen(port_file, "r");
        if (f == NULL || fscanf(f, "%u", &port) != 1) {
            port = 0;
        }
        if (f != NULL) {
            (void)fclose(f);
        }
        if (port == 0) {
            desk_pause(d, 25);
        }
    }
    assert_true(port > 0);
    (void)snprintf(d->url, sizeof(d->url), "http://127.0.0.1:%u%s", port, d->tail);
}

static VQ_UNUSED void desk_worker(struct desk *d, const char *const *more, const char *const *env)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/vibeq-worker", VQ_BIN_DIR);
    const char *argv[24] = {"vibeq-worker", "--join", d->join, "--log", d->log, "--name", "w"};
    size_t n = 7;
    for (size_t i = 0; more != NULL && more[i] != NULL; i++) {
        argv[n++] = more[i];
    }
    static const char *const keep[] = {"PATH", "XDG_STATE_HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                       NULL};
    struct vq_error err = {""};
    struct vq_child_options options = {.path = path,
                                       .argv = argv,
                                       .env_keep = keep,
                                       .env_set = env,
                                       .stderr_fd = STDERR_FILENO,
                                       .exited = desk_worker_exited,
                                       .ctx = d};
    vq_child_destroy(&d->worker);
    d->worker_ended = false;
    d->met = false;
    d->credits = 0;
    if (vq_child_spawn(d->loop, &options, &d->worker, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
}

/* ---- life ---- */

static VQ_UNUSED void desk_router(struct desk *d)
{
    const char *allowed[] = {d->cert.keys.public_key};
    struct vq_error err = {""};
    struct vq_router_options options = {.keys = &d->keys,
                                        .allowed = allowed,
                                        .allowed_count = 1,
                                        .on_message = desk_message,
                                        .ctx = d};
    const char *where = d->endpoint[0] != '\0' ? d->endpoint : "tcp://127.0.0.1:0";
    char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
    if (vq_router_create(d->loop, &options, &d->router, &err) != VQ_OK ||
        vq_router_bind(d->router, where, endpoint, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    (void)snprintf(d->endpoint, sizeof(d->endpoint), "%s", endpoint);
    d->anew = d->hellos > 0;
}

static VQ_UNUSED void desk_join(struct desk *d)
{
    struct vq_error err = {""};
    vq_hex(d->run.b, VQ_ID_BYTES, d->cert.run_uid);
    (void)snprintf(d->cert.endpoint, sizeof(d->cert.endpoint), "%s", d->endpoint);
    (void)snprintf(d->cert.server_key, sizeof(d->cert.server_key), "%s", d->keys.public_key);
    (void)snprintf(d->cert.run_name, sizeof(d->cert.run_name), "desk");
    if (vq_cert_write(d->join, &d->cert, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
}

static VQ_UNUSED void desk_open(struct desk *d)
{
    memset(d, 0, sizeof(*d));
    struct vq_error err = {""};
    d->dialect = "openai";
    d->tail = "/v1";
    d->samples = 10;
    d->judges = 1;
    d->axes = 2;
    d->concurrency = 8;
    d->tries_max = 8;
    d->total_timeout_ms = 20000;
    (void)snprintf(d->dir, sizeof(d->dir), "/tmp/vq-desk-XXXXXX");
    assert_non_null(mkdtemp(d->dir));
    (void)snprintf(d->join, sizeof(d->join), "%s/join.cert", d->dir);
    (void)snprintf(d->spool, sizeof(d->spool), "%s/spool", d->dir);
    (void)snprintf(d->state, sizeof(d->state), "%s/state", d->dir);
    assert_int_equal(setenv("XDG_STATE_HOME", d->state, 1), 0); /* for spools without a name */
    (void)snprintf(d->log, sizeof(d->log), "%s/worker.log", d->dir);
    (void)snprintf(d->offline_log, sizeof(d->offline_log), "%s/offline.log", d->dir);
    vq_random_bytes(d->run.b, VQ_ID_BYTES);
    assert_int_equal(vq_loop_create(&d->loop, &err), VQ_OK);
    assert_int_equal(vq_decoder_create(&d->decoder), VQ_OK);
    assert_int_equal(vq_keypair_create(&d->keys), VQ_OK);
    assert_int_equal(vq_keypair_create(&d->cert.keys), VQ_OK);
    desk_router(d);
    desk_join(d);
}

static VQ_UNUSED void desk_close(struct desk *d)
{
    vq_child_destroy(&d->worker);
    vq_child_destroy(&d->offline);
    vq_router_destroy(&d->router);
    vq_decoder_destroy(&d->decoder);
    vq_keypair_destroy(&d->keys);
    vq_cert_destroy(&d->cert);
    vq_loop_destroy(&d->loop);
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf %s", d->dir);
    (void)!system(command);
}

/* How many lines of a file hold the text. */
static VQ_UNUSED uint32_t desk_lines(const char *path, const char *text)
{
    FILE *f = fopen(path, "r");
    static char line[65536];
    uint32_t count = 0;
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        count += strstr(line, text) != NULL ? 1 : 0;
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return count;
}

/* A run's columns in Redis. Each operation is one Lua script (for reading: one per block), which
 * checks owner and commit number and then does all of its work, or none.
 *
 * Invariants: a write without ownership changes nothing. The tally always equals the columns: the
 * script counts changes, from the old bytes to the new ones. A script that ended in an error may
 * have done a part of its work, so the next begin returns "rebuild". An operation is completed
 * exactly once, from the loop: by its last reply, by a deferred function if it could not be sent,
 * or by the destruction of the state, whose memory then exists until the last reply has come. Not
 * its job: connecting, waiting, deciding when to rebuild (the shell). */
#include "coordinator/store/state/run_state.h"

#include "common/base/alloc.h"
#include "common/net/redis.h"
#include "coordinator/store/state/state_scripts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define OPS_MAX       32   /* at the same time; a coordinator has a few */
#define BLOCKS_MAX    1024 /* 2^30 tasks */
#define PREFIX_BYTES  192
#define KEY_BYTES     (PREFIX_BYTES + 32)
#define OWNER_BYTES   (VQ_HEX_BYTES(VQ_ID_BYTES) * 2 + 24)
#define NUMBER_BYTES  24
#define COMMIT_BYTES  40
#define UPDATES_MAX   (32u << 20)
#define FIXED_KEYS    4
#define FILL_ARGS_MAX (2 + 4 + 2 * 256)

struct op {
    struct vq_run_state *state;
    bool used;
    bool reported; /* its callback was called */
    enum vq_state_script script;
    union {
        vq_state_done_fn plain;
        vq_state_sync_fn sync;
        vq_state_read_fn read;
    } done;
    void *ctx;
    uint32_t waiting;      /* replies to come */
    enum vq_status status; /* the first failure */
    enum vq_sync sync;
    struct vq_error text;
    uint8_t *column;           /* of a read */
    struct vq_deferred failed; /* it could not be sent */
};

struct piece { /* one part of a read: the block of its reply */
    struct op *op;
    uint64_t block;
};

struct vq_run_state {
    struct vq_loop *loop;
    struct vq_redis *redis;
    struct vq_owner mine;
    uint32_t stage;
    uint64_t tasks;
    uint64_t blocks;
    bool damaged; /* a script ended in an error: rebuild */
    char prefix[PREFIX_BYTES];
    char owner[OWNER_BYTES];
    char uid[VQ_HEX_BYTES(VQ_ID_BYTES)];
    struct vq_redis_script scripts[VQ_STATE_SCRIPTS];
    bool closed; /* destroyed; its memory exists until all replies have come */
    struct op ops[OPS_MAX];
};

/* ---- names ---- */

static void owner_text(const struct vq_owner *owner, char ret_text[OWNER_BYTES])
{
    char uid[VQ_HEX_BYTES(VQ_ID_BYTES)];
    char nonce[VQ_HEX_BYTES(VQ_ID_BYTES)];
    vq_hex(owner->uid.b, VQ_ID_BYTES, uid);
    vq_hex(owner->nonce.b, VQ_ID_BYTES, nonce);
    (void)snprintf(ret_text, OWNER_BYTES, "%s:%" PRIu64 ":%s", uid, owner->epoch, nonce);
}

enum vq_status vq_run_state_create(struct vq_loop *loop, struct vq_redis *redis,
                                   const char *run_name, const struct vq_owner *mine,
                                   uint32_t stage, uint64_t tasks, struct vq_run_state **ret_state,
                                   struct vq_error *err)
{
    uint64_t blocks = tasks / VQ_STATE_BLOCK_TASKS + (tasks % VQ_STATE_BLOCK_TASKS != 0 ? 1 : 0);
    if (blocks > BLOCKS_MAX) {
        return vq_fail(err, VQ_LIMIT, "%" PRIu64 " tasks are more than Redis is asked to hold",
                       tasks);
    }
    struct vq_run_state *state;
    VQ_TRY(VQ_ALLOC(state, 1));
    *state = (struct vq_run_state){.loop = loop,
                                   .redis = redis,
                                   .mine = *mine,
                                   .stage = stage,
                                   .tasks = tasks,
                                   .blocks = blocks};
    vq_hex(mine->uid.b, VQ_ID_BYTES, state->uid);
    owner_text(mine, state->owner);
    int n =
        snprintf(state->prefix, sizeof(state->prefix), "vibeq:{%s.%.8s}:", run_name, state->uid);
    if (n < 0 || (size_t)n >= sizeof(state->prefix)) {
        vq_free(state);
        return vq_fail(err, VQ_LIMIT, "the run's name is too long");
    }
    for (size_t i = 0; i < VQ_STATE_SCRIPTS; i++) {
        state->scripts[i].text = vq_state_scripts[i];
    }
    *ret_state = state;
    return VQ_OK;
}

/* ---- operations ---- */

static struct op *op_new(struct vq_run_state *state, enum vq_state_script script, void *ctx)
{
    size_t i = 0;
    while (i < OPS_MAX && state->ops[i].used) {
        i++;
    }
    VQ_ASSERT(i < OPS_MAX && !state->closed);
    struct op *op = &state->ops[i];
    *op = (struct op){.state = state, .used = true, .script = script, .ctx = ctx};
    return op;
}

static void op_free(struct op *op)
{
    struct vq_run_state *state = op->state;
    vq_free(op->column);
    op->column = NULL;
    op->used = false;
    bool idle = state->closed;
    for (size_t i = 0; i < OPS_MAX && idle; i++) {
        idle = !state->ops[i].used;
    }
    if (idle) {
        vq_free(state);
    }
}

static void op_report(struct op *op)
{
    op->reported = true;
    if (op->script == VQ_STATE_SCRIPT_BEGIN) {
        op->done.sync(op->ctx, op->status, op->sync, op->text.text);
    } else if (op->script == VQ_STATE_SCRIPT_READ) {
        op->done.read(op->ctx, op->status, op->status == VQ_OK ? op->column : NULL,
                      op->state->tasks, op->text.text);
    } else if (op->done.plain != NULL) {
        op->done.plain(op->ctx, op->status, op->text.text);
    }
}

static void op_failed_later(void *ctx)
{
    struct op *op = ctx;
    op_report(op);
    op_free(op);
}

static void op_worse(struct op *op, enum vq_status status, const char *text)
{
    if (op->status == VQ_OK) {
        op->status = vq_fail(&op->text, status, "%s", text);
    }
}

/* It could not be sent, or waits for no reply: completes it in this turn, but not from here. */
static void op_defer(struct op *op)
{
    op->failed = (struct vq_deferred){.fn = op_failed_later, .ctx = op};
    vq_loop_defer(op->state->loop, &op->failed);
}

/* One reply has come, or will never come. */
static void op_reply_done(struct op *op)
{
    VQ_ASSERT(op->waiting > 0);
    op->waiting--;
    if (op->waiting > 0) {
        return;
    }
    if (!op->reported) {
        op_report(op);
    }
    op_free(op);
}

void vq_run_state_destroy(struct vq_run_state **state)
{
    struct vq_run_state *s = *state;
    if (s == NULL) {
        return;
    }
    *state = NULL;
    /* keeps the state until the end of this function */
    struct op *closing = op_new(s, VQ_STATE_SCRIPT_CHECK, NULL);
    s->closed = true;
    for (size_t i = 0; i < OPS_MAX; i++) {
        struct op *op = &s->ops[i];
        if (!op->used || op->reported || op == closing) {
            continue;
        }
        op->status = VQ_OK;
        op_worse(op, VQ_UNAVAILABLE, "the run is closing");
        if (op->waiting > 0) {
            op_report(op);
        } else {
            vq_deferred_cancel(&op->failed);
            op_failed_later(op);
        }
    }
    op_free(closing);
}

/* ---- replies ---- */

/* Redis has another owner: either a newer owner, or an older state than this process left there. */
static enum vq_status judge_owner(const struct vq_run_state *state, struct vq_span owner,
                                  struct vq_error *ret_text)
{
    char text[OWNER_BYTES];
    size_t bytes = owner.bytes < sizeof(text) - 1 ? owner.bytes : sizeof(text) - 1;
    memcpy(text, owner.at, bytes);
    text[bytes] = '\0';
    size_t uid_bytes = strlen(state->uid);
    if (bytes == 0) {
        return vq_fail(ret_text, VQ_CORRUPT, "Redis lost this run's keys");
    }
    bool same_run = strncmp(text, state->uid, uid_bytes) == 0 && text[uid_bytes] == ':';
    if (same_run && strtoull(text + uid_bytes + 1, NULL, 10) < state->mine.epoch) {
        return vq_fail(ret_text, VQ_CORRUPT, "Redis lost this coordinator's start");
    }
    return vq_fail(ret_text, VQ_STALE, "another coordinator owns this run in Redis (%.40s...)",
                   text);
}

static void read_word(struct op *op, struct vq_span word, struct vq_span detail)
{
    struct vq_run_state *state = op->state;
    if (vq_span_eq(word, vq_span_str("ok"))) {
        return;
    }
    if (op->status != VQ_OK) {
        return;
    }
    if (vq_span_eq(word, vq_span_str("owner"))) {
        op->status = judge_owner(state, detail, &op->text);
    } else if (vq_span_eq(word, vq_span_str("commit"))) {
        op->status = vq_fail(&op->text, VQ_CORRUPT, "Redis is at another commit: %.*s",
                             (int)(detail.bytes < 64 ? detail.bytes : 64), detail.at);
    } else if (op->script == VQ_STATE_SCRIPT_BEGIN) {
        op->sync = vq_span_eq(word, vq_span_str("equal"))    ? VQ_SYNC_EQUAL
                   : vq_span_eq(word, vq_span_str("behind")) ? VQ_SYNC_BEHIND
                                                             : VQ_SYNC_REBUILD;
        (void)vq_fail(&op->text, VQ_OK, "%.*s", (int)(detail.bytes < 256 ? detail.bytes : 256),
                      detail.at);
    } else {
        op_worse(op, VQ_CORRUPT, "Redis gave an unexpected reply");
    }
}

/* Checks one reply; *ret_detail is the second item. false: it is not {word, detail}. */
static bool read_reply(struct op *op, enum vq_status status, const struct vq_redis_reply *reply,
                       struct vq_span *ret_detail)
{
    if (op->reported) {
        return false;
    }
    if (status != VQ_OK) {
        op_worse(op, VQ_UNAVAILABLE,
                 status == VQ_TIMEOUT ? "Redis did not answer in time" : "Redis is away");
        return false;
    }
    if (reply->type == VQ_REDIS_ERROR) {
        bool wrote = op->script != VQ_STATE_SCRIPT_CHECK && op->script != VQ_STATE_SCRIPT_READ;
        op->state->damaged = op->state->damaged || wrote;
        if (op->status == VQ_OK) {
            op->status =
                vq_fail(&op->text, VQ_UNAVAILABLE, "Redis refused: %.*s",
                        (int)(reply->text.bytes < 400 ? reply->text.bytes : 400), reply->text.at);
        }
        return false;
    }
    if (reply->type != VQ_REDIS_ARRAY || reply->items != 2) {
        op_worse(op, VQ_CORRUPT, "Redis gave an unexpected reply");
        return false;
    }
    struct vq_redis_reply word = vq_redis_reply_item(reply, 0);
    struct vq_redis_reply detail = vq_redis_reply_item(reply, 1);
    read_word(op, word.text, detail.text);
    *ret_detail = detail.text;
    return op->status == VQ_OK;
}

static void on_reply(void *ctx, enum vq_status status, const struct vq_redis_reply *reply)
{
    struct op *op = ctx;
    struct vq_span detail;
    bool good = read_reply(op, status, reply, &detail);
    if (good && op->script == VQ_STATE_SCRIPT_BEGIN && op->state->damaged) {
        op->sync = VQ_SYNC_REBUILD;
    }
    if (good && op->script == VQ_STATE_SCRIPT_FILL_END) {
        op->state->damaged = false;
    }
    op_reply_done(op);
}

/* ---- sending ---- */

struct keys {
    char texts[FIXED_KEYS][KEY_BYTES];
    struct vq_span *spans; /* FIXED_KEYS + blocks */
    char (*blocks)[KEY_BYTES];
    uint32_t count;
};

/* Keys of the blocks first .. first + blocks - 1, after the fixed ones. */
static enum vq_status keys_make(const struct vq_run_state *state, uint64_t first, uint64_t blocks,
                                struct keys *ret_keys)
{
    static const char *const names[FIXED_KEYS] = {"owner", "commit", "tally", "columns"};
    struct keys *k = ret_keys;
    k->spans = vq_alloc(FIXED_KEYS + blocks, sizeof(*k->spans));
    k->blocks = vq_alloc(blocks, sizeof(*k->blocks));
    if (k->spans == NULL || k->blocks == NULL) {
        vq_free(k->spans);
        vq_free(k->blocks);
        return VQ_NOMEM;
    }
    for (int i = 0; i < FIXED_KEYS; i++) {
        (void)snprintf(k->texts[i], KEY_BYTES, "%s%s", state->prefix, names[i]);
        k->spans[i] = vq_span_str(k->texts[i]);
    }
    for (uint64_t i = 0; i < blocks; i++) {
        (void)snprintf(k->blocks[i], KEY_BYTES, "%s%" PRIu32 ":%" PRIu64, state->prefix,
                       state->stage, first + i);
        k->spans[FIXED_KEYS + i] = vq_span_str(k->blocks[i]);
    }
    k->count = (uint32_t)(FIXED_KEYS + blocks);
    return VQ_OK;
}

static void keys_free(struct keys *k)
{
    vq_free(k->spans);
    vq_free(k->blocks);
}

/* Sends the one command of `op`, or lets it fail. */
static void send_op(struct op *op, uint64_t first_block, uint64_t blocks,
                    const struct vq_span *args, uint32_t args_count)
{
    struct vq_run_state *state = op->state;
    struct keys keys;
    enum vq_status status = keys_make(state, first_block, blocks, &keys);
    if (status == VQ_OK) {
        status = vq_redis_eval(state->redis, &state->scripts[op->script], keys.spans, keys.count,
                               args, args_count, on_reply, op);
        keys_free(&keys);
    }
    if (status == VQ_OK) {
        op->waiting++;
        return;
    }
    op_worse(op, VQ_UNAVAILABLE,
             status == VQ_UNAVAILABLE ? "Redis is away" : vq_status_text(status));
    op_defer(op);
}

static struct vq_span number(char buf[NUMBER_BYTES], uint64_t value)
{
    (void)snprintf(buf, NUMBER_BYTES, "%" PRIu64, value);
    return vq_span_str(buf);
}

/* The commit key's value, which differs from that of every other stage. */
static struct vq_span commit_text(const struct vq_run_state *state, char buf[COMMIT_BYTES],
                                  uint64_t n)
{
    (void)snprintf(buf, COMMIT_BYTES, "%" PRIu32 ":%" PRIu64, state->stage, n);
    return vq_span_str(buf);
}

void vq_run_state_begin(struct vq_run_state *state, const struct vq_owner *before, uint64_t n,
                        vq_state_sync_fn done, void *ctx)
{
    struct op *op = op_new(state, VQ_STATE_SCRIPT_BEGIN, ctx);
    op->done.sync = done;
    op->sync = VQ_SYNC_REBUILD;
    char was[OWNER_BYTES] = "", epoch[NUMBER_BYTES], now[COMMIT_BYTES], behind[COMMIT_BYTES];
    if (before != NULL) {
        owner_text(before, was);
    }
    struct vq_span args[] = {
        vq_span_str(state->owner),  vq_span_str(was),
        vq_span_str(state->uid),    number(epoch, state->mine.epoch),
        commit_text(state, now, n), n == 0 ? vq_span_str("-") : commit_text(state, behind, n - 1)};
    send_op(op, 0, 0, args, VQ_COUNT(args));
}

void vq_run_state_wipe(struct vq_run_state *state, vq_state_done_fn done, void *ctx)
{
    struct op *op = op_new(state, VQ_STATE_SCRIPT_WIPE, ctx);
    op->done.plain = done;
    char epoch[NUMBER_BYTES], tasks[NUMBER_BYTES];
    struct vq_span args[] = {vq_span_str(state->owner), vq_span_str(state->uid),
                             number(epoch, state->mine.epoch), number(tasks, state->tasks)};
    send_op(op, 0, state->blocks, args, VQ_COUNT(args));
}

void vq_run_state_fill(struct vq_run_state *state, uint64_t first, const uint8_t *outcomes,
                       uint32_t count, vq_state_done_fn done, void *ctx)
{
    VQ_ASSERT(count <= VQ_STATE_FILL_MAX && first <= state->tasks && count <= state->tasks - first);
    struct op *op = op_new(state, VQ_STATE_SCRIPT_FILL, ctx);
    op->done.plain = done;
    uint64_t block = first / VQ_STATE_BLOCK_TASKS;
    uint64_t at = first % VQ_STATE_BLOCK_TASKS;
    uint64_t left = VQ_STATE_BLOCK_TASKS - at;
    uint32_t head = count < left ? count : (uint32_t)left;
    bool two = head < count;
    char numbers[4 + 2 * 256][NUMBER_BYTES];
    struct vq_span args[FILL_ARGS_MAX] = {vq_span_str(state->owner), vq_span_str(two ? "2" : "1"),
                                          number(numbers[0], at),
                                          vq_span((const char *)outcomes, head)};
    uint32_t n = 4;
    if (two) {
        args[n++] = vq_span_str("0");
        args[n++] = vq_span((const char *)outcomes + head, count - head);
    }
    uint64_t by_outcome[256] = {0};
    for (uint32_t i = 0; i < count; i++) {
        by_outcome[outcomes[i]]++;
    }
    /* Wiped tasks counted as open until now. */
    char open[NUMBER_BYTES];
    (void)snprintf(open, sizeof(open), "-%" PRIu64, count - by_outcome[0]);
    if (by_outcome[0] < count) {
        args[n++] = vq_span_str("0");
        args[n++] = vq_span_str(open);
    }
    for (unsigned o = 1, k = 1; o < 256; o++) {
        if (by_outcome[o] > 0) {
            args[n++] = number(numbers[k++], o);
            args[n++] = number(numbers[k++], by_outcome[o]);
        }
    }
    send_op(op, block, two ? 2 : 1, args, n);
}

void vq_run_state_fill_end(struct vq_run_state *state, uint64_t n, vq_state_done_fn done, void *ctx)
{
    struct op *op = op_new(state, VQ_STATE_SCRIPT_FILL_END, ctx);
    op->done.plain = done;
    char now[COMMIT_BYTES];
    struct vq_span args[] = {vq_span_str(state->owner), commit_text(state, now, n)};
    send_op(op, 0, 0, args, VQ_COUNT(args));
}

/* ---- apply ---- */

static int by_task(const void *a, const void *b)
{
    const struct vq_settled *x = a;
    const struct vq_settled *y = b;
    return (x->task > y->task) - (x->task < y->task);
}

static void put_u32(struct vq_buf *out, uint64_t value)
{
    uint8_t b[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                    (uint8_t)(value >> 24)};
    vq_buf_append(out, b, sizeof(b));
}

/* Neighbouring tasks of one block become one sequence of bytes. */
static void put_runs(struct vq_buf *out, const struct vq_settled *standing, size_t count,
                     uint64_t first_block)
{
    size_t i = 0;
    while (i < count) {
        uint64_t first = standing[i].task;
        uint64_t block = first / VQ_STATE_BLOCK_TASKS;
        size_t end = i + 1;
        while (end < count && standing[end].task == first + (end - i) &&
               standing[end].task / VQ_STATE_BLOCK_TASKS == block) {
            end++;
        }
        put_u32(out, FIXED_KEYS + 1 + block - first_block);
        put_u32(out, first % VQ_STATE_BLOCK_TASKS);
        put_u32(out, end - i);
        for (; i < end; i++) {
            vq_buf_putc(out, (char)standing[i].outcome);
        }
    }
}

static void send_runs(struct op *op, uint64_t n, struct vq_settled *sorted, size_t count)
{
    struct vq_run_state *state = op->state;
    struct vq_buf runs;
    qsort(sorted, count, sizeof(*sorted), by_task);
    uint64_t first = count == 0 ? 0 : sorted[0].task / VQ_STATE_BLOCK_TASKS;
    uint64_t last = count == 0 ? 0 : sorted[count - 1].task / VQ_STATE_BLOCK_TASKS;
    vq_buf_init(&runs, UPDATES_MAX);
    put_runs(&runs, sorted, count, first);
    if (runs.status != VQ_OK) {
        op_worse(op, runs.status, "a commit is too large for one Redis command");
        op_defer(op);
    } else {
        char now[COMMIT_BYTES], before[COMMIT_BYTES];
        struct vq_span args[] = {vq_span_str(state->owner), commit_text(state, now, n),
                                 n == 0 ? vq_span_str("-") : commit_text(state, before, n - 1),
                                 vq_buf_span(&runs)};
        send_op(op, first, count == 0 ? 0 : last - first + 1, args, VQ_COUNT(args));
    }
    vq_buf_free(&runs);
}

void vq_run_state_apply(struct vq_run_state *state, uint64_t n, const struct vq_settled *standing,
                        size_t count, vq_state_done_fn done, void *ctx)
{
    struct op *op = op_new(state, VQ_STATE_SCRIPT_APPLY, ctx);
    op->done.plain = done;
    struct vq_settled *sorted = vq_alloc(count, sizeof(*sorted));
    if (sorted == NULL) {
        op_worse(op, VQ_NOMEM, "out of memory");
        op_defer(op);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        VQ_ASSERT(standing[i].task < state->tasks);
        sorted[i] = standing[i];
    }
    send_runs(op, n, sorted, count);
    vq_free(sorted);
}

/* ---- the rest ---- */

void vq_run_state_check(struct vq_run_state *state, vq_state_done_fn done, void *ctx)
{
    struct op *op = op_new(state, VQ_STATE_SCRIPT_CHECK, ctx);
    op->done.plain = done;
    struct vq_span args[] = {vq_span_str(state->owner)};
    send_op(op, 0, 0, args, VQ_COUNT(args));
}

static void on_block(void *ctx, enum vq_status status, const struct vq_redis_reply *reply)
{
    struct piece *piece = ctx;
    struct op *op = piece->op;
    struct vq_span bytes;
    if (read_reply(op, status, reply, &bytes)) {
        uint64_t first = piece->block * VQ_STATE_BLOCK_TASKS;
        uint64_t room = op->state->tasks - first;
        room = room < VQ_STATE_BLOCK_TASKS ? room : VQ_STATE_BLOCK_TASKS;
        if (bytes.bytes > room) {
            op_worse(op, VQ_CORRUPT, "Redis holds more tasks than the run has");
        } else if (bytes.bytes > 0) {
            memcpy(op->column + first, bytes.at, bytes.bytes);
        }
    }
    vq_free(piece);
    op_reply_done(op);
}

static enum vq_status read_block(struct op *op, uint64_t block, uint64_t n)
{
    struct vq_run_state *state = op->state;
    struct keys keys;
    char now[COMMIT_BYTES];
    struct vq_span args[] = {vq_span_str(state->owner), commit_text(state, now, n)};
    struct piece *piece = vq_alloc(1, sizeof(*piece));
    enum vq_status status = piece == NULL ? VQ_NOMEM : keys_make(state, block, 1, &keys);
    if (status == VQ_OK) {
        *piece = (struct piece){.op = op, .block = block};
        status = vq_redis_eval(state->redis, &state->scripts[VQ_STATE_SCRIPT_READ], keys.spans,
                               keys.count, args, VQ_COUNT(args), on_block, piece);
        keys_free(&keys);
    }
    if (status != VQ_OK) {
        vq_free(piece);
        return status;
    }
    op->waiting++;
    return VQ_OK;
}

void vq_run_state_read(struct vq_run_state *state, uint64_t n, vq_state_read_fn done, void *ctx)
{
    struct op *op = op_new(state, VQ_STATE_SCRIPT_READ, ctx);
    op->done.read = done;
    op->column = vq_alloc(state->tasks, 1);
    enum vq_status status = op->column == NULL ? VQ_NOMEM : VQ_OK;
    /* Blocks that were never written have no key; owner and n are checked with the first block in
     * any case. */
    uint64_t blocks = state->blocks == 0 ? 1 : state->blocks;
    for (uint64_t b = 0; b < blocks && status == VQ_OK; b++) {
        status = read_block(op, b, n);
    }
    if (status == VQ_OK) {
        return;
    }
    op_worse(op, VQ_UNAVAILABLE, vq_status_text(status));
    if (op->waiting == 0) {
        op_defer(op);
    }
}

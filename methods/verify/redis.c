/* Reads the column of an active run from Redis in one piece, and compares it with states that are
 * computed from the store at the same commit. It is a client of its own, beside the coordinator's,
 * and changes nothing. */
#include "methods/verify/parts.h"

#include "common/base/alloc.h"
#include "common/net/redis.h"
#include "coordinator/store/calls/lookup.h"
#include "coordinator/store/state/run_state.h"
#include "methods/grid/stage_grid.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONF_BYTES_MAX   (64u << 10)
#define WAIT_MS          5000
#define TRIES            50 /* to find Redis and the store at the same commit */
#define KEY_BYTES        256
#define KEYS             4
#define TASKS_SAID       20u
#define COLUMN_BYTES_MAX ((size_t)1 << 30)

struct look { /* one reading */
    struct vq_loop *loop;
    bool ended;
    enum vq_status status;
    bool known; /* Redis has a commit number */
    uint32_t stage;
    uint64_t n;
    char owner[160];
    uint64_t tally[256];
    struct vq_buf column;
};

/* Returns owner, commit, tally, then the blocks in order. */
static const struct vq_redis_script script = {
    "local stage = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+):')\n"
    "local all = {redis.call('GET', KEYS[1]) or '', redis.call('GET', KEYS[2]) or '', "
    "redis.call('HGETALL', KEYS[3])}\n"
    "local block = 0\n"
    "while stage do\n"
    "  local bytes = redis.call('GET', ARGV[1] .. stage .. ':' .. block)\n"
    "  if not bytes then break end\n"
    "  all[#all + 1] = bytes\n"
    "  block = block + 1\n"
    "end\n"
    "return all\n"};

static void take_tally(struct look *l, const struct vq_redis_reply *tally)
{
    for (size_t i = 0; i + 1 < tally->items; i += 2) {
        struct vq_redis_reply key = vq_redis_reply_item(tally, i);
        struct vq_redis_reply value = vq_redis_reply_item(tally, i + 1);
        char number[32] = "";
        if (key.text.bytes < 4 && value.text.bytes < sizeof(number)) {
            memcpy(number, key.text.at, key.text.bytes);
            unsigned long outcome = strtoul(number, NULL, 10);
            memset(number, 0, sizeof(number));
            memcpy(number, value.text.at, value.text.bytes);
            l->tally[outcome & 255] = strtoull(number, NULL, 10);
        }
    }
}

static void take(void *ctx, enum vq_status status, const struct vq_redis_reply *reply)
{
    struct look *l = ctx;
    l->ended = true;
    l->status = status;
    if (status != VQ_OK || reply->type != VQ_REDIS_ARRAY || reply->items < 3) {
        l->status = status == VQ_OK ? VQ_CORRUPT : status;
        return;
    }
    struct vq_redis_reply owner = vq_redis_reply_item(reply, 0);
    struct vq_redis_reply commit = vq_redis_reply_item(reply, 1);
    struct vq_redis_reply tally = vq_redis_reply_item(reply, 2);
    char text[64];
    (void)snprintf(l->owner, sizeof(l->owner), "%.*s", (int)owner.text.bytes, owner.text.at);
    (void)snprintf(text, sizeof(text), "%.*s", (int)commit.text.bytes, commit.text.at);
    l->known = sscanf(text, "%" SCNu32 ":%" SCNu64, &l->stage, &l->n) == 2;
    take_tally(l, &tally);
    for (size_t i = 3; i < reply->items; i++) {
        struct vq_redis_reply block = vq_redis_reply_item(reply, i);
        vq_buf_append(&l->column, block.text.at, block.text.bytes);
    }
    l->status = l->column.status;
}

static bool has_ended(void *ctx)
{
    return ((struct look *)ctx)->ended;
}

static enum vq_status ask(struct vq_verifying *v, struct vq_redis *redis, struct look *l)
{
    static const char *const names[KEYS] = {"owner", "commit", "tally", "columns"};
    char uid[VQ_HEX_BYTES(VQ_ID_BYTES)], prefix[KEY_BYTES], keys[KEYS][KEY_BYTES + 16];
    struct vq_span spans[KEYS];
    vq_hex(v->uid->b, VQ_ID_BYTES, uid);
    (void)snprintf(prefix, sizeof(prefix), "vibeq:{%s.%.8s}:", vq_run_dir_name(v->in->dir), uid);
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "%s%s", prefix, names[i]);
        spans[i] = vq_span_str(keys[i]);
    }
    struct vq_span arg = vq_span_str(prefix);
    struct vq_loop *loop = l->loop;
    vq_buf_clear(&l->column);
    l->ended = false;
    memset(l->tally, 0, sizeof(l->tally));
    VQ_TRY(vq_redis_eval(redis, &script, spans, KEYS, &arg, 1, take, l));
    VQ_TRY(vq_loop_run_until(loop, has_ended, l, WAIT_MS));
    return l->status;
}

/* ---- address ---- */

/* The address of a private Redis is in its configuration file. VQ_NOT_FOUND. */
static enum vq_status address_of(struct vq_verifying *v, struct vq_redis_address *ret_address)
{
    const struct vq_config *c = v->in->job->config;
    if (c->redis_url != NULL) {
        return vq_redis_address_parse(c->redis_url, c->redis_ca, ret_address, v->err);
    }
    struct vq_buf text;
    struct vq_error ignored = {0};
    char path[VQ_REDIS_PATH_BYTES_MAX + 1];
    vq_buf_init(&text, CONF_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(v->in->dir, "redis/redis.conf", &text, &ignored);
    vq_buf_putc(&text, '\0');
    const char *at =
        status == VQ_OK && text.status == VQ_OK ? strstr(text.at, "\nunixsocket \"") : NULL;
    bool found = at != NULL && sscanf(at, "\nunixsocket \"%107[^\"\\\n]\"", path) == 1;
    vq_buf_free(&text);
    return found ? vq_redis_address_parse(path, NULL, ret_address, v->err) : VQ_NOT_FOUND;
}

/* ---- comparing ---- */

static const struct vq_stage_grid *stage_of(const struct vq_verifying *v, uint32_t no)
{
    for (uint32_t i = 0; i < v->replay.stages_count; i++) {
        if (v->replay.stages[i]->no == no) {
            return v->replay.stages[i];
        }
    }
    return NULL;
}

/* Every state in Redis must be the state in the store. A task that is open in Redis is not
 * compared, because another run may have answered it since. */
static enum vq_status compare_tasks(struct vq_verifying *v, struct vq_view *view,
                                    const struct look *l, const struct vq_plan *plan)
{
    uint32_t tasks = vq_grid_shard_tasks(&plan->grid), wrong = 0;
    uint8_t *outcomes = vq_alloc(tasks, 1);
    enum vq_status status = outcomes == NULL ? vq_fail(v->err, VQ_NOMEM, "out of memory") : VQ_OK;
    for (uint64_t s = 0; status == VQ_OK && s < vq_grid_shards(&plan->grid); s++) {
        status = vq_lookup_outcomes(view, plan, v->uid, s, outcomes, v->err);
        for (uint32_t i = 0; status == VQ_OK && i < tasks; i++) {
            uint64_t task = s * tasks + i;
            uint8_t there = task < l->column.bytes ? (uint8_t)l->column.at[task] : 0;
            if (there != VQ_OUTCOME_NONE && there != outcomes[i] && wrong++ < TASKS_SAID) {
                vq_verify_report(
                    v, "redis: task %llu of stage %u is %s there, the store makes it %s",
                    (unsigned long long)task, l->stage, vq_outcome_name((enum vq_outcome)there),
                    vq_outcome_name((enum vq_outcome)outcomes[i]));
            }
        }
    }
    vq_free(outcomes);
    return status;
}

static void compare_tally(struct vq_verifying *v, const struct look *l)
{
    uint64_t found[256] = {0};
    for (size_t i = 0; i < l->column.bytes; i++) {
        found[(uint8_t)l->column.at[i]]++;
    }
    for (int o = 1; o < 256; o++) {
        if (found[o] != l->tally[o]) {
            vq_verify_report(v,
                             "redis: its tally has %llu tasks that are %s, its columns have %llu",
                             (unsigned long long)l->tally[o], vq_outcome_name((enum vq_outcome)o),
                             (unsigned long long)found[o]);
        }
    }
}

/* Compares both at the same commit. *ret_same is false if the store has a later commit. */
static enum vq_status compare_at(struct vq_verifying *v, const struct look *l, bool *ret_same)
{
    struct vq_view *view;
    struct vq_run_meta meta;
    VQ_TRY(vq_view_begin(v->in->calls, &view, v->err));
    enum vq_status status = vq_calls_read_run(v->in->calls, v->uid, &meta, v->err);
    *ret_same = status == VQ_OK && meta.commit_n == l->n;
    const struct vq_stage_grid *asking = stage_of(v, l->stage);
    if (*ret_same && asking != NULL) {
        v->out->redis = true;
        compare_tally(v, l);
        status = compare_tasks(v, view, l, &asking->plan);
    }
    vq_view_end(&view);
    return status;
}

static enum vq_status compare(struct vq_verifying *v, struct vq_redis *redis, struct look *l)
{
    char uid[VQ_HEX_BYTES(VQ_ID_BYTES)];
    vq_hex(v->uid->b, VQ_ID_BYTES, uid);
    for (int i = 0; i < TRIES; i++) {
        bool same = false;
        if (ask(v, redis, l) != VQ_OK) {
            break;
        }
        if (l->known && strncmp(l->owner, uid, strlen(uid)) != 0) {
            vq_verify_report(v, "redis: another run owns its keys: %s", l->owner);
            return VQ_OK;
        }
        if (l->known) {
            VQ_TRY(compare_at(v, l, &same));
        }
        if (same) {
            return VQ_OK;
        }
    }
    vq_verify_note(v, "Redis and the store were never seen at one commit: not compared");
    return VQ_OK;
}

static void up(void *ctx)
{
    ((struct look *)ctx)->ended = true;
}

static void down(void *ctx, const char *why)
{
    (void)ctx;
    (void)why;
}

enum vq_status vq_verify_redis(struct vq_verifying *v)
{
    struct vq_redis_address address = {.port = 0};
    if (address_of(v, &address) != VQ_OK) {
        vq_verify_note(v, "no Redis of this run was found: not compared");
        return VQ_OK;
    }
    struct look l = {.ended = false};
    struct vq_redis *redis = NULL;
    vq_buf_init(&l.column, COLUMN_BYTES_MAX);
    enum vq_status status = vq_loop_create(&l.loop, v->err);
    if (status == VQ_OK) {
        struct vq_redis_options options = {
            .address = &address, .on_up = up, .on_down = down, .ctx = &l};
        status = vq_redis_create(l.loop, &options, &redis, v->err);
    }
    if (status == VQ_OK && vq_loop_run_until(l.loop, has_ended, &l, WAIT_MS) == VQ_OK) {
        status = compare(v, redis, &l);
    } else if (status == VQ_OK) {
        vq_verify_note(v, "Redis does not answer: not compared");
    }
    vq_redis_destroy(&redis);
    vq_loop_destroy(&l.loop);
    vq_redis_address_destroy(&address);
    vq_buf_free(&l.column);
    return status;
}

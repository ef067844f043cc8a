/* Maintenance of the store: counting, checking, dropping ledgers and old answers, export.
 *
 * Invariants: all deletions use bounded transactions, so that a running coordinator waits for at
 * most one. An answer is deleted only if it is older than requested and no remaining ledger names
 * it. Nothing here runs inside a coordinator. Not its job: the folders of runs (run_dir.c). */
#include "coordinator/store/calls/tools.h"

#include "common/base/alloc.h"
#include "common/judge/verdict.h"
#include "common/text/json.h"
#include "coordinator/store/calls/cell.h"
#include "coordinator/store/calls/repairs.h"

#include <stdlib.h>

#define CHUNK_ROWS 4096
#define KEYS_MAX   (SIZE_MAX / 2 / VQ_HASH_BYTES)

/* ---- stat ---- */

static enum vq_status count_row(void *ctx, struct vq_span key, struct vq_span value,
                                struct vq_error *err)
{
    (void)value;
    struct vq_store_stat *stat = ctx;
    enum vq_record_kind kind;
    struct vq_id run;
    if (vq_ledger_key_read(key, &kind, &run) != VQ_OK) {
        return vq_fail(err, VQ_CORRUPT, "the ledger has a key that is not ours");
    }
    stat->calls += kind == VQ_RECORD_CALL ? 1 : 0;
    stat->failures += kind == VQ_RECORD_FAILURE ? 1 : 0;
    stat->runs += kind == VQ_RECORD_META ? 1 : 0;
    return VQ_OK;
}

/* A row of the list of free pages: a count, then this number of page numbers. */
static enum vq_status count_free(void *ctx, struct vq_span key, struct vq_span value,
                                 struct vq_error *err)
{
    (void)key;
    (void)err;
    size_t pages;
    if (value.bytes >= sizeof(pages)) {
        memcpy(&pages, value.at, sizeof(pages));
        *(uint64_t *)ctx += pages;
    }
    return VQ_OK;
}

enum vq_status vq_store_stat(struct vq_calls *calls, struct vq_store_stat *ret_stat,
                             struct vq_error *err)
{
    struct vq_store_stat stat = {0};
    struct vq_view *view = NULL;
    MDB_stat answers;
    MDB_envinfo info;
    uint64_t free_pages = 0;
    VQ_TRY(vq_view_begin(calls, &view, err));
    enum vq_status status =
        vq_env_each(view, calls->ledger, vq_span(NULL, 0), count_row, &stat, err);
    if (status == VQ_OK) {
        status = vq_env_each(view, 0, vq_span(NULL, 0), count_free, &free_pages, err);
    }
    int rc = mdb_stat(view->txn, calls->answers, &answers);
    if (rc == 0) {
        rc = mdb_env_info(calls->env, &info);
    }
    vq_view_end(&view);
    VQ_TRY(status);
    if (rc != 0) {
        return vq_env_status(calls, rc, "counting", err);
    }
    uint64_t pages = (uint64_t)info.me_last_pgno + 1;
    free_pages = free_pages < pages ? free_pages : pages;
    stat.answers = answers.ms_entries;
    stat.bytes_file = pages * calls->page_bytes;
    stat.bytes_free = free_pages * calls->page_bytes;
    stat.bytes_used = stat.bytes_file - stat.bytes_free;
    stat.readers = info.me_numreaders;
    *ret_stat = stat;
    return VQ_OK;
}

/* ---- check ---- */

struct check_ctx {
    const struct vq_calls *calls;
    uint64_t values;
};

static enum vq_status check_answer(void *ctx, struct vq_span key, struct vq_span value,
                                   struct vq_error *err)
{
    struct check_ctx *check = ctx;
    struct vq_answer answer;
    enum vq_status status =
        key.bytes == VQ_HASH_BYTES ? vq_record_read_answer(key, value, &answer) : VQ_CORRUPT;
    check->values += status == VQ_OK ? 1 : 0;
    return status == VQ_OK ? VQ_OK : vq_env_bad_value(check->calls, status, "the answer", key, err);
}

static enum vq_status check_row(void *ctx, struct vq_span key, struct vq_span value,
                                struct vq_error *err)
{
    struct check_ctx *check = ctx;
    enum vq_record_kind kind;
    struct vq_id run;
    enum vq_status status = vq_ledger_key_read(key, &kind, &run);
    if (status == VQ_OK && kind == VQ_RECORD_CALL) {
        struct vq_call_row row;
        status = vq_record_read_call(key, value, &row);
    } else if (status == VQ_OK && kind == VQ_RECORD_FAILURE) {
        struct vq_failure_row row;
        status = vq_record_read_failure(key, value, &row);
    } else if (status == VQ_OK && kind == VQ_RECORD_DISTRUSTED) {
        struct vq_answer answer;
        status = vq_record_read_answer(key, value, &answer);
    } else if (status == VQ_OK && kind == VQ_RECORD_WAITING) {
        struct vq_span result;
        status = vq_record_read_waiting(key, value, &result);
    } else if (status == VQ_OK && kind == VQ_RECORD_BATCH) {
        struct vq_batch_report batch;
        status = vq_record_read_batch(key, value, &batch);
    } else if (status == VQ_OK) {
        struct vq_run_meta meta;
        status = vq_record_read_meta(key, value, &meta);
    }
    check->values += status == VQ_OK ? 1 : 0;
    return status == VQ_OK ? VQ_OK
                           : vq_env_bad_value(check->calls, status, "the ledger row", key, err);
}

enum vq_status vq_store_check(struct vq_calls *calls, uint64_t *ret_values, struct vq_error *err)
{
    struct check_ctx check = {.calls = calls};
    struct vq_view *view = NULL;
    VQ_TRY(vq_view_begin(calls, &view, err));
    enum vq_status status =
        vq_env_each(view, calls->answers, vq_span(NULL, 0), check_answer, &check, err);
    if (status == VQ_OK) {
        status = vq_env_each(view, calls->ledger, vq_span(NULL, 0), check_row, &check, err);
    }
    vq_view_end(&view);
    *ret_values = check.values;
    return status;
}

/* ---- dropping damaged values ---- */

struct damaged_key {
    bool answer;
    size_t bytes;
    char b[VQ_LEDGER_KEY_BYTES_MAX];
};

struct damage_ctx {
    struct damaged_key *keys;
    size_t count, cap;
    bool answers; /* the table that is being read: answers, or the ledger */
};

static enum vq_status collect_damaged(void *ctx, struct vq_span key, struct vq_span value,
                                      struct vq_error *err)
{
    struct damage_ctx *damage = ctx;
    if (vq_record_is_whole(key, value)) {
        return VQ_OK;
    }
    if (damage->count == VQ_STORE_DROP_MAX || key.bytes > VQ_LEDGER_KEY_BYTES_MAX) {
        return vq_fail(err, VQ_LIMIT,
                       "too much is damaged to continue without it; put back a copy");
    }
    VQ_TRY(VQ_GROW(damage->keys, &damage->cap, damage->count + 1, VQ_STORE_DROP_MAX));
    struct damaged_key *to = &damage->keys[damage->count++];
    to->answer = damage->answers;
    to->bytes = key.bytes;
    memcpy(to->b, key.at, key.bytes);
    return VQ_OK;
}

static enum vq_status drop_damaged(void *ctx, struct vq_write *w, struct vq_error *err)
{
    struct damage_ctx *damage = ctx;
    for (size_t i = 0; i < damage->count; i++) {
        MDB_val k = {.mv_size = damage->keys[i].bytes, .mv_data = damage->keys[i].b};
        int rc = mdb_del(w->view.txn,
                         damage->keys[i].answer ? w->view.calls->answers : w->view.calls->ledger,
                         &k, NULL);
        if (rc != 0 && rc != MDB_NOTFOUND) {
            w->full = w->full || rc == MDB_MAP_FULL;
            return vq_env_status(w->view.calls, rc, "taking out what is damaged", err);
        }
    }
    return VQ_OK;
}

enum vq_status vq_store_drop_damaged(struct vq_calls *calls, vq_store_named_fn named, void *ctx,
                                     uint64_t *ret_dropped, struct vq_error *err)
{
    struct damage_ctx damage = {.answers = true};
    struct vq_view *view = NULL;
    VQ_TRY(vq_view_begin(calls, &view, err));
    enum vq_status status =
        vq_env_each(view, calls->answers, vq_span(NULL, 0), collect_damaged, &damage, err);
    damage.answers = false;
    if (status == VQ_OK) {
        status = vq_env_each(view, calls->ledger, vq_span(NULL, 0), collect_damaged, &damage, err);
    }
    vq_view_end(&view);
    for (size_t i = 0; status == VQ_OK && i < damage.count; i++) {
        named(ctx, damage.keys[i].answer ? "answers" : "ledger",
              vq_span(damage.keys[i].b, damage.keys[i].bytes));
    }
    if (status == VQ_OK && damage.count > 0) {
        status =
            vq_env_write(calls, damage.count * sizeof(*damage.keys), drop_damaged, &damage, err);
    }
    if (status == VQ_OK) {
        *ret_dropped = damage.count;
    }
    vq_free(damage.keys);
    return status;
}

/* ---- dropping a ledger ---- */

struct drop_ctx {
    struct vq_id run;
    uint64_t rows; /* of this transaction */
    bool more;
};

static enum vq_status drop_chunk(void *ctx, struct vq_write *w, struct vq_error *err)
{
    struct drop_ctx *drop = ctx;
    MDB_cursor *cursor;
    MDB_val k = {.mv_size = VQ_ID_BYTES, .mv_data = drop->run.b};
    MDB_val v;
    drop->rows = 0;
    drop->more = false;
    int rc = mdb_cursor_open(w->view.txn, w->view.calls->ledger, &cursor);
    if (rc != 0) {
        return vq_env_status(w->view.calls, rc, "dropping a ledger", err);
    }
    rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
    while (rc == 0 && k.mv_size > VQ_ID_BYTES && memcmp(k.mv_data, drop->run.b, VQ_ID_BYTES) == 0) {
        if (drop->rows == CHUNK_ROWS) {
            drop->more = true;
            break;
        }
        rc = mdb_cursor_del(cursor, 0);
        if (rc == 0) {
            drop->rows++;
            rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    w->full = rc == MDB_MAP_FULL;
    return rc == 0 || rc == MDB_NOTFOUND
               ? VQ_OK
               : vq_env_status(w->view.calls, rc, "dropping a ledger", err);
}

enum vq_status vq_store_drop_run(struct vq_calls *calls, const struct vq_id *run,
                                 uint64_t *ret_rows, struct vq_error *err)
{
    struct drop_ctx drop = {.run = *run};
    uint64_t rows = 0;
    do {
        VQ_TRY(vq_env_write(calls, 0, drop_chunk, &drop, err));
        rows += drop.rows;
    } while (drop.more);
    *ret_rows = rows;
    return VQ_OK;
}

/* ---- gc ---- */

struct keys { /* growing arrays of runs or request hashes */
    void *at;
    size_t count, cap;
};

static enum vq_status keys_add(struct keys *keys, const void *item, size_t bytes)
{
    VQ_TRY(vq_grow(&keys->at, &keys->cap, keys->count + 1, bytes, KEYS_MAX));
    memcpy((char *)keys->at + keys->count * bytes, item, bytes);
    keys->count++;
    return VQ_OK;
}

static int cmp_hash(const void *a, const void *b)
{
    return memcmp(a, b, VQ_HASH_BYTES);
}

struct gc_ctx {
    const struct vq_gc *gc;
    const struct vq_calls *calls;
    struct vq_id *keep;
    size_t keep_count;
    struct keys drop;  /* struct vq_id: runs whose ledgers are dropped */
    struct keys named; /* struct vq_hash: requests that a remaining ledger names; sorted later */
    struct keys old;   /* struct vq_hash: answers that are dropped */
    uint64_t rows;     /* of the dropped ledgers */
};

static bool is_kept(const struct gc_ctx *gc, const struct vq_id *run)
{
    for (size_t i = 0; i < gc->keep_count; i++) {
        if (vq_id_eq(&gc->keep[i], run)) {
            return true;
        }
    }
    return false;
}

static enum vq_status gc_row(void *ctx, struct vq_span key, struct vq_span value,
                             struct vq_error *err)
{
    struct gc_ctx *gc = ctx;
    enum vq_record_kind kind;
    struct vq_id run;
    struct vq_call_row row;
    if (vq_ledger_key_read(key, &kind, &run) != VQ_OK) {
        return vq_env_bad_value(gc->calls, VQ_CORRUPT, "the ledger's key", key, err);
    }
    if (!is_kept(gc, &run)) {
        gc->rows++;
        const struct vq_id *dropped = gc->drop.at;
        if (gc->drop.count > 0 && vq_id_eq(&dropped[gc->drop.count - 1], &run)) {
            return VQ_OK;
        }
        return keys_add(&gc->drop, &run, sizeof(run));
    }
    if (kind != VQ_RECORD_CALL || gc->gc->answers_before_unix_ms <= 0) {
        return VQ_OK;
    }
    enum vq_status status = vq_record_read_call(key, value, &row);
    if (status != VQ_OK) {
        return vq_env_bad_value(gc->calls, status, "the ledger row", key, err);
    }
    return keys_add(&gc->named, &row.result.request, sizeof(row.result.request));
}

static enum vq_status gc_answer(void *ctx, struct vq_span key, struct vq_span value,
                                struct vq_error *err)
{
    struct gc_ctx *gc = ctx;
    struct vq_answer answer;
    enum vq_status status =
        key.bytes == VQ_HASH_BYTES ? vq_record_read_answer(key, value, &answer) : VQ_CORRUPT;
    if (status != VQ_OK) {
        return vq_env_bad_value(gc->calls, status, "the answer", key, err);
    }
    if (vq_repair_is_key(key) || answer.created_unix_ms >= gc->gc->answers_before_unix_ms ||
        is_kept(gc, &answer.run) ||
        (gc->named.count > 0 &&
         bsearch(key.at, gc->named.at, gc->named.count, VQ_HASH_BYTES, cmp_hash) != NULL)) {
        return VQ_OK;
    }
    return keys_add(&gc->old, key.at, VQ_HASH_BYTES);
}

static enum vq_status gc_look(struct vq_calls *calls, struct gc_ctx *gc, struct vq_error *err)
{
    struct vq_view *view = NULL;
    VQ_TRY(vq_view_begin(calls, &view, err));
    enum vq_status status = gc->gc->keep(gc->gc->ctx, &gc->keep, &gc->keep_count, err);
    if (status == VQ_OK) {
        status = vq_env_each(view, calls->ledger, vq_span(NULL, 0), gc_row, gc, err);
    }
    if (status == VQ_OK && gc->gc->answers_before_unix_ms > 0) {
        if (gc->named.count > 0) {
            qsort(gc->named.at, gc->named.count, VQ_HASH_BYTES, cmp_hash);
        }
        status = vq_env_each(view, calls->answers, vq_span(NULL, 0), gc_answer, gc, err);
    }
    vq_view_end(&view);
    return status;
}

struct delete_ctx {
    const struct vq_hash *hashes;
    size_t count;
};

static enum vq_status delete_chunk(void *ctx, struct vq_write *w, struct vq_error *err)
{
    const struct delete_ctx *d = ctx;
    for (size_t i = 0; i < d->count; i++) {
        MDB_val k = {.mv_size = VQ_HASH_BYTES, .mv_data = (void *)(uintptr_t)d->hashes[i].b};
        int rc = mdb_del(w->view.txn, w->view.calls->answers, &k, NULL);
        if (rc != 0 && rc != MDB_NOTFOUND) {
            w->full = rc == MDB_MAP_FULL;
            return vq_env_status(w->view.calls, rc, "dropping answers", err);
        }
    }
    return VQ_OK;
}

static enum vq_status gc_delete(struct vq_calls *calls, const struct gc_ctx *gc,
                                struct vq_error *err)
{
    const struct vq_id *runs = gc->drop.at;
    for (size_t i = 0; i < gc->drop.count; i++) {
        uint64_t rows;
        VQ_TRY(vq_store_drop_run(calls, &runs[i], &rows, err));
    }
    const struct vq_hash *hashes = gc->old.at;
    for (size_t at = 0; at < gc->old.count; at += CHUNK_ROWS) {
        size_t left = gc->old.count - at;
        struct delete_ctx d = {.hashes = hashes + at,
                               .count = left < CHUNK_ROWS ? left : CHUNK_ROWS};
        VQ_TRY(vq_env_write(calls, 0, delete_chunk, &d, err));
    }
    return VQ_OK;
}

enum vq_status vq_store_gc(struct vq_calls *calls, const struct vq_gc *gc,
                           struct vq_gc_done *ret_done, struct vq_error *err)
{
    struct gc_ctx ctx = {.gc = gc, .calls = calls};
    enum vq_status status = gc_look(calls, &ctx, err);
    if (status == VQ_OK && !gc->dry_run) {
        status = gc_delete(calls, &ctx, err);
    }
    if (status == VQ_OK) {
        *ret_done =
            (struct vq_gc_done){.runs = ctx.drop.count, .rows = ctx.rows, .answers = ctx.old.count};
    }
    vq_free(ctx.keep);
    vq_free(ctx.drop.at);
    vq_free(ctx.named.at);
    vq_free(ctx.old.at);
    return status;
}

/* ---- export ---- */

#define EXPORT_LINE_BYTES_MAX (8u * VQ_RECORD_BYTES_MAX) /* every byte escaped */

struct export_ctx {
    const struct vq_calls *calls;
    vq_store_write_fn write;
    void *ctx;
    struct vq_buf line;
};

static void key_hex(struct vq_json *json, const char *key, const void *bytes, size_t n)
{
    char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    vq_hex(bytes, n, hex);
    vq_json_put_str(json, key, hex);
}

static enum vq_status answer_json(struct vq_buf *line, struct vq_span key,
                                  const struct vq_answer *a)
{
    enum vq_outcome said = vq_verdict_ranker(a->answer, a->finish_reason, a->refusal);
    if (said == VQ_OUTCOME_NONE) {
        return VQ_NOMEM;
    }
    struct vq_json json;
    vq_buf_clear(line);
    vq_json_open(&json, line, 0);
    key_hex(&json, "request", key.at, VQ_HASH_BYTES);
    vq_json_put_span(&json, "answer", a->answer);
    vq_json_put_str(&json, "verdict", vq_outcome_name(said));
    vq_json_put_span(&json, "finish_reason", a->finish_reason);
    vq_json_put_bool(&json, "refusal", a->refusal);
    vq_json_put_span(&json, "model", a->model);
    vq_json_put_span(&json, "fingerprint", a->fingerprint);
    vq_json_put_u64(&json, "tokens_in", a->tokens_in);
    vq_json_put_u64(&json, "tokens_cached", a->tokens_cached);
    vq_json_put_u64(&json, "tokens_out", a->tokens_out);
    vq_json_put_i64(&json, "created_unix_ms", a->created_unix_ms);
    key_hex(&json, "call", a->call.b, VQ_ID_BYTES);
    key_hex(&json, "run", a->run.b, VQ_ID_BYTES);
    vq_json_close(&json);
    return line->status;
}

static enum vq_status export_answer(void *ctx, struct vq_span key, struct vq_span value,
                                    struct vq_error *err)
{
    struct export_ctx *export = ctx;
    struct vq_answer answer;
    enum vq_status status =
        key.bytes == VQ_HASH_BYTES ? vq_record_read_answer(key, value, &answer) : VQ_CORRUPT;
    if (status != VQ_OK) {
        return vq_env_bad_value(export->calls, status, "the answer", key, err);
    }
    if (vq_repair_is_key(key)) {
        return VQ_OK; /* the export has it as the answer to the repair that was asked */
    }
    VQ_TRY(answer_json(&export->line, key, &answer));
    return export->write(export->ctx, vq_buf_span(&export->line));
}

enum vq_status vq_store_export(struct vq_calls *calls, vq_store_write_fn write, void *ctx,
                               struct vq_error *err)
{
    struct export_ctx export = {.calls = calls, .write = write, .ctx = ctx};
    struct vq_view *view = NULL;
    VQ_TRY(vq_view_begin(calls, &view, err));
    vq_buf_init(&export.line, EXPORT_LINE_BYTES_MAX);
    enum vq_status status =
        vq_env_each(view, calls->answers, vq_span(NULL, 0), export_answer, &export, err);
    vq_buf_free(&export.line);
    vq_view_end(&view);
    return status;
}

/* Removes a worker's answers. An answer moves from the table of answers to the ledger, under the
 * run and its call; its call then counts as paid but unused. From then on the question is open, in
 * every stage and run that asks it.
 *
 * Invariants: the move of an answer and the change of its call's row are one transaction. Answers
 * of other calls stay. The copy of a repair's answer under the repaired text is removed, too. Not
 * its job: which workers are distrusted, and that no coordinator is active (the shell). */
#include "coordinator/store/calls/distrust.h"

#include "common/base/alloc.h"
#include "common/base/sum.h"
#include "coordinator/store/calls/account.h"
#include "coordinator/store/calls/cell.h"
#include "coordinator/store/calls/ledger.h"
#include "coordinator/store/calls/repairs.h"

#include <stdlib.h>

#define CHUNK_ROWS 2048u /* per transaction */
#define FOUND_MAX  ((size_t)1 << 30)
#define ROW_BYTES  1024u /* approximate size of a moved answer, without its text */

struct moved { /* a call whose answer is in force, or that failed a task */
    struct vq_id call;
    struct vq_hash request;
    uint64_t bytes; /* of the answer */
    bool is_failure;
};

struct find {
    const struct vq_id *run;
    const char *worker;
    struct vq_view *view;
    struct vq_distrust found;
    struct moved *list;
    size_t count, cap;
    struct vq_error *err;
};

bool vq_distrust_names(const char *worker, struct vq_span name)
{
    size_t bytes = strlen(worker);
    return bytes > 0 && name.bytes >= bytes && memcmp(name.at, worker, bytes) == 0 &&
           (name.bytes == bytes || name.at[bytes] == VQ_WORKER_OF_CERT);
}

void vq_distrust_free(struct vq_distrust *found)
{
    vq_free(found->stages);
    *found = (struct vq_distrust){0};
}

/* ---- finding ---- */

static enum vq_status stage_of(struct vq_distrust *found, uint32_t stage,
                               struct vq_distrust_stage **ret_stage)
{
    size_t at = 0;
    while (at < found->stages_count && found->stages[at].stage < stage) {
        at++;
    }
    if (at == found->stages_count || found->stages[at].stage != stage) {
        VQ_TRY(VQ_GROW(found->stages, &found->stages_cap, found->stages_count + 1,
                       VQ_ACCOUNT_STAGES_MAX));
        memmove(found->stages + at + 1, found->stages + at,
                (found->stages_count - at) * sizeof(*found->stages));
        found->stages[at] = (struct vq_distrust_stage){.stage = stage};
        found->stages_count++;
    }
    *ret_stage = &found->stages[at];
    return VQ_OK;
}

static enum vq_status add(struct find *f, const struct moved *moved, uint32_t stage_no)
{
    struct vq_distrust_stage *stage;
    VQ_TRY(stage_of(&f->found, stage_no, &stage));
    VQ_TRY(VQ_GROW(f->list, &f->cap, f->count + 1, FOUND_MAX));
    f->list[f->count++] = *moved;
    stage->answers += !moved->is_failure;
    stage->failures += moved->is_failure;
    f->found.answers += !moved->is_failure;
    f->found.failures += moved->is_failure;
    return VQ_OK;
}

static enum vq_status find_call(void *ctx, const struct vq_call_row *row)
{
    struct find *f = ctx;
    struct vq_answer answer;
    if (!vq_distrust_names(f->worker, row->worker)) {
        return VQ_OK;
    }
    f->found.calls++;
    f->found.cost_nano = vq_sum(f->found.cost_nano, row->result.cost_nano);
    if (!row->used) {
        return VQ_OK;
    }
    struct moved moved = {.call = row->result.call, .request = row->result.request};
    enum vq_status status = vq_lookup_answer(f->view, &row->result.request, &answer, f->err);
    if (status == VQ_OK) {
        moved.bytes = answer.answer.bytes;
    }
    return status == VQ_OK || status == VQ_NOT_FOUND ? add(f, &moved, row->result.stage) : status;
}

static enum vq_status find_failure(void *ctx, const struct vq_hash *request,
                                   const struct vq_failure_row *failure)
{
    struct find *f = ctx;
    struct vq_call_row row;
    if (failure->outcome == VQ_OUTCOME_NONE) {
        return VQ_OK; /* it was lifted */
    }
    enum vq_status status = vq_cell_call(f->view, f->run, &failure->call, &row, f->err);
    if (status != VQ_OK || !vq_distrust_names(f->worker, row.worker)) {
        return status == VQ_NOT_FOUND ? VQ_OK : status;
    }
    struct moved moved = {.call = failure->call, .request = *request, .is_failure = true};
    return add(f, &moved, row.result.stage);
}

static enum vq_status find(struct find *f)
{
    VQ_TRY(vq_ledger_scan(f->view, f->run, find_call, f, f->err));
    return vq_failures_scan(f->view, f->run, find_failure, f, f->err);
}

enum vq_status vq_distrust_find(struct vq_view *view, const struct vq_id *run, const char *worker,
                                struct vq_distrust *ret_found, struct vq_error *err)
{
    struct find f = {.run = run, .worker = worker, .view = view, .err = err};
    enum vq_status status = find(&f);
    vq_free(f.list);
    if (status != VQ_OK) {
        vq_distrust_free(&f.found);
        return status;
    }
    *ret_found = f.found;
    return VQ_OK;
}

/* ---- moving ---- */

struct move {
    const struct find *f;
    size_t from, to;
    int64_t unix_ms;
    struct vq_buf value; /* scratch */
};

static enum vq_status drop(struct vq_write *w, const struct vq_hash *request, struct vq_error *err)
{
    MDB_val k = {.mv_size = VQ_HASH_BYTES, .mv_data = (void *)(uintptr_t)request->b};
    int rc = mdb_del(w->view.txn, w->view.calls->answers, &k, NULL);
    w->full = w->full || rc == MDB_MAP_FULL;
    return rc == 0 || rc == MDB_NOTFOUND
               ? VQ_OK
               : vq_env_status(w->view.calls, rc, "moving an answer", err);
}

static enum vq_status put(struct move *m, struct vq_write *w, const struct vq_ledger_key *key,
                          struct vq_error *err)
{
    VQ_TRY(m->value.status);
    return vq_env_put(w, w->view.calls->ledger, vq_ledger_key_span(key), vq_buf_span(&m->value),
                      true, err);
}

static enum vq_status move_answer(struct move *m, struct vq_write *w, const struct moved *moved,
                                  struct vq_error *err)
{
    struct vq_call_row row;
    struct vq_answer answer;
    enum vq_status status = vq_lookup_answer(&w->view, &moved->request, &answer, err);
    if (status == VQ_OK && vq_id_eq(&answer.call, &moved->call)) {
        struct vq_ledger_key aside = vq_ledger_key_distrusted(m->f->run, &moved->call);
        vq_record_answer(&m->value, vq_ledger_key_span(&aside), &answer);
        VQ_TRY(put(m, w, &aside, err));
        status = drop(w, &moved->request, err);
    }
    VQ_TRY(status == VQ_NOT_FOUND ? VQ_OK : status);
    VQ_TRY(vq_cell_call(&w->view, m->f->run, &moved->call, &row, err));
    row.used = false;
    struct vq_ledger_key key = vq_ledger_key_call(m->f->run, &moved->call);
    vq_record_call(&m->value, vq_ledger_key_span(&key), &row);
    return put(m, w, &key, err);
}

static enum vq_status move_chunk(void *ctx, struct vq_write *w, struct vq_error *err)
{
    struct move *m = ctx;
    for (size_t i = m->from; i < m->to; i++) {
        const struct moved *moved = &m->f->list[i];
        VQ_TRY(moved->is_failure ? vq_failure_lift(w, m->f->run, &moved->request, m->unix_ms, err)
                                 : move_answer(m, w, moved, err));
    }
    return vq_env_raise_commit(w, m->f->run, err);
}

static int by_call(const void *a, const void *b)
{
    return memcmp(((const struct moved *)a)->call.b, ((const struct moved *)b)->call.b,
                  VQ_ID_BYTES);
}

/* Removes the copies of answers to repairs, which are the first keys of the table. */
static enum vq_status drop_copies(void *ctx, struct vq_write *w, struct vq_error *err)
{
    const struct find *f = ((struct move *)ctx)->f;
    MDB_cursor *cursor;
    MDB_val k, v;
    int rc = mdb_cursor_open(w->view.txn, w->view.calls->answers, &cursor);
    if (rc != 0) {
        return vq_env_status(w->view.calls, rc, "dropping repairs", err);
    }
    enum vq_status status = VQ_OK;
    rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST);
    while (rc == 0 && status == VQ_OK && vq_repair_is_key(vq_env_span(k))) {
        struct vq_answer answer;
        struct moved key = {.is_failure = false};
        status = vq_record_read_answer(vq_env_span(k), vq_env_span(v), &answer);
        if (status != VQ_OK) {
            status = vq_env_bad_value(w->view.calls, status, "the answer", vq_env_span(k), err);
            break;
        }
        key.call = answer.call;
        if (vq_id_eq(&answer.run, f->run) &&
            bsearch(&key, f->list, f->count, sizeof(key), by_call) != NULL) {
            rc = mdb_cursor_del(cursor, 0);
        }
        rc = rc == 0 ? mdb_cursor_get(cursor, &k, &v, MDB_NEXT) : rc;
    }
    mdb_cursor_close(cursor);
    w->full = w->full || rc == MDB_MAP_FULL;
    return status != VQ_OK || rc == 0 || rc == MDB_NOTFOUND
               ? status
               : vq_env_status(w->view.calls, rc, "dropping repairs", err);
}

static enum vq_status move_all(struct vq_calls *calls, struct find *f, int64_t unix_ms,
                               struct vq_error *err)
{
    struct move m = {.f = f, .unix_ms = unix_ms};
    vq_buf_init(&m.value, VQ_RECORD_BYTES_MAX);
    qsort(f->list, f->count, sizeof(*f->list), by_call);
    enum vq_status status = vq_env_write(calls, 0, drop_copies, &m, err);
    while (status == VQ_OK && m.from < f->count) {
        uint64_t bytes = 0;
        for (m.to = m.from; m.to < f->count && m.to - m.from < CHUNK_ROWS; m.to++) {
            bytes += f->list[m.to].bytes + ROW_BYTES;
        }
        status = vq_env_write(calls, bytes, move_chunk, &m, err);
        m.from = m.to;
    }
    vq_buf_free(&m.value);
    return status;
}

enum vq_status vq_distrust_carry_out(struct vq_calls *calls, const struct vq_id *run,
                                     const char *worker, int64_t unix_ms,
                                     struct vq_distrust *ret_found, struct vq_error *err)
{
    struct find f = {.run = run, .worker = worker, .err = err};
    VQ_TRY(vq_view_begin(calls, &f.view, err));
    enum vq_status status = find(&f);
    vq_view_end(&f.view);
    if (status == VQ_OK && f.count > 0) {
        status = move_all(calls, &f, unix_ms, err);
    }
    vq_free(f.list);
    if (status != VQ_OK) {
        vq_distrust_free(&f.found);
        return status;
    }
    *ret_found = f.found;
    return VQ_OK;
}

enum vq_status vq_distrust_answer(struct vq_view *view, const struct vq_id *run,
                                  const struct vq_id *call, struct vq_answer *ret_answer,
                                  struct vq_error *err)
{
    struct vq_ledger_key key = vq_ledger_key_distrusted(run, call);
    struct vq_span k = vq_ledger_key_span(&key);
    struct vq_span value;
    VQ_TRY(vq_env_get(view, view->calls->ledger, k, &value, err));
    enum vq_status status = vq_record_read_answer(k, value, ret_answer);
    return status == VQ_OK ? VQ_OK : vq_env_bad_value(view->calls, status, "the answer", k, err);
}

/* Calls that wait in batches. In addition to its row of the ledger, each has a row with its whole
 * record until its result is committed: a start reads only these rows, and the worker that collects
 * the batch gets them. A batch has one row, under the hash of its name.
 *
 * Invariant: a call has such a row exactly as long as its row of the ledger ends in BATCHED. */
#include "coordinator/store/calls/batched.h"

#include "common/base/hash.h"
#include "coordinator/store/calls/cell.h"
#include "coordinator/store/calls/record.h"
#include "proto/result.h"
#include "proto/wire.h"

static struct vq_ledger_key key_of_batch(const struct vq_id *run, struct vq_span name)
{
    struct vq_hasher hasher;
    struct vq_hash hash;
    vq_hasher_init(&hasher, "batch-name");
    vq_hasher_field(&hasher, name);
    vq_hasher_final(&hasher, &hash);
    return vq_ledger_key_batch(run, &hash);
}

enum vq_status vq_batched_put(struct vq_write *w, const struct vq_id *run,
                              const struct vq_result *draft, struct vq_buf *value,
                              struct vq_error *err)
{
    struct vq_buf record;
    vq_buf_init(&record, VQ_RECORD_BYTES_MAX);
    struct vq_ledger_key key = vq_ledger_key_waiting(run, &draft->call);
    struct vq_span k = vq_ledger_key_span(&key);
    enum vq_status status = vq_result_encode(draft, &record);
    if (status == VQ_OK) {
        vq_record_waiting(value, k, vq_buf_span(&record));
        status = value->status;
    }
    vq_buf_free(&record);
    VQ_TRY(status);
    return vq_env_put(w, w->view.calls->ledger, k, vq_buf_span(value), true, err);
}

enum vq_status vq_batched_drop(struct vq_write *w, const struct vq_id *run,
                               const struct vq_id *call, struct vq_error *err)
{
    struct vq_ledger_key key = vq_ledger_key_waiting(run, call);
    MDB_val k = {.mv_size = key.bytes, .mv_data = key.b};
    int rc = mdb_del(w->view.txn, w->view.calls->ledger, &k, NULL);
    w->full = w->full || rc == MDB_MAP_FULL;
    return rc == 0 || rc == MDB_NOTFOUND
               ? VQ_OK
               : vq_env_status(w->view.calls, rc, "removing a waiting call", err);
}

enum vq_status vq_batched_put_batch(struct vq_write *w, const struct vq_id *run,
                                    const struct vq_batch_report *said, struct vq_buf *value,
                                    struct vq_error *err)
{
    struct vq_ledger_key key = key_of_batch(run, said->about.name);
    struct vq_span k = vq_ledger_key_span(&key);
    vq_record_batch(value, k, said);
    VQ_TRY(value->status);
    return vq_env_put(w, w->view.calls->ledger, k, vq_buf_span(value), true, err);
}

/* ---- reading ---- */

struct walk {
    struct vq_view *view;
    const struct vq_id *run;
    enum vq_record_kind kind;
    const char *name;
    vq_batched_fn each;
    vq_batched_batch_fn each_batch;
    void *ctx;
    struct vq_decoder *decoder;
};

static enum vq_status give_waiting(const struct walk *walk, struct vq_span key,
                                   struct vq_span value, struct vq_error *err)
{
    struct vq_span record, name;
    struct vq_result draft;
    uint32_t number;
    enum vq_status status = vq_record_read_waiting(key, value, &record);
    if (status == VQ_OK) {
        status = vq_result_decode(walk->decoder, record, &draft, NULL);
    }
    if (status != VQ_OK) {
        return vq_env_bad_value(walk->view->calls, status, "the waiting call", key, err);
    }
    bool other = walk->name != NULL && !(vq_result_batch(&draft, &name, &number) &&
                                         vq_span_eq(name, vq_span_str(walk->name)));
    return other ? VQ_OK : walk->each(walk->ctx, &draft);
}

static enum vq_status give(void *ctx, struct vq_span key, struct vq_span value,
                           struct vq_error *err)
{
    const struct walk *walk = ctx;
    if (walk->kind == VQ_RECORD_WAITING) {
        return give_waiting(walk, key, value, err);
    }
    struct vq_batch_report batch;
    enum vq_status status = vq_record_read_batch(key, value, &batch);
    return status != VQ_OK ? vq_env_bad_value(walk->view->calls, status, "the batch", key, err)
                           : walk->each_batch(walk->ctx, &batch);
}

static enum vq_status walk_all(struct walk *walk, struct vq_error *err)
{
    struct vq_ledger_key prefix = vq_ledger_key_prefix(walk->run, walk->kind);
    VQ_TRY(vq_decoder_create(&walk->decoder));
    enum vq_status status = vq_env_each(walk->view, walk->view->calls->ledger,
                                        vq_ledger_key_span(&prefix), give, walk, err);
    vq_decoder_destroy(&walk->decoder);
    return status;
}

enum vq_status vq_batched_each(struct vq_view *view, const struct vq_id *run, const char *name,
                               vq_batched_fn each, void *ctx, struct vq_error *err)
{
    return walk_all(&(struct walk){.view = view,
                                   .run = run,
                                   .kind = VQ_RECORD_WAITING,
                                   .name = name,
                                   .each = each,
                                   .ctx = ctx},
                    err);
}

enum vq_status vq_batched_each_batch(struct vq_view *view, const struct vq_id *run,
                                     vq_batched_batch_fn each, void *ctx, struct vq_error *err)
{
    return walk_all(
        &(struct walk){
            .view = view, .run = run, .kind = VQ_RECORD_BATCH, .each_batch = each, .ctx = ctx},
        err);
}

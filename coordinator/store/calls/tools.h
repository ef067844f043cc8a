/* `vibeq store stat | gc | export`, and the part of `vibeq rm` in the store. */
#pragma once

#include "coordinator/store/calls/calls.h"

struct vq_store_stat {
    uint64_t answers;
    uint64_t calls;    /* ledger rows of all runs */
    uint64_t failures; /* failure rows */
    uint64_t runs;
    uint64_t bytes_file; /* length of the file */
    uint64_t bytes_used; /* pages in use */
    uint64_t bytes_free; /* pages that will be used again */
    uint32_t readers;
};
enum vq_status vq_store_stat(struct vq_calls *calls, struct vq_store_stat *ret_stat,
                             struct vq_error *err) VQ_WARN_UNUSED;

/* Reads every value and checks it. VQ_CORRUPT names the first damaged key; *ret_values counts the
 * sound values before it. */
enum vq_status vq_store_check(struct vq_calls *calls, uint64_t *ret_values,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* Removes damaged values from a store that was opened with any_value. `named` is called with table
 * and key before each removal. A removed answer is asked again; a removed call is missing in its
 * run's accounting; a run whose meta row was removed cannot continue. VQ_LIMIT: more than
 * VQ_STORE_DROP_MAX; nothing was removed. */
#define VQ_STORE_DROP_MAX 65536
typedef void (*vq_store_named_fn)(void *ctx, const char *table, struct vq_span key);
enum vq_status vq_store_drop_damaged(struct vq_calls *calls, vq_store_named_fn named, void *ctx,
                                     uint64_t *ret_dropped, struct vq_error *err) VQ_WARN_UNUSED;

/* Drops the ledger of one run (after `vibeq rm`). Answers stay. */
enum vq_status vq_store_drop_run(struct vq_calls *calls, const struct vq_id *run,
                                 uint64_t *ret_rows, struct vq_error *err) VQ_WARN_UNUSED;

struct vq_gc {
    /* Returns the runs that still have a folder; the caller of vq_store_gc frees the list. The
     * ledgers of all other runs are removed. It is called after the store was read: a run that
     * starts in the meantime has a folder before it has a ledger. */
    enum vq_status (*keep)(void *ctx, struct vq_id **ret_runs, size_t *ret_count,
                           struct vq_error *err);
    void *ctx;
    /* Above 0: also drops answers that are older than this and that no remaining ledger names. */
    int64_t answers_before_unix_ms;
    bool dry_run;
};
struct vq_gc_done {
    uint64_t runs, rows, answers;
};
/* Answers are dropped only on request: an answer that no ledger names may still save a call of a
 * later run. */
enum vq_status vq_store_gc(struct vq_calls *calls, const struct vq_gc *gc,
                           struct vq_gc_done *ret_done, struct vq_error *err) VQ_WARN_UNUSED;

/* One JSON object per answer and line, ascending by request hash. `write` gets whole lines. */
typedef enum vq_status (*vq_store_write_fn)(void *ctx, struct vq_span line);
enum vq_status vq_store_export(struct vq_calls *calls, vq_store_write_fn write, void *ctx,
                               struct vq_error *err) VQ_WARN_UNUSED;

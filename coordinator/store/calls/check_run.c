/* Walks a run's rows of the ledger and checks each against the rows that it names.
 *
 * Invariant: an error in one row is reported, and the walk continues; only an unreadable store ends
 * it. Not its job: tasks (they need a plan), answers of other runs, the rest of the file (`vibeq
 * store check`). */
#include "coordinator/store/calls/check_run.h"
#include "common/base/sum.h"

#include "common/judge/stage.h"
#include "coordinator/store/calls/cell.h"
#include "coordinator/store/calls/failures.h"

#include <stdio.h>

struct check {
    struct vq_view *view;
    const struct vq_id *run;
    struct vq_run_meta meta;
    vq_check_report_fn say;
    void *ctx;
    struct vq_check_run found;
    struct vq_error *err;
};

static void VQ_PRINTF(2, 3) say(const struct check *c, const char *fmt, ...)
{
    char text[VQ_ERROR_BYTES_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    c->say(c->ctx, text);
}

/* Reports and counts damage; returns other read errors to the caller. */
static enum vq_status report_status(struct check *c, enum vq_status status,
                                    const struct vq_error *why)
{
    if (status == VQ_CORRUPT || status == VQ_VERSION) {
        c->found.damaged++;
        say(c, "store: %s", why->text);
        return VQ_OK;
    }
    return status == VQ_OK ? VQ_OK : vq_fail(c->err, status, "%s", why->text);
}

static void hex_of(const struct vq_id *id, char ret_hex[VQ_HEX_BYTES(VQ_ID_BYTES)])
{
    vq_hex(id->b, VQ_ID_BYTES, ret_hex);
}

/* ---- calls ---- */

static void count_call(struct vq_check_run *f, const struct vq_call_row *row)
{
    bool answered = row->result.end == VQ_END_ANSWER;
    f->calls++;
    f->answered += answered ? 1 : 0;
    f->paid_unused += answered && !row->used ? 1 : 0;
    f->unknown += row->result.end == VQ_END_UNKNOWN ? 1 : 0;
    if (row->result.stage >= VQ_STAGE_BESIDE) {
        return;
    }
    vq_sum_to(&f->paid_nano, answered ? row->result.cost_nano : 0);
    vq_sum_to(&f->paid_unused_nano, answered && !row->used ? row->result.cost_nano : 0);
    vq_sum_to(&f->unknown_nano, answered ? 0 : row->result.cost_nano);
}

/* Whether answers were thrown away: then calls remain whose question has no answer until it is
 * asked again. */
static bool was_distrusted(const struct check *c)
{
    bool has = false;
    struct vq_ledger_key prefix = vq_ledger_key_prefix(c->run, VQ_RECORD_DISTRUSTED);
    return vq_env_has_prefix(c->view, c->view->calls->ledger, vq_ledger_key_span(&prefix), &has,
                             NULL) == VQ_OK &&
           has;
}

static enum vq_status check_answer_of(struct check *c, const struct vq_call_row *row)
{
    struct vq_error why = {0};
    struct vq_answer answer;
    char call[VQ_HEX_BYTES(VQ_ID_BYTES)], other[VQ_HEX_BYTES(VQ_ID_BYTES)];
    hex_of(&row->result.call, call);
    enum vq_status status = vq_lookup_answer(c->view, &row->result.request, &answer, &why);
    if (status == VQ_NOT_FOUND && !row->used && was_distrusted(c)) {
        return VQ_OK;
    }
    if (status == VQ_NOT_FOUND) {
        say(c, "answers: call %s was answered, and no answer to its question is stored", call);
        return VQ_OK;
    }
    if (status != VQ_OK) {
        return report_status(c, status, &why);
    }
    if (vq_id_eq(&answer.call, &row->result.call) != row->used) {
        hex_of(&answer.call, other);
        say(c, "answers: call %s is recorded as %s, and the answer in force is of call %s", call,
            row->used ? "used" : "paid but unused", other);
    }
    return VQ_OK;
}

static enum vq_status check_call(struct check *c, const struct vq_call_row *row)
{
    char call[VQ_HEX_BYTES(VQ_ID_BYTES)];
    count_call(&c->found, row);
    if (row->result.fence.epoch > c->meta.epoch) {
        hex_of(&row->result.call, call);
        say(c, "ledger: call %s is of epoch %llu, and the run is at %llu", call,
            (unsigned long long)row->result.fence.epoch, (unsigned long long)c->meta.epoch);
    }
    return row->result.end == VQ_END_ANSWER ? check_answer_of(c, row) : VQ_OK;
}

/* Checks the call that a failure names. Damage of its row is left to the walk, which reads it,
 * too. */
static enum vq_status check_failure(struct check *c, const struct vq_failure_row *failure)
{
    static const struct vq_id none;
    struct vq_call_row row;
    char call[VQ_HEX_BYTES(VQ_ID_BYTES)];
    if (failure->outcome == VQ_OUTCOME_NONE || vq_id_eq(&failure->call, &none)) {
        return VQ_OK;
    }
    enum vq_status status = vq_cell_call(c->view, c->run, &failure->call, &row, c->err);
    hex_of(&failure->call, call);
    if (status == VQ_NOT_FOUND) {
        say(c, "failures: a task failed by call %s, which the ledger does not have", call);
    } else if (status == VQ_OK &&
               (row.result.end == VQ_END_ANSWER || row.result.end == VQ_END_UNKNOWN)) {
        say(c, "failures: a task failed by call %s, which the ledger has as %s", call,
            vq_call_end_word((enum vq_call_end)row.result.end));
    }
    return status == VQ_NOT_FOUND || status == VQ_CORRUPT || status == VQ_VERSION ? VQ_OK : status;
}

/* ---- the walk ---- */

static enum vq_status check_row(struct check *c, struct vq_span key, enum vq_record_kind kind,
                                struct vq_span value)
{
    struct vq_error why = {0};
    struct vq_call_row call;
    struct vq_failure_row failure;
    enum vq_status status = VQ_OK;
    if (kind == VQ_RECORD_CALL) {
        status = vq_record_read_call(key, value, &call);
    } else if (kind == VQ_RECORD_FAILURE) {
        status = vq_record_read_failure(key, value, &failure);
    } else if (kind == VQ_RECORD_DISTRUSTED) {
        struct vq_answer answer;
        status = vq_record_read_answer(key, value, &answer);
    } else if (kind == VQ_RECORD_WAITING) {
        struct vq_span result;
        status = vq_record_read_waiting(key, value, &result);
    } else if (kind == VQ_RECORD_BATCH) {
        struct vq_batch_report batch;
        status = vq_record_read_batch(key, value, &batch);
    }
    if (status != VQ_OK) {
        (void)vq_env_bad_value(c->view->calls, status, "the ledger row", key, &why);
        return report_status(c, status, &why);
    }
    c->found.rows++;
    return kind == VQ_RECORD_CALL      ? check_call(c, &call)
           : kind == VQ_RECORD_FAILURE ? check_failure(c, &failure)
                                       : VQ_OK;
}

static enum vq_status walk_row(void *ctx, struct vq_span key, struct vq_span value,
                               struct vq_error *err)
{
    struct check *c = ctx;
    enum vq_record_kind kind;
    struct vq_id of;
    (void)err;
    if (vq_ledger_key_read(key, &kind, &of) != VQ_OK) {
        c->found.damaged++;
        say(c, "store: a row of the run has an invalid key");
        return VQ_OK;
    }
    return check_row(c, key, kind, value);
}

static enum vq_status read_meta(struct check *c)
{
    struct vq_error why = {0};
    enum vq_status status = vq_env_meta_get(c->view, c->run, &c->meta, &why);
    if (status == VQ_NOT_FOUND) {
        say(c, "store: the run's own row is missing");
    } else if (status != VQ_OK) {
        VQ_TRY(report_status(c, status, &why));
    }
    if (status != VQ_OK) {
        c->meta = (struct vq_run_meta){.epoch = UINT64_MAX};
    }
    return VQ_OK;
}

enum vq_status vq_check_run(struct vq_view *view, const struct vq_id *run, vq_check_report_fn fn,
                            void *ctx, struct vq_check_run *ret_check, struct vq_error *err)
{
    struct check c = {.view = view, .run = run, .say = fn, .ctx = ctx, .err = err};
    struct vq_span prefix = vq_span((const char *)run->b, VQ_ID_BYTES);
    VQ_TRY(read_meta(&c));
    enum vq_status status = vq_env_each(view, view->calls->ledger, prefix, walk_row, &c, err);
    if (status == VQ_OK && c.found.calls > 0 && c.meta.epoch != UINT64_MAX &&
        c.meta.commit_n == 0) {
        say(&c, "ledger: %llu calls are recorded, and no commit was counted",
            (unsigned long long)c.found.calls);
    }
    if (status == VQ_OK) {
        *ret_check = c.found;
    }
    return status;
}

enum vq_status vq_check_standing(const struct vq_view *view, const struct vq_id *run,
                                 const struct vq_answer *answer, vq_check_report_fn fn, void *ctx,
                                 struct vq_error *err)
{
    const struct check c = {.say = fn, .ctx = ctx};
    struct vq_call_row row;
    char call[VQ_HEX_BYTES(VQ_ID_BYTES)];
    if (!vq_id_eq(&answer->run, run)) {
        return VQ_OK;
    }
    enum vq_status status = vq_cell_call(view, run, &answer->call, &row, err);
    hex_of(&answer->call, call);
    if (status == VQ_NOT_FOUND) {
        say(&c, "ledger: the answer of call %s is in force, and the ledger does not have the call",
            call);
    } else if (status == VQ_OK && row.result.end != VQ_END_ANSWER) {
        say(&c, "ledger: the answer of call %s is in force, and the ledger has the call as %s",
            call, vq_call_end_word((enum vq_call_end)row.result.end));
    }
    return status == VQ_NOT_FOUND || status == VQ_CORRUPT || status == VQ_VERSION ? VQ_OK : status;
}

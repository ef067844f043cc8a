/* A run's rows against each other: a sound run says nothing, and each row that is damaged, missing
 * or another is named. */
#include "fixture.h"

#include "coordinator/store/calls/cell.h"
#include "coordinator/store/calls/check_run.h"

struct heard {
    int count;
    char text[VQ_ERROR_BYTES_MAX]; /* the last one */
};

static void hear(void *ctx, const char *sentence)
{
    struct heard *h = ctx;
    h->count++;
    (void)snprintf(h->text, sizeof(h->text), "%s", sentence);
}

static struct vq_check_run check(struct fx *fx, struct heard *h)
{
    struct vq_view *view = NULL;
    struct vq_check_run found = {.rows = 77};
    *h = (struct heard){.count = 0};
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_check_run(view, &fx->run, hear, h, &found, &fx->err), &fx->err);
    vq_view_end(&view);
    return found;
}

/* Exactly one sentence, with this text and the call's number in it. */
static void assert_names(struct fx *fx, const char *text, const struct vq_id *call)
{
    struct heard h;
    char hex[VQ_HEX_BYTES(VQ_ID_BYTES)];
    (void)check(fx, &h);
    assert_int_equal(h.count, 1);
    if (strstr(h.text, text) == NULL) {
        fail_msg("'%s' says nothing of '%s'", h.text, text);
    }
    if (call != NULL) {
        vq_hex(call->b, VQ_ID_BYTES, hex);
        assert_non_null(strstr(h.text, hex));
    }
}

/* ---- changing what is stored ---- */

struct change {
    bool answers; /* the table */
    struct vq_span key, value;
    bool remove;
};

static enum vq_status apply(void *ctx, struct vq_write *w, struct vq_error *err)
{
    const struct change *c = ctx;
    MDB_dbi table = c->answers ? w->view.calls->answers : w->view.calls->ledger;
    if (c->remove) {
        MDB_val key = {c->key.bytes, (void *)(uintptr_t)c->key.at};
        return mdb_del(w->view.txn, table, &key, NULL) == 0 ? VQ_OK : VQ_NOT_FOUND;
    }
    return vq_env_put(w, table, c->key, c->value, true, err);
}

static void change(struct fx *fx, struct change c)
{
    assert_ok(vq_env_write(fx->calls, 0, apply, &c, &fx->err), &fx->err);
}

static struct vq_call_row row_of(struct fx *fx, const struct vq_id *call)
{
    struct vq_ledger_key key = vq_ledger_key_call(&fx->run, call);
    struct vq_view *view = NULL;
    struct vq_span value;
    struct vq_call_row row;
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_env_get(view, fx->calls->ledger, vq_ledger_key_span(&key), &value, &fx->err),
              &fx->err);
    assert_int_equal(vq_record_read_call(vq_ledger_key_span(&key), value, &row), VQ_OK);
    vq_view_end(&view);
    row.worker = row.result.model = row.result.error = row.result.pool = row.result.label_logprobs =
        vq_span("", 0);
    return row;
}

static void put_row(struct fx *fx, const struct vq_call_row *row)
{
    struct vq_ledger_key key = vq_ledger_key_call(&fx->run, &row->result.call);
    struct vq_buf value;
    vq_buf_init(&value, VQ_RECORD_BYTES_MAX);
    vq_record_call(&value, vq_ledger_key_span(&key), row);
    change(fx, (struct change){.key = vq_ledger_key_span(&key), .value = vq_buf_span(&value)});
    vq_buf_free(&value);
}

static void put_failure(struct fx *fx, const struct vq_id *call, enum vq_outcome outcome)
{
    struct vq_hash request;
    vq_plan_request(&fx->plan, 11, 0, &request);
    struct vq_ledger_key key = vq_ledger_key_failure(&fx->run, &request);
    struct vq_failure_row row = {.outcome = outcome, .call = *call};
    struct vq_buf value;
    vq_buf_init(&value, VQ_RECORD_BYTES_MAX);
    vq_record_failure(&value, vq_ledger_key_span(&key), &row);
    change(fx, (struct change){.key = vq_ledger_key_span(&key), .value = vq_buf_span(&value)});
    vq_buf_free(&value);
}

/* ---- tests ---- */

TEST_WITH(test_sound, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct heard h;
    struct vq_check_run found = check(fx, &h);
    assert_true(h.count == 0 && found.rows == 1 && found.calls == 0);
    struct vq_result r = fx_answer(fx, 0, "Model: A");
    r.cost_nano = 5;
    fx_commit_one(fx, &r);
    r = fx_answer(fx, 0, "Model: B"); /* came second */
    r.cost_nano = 7;
    fx_commit_one(fx, &r);
    r = fx_failure(fx, 3, 0, VQ_END_BAD_REQUEST, VQ_OUTCOME_ERROR); /* and its failure row */
    fx_commit_one(fx, &r);
    r = fx_failure(fx, 4, 0, VQ_END_UNKNOWN, VQ_OUTCOME_NONE);
    r.final = false;
    r.cost_nano = 11;
    fx_commit_one(fx, &r);
    found = check(fx, &h);
    if (h.count > 0) {
        fail_msg("%s", h.text);
    }
    assert_int_equal(found.rows, 6);
    assert_true(found.damaged == 0 && found.calls == 4 && found.answered == 2);
    assert_true(found.paid_unused == 1 && found.unknown == 1);
    assert_true(found.paid_nano == 12 && found.paid_unused_nano == 7 && found.unknown_nano == 11);
    fx->run = (struct vq_id){.b = {9}}; /* rows of others are theirs */
    fx_begin_run(fx, false);
    found = check(fx, &h);
    assert_true(h.count == 0 && found.calls == 0);
}

TEST_WITH(test_sums_do_not_wrap, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct heard h;
    for (uint64_t task = 0; task < 3; task++) {
        struct vq_result r = fx_answer(fx, task, "Model: A");
        r.cost_nano = UINT64_MAX / 2;
        fx_commit_one(fx, &r);
    }
    assert_true(check(fx, &h).paid_nano == UINT64_MAX);
}

TEST_WITH(test_rows, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_result a = fx_answer(fx, 0, "Model: A");
    fx_commit_one(fx, &a);
    const struct vq_call_row sound = row_of(fx, &a.call);
    struct vq_call_row row = sound;
    row.used = false;
    put_row(fx, &row);
    assert_names(fx, "is recorded as paid but unused, and the answer in force is of call", &a.call);
    row = sound;
    row.result.fence.epoch = fx->epoch + 1;
    put_row(fx, &row);
    assert_names(fx, "is of epoch 2, and the run is at 1", &a.call);
    row = sound;
    row.result.request.b[31] ^= 1;
    put_row(fx, &row);
    assert_names(fx, "was answered, and no answer to its question is stored", &a.call);
    put_row(fx, &sound);
    put_failure(fx, &a.call, VQ_OUTCOME_ERROR);
    assert_names(fx, "a task failed by call", &a.call);
    assert_names(fx, "which the ledger has as answer", &a.call);
    struct vq_id nobody = {.b = {1, 2, 3}};
    put_failure(fx, &nobody, VQ_OUTCOME_ERROR);
    assert_names(fx, "which the ledger does not have", &nobody);
    put_failure(fx, &nobody, VQ_OUTCOME_NONE); /* was lifted */
    struct heard h;
    (void)check(fx, &h);
    assert_int_equal(h.count, 0);
}

TEST_WITH(test_damage, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct heard h;
    struct vq_result a = fx_answer(fx, 0, "Model: A"), b = fx_answer(fx, 2, "Model: B");
    fx_commit_one(fx, &a);
    fx_commit_one(fx, &b);
    struct vq_ledger_key key = vq_ledger_key_call(&fx->run, &a.call);
    struct vq_span torn = vq_span_str("torn");
    change(fx, (struct change){.key = vq_ledger_key_span(&key), .value = torn});
    assert_names(fx, "store: ", &a.call);
    struct vq_check_run found = check(fx, &h); /* and the other one was looked at */
    assert_true(found.damaged == 1 && found.calls == 1 && found.answered == 1);
    change(fx, (struct change){.answers = true, .key = vq_hash_span(&b.request), .value = torn});
    found = check(fx, &h);
    assert_true(found.damaged == 2 && h.count == 2);
    assert_non_null(strstr(h.text, "is damaged"));
    struct vq_ledger_key strange = vq_ledger_key_meta(&fx->run);
    strange.b[strange.bytes - 1] = 'Z';
    change(fx, (struct change){.key = vq_ledger_key_span(&strange), .value = torn});
    found = check(fx, &h);
    assert_true(found.damaged == 3 && h.count == 3);
}

TEST_WITH(test_the_runs_own_row, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct vq_ledger_key key = vq_ledger_key_meta(&fx->run);
    struct vq_result a = fx_answer(fx, 0, "Model: A");
    fx_commit_one(fx, &a);
    change(fx, (struct change){.key = vq_ledger_key_span(&key), .remove = true});
    assert_names(fx, "the run's own row is missing", NULL);
    fx_begin_run(fx, false); /* as if it had never committed anything */
    assert_names(fx, "1 calls are recorded, and no commit was counted", NULL);
}

static int standing(struct fx *fx, const struct vq_answer *answer, struct heard *h)
{
    struct vq_view *view = NULL;
    *h = (struct heard){.count = 0};
    assert_ok(vq_view_begin(fx->calls, &view, &fx->err), &fx->err);
    assert_ok(vq_check_standing(view, &fx->run, answer, hear, h, &fx->err), &fx->err);
    vq_view_end(&view);
    return h->count;
}

TEST_WITH(test_what_stands, fx_setup, fx_teardown)
{
    struct fx *fx = *state;
    struct heard h;
    struct vq_result a = fx_answer(fx, 0, "Model: A");
    struct vq_result lost = fx_failure(fx, 2, 0, VQ_END_LOST, VQ_OUTCOME_NONE);
    lost.final = false;
    fx_commit_one(fx, &a);
    fx_commit_one(fx, &lost);
    struct vq_answer answer = {.call = a.call, .run = fx->run};
    assert_int_equal(standing(fx, &answer, &h), 0);
    answer.call = lost.call;
    assert_int_equal(standing(fx, &answer, &h), 1);
    assert_non_null(strstr(h.text, "the ledger has the call as lost"));
    answer.call.b[3] = 0x33;
    assert_int_equal(standing(fx, &answer, &h), 1);
    assert_non_null(strstr(h.text, "the ledger does not have the call"));
    answer.run.b[0] = 0x44; /* another run bought it: that one's ledger has it */
    assert_int_equal(standing(fx, &answer, &h), 0);
}

/* Two rings. An answer is written as JSON when it is stored, so that no data of the store or of a
 * stage must stay alive. Invariant: the limits of the header bound the memory. Not its job: which
 * tasks are failed (the queue). */
#include "coordinator/web/live.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/text/utf8.h"

#include <string.h>

struct vq_live {
    struct vq_buf answers[VQ_LIVE_ANSWERS]; /* number n is at index (n - 1) % VQ_LIVE_ANSWERS */
    uint64_t last;                          /* number of the newest; 0: none */
    int64_t kept_ns;                        /* when it was stored */
    struct vq_live_failure failures[VQ_LIVE_CLASSES * VQ_LIVE_FAILURES]; /* by class */
};

struct vq_live *vq_live_create(void)
{
    struct vq_live *live = vq_alloc(1, sizeof(*live));
    for (uint32_t i = 0; live != NULL && i < VQ_LIVE_ANSWERS; i++) {
        vq_buf_init(&live->answers[i], VQ_LIVE_ENTRY_BYTES);
    }
    return live;
}

void vq_live_destroy(struct vq_live **live)
{
    for (uint32_t i = 0; *live != NULL && i < VQ_LIVE_ANSWERS; i++) {
        vq_buf_free(&(*live)->answers[i]);
    }
    vq_free(*live);
    *live = NULL;
}

/* ---- JSON ---- */

static void put_text(struct vq_json *j, const char *key, struct vq_span text)
{
    vq_json_key(j, key);
    if (text.at == NULL) {
        vq_json_null(j);
    } else if (text.bytes <= VQ_LIVE_TEXT_BYTES) {
        vq_json_span(j, text);
    } else {
        vq_json_array(j);
        vq_json_span(j, vq_utf8_cut(text, VQ_LIVE_TEXT_BYTES));
        vq_json_u64(j, text.bytes);
        vq_json_array_end(j);
    }
}

/* The output that the judge rated higher. */
static const char *higher(enum vq_outcome outcome, uint32_t order)
{
    if (outcome != VQ_OUTCOME_FIRST && outcome != VQ_OUTCOME_SECOND) {
        return NULL;
    }
    return (outcome == VQ_OUTCOME_FIRST) == (order == 0) ? "A" : "B";
}

static void put_question(struct vq_json *j, const struct vq_live_question *q)
{
    vq_json_put_str(j, "stage", q->stage);
    vq_json_put_str(j, "judge", q->judge);
    vq_json_put_known(j, "record", q->record >= 0, q->record);
    put_text(j, "vibe", vq_span_str(q->vibe));
    put_text(j, "low", vq_span_str(q->low));
    put_text(j, "high", vq_span_str(q->high));
    vq_json_put_u64(j, "order", q->order);
    put_text(j, "prompt", q->prompt);
    put_text(j, "a", q->a);
    put_text(j, "b", q->b);
}

void vq_live_put_dead(struct vq_json *j, uint64_t task, enum vq_outcome outcome,
                      const struct vq_live_question *question,
                      const struct vq_live_failure *failure)
{
    vq_json_object(j);
    vq_json_put_u64(j, "task", task);
    vq_json_put_str(j, "class", vq_outcome_name(outcome));
    put_question(j, question);
    if (failure != NULL) {
        vq_json_put_i64(j, "unix_ms", failure->unix_ms);
        vq_json_put_str(j, "pool", failure->pool);
        vq_json_put_str(j, "end", vq_call_end_word(failure->end));
        vq_json_put_u64(j, "http_status", failure->http_status);
        vq_json_put_u64(j, "tries", failure->tries);
        vq_json_put_str(j, "error", failure->error);
        vq_json_put_str(j, "answer", failure->answer);
    }
    vq_json_object_end(j);
}

/* ---- answers ---- */

bool vq_live_due(const struct vq_live *live, int64_t now_ns)
{
    return live->last == 0 || now_ns - live->kept_ns >= VQ_LIVE_EVERY_NS;
}

void vq_live_answer(struct vq_live *live, const struct vq_live_question *question,
                    const struct vq_result *r, int64_t now_unix_ms, int64_t now_ns)
{
    struct vq_buf *out = &live->answers[live->last % VQ_LIVE_ANSWERS];
    struct vq_json json;
    struct vq_json *j = &json;
    vq_buf_clear(out);
    vq_json_open(j, out, 0);
    live->last++;
    live->kept_ns = now_ns;
    vq_json_put_u64(j, "no", live->last);
    vq_json_put_i64(j, "unix_ms", now_unix_ms);
    vq_json_put_u64(j, "task", r->task);
    put_question(j, question);
    put_text(j, "pool", r->pool);
    put_text(j, "model", r->model);
    vq_json_put_bool(j, "repair", r->kind == VQ_CALL_REPAIR);
    vq_json_put_str(j, "outcome", vq_outcome_name((enum vq_outcome)r->outcome));
    vq_json_put_str(j, "higher", higher((enum vq_outcome)r->outcome, question->order));
    put_text(j, "answer", r->answer);
    put_text(j, "error", r->error);
    vq_json_put_u64(j, "latency_ms", r->latency_ms);
    vq_json_put_u64(j, "tokens_in", r->tokens_in);
    vq_json_put_u64(j, "tokens_out", r->tokens_out);
    vq_json_object_end(j);
}

void vq_live_answers_json(const struct vq_live *live, uint64_t after, struct vq_buf *out)
{
    struct vq_json json;
    struct vq_json *j = &json;
    uint64_t first = live->last > VQ_LIVE_ANSWERS ? live->last - VQ_LIVE_ANSWERS : 0;
    vq_json_open(j, out, 0);
    vq_json_put_u64(j, "format", 1);
    vq_json_put_i64(j, "every_ms", VQ_LIVE_EVERY_NS / VQ_NS_PER_MS);
    vq_json_put_u64(j, "text_bytes_max", VQ_LIVE_TEXT_BYTES);
    vq_json_put_u64(j, "last", live->last);
    vq_json_put_array(j, "answers");
    for (uint64_t n = first > after ? first : after; n < live->last; n++) {
        const struct vq_buf *answer = &live->answers[n % VQ_LIVE_ANSWERS];
        if (answer->status == VQ_OK) {
            vq_json_raw(j, vq_buf_span(answer));
        }
    }
    vq_json_array_end(j);
    vq_json_close(j);
}

/* ---- failures ---- */

/* The entry of the task if it has one, or else the oldest one of the class. NULL: that one is
 * newer. */
static struct vq_live_failure *place_of(struct vq_live *live, const struct vq_result *r,
                                        int64_t unix_ms)
{
    uint32_t class = (uint32_t)r->outcome - VQ_OUTCOME_ERROR;
    struct vq_live_failure *places = &live->failures[class * VQ_LIVE_FAILURES], *to = places;
    for (uint32_t i = 0; i < VQ_LIVE_FAILURES; i++) {
        struct vq_live_failure *f = &places[i];
        if (f->outcome != VQ_OUTCOME_NONE && f->stage == r->stage && f->task == r->task) {
            to = f;
            break;
        }
        to = f->unix_ms < to->unix_ms ? f : to;
    }
    return to->unix_ms <= unix_ms ? to : NULL;
}

void vq_live_failed(struct vq_live *live, const struct vq_result *r, int64_t unix_ms)
{
    struct vq_live_failure *f =
        vq_outcome_is_failed((enum vq_outcome)r->outcome) ? place_of(live, r, unix_ms) : NULL;
    if (f == NULL) {
        return;
    }
    f->stage = r->stage;
    f->task = r->task;
    f->outcome = (enum vq_outcome)r->outcome;
    f->end = (enum vq_call_end)r->end;
    f->http_status = r->http_status;
    f->tries = r->tries;
    f->unix_ms = unix_ms;
    vq_utf8_copy(f->pool, sizeof(f->pool), r->pool);
    vq_utf8_copy(f->error, sizeof(f->error), r->error);
    vq_utf8_copy(f->answer, sizeof(f->answer), r->answer);
}

const struct vq_live_failure *vq_live_failures(const struct vq_live *live, uint32_t *ret_count)
{
    *ret_count = VQ_LIVE_CLASSES * VQ_LIVE_FAILURES;
    return live->failures;
}

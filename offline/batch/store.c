/* Lines are answered when they are due, even if no client asks: the log has every paid line with
 * the time of its payment. Invariants: a line gets one result, and one line in the log; the lines
 * of a batch are done in the batch's order. Not its job: answers (service.c), the forms of the
 * dialects (openai.c, anthropic.c, gemini.c). */
#include "offline/batch/store.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/text/json_load.h"
#include "offline/batch/results.h"
#include "offline/dialect.h"

#include <stdio.h>

const char *vq_offline_batch_result_name(enum vq_offline_batch_result result)
{
    static const char *const names[VQ_BATCH_LINE__COUNT] = {[VQ_BATCH_LINE_OPEN] = "open",
                                                            [VQ_BATCH_LINE_SUCCEEDED] = "succeeded",
                                                            [VQ_BATCH_LINE_ERRORED] = "errored",
                                                            [VQ_BATCH_LINE_EXPIRED] = "expired",
                                                            [VQ_BATCH_LINE_CANCELED] = "canceled"};
    return names[result];
}

struct vq_offline_batch *vq_offline_batch_new(void)
{
    struct vq_offline_batch *batch = vq_alloc(1, sizeof(*batch));
    if (batch != NULL) {
        vq_buf_init(&batch->texts, VQ_BATCH_TEXT_BYTES_MAX);
        vq_buf_init(&batch->answers, VQ_BATCH_TEXT_BYTES_MAX);
        vq_buf_init(&batch->metadata, VQ_BATCH_METADATA_BYTES);
    }
    return batch;
}

void vq_offline_batch_free(struct vq_offline_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    vq_buf_free(&batch->texts);
    vq_buf_free(&batch->answers);
    vq_buf_free(&batch->metadata);
    vq_free(batch->lines);
    vq_free(batch->order);
    vq_free(batch);
}

void vq_offline_batches_free(struct vq_offline_batches *batches)
{
    for (size_t i = 0; i < batches->n; i++) {
        vq_offline_batch_free(batches->list[i]);
    }
    vq_free(batches->list);
    for (size_t i = 0; i < VQ_BATCH_UPLOADS_MAX; i++) {
        vq_buf_free(&batches->uploads[i].bytes);
    }
    vq_offline_batch_files_free(&batches->files);
    batches->list = NULL;
    batches->n = 0;
}

enum vq_status vq_offline_batch_add_line(struct vq_offline_batch *batch, struct vq_span id,
                                         const void *body)
{
    if (id.bytes > VQ_BATCH_CUSTOM_ID_BYTES) {
        return VQ_LIMIT;
    }
    void *lines = batch->lines;
    VQ_TRY(vq_grow(&lines, &batch->lines_cap, batch->course.lines + 1, sizeof(*batch->lines),
                   VQ_BATCH_LINES_MAX));
    batch->lines = lines;
    struct vq_offline_batch_line line = {.id_at = batch->texts.bytes, .id_bytes = id.bytes};
    vq_buf_append(&batch->texts, id.at, id.bytes);
    line.body_at = batch->texts.bytes;
    VQ_TRY(batch->texts.status);
    VQ_TRY(vq_json_dump(body, &batch->texts));
    line.body_bytes = batch->texts.bytes - line.body_at;
    batch->enqueued += vq_chat_tokens(line.body_bytes);
    batch->lines[batch->course.lines++] = line;
    return VQ_OK;
}

struct vq_span vq_offline_batch_id_of(const struct vq_offline_batch *batch,
                                      const struct vq_offline_batch_line *line)
{
    return vq_span(batch->texts.at + line->id_at, line->id_bytes);
}

struct vq_span vq_offline_batch_body_of(const struct vq_offline_batch *batch,
                                        const struct vq_offline_batch_line *line)
{
    return vq_span(batch->texts.at + line->body_at, line->body_bytes);
}

struct vq_span vq_offline_batch_answer_of(const struct vq_offline_batch *batch,
                                          const struct vq_offline_batch_line *line)
{
    return line->answer_bytes == 0
               ? vq_span("null", 4)
               : vq_span(batch->answers.at + line->answer_at, line->answer_bytes);
}

enum vq_status vq_offline_batch_find_twice(const struct vq_offline_batch *batch, uint64_t *ret_line)
{
    *ret_line = 0;
    size_t cap = 16;
    while (cap < 2 * batch->course.lines) {
        cap *= 2;
    }
    uint32_t *slots = vq_alloc(cap, sizeof(*slots)); /* line numbers from 1; 0: free */
    if (slots == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t i = 0; i < batch->course.lines && *ret_line == 0; i++) {
        struct vq_span id = vq_offline_batch_id_of(batch, &batch->lines[i]);
        struct vq_hash hash;
        vq_hash_of("batch-custom-id", id, &hash);
        size_t at = vq_hash_u64(&hash) & (cap - 1);
        while (slots[at] != 0 && *ret_line == 0) {
            if (vq_span_eq(vq_offline_batch_id_of(batch, &batch->lines[slots[at] - 1]), id)) {
                *ret_line = i + 1;
            }
            at = (at + 1) & (cap - 1);
        }
        slots[at] = i + 1;
    }
    vq_free(slots);
    return VQ_OK;
}

void vq_offline_batch_set_problem(struct vq_offline_batch *batch, const char *code, uint64_t line,
                                  const char *fmt, ...)
{
    if (batch->problem.code != NULL) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(batch->problem.text, sizeof(batch->problem.text), fmt, args);
    va_end(args);
    batch->problem.code = code;
    batch->problem.line = line;
}

bool vq_offline_batches_over_tokens(const struct vq_offline_batches *batches,
                                    const struct vq_offline_batch *batch)
{
    const struct vq_offline_batch_rules *rules =
        vq_offline_batch_rules_find(&batches->rules, batch->model);
    uint64_t sum = batch->enqueued;
    for (size_t i = 0; i < batches->n; i++) {
        const struct vq_offline_batch *other = batches->list[i];
        bool shares = !other->is_over && other->problem.code == NULL &&
                      strcmp(other->model, batch->model) == 0 &&
                      strcmp(other->account, batch->account) == 0;
        sum += shares ? other->enqueued : 0;
    }
    return rules->tokens > 0 && sum > rules->tokens;
}

/* ---- draws for a line ---- */

static bool draws(const struct vq_offline_batches *batches, const struct vq_offline_batch *batch,
                  const struct vq_offline_batch_line *line, const char *purpose, double chance)
{
    struct vq_hash hash;
    if (chance <= 0) {
        return false;
    }
    struct vq_span whole =
        vq_span(batch->texts.at + line->id_at, line->id_bytes + line->body_bytes);
    vq_hash_of("batch-line", whole, &hash);
    return vq_fault_draw(batches->seed, purpose, line->id_bytes, &hash, batch->n) < chance;
}

static const char *const spoil_names[] = {[VQ_BATCH_SPOIL_NONE] = NULL,
                                          [VQ_BATCH_SPOIL_MISSING] = "missing",
                                          [VQ_BATCH_SPOIL_DAMAGED] = "damaged",
                                          [VQ_BATCH_SPOIL_TORN] = "torn",
                                          [VQ_BATCH_SPOIL_DUPLICATE] = "duplicate",
                                          [VQ_BATCH_SPOIL_FOREIGN] = "foreign"};

enum vq_offline_batch_spoil vq_offline_batch_spoil_of(const struct vq_offline_batches *batches,
                                                      const struct vq_offline_batch *batch,
                                                      const struct vq_offline_batch_line *line)
{
    const double chances[] = {[VQ_BATCH_SPOIL_NONE] = 0,
                              [VQ_BATCH_SPOIL_MISSING] = batch->rules.missing,
                              [VQ_BATCH_SPOIL_DAMAGED] = batch->rules.damaged,
                              [VQ_BATCH_SPOIL_TORN] = batch->rules.torn,
                              [VQ_BATCH_SPOIL_DUPLICATE] = batch->rules.duplicate,
                              [VQ_BATCH_SPOIL_FOREIGN] = batch->rules.foreign};
    for (size_t i = 1; i < VQ_COUNT(chances); i++) {
        if (draws(batches, batch, line, spoil_names[i], chances[i])) {
            return (enum vq_offline_batch_spoil)i;
        }
    }
    return VQ_BATCH_SPOIL_NONE;
}

/* ---- the log ---- */

static struct vq_json *begin_line(struct vq_offline_batches *batches,
                                  const struct vq_offline_batch *batch, const char *event,
                                  int64_t now_ns, int64_t now_ms)
{
    struct vq_json *line = vq_call_log_begin(batches->log, event, batch->n, now_ms);
    vq_json_put_i64(line, "mono_ns", now_ns);
    vq_json_put_str(line, "batch", batch->id);
    vq_json_put_str(line, "dialect", vq_dialect_name(batch->dialect));
    vq_json_put_str(line, "key", batch->key[0] == '\0' ? NULL : batch->key);
    vq_json_put_str(line, "pool", batch->account);
    vq_json_put_str(line, "model", batch->model);
    return line;
}

static void log_batch(struct vq_offline_batches *batches, const struct vq_offline_batch *batch,
                      const char *what, int64_t now_ns, int64_t now_ms)
{
    struct vq_json *line = begin_line(batches, batch, "batch", now_ns, now_ms);
    vq_json_put_str(line, "what", what);
    vq_json_put_u64(line, "requests", batch->course.lines);
    vq_json_put_u64(line, "enqueued_tokens", batch->enqueued);
    vq_json_put_str(line, "problem", batch->problem.code);
    vq_json_put_str(line, "name", batch->display_name[0] == '\0' ? NULL : batch->display_name);
    vq_json_key(line, "metadata");
    if (batch->metadata.bytes > 0) {
        vq_json_raw(line, vq_buf_span(&batch->metadata));
    } else {
        vq_json_null(line);
    }
    for (int i = VQ_BATCH_LINE_SUCCEEDED; i < VQ_BATCH_LINE__COUNT; i++) {
        vq_json_put_u64(line, vq_offline_batch_result_name((enum vq_offline_batch_result)i),
                        batch->counts[i]);
    }
    vq_call_log_end(batches->log);
}

/* `reply` NULL: the line was not carried out. */
static void log_line(struct vq_offline_batches *batches, const struct vq_offline_batch *batch,
                     const struct vq_offline_batch_line *of, const struct vq_offline_reply *reply,
                     int64_t now_ns, int64_t now_ms)
{
    char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    struct vq_hash hash;
    vq_hash_of("offline-body", vq_offline_batch_body_of(batch, of), &hash);
    vq_hex(hash.b, sizeof(hash.b), hex);
    struct vq_json *line = begin_line(batches, batch, "batch_line", now_ns, now_ms);
    vq_json_put_span(line, "custom_id", vq_offline_batch_id_of(batch, of));
    vq_json_put_str(line, "hash", hex);
    vq_json_put_str(line, "result", vq_offline_batch_result_name(of->result));
    vq_json_put_u64(line, "status", of->status);
    vq_json_put_str(line, "outcome", reply == NULL ? NULL : reply->outcome);
    vq_json_put_str(line, "verdict", reply == NULL ? NULL : reply->verdict);
    vq_json_put_str(line, "fault", spoil_names[vq_offline_batch_spoil_of(batches, batch, of)]);
    vq_json_put_bool(line, "paid", reply != NULL && reply->paid);
    vq_json_put_u64(line, "prompt_tokens", reply == NULL ? 0 : reply->prompt_tokens);
    vq_json_put_u64(line, "completion_tokens", reply == NULL ? 0 : reply->completion_tokens);
    vq_call_log_end(batches->log);
}

/* ---- the list ---- */

/* The order in which the lines are done: that of the requests, or shuffled. */
static enum vq_status set_order(struct vq_offline_batches *batches, struct vq_offline_batch *batch,
                                const struct vq_hash *hash)
{
    size_t n = batch->course.lines;
    batch->order = vq_alloc(n, sizeof(*batch->order));
    if (batch->order == NULL) {
        return VQ_NOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        batch->order[i] = i;
    }
    if (batch->rules.reorder) {
        struct vq_rng rng;
        vq_rng_seed(&rng, vq_hash_u64(hash) ^ batches->seed ^ batch->n);
        vq_rng_shuffle_u32(&rng, batch->order, n);
    }
    return VQ_OK;
}

static uint64_t text_bytes(const struct vq_offline_batches *batches)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < batches->n; i++) {
        bytes += batches->list[i]->texts.bytes + batches->list[i]->answers.bytes;
    }
    return bytes;
}

enum vq_status vq_offline_batches_add(struct vq_offline_batches *batches, const char *id_prefix,
                                      struct vq_offline_batch *take_batch, int64_t now_ns,
                                      int64_t now_ms)
{
    struct vq_offline_batch *batch = take_batch;
    void *list = batches->list;
    if (text_bytes(batches) + batch->texts.bytes > VQ_BATCHES_TEXT_BYTES_MAX) {
        vq_offline_batch_free(batch);
        return VQ_LIMIT;
    }
    enum vq_status status =
        vq_grow(&list, &batches->cap, batches->n + 1, sizeof(*batches->list), VQ_BATCHES_MAX);
    if (status == VQ_OK) {
        batches->list = list;
        struct vq_hash hash;
        vq_hash_of("batch-content", vq_buf_span(&batch->texts), &hash);
        batch->n = batches->n + 1;
        batch->created_ms = now_ms;
        batch->rules = *vq_offline_batch_rules_find(&batches->rules, batch->model);
        vq_offline_batch_new_id(id_prefix, batch->n, now_ms, batch->id);
        vq_offline_batch_course_plan(&batch->rules, batches->seed, &hash, batch->n,
                                     batch->course.lines, now_ns, &batch->course);
        batch->course.is_refused = batch->problem.code != NULL;
        status = set_order(batches, batch, &hash);
    }
    if (status != VQ_OK) {
        vq_offline_batch_free(batch);
        return status;
    }
    batches->list[batches->n++] = batch;
    log_batch(batches, batch, "created", now_ns, now_ms);
    return VQ_OK;
}

struct vq_offline_batch *vq_offline_batches_find(const struct vq_offline_batches *batches,
                                                 const char *id, const char *account)
{
    for (size_t i = batches->n; i > 0; i--) {
        struct vq_offline_batch *batch = batches->list[i - 1];
        if (strcmp(batch->id, id) == 0 && strcmp(batch->account, account) == 0) {
            return batch;
        }
    }
    return NULL;
}

/* ---- the work ---- */

static void end_line(struct vq_offline_batch *batch, struct vq_offline_batch_line *line,
                     enum vq_offline_batch_result result)
{
    line->result = result;
    batch->counts[result]++;
}

static enum vq_status answer_line(struct vq_offline_batches *batches,
                                  struct vq_offline_batch *batch,
                                  struct vq_offline_batch_line *line, int64_t now_ns,
                                  int64_t now_ms)
{
    if (draws(batches, batch, line, "batch-expired", batch->rules.expired)) {
        end_line(batch, line, VQ_BATCH_LINE_EXPIRED);
        log_line(batches, batch, line, NULL, now_ns, now_ms);
        return VQ_OK;
    }
    struct vq_offline_reply reply;
    vq_offline_reply_init(&reply);
    bool is_errored = draws(batches, batch, line, "batch-errored", batch->rules.errored);
    enum vq_status status = batches->answer(
        batches->context, batch, vq_offline_batch_body_of(batch, line), is_errored, &reply);
    if (status == VQ_OK) {
        line->status = reply.status;
        line->answer_at = batch->answers.bytes;
        line->answer_bytes = reply.body.bytes;
        vq_buf_append(&batch->answers, reply.body.at, reply.body.bytes);
        status = batch->answers.status;
        batch->prompt_tokens += reply.paid ? reply.prompt_tokens : 0;
        batch->completion_tokens += reply.paid ? reply.completion_tokens : 0;
        end_line(batch, line,
                 reply.status == 200 ? VQ_BATCH_LINE_SUCCEEDED : VQ_BATCH_LINE_ERRORED);
        log_line(batches, batch, line, &reply, now_ns, now_ms);
    }
    vq_offline_reply_free(&reply);
    return status;
}

/* The number of lines that must be answered by now. A batch of Gemini gives all of its results or
 * none, so no line is answered and paid before the batch is certain to complete. */
static uint64_t lines_due(const struct vq_offline_batch *batch, int64_t now_ns)
{
    const struct vq_offline_batch_course *course = &batch->course;
    if (batch->dialect != VQ_DIALECT_GEMINI) {
        return vq_offline_batch_course_done(course, now_ns);
    }
    int64_t end_ns = vq_offline_batch_course_end_ns(course);
    bool completes = end_ns != VQ_BATCH_NEVER &&
                     vq_offline_batch_course_phase(course, end_ns) == VQ_BATCH_COMPLETED;
    return completes && now_ns >= vq_offline_batch_course_stop_ns(course) ? course->lines : 0;
}

/* Ends the lines that were not done. */
static void drop_rest(struct vq_offline_batches *batches, struct vq_offline_batch *batch,
                      int64_t now_ns, int64_t now_ms)
{
    bool was_cancelled = batch->course.cancel_ns != VQ_BATCH_NEVER;
    for (uint64_t i = batch->answered; i < batch->course.lines; i++) {
        struct vq_offline_batch_line *line = &batch->lines[batch->order[i]];
        end_line(batch, line, was_cancelled ? VQ_BATCH_LINE_CANCELED : VQ_BATCH_LINE_EXPIRED);
        log_line(batches, batch, line, NULL, now_ns, now_ms);
    }
    batch->answered = batch->course.lines;
}

static enum vq_status end_batch(struct vq_offline_batches *batches, struct vq_offline_batch *batch,
                                int64_t now_ns, int64_t now_ms)
{
    if (!batch->course.is_refused) {
        drop_rest(batches, batch, now_ns, now_ms);
        VQ_TRY(vq_offline_batch_results_files(batches, batch, now_ms));
    }
    if (batch->output_file[0] != '\0' || batch->error_file[0] != '\0') {
        vq_buf_free(&batch->texts); /* the files have the results */
        vq_buf_free(&batch->answers);
    }
    batch->is_over = true;
    log_batch(batches, batch, "ended", now_ns, now_ms);
    return VQ_OK;
}

enum vq_status vq_offline_batches_turn(struct vq_offline_batches *batches, int64_t now_ns,
                                       int64_t now_ms)
{
    uint64_t left = VQ_BATCH_LINES_PER_TURN;
    for (size_t i = 0; i < batches->n; i++) {
        struct vq_offline_batch *batch = batches->list[i];
        if (batch->is_over) {
            continue;
        }
        uint64_t done = lines_due(batch, now_ns);
        for (; batch->answered < done && left > 0; left--) {
            struct vq_offline_batch_line *line = &batch->lines[batch->order[batch->answered]];
            VQ_TRY(answer_line(batches, batch, line, now_ns, now_ms));
            batch->answered++;
        }
        if (batch->answered == done && now_ns >= vq_offline_batch_course_end_ns(&batch->course)) {
            VQ_TRY(end_batch(batches, batch, now_ns, now_ms));
        }
    }
    return VQ_OK;
}

int64_t vq_offline_batches_next_ns(const struct vq_offline_batches *batches, int64_t now_ns)
{
    int64_t next_ns = VQ_BATCH_NEVER;
    for (size_t i = 0; i < batches->n; i++) {
        const struct vq_offline_batch *batch = batches->list[i];
        if (batch->is_over) {
            continue;
        }
        bool is_late = batch->answered < lines_due(batch, now_ns) ||
                       now_ns >= vq_offline_batch_course_end_ns(&batch->course);
        int64_t its_ns = is_late ? now_ns : vq_offline_batch_course_next_ns(&batch->course, now_ns);
        next_ns = its_ns < next_ns ? its_ns : next_ns;
    }
    return next_ns;
}

enum vq_offline_batch_phase vq_offline_batch_phase_of(const struct vq_offline_batch *batch,
                                                      int64_t now_ns)
{
    enum vq_offline_batch_phase phase = vq_offline_batch_course_phase(&batch->course, now_ns);
    if (batch->is_over || !vq_offline_batch_phase_is_last(phase)) {
        return phase;
    }
    return phase == VQ_BATCH_CANCELLED ? VQ_BATCH_CANCELLING
           : phase == VQ_BATCH_FAILED  ? VQ_BATCH_VALIDATING
                                       : VQ_BATCH_FINALIZING;
}

bool vq_offline_batch_is_shown(const struct vq_offline_batch *batch, int64_t now_ns)
{
    return now_ns >= batch->course.created_ns + batch->rules.hide_ms * VQ_NS_PER_MS;
}

int64_t vq_offline_batch_wall_ms(const struct vq_offline_batch *batch, int64_t at_ns)
{
    return batch->created_ms + (at_ns - batch->course.created_ns) / VQ_NS_PER_MS;
}

/* One pass over the lines of a batch writes its results, whole or spoiled. Invariant: the same
 * batch gives the same bytes each time. Not its job: the answer of a line (store.c). */
#include "offline/batch/results.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- a result in each dialect ---- */

static const char *batch_error_code(enum vq_offline_batch_result result)
{
    return result == VQ_BATCH_LINE_CANCELED ? "batch_cancelled" : "batch_expired";
}

static void write_openai(struct vq_json *json, const struct vq_offline_batch *batch,
                         const struct vq_offline_batch_line *line, struct vq_span id)
{
    char name[VQ_BATCH_ID_BYTES];
    size_t n = (size_t)(line - batch->lines) + 1;
    bool is_answered = line->status != 0;
    vq_json_object(json);
    (void)snprintf(name, sizeof(name), "batch_req_%" PRIu64 "_%zu", batch->n, n);
    vq_json_put_str(json, "id", name);
    vq_json_put_span(json, "custom_id", id);
    if (is_answered) {
        vq_json_put_object(json, "response");
        vq_json_put_u64(json, "status_code", line->status);
        (void)snprintf(name, sizeof(name), "req_%" PRIu64 "_%zu", batch->n, n);
        vq_json_put_str(json, "request_id", name);
        vq_json_key(json, "body");
        vq_json_raw(json, vq_offline_batch_answer_of(batch, line));
        vq_json_object_end(json);
        vq_json_put_null(json, "error");
    } else {
        vq_json_put_null(json, "response");
        vq_json_put_object(json, "error");
        vq_json_put_str(json, "code", batch_error_code(line->result));
        vq_json_put_str(json, "message",
                        line->result == VQ_BATCH_LINE_CANCELED
                            ? "This request was not executed because the batch was cancelled."
                            : "This request could not be executed before the completion window "
                              "expired.");
        vq_json_object_end(json);
    }
    vq_json_object_end(json);
}

static void write_anthropic(struct vq_json *json, const struct vq_offline_batch *batch,
                            const struct vq_offline_batch_line *line, struct vq_span id)
{
    vq_json_object(json);
    vq_json_put_span(json, "custom_id", id);
    vq_json_put_object(json, "result");
    vq_json_put_str(json, "type", vq_offline_batch_result_name(line->result));
    if (line->status != 0) {
        vq_json_key(json, line->result == VQ_BATCH_LINE_SUCCEEDED ? "message" : "error");
        vq_json_raw(json, vq_offline_batch_answer_of(batch, line));
    }
    vq_json_object_end(json);
    vq_json_object_end(json);
}

/* google.rpc.Code of an HTTP status. */
static uint64_t rpc_code(const struct vq_offline_batch_line *line)
{
    static const struct {
        unsigned status;
        uint64_t code;
    } rows[] = {{400, 3}, {401, 16}, {403, 7}, {404, 5}, {409, 10}, {429, 8}, {503, 14}, {504, 4}};
    if (line->status == 0) {
        return line->result == VQ_BATCH_LINE_CANCELED ? 1 : 4;
    }
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        if (rows[i].status == line->status) {
            return rows[i].code;
        }
    }
    return 13;
}

static void write_gemini(struct vq_json *json, const struct vq_offline_batch *batch,
                         const struct vq_offline_batch_line *line, struct vq_span id)
{
    bool is_inline = batch->input_file[0] == '\0';
    vq_json_object(json);
    if (!is_inline) {
        vq_json_put_span(json, "key", id);
    }
    if (line->result == VQ_BATCH_LINE_SUCCEEDED) {
        vq_json_key(json, "response");
        vq_json_raw(json, vq_offline_batch_answer_of(batch, line));
    } else {
        char message[128];
        (void)snprintf(message, sizeof(message), "The request was not answered: %s (HTTP %u).",
                       vq_offline_batch_result_name(line->result), line->status);
        vq_json_put_object(json, "error");
        vq_json_put_u64(json, "code", rpc_code(line));
        vq_json_put_str(json, "message", message);
        vq_json_object_end(json);
    }
    if (is_inline) {
        vq_json_put_object(json, "metadata");
        vq_json_put_span(json, "key", id);
        vq_json_object_end(json);
    }
    vq_json_object_end(json);
}

static void write_one(struct vq_json *json, const struct vq_offline_batch *batch,
                      const struct vq_offline_batch_line *line, struct vq_span id)
{
    switch (batch->dialect) {
    case VQ_DIALECT_ANTHROPIC: write_anthropic(json, batch, line, id); break;
    case VQ_DIALECT_GEMINI: write_gemini(json, batch, line, id); break;
    case VQ_DIALECT_OPENAI:
    case VQ_DIALECT_AZURE: write_openai(json, batch, line, id); break;
    }
}

/* ---- the pass ---- */

static bool is_of(const struct vq_offline_batch_line *line, enum vq_offline_batch_part part)
{
    bool good = line->result == VQ_BATCH_LINE_SUCCEEDED;
    return line->result != VQ_BATCH_LINE_OPEN &&
           (part == VQ_BATCH_PART_ALL || good == (part == VQ_BATCH_PART_SUCCEEDED));
}

/* The custom_id of a line in the results, and of an additional result. */
struct given {
    char id[VQ_BATCH_CUSTOM_ID_BYTES + 32];
    size_t bytes;
};

static struct vq_span damaged(struct vq_span id, struct given *room)
{
    room->bytes = id.bytes == 0 ? 0 : id.bytes - 1;
    memcpy(room->id, id.at, room->bytes);
    room->id[room->bytes++] = '~';
    return vq_span(room->id, room->bytes);
}

static struct vq_span foreign(const struct vq_offline_batch *batch,
                              const struct vq_offline_batch_line *line, struct given *room)
{
    int n = snprintf(room->id, sizeof(room->id), "foreign-%" PRIu64 "-%zu", batch->n,
                     (size_t)(line - batch->lines));
    return vq_span(room->id, (size_t)n);
}

static void write_line(struct vq_buf *out, const struct vq_offline_batch *batch,
                       const struct vq_offline_batch_line *line, struct vq_span id, bool is_torn)
{
    struct vq_json json;
    size_t before = out->bytes;
    vq_json_init(&json, out, 0);
    write_one(&json, batch, line, id);
    if (is_torn && out->status == VQ_OK) {
        out->bytes = before + (out->bytes - before) / 2;
    }
    vq_buf_putc(out, '\n');
}

void vq_offline_batch_results_lines(const struct vq_offline_batches *batches,
                                    const struct vq_offline_batch *batch,
                                    enum vq_offline_batch_part part, struct vq_buf *out)
{
    struct given room;
    for (uint64_t i = 0; i < batch->course.lines && out->status == VQ_OK; i++) {
        const struct vq_offline_batch_line *line = &batch->lines[batch->order[i]];
        enum vq_offline_batch_spoil spoil = vq_offline_batch_spoil_of(batches, batch, line);
        if (!is_of(line, part) || spoil == VQ_BATCH_SPOIL_MISSING) {
            continue;
        }
        struct vq_span id = vq_offline_batch_id_of(batch, line);
        bool is_damaged = spoil == VQ_BATCH_SPOIL_DAMAGED;
        write_line(out, batch, line, is_damaged ? damaged(id, &room) : id,
                   spoil == VQ_BATCH_SPOIL_TORN);
        if (spoil == VQ_BATCH_SPOIL_DUPLICATE) {
            write_line(out, batch, line, id, false);
        } else if (spoil == VQ_BATCH_SPOIL_FOREIGN) {
            write_line(out, batch, line, foreign(batch, line, &room), false);
        }
    }
}

void vq_offline_batch_results_items(const struct vq_offline_batches *batches,
                                    const struct vq_offline_batch *batch, struct vq_json *json)
{
    struct given room;
    for (uint64_t i = 0; i < batch->course.lines; i++) {
        const struct vq_offline_batch_line *line = &batch->lines[batch->order[i]];
        enum vq_offline_batch_spoil spoil = vq_offline_batch_spoil_of(batches, batch, line);
        if (!is_of(line, VQ_BATCH_PART_ALL) || spoil == VQ_BATCH_SPOIL_MISSING) {
            continue;
        }
        struct vq_span id = vq_offline_batch_id_of(batch, line);
        bool is_damaged = spoil == VQ_BATCH_SPOIL_DAMAGED;
        write_one(json, batch, line, is_damaged ? damaged(id, &room) : id);
        if (spoil == VQ_BATCH_SPOIL_DUPLICATE) {
            write_one(json, batch, line, id);
        } else if (spoil == VQ_BATCH_SPOIL_FOREIGN) {
            write_one(json, batch, line, foreign(batch, line, &room));
        }
    }
}

static enum vq_status make_file(struct vq_offline_batches *batches,
                                const struct vq_offline_batch *batch,
                                enum vq_offline_batch_part part, const char *name, int64_t now_ms,
                                char ret_id[VQ_BATCH_ID_BYTES])
{
    struct vq_buf bytes;
    char full_name[VQ_BATCH_ID_BYTES + 32];
    vq_buf_init(&bytes, VQ_BATCH_RESULTS_BYTES_MAX);
    vq_offline_batch_results_lines(batches, batch, part, &bytes);
    if (bytes.status != VQ_OK || bytes.bytes == 0) {
        enum vq_status status = bytes.status;
        vq_buf_free(&bytes);
        return status;
    }
    (void)snprintf(full_name, sizeof(full_name), "%s_%s.jsonl", batch->id, name);
    struct vq_offline_batch_file_new as = {.dialect = batch->dialect,
                                           .account = batch->account,
                                           .purpose = "batch_output",
                                           .name = vq_span_str(full_name),
                                           .mime = "application/jsonl",
                                           .now_ms = now_ms};
    struct vq_offline_batch_file *file = NULL;
    VQ_TRY(vq_offline_batch_files_add(&batches->files, &as, &bytes, &file));
    memcpy(ret_id, file->id, VQ_BATCH_ID_BYTES);
    return VQ_OK;
}

enum vq_status vq_offline_batch_results_files(struct vq_offline_batches *batches,
                                              struct vq_offline_batch *batch, int64_t now_ms)
{
    bool is_gemini = batch->dialect == VQ_DIALECT_GEMINI;
    if (batch->dialect == VQ_DIALECT_ANTHROPIC || (is_gemini && batch->input_file[0] == '\0')) {
        return VQ_OK;
    }
    if (is_gemini &&
        batch->counts[VQ_BATCH_LINE_SUCCEEDED] + batch->counts[VQ_BATCH_LINE_ERRORED] == 0) {
        return VQ_OK; /* it expired or was cancelled */
    }
    if (is_gemini) {
        return make_file(batches, batch, VQ_BATCH_PART_ALL, "responses", now_ms,
                         batch->output_file);
    }
    VQ_TRY(
        make_file(batches, batch, VQ_BATCH_PART_SUCCEEDED, "output", now_ms, batch->output_file));
    return make_file(batches, batch, VQ_BATCH_PART_OTHER, "error", now_ms, batch->error_file);
}

/* Bytes of a batch API: the first byte chooses the dialect and how results are laid out. The rest
 * is read as a batch, a page of the list, the responses of an upload, and results. Results are also
 * read in pieces, and both readings agree. */
#include "tests/fuzz/reply_check.h"

#include "worker/provider/batch_collect.h"
#include "worker/provider/batch_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_view(const struct vq_batch_view *view)
{
    VQ_ASSERT(view->id[0] != '\0' && view->state < VQ_BATCH_STATE__COUNT);
    VQ_ASSERT(view->name[0] == '\0' || vq_batch_name_ok(view->name));
    VQ_ASSERT(view->total >= -1 && view->succeeded >= -1 && view->pending >= -1);
    check_line(view->id, sizeof(view->id));
    check_line(view->said, sizeof(view->said));
    check_line(view->input_file, sizeof(view->input_file));
    check_line(view->output_file, sizeof(view->output_file));
    check_line(view->error_file, sizeof(view->error_file));
    check_line(view->error, sizeof(view->error));
}

static void check_result(const struct vq_batch_dialect *dialect, const struct vq_batch_line *line)
{
    check_line(line->custom_id, sizeof(line->custom_id));
    check_line(line->why, sizeof(line->why));
    VQ_ASSERT(line->damaged == (line->why[0] != '\0'));
    if (line->damaged || line->status == 0) {
        VQ_ASSERT(line->reply.bytes == 0);
        return;
    }
    VQ_ASSERT(line->custom_id[0] != '\0' && line->reply.bytes > 0);
    struct vq_reply reply;
    vq_reply_init(&reply);
    VQ_ASSERT(vq_batch_reply(dialect, line, 1772359200, NULL, &reply) == VQ_OK);
    VQ_ASSERT(line->outcome == VQ_BATCH_SUCCEEDED || reply.class != VQ_REPLY_ANSWER);
    vq_reply_free(&reply);
}

/* The number of results and a sum over them. */
static uint64_t read_results(const struct vq_batch_dialect *dialect, enum vq_batch_layout layout,
                             struct vq_span text, size_t piece)
{
    struct vq_batch_lines lines;
    struct vq_batch_line line;
    struct vq_batch_collect collect;
    uint64_t sum = 0;
    uint32_t call = 0;
    VQ_ASSERT(vq_batch_collect_init(&collect, "fuzz", 1000) == VQ_OK);
    vq_batch_lines_init(&lines, dialect, layout);
    for (size_t from = 0; from <= text.bytes; from += piece) {
        size_t n = text.bytes - from < piece ? text.bytes - from : piece;
        struct vq_span bytes = vq_span(text.at + from, n);
        while (n == 0 ? vq_batch_lines_end(&lines, &line) == VQ_OK
                      : vq_batch_lines_next(&lines, &bytes, &line) == VQ_OK) {
            check_result(dialect, &line);
            (void)vq_batch_collect_take(&collect, &line, &call);
            sum = sum * 31 + line.number * 7 + line.reply.bytes + (unsigned)line.status;
        }
        if (n < piece && n > 0) {
            from = text.bytes - piece; /* the end comes next */
        }
    }
    VQ_ASSERT(collect.counted <= 1000);
    vq_batch_lines_free(&lines);
    vq_batch_collect_free(&collect);
    return sum;
}

/* What a response says is part of an address of ours. */
static void check_uploads(const struct vq_batch_dialect *dialect, struct vq_span text)
{
    struct vq_batch_at at = {dialect, "https://h/v1", "m"};
    struct vq_batch_request request;
    char session[VQ_BATCH_SESSION_BYTES_MAX], file[VQ_BATCH_ID_BYTES_MAX];
    vq_batch_request_init(&request);
    if (dialect->open != NULL && dialect->read_open(text, session) == VQ_OK) {
        check_line(session, sizeof(session));
        VQ_ASSERT(session[0] != '\0' && strpbrk(session, "&#/? %") == NULL);
        VQ_ASSERT(dialect->upload(&at, "fuzz", session, text, &request) == VQ_OK);
    }
    if (dialect->upload != NULL && dialect->read_upload(text, file) == VQ_OK) {
        check_line(file, sizeof(file));
        VQ_ASSERT(dialect->create(&at, "fuzz", file, vq_span(NULL, 0), &request) == VQ_OK);
        VQ_ASSERT(dialect->drop(&at, file, &request) == VQ_OK);
    }
    vq_batch_request_free(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const dialects[] = {"openai", "azure", "anthropic", "gemini"};
    if (size < 2 || size > VQ_RESPONSE_BODY_BYTES_MAX) {
        return 0;
    }
    const struct vq_batch_dialect *dialect = vq_batch_find(dialects[data[0] & 3]);
    struct vq_span text = vq_span((const char *)data + 1, size - 1);
    enum vq_batch_layout layout = (data[0] & 4) != 0 ? VQ_BATCH_INLINE : VQ_BATCH_JSONL;
    struct vq_batch_view view;
    struct vq_batch_page page = {.at = NULL};
    if (vq_batch_read(dialect, text, &view) == VQ_OK) {
        check_view(&view);
    }
    if (vq_batch_read_page(dialect, text, &page) == VQ_OK) {
        for (size_t i = 0; i < page.count; i++) {
            check_view(&page.at[i]);
        }
    }
    vq_batch_page_free(&page);
    check_uploads(dialect, text);
    uint64_t whole = read_results(dialect, layout, text, text.bytes);
    VQ_ASSERT(whole == read_results(dialect, layout, text, 1 + (data[0] >> 3)));
    return 0;
}

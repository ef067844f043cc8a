/* Values of a page's JSON: cut texts, answers, images, calls; and JSON for a script element. */
#include "common/judge/image.h"
#include "common/text/utf8.h"
#include "methods/report/html/html.h"
#include "methods/report/html/plain.h"

#include <math.h>

static const char *script_escape(struct vq_span json, size_t at, size_t *ret_bytes)
{
    *ret_bytes = 1;
    switch (json.at[at]) {
    case '<': return "\\u003c";
    case '>': return "\\u003e";
    case '&': return "\\u0026";
    default: break;
    }
    if (json.bytes - at >= 3 && memcmp(json.at + at, "\xe2\x80", 2) == 0) {
        *ret_bytes = 3;
        if (json.at[at + 2] == '\xa8') {
            return "\\u2028";
        }
        if (json.at[at + 2] == '\xa9') {
            return "\\u2029";
        }
        *ret_bytes = 1;
    }
    return NULL;
}

void vq_page_json(struct vq_buf *out, struct vq_span json)
{
    size_t from = 0;
    for (size_t at = 0; at < json.bytes;) {
        size_t n;
        const char *escape = script_escape(json, at, &n);
        if (escape != NULL) {
            vq_buf_append(out, json.at + from, at - from);
            vq_buf_puts(out, escape);
            from = at + n;
        }
        at += n;
    }
    vq_buf_append(out, json.at + from, json.bytes - from);
}

size_t vq_page_json_bytes(struct vq_span text)
{
    size_t n = 2;
    for (size_t i = 0; i < text.bytes; i++) {
        unsigned char c = (unsigned char)text.at[i];
        bool six = c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '&';
        n += six ? 6 : c >= 0x80 ? 3 : c == '"' || c == '\\' ? 2 : 1;
    }
    return n;
}

void vq_page_put_text(struct vq_json *j, struct vq_span text, size_t bytes_max)
{
    struct vq_span shown = vq_utf8_cut(text, bytes_max);
    if (shown.bytes == text.bytes) {
        vq_json_span(j, text);
        return;
    }
    vq_json_array(j);
    vq_json_span(j, shown);
    vq_json_u64(j, text.bytes);
    vq_json_array_end(j);
}

size_t vq_page_put_answer(struct vq_json *j, struct vq_span answer)
{
    struct vq_buf plain;
    vq_buf_init(&plain, answer.bytes);
    vq_plain_of_markdown(answer, &plain);
    struct vq_span shown = plain.status == VQ_OK ? vq_buf_span(&plain) : answer;
    size_t bytes = vq_page_json_bytes(vq_utf8_cut(shown, VQ_PAGE_ANSWER_BYTES_MAX));
    vq_page_put_text(j, shown, VQ_PAGE_ANSWER_BYTES_MAX);
    vq_buf_free(&plain);
    return bytes;
}

static bool is_shown(struct vq_span image)
{
    return image.bytes <= VQ_PAGE_IMAGE_BYTES_MAX && !vq_image_is_url(image);
}

size_t vq_page_image_bytes(struct vq_span image)
{
    return is_shown(image) ? image.bytes : VQ_PAGE_NAME_BYTES_MAX * 6;
}

void vq_page_put_image(struct vq_json *j, struct vq_span image)
{
    if (image.bytes == 0) {
        return;
    }
    struct vq_span shown = is_shown(image)          ? image
                           : vq_image_is_url(image) ? vq_utf8_cut(image, VQ_PAGE_NAME_BYTES_MAX)
                                                    : vq_span_str("The image is too large for "
                                                                  "this page.");
    vq_json_put_span(j, "image", shown);
}

static void put_calls(struct vq_json *j, const struct vq_report_calls *c)
{
    vq_json_key(j, "calls");
    if (c == NULL) {
        vq_json_null(j);
        return;
    }
    vq_json_object(j);
    vq_json_put_u64(j, "planned", c->planned);
    vq_json_put_u64(j, "sent", c->sent);
    vq_json_put_u64(j, "from_store", c->from_store);
    vq_json_put_u64(j, "not_needed", c->saved_by_lazy_swap);
    vq_json_put_u64(j, "failed", c->failed);
    vq_json_put_u64(j, "too_long", c->too_long);
    vq_json_put_u64(j, "tokens_in", c->tokens_in);
    vq_json_put_u64(j, "tokens_cached", c->tokens_cached);
    vq_json_put_u64(j, "tokens_out", c->tokens_out);
    vq_json_put_real(j, "cost_usd", c->priced ? c->cost_usd : NAN, VQ_REPORT_DIGITS);
    vq_json_object_end(j);
}

void vq_page_begin_json(struct vq_page *page, struct vq_json *j,
                        void (*write)(const void *report, struct vq_buf *out), const void *report,
                        const struct vq_report_calls *calls)
{
    struct vq_buf results;
    vq_buf_init(&results, VQ_PAGE_BYTES_MAX);
    write(report, &results);
    vq_json_init(j, &page->json, 0);
    vq_json_object(j);
    vq_json_put_str(j, "vibeq", VIBEQ_VERSION);
    vq_json_key(j, "results");
    vq_json_raw(j, results.status == VQ_OK ? vq_buf_span(&results) : vq_span_str("null"));
    page->json.status = page->json.status == VQ_OK ? results.status : page->json.status;
    vq_buf_free(&results);
    put_calls(j, calls);
}

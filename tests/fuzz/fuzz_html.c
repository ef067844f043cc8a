/* The page's escapes on any bytes. The first byte is how much is kept. What must hold: escaped text
 * is well-formed UTF-8 without a character that could end an element or an attribute, and every &
 * begins one of our five references; JSON for a script element holds nothing that the HTML parser
 * looks for, and is no longer than was said. */
#include "common/text/json.h"
#include "common/text/utf8.h"
#include "methods/report/html/html.h"

#include <stdlib.h>

#define OUT_BYTES_MAX (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_references(struct vq_span html)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (size_t i = 0; i < html.bytes; i++) {
        char c = html.at[i];
        VQ_ASSERT(c != '<' && c != '>' && c != '"' && c != '\'');
        bool is_known = c != '&';
        for (size_t k = 0; k < VQ_COUNT(known); k++) {
            is_known |= strncmp(html.at + i, known[k], strlen(known[k])) == 0;
        }
        VQ_ASSERT(is_known);
    }
}

static void check_html(struct vq_span text)
{
    struct vq_buf out;
    vq_buf_init(&out, OUT_BYTES_MAX);
    vq_page_escape(&out, text);
    VQ_ASSERT(out.status == VQ_OK);
    VQ_ASSERT(vq_utf8_valid_bytes(vq_buf_span(&out)) == out.bytes);
    check_references(vq_buf_span(&out));
    vq_buf_free(&out);
}

static void check_json(struct vq_span text)
{
    struct vq_buf json, out;
    vq_buf_init(&json, OUT_BYTES_MAX);
    vq_buf_init(&out, OUT_BYTES_MAX);
    vq_json_string(&json, text);
    vq_page_json(&out, vq_buf_span(&json));
    VQ_ASSERT(json.status == VQ_OK && out.status == VQ_OK);
    VQ_ASSERT(strpbrk(out.at, "<>&") == NULL);
    VQ_ASSERT(strstr(out.at, "\xe2\x80\xa8") == NULL && strstr(out.at, "\xe2\x80\xa9") == NULL);
    VQ_ASSERT(out.bytes <= vq_page_json_bytes(text));
    vq_buf_free(&json);
    vq_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 1u << 20) {
        return 0;
    }
    struct vq_span text = vq_span((const char *)data + 1, size - 1);
    check_html(vq_utf8_cut(text, (size_t)data[0] * 8));
    check_json(text);
    return 0;
}

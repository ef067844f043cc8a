/* The frame of a page: its head with the policy, the table that needs no script, the JSON and the
 * script. Not its job: the sections, which the modules render. */
#include "methods/report/html/html.h"

#include "common/base/hash.h"
#include "common/text/utf8.h"

#define BASE64_BYTES    48
#define TITLE_BYTES_MAX (1u << 16)
#define PLAIN_BYTES_MAX (1u << 24)

const struct vq_terminal vq_page_terminal = {.unicode = true, .columns = VQ_PAGE_PLAIN_COLUMNS};

/* Encodes n bytes; RFC 4648 with padding. */
static void base64(const uint8_t *bytes, size_t n, char ret_text[BASE64_BYTES])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    VQ_ASSERT((n + 2) / 3 * 4 < BASE64_BYTES);
    size_t at = 0;
    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        uint32_t group = (uint32_t)bytes[i] << 16;
        group |= have > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        group |= have > 2 ? bytes[i + 2] : 0;
        for (size_t k = 0; k < 4; k++) {
            ret_text[at++] = k <= have ? digits[group >> (18 - 6 * k) & 63] : '=';
        }
    }
    ret_text[at] = '\0';
}

static void put_hash(struct vq_buf *out, struct vq_span source)
{
    char hex[65], text[BASE64_BYTES];
    uint8_t bytes[32];
    vq_sha256_hex(source, hex);
    enum vq_status status = vq_unhex(vq_span(hex, 64), bytes, sizeof(bytes));
    VQ_ASSERT(status == VQ_OK);
    base64(bytes, sizeof(bytes), text);
    vq_buf_printf(out, "'sha256-%s'; ", text);
}

static void put_point(struct vq_buf *out, uint32_t point)
{
    switch (point) {
    case '&': vq_buf_puts(out, "&amp;"); return;
    case '<': vq_buf_puts(out, "&lt;"); return;
    case '>': vq_buf_puts(out, "&gt;"); return;
    case '"': vq_buf_puts(out, "&quot;"); return;
    case '\'': vq_buf_puts(out, "&#39;"); return;
    default: break;
    }
    if (vq_utf8_is_bidi(point)) {
        vq_buf_printf(out, "&lt;U+%04X&gt;", point);
        return;
    }
    bool control =
        (point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7f && point < 0xa0);
    char bytes[VQ_UTF8_BYTES_MAX];
    vq_buf_append(out, bytes, vq_utf8_put(control ? VQ_UTF8_REPLACEMENT : point, bytes));
}

void vq_page_escape(struct vq_buf *out, struct vq_span text)
{
    for (size_t at = 0; at < text.bytes;) {
        put_point(out, vq_utf8_next(text, &at));
    }
}

static void put_head(const struct vq_page *page, struct vq_buf *out)
{
    vq_buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src ");
    put_hash(out, vq_page_css);
    vq_buf_puts(out, "script-src ");
    put_hash(out, *page->script);
    vq_buf_puts(out, "img-src data:; base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"referrer\" content=\"no-referrer\">\n"
                     "<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<meta name=\"generator\" content=\"vibeq " VIBEQ_VERSION "\">\n<title>");
    vq_page_escape(out, vq_buf_span(&page->title));
    vq_buf_puts(out, "</title>\n<style>");
    vq_buf_append(out, vq_page_css.at, vq_page_css.bytes);
    vq_buf_puts(out, "</style>\n</head>\n");
}

static void put_page(const struct vq_page *page, struct vq_buf *out)
{
    put_head(page, out);
    vq_buf_puts(out, "<body>\n<main id=\"plain\">\n<h1>");
    vq_page_escape(out, vq_buf_span(&page->title));
    vq_buf_puts(out, "</h1>\n<p class=\"sub\">Your browser runs no script for this page, so it "
                     "shows the main numbers only. Rows, charts and what the judges wrote need "
                     "scripts. <code>results.json</code> beside this file has all numbers.</p>\n"
                     "<pre>");
    vq_page_escape(out, vq_buf_span(&page->plain));
    vq_buf_puts(out, "</pre>\n<p class=\"sub\">Made by vibeq " VIBEQ_VERSION ".</p>\n</main>\n"
                     "<script type=\"application/json\" id=\"data\">");
    vq_page_json(out, vq_buf_span(&page->json));
    vq_buf_puts(out, "</script>\n<script type=\"module\">");
    vq_buf_append(out, page->script->at, page->script->bytes);
    vq_buf_puts(out, "</script>\n</body>\n</html>\n");
}

void vq_page_init(struct vq_page *page, const struct vq_span *script)
{
    page->script = script;
    vq_buf_init(&page->title, TITLE_BYTES_MAX);
    vq_buf_init(&page->plain, PLAIN_BYTES_MAX);
    vq_buf_init(&page->json, VQ_PAGE_BYTES_MAX);
}

void vq_page_finish(struct vq_page *page, struct vq_buf *out)
{
    struct vq_buf *parts[] = {&page->title, &page->plain, &page->json};
    for (size_t i = 0; i < VQ_COUNT(parts); i++) {
        out->status = out->status == VQ_OK ? parts[i]->status : out->status;
    }
    if (out->status == VQ_OK) {
        put_page(page, out);
    }
    for (size_t i = 0; i < VQ_COUNT(parts); i++) {
        vq_buf_free(parts[i]);
    }
}

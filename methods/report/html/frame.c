/* The frame of a page: its head with the policy, and its foot. The policy lets in our style and our
 * script by their SHA-256 and nothing else: no network, no frames, no eval, no inline handler. Not
 * its job: the sections, which are the methods' own. */
#include "common/base/hash.h"
#include "methods/report/html/html.h"

#define BASE64_BYTES 48

/* Of n bytes; RFC 4648 with padding. */
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

static void source_hash(struct vq_span source, char ret_text[BASE64_BYTES])
{
    char hex[65];
    uint8_t bytes[32];
    vq_sha256_hex(source, hex);
    enum vq_status status = vq_unhex(vq_span(hex, 64), bytes, sizeof(bytes));
    VQ_ASSERT(status == VQ_OK);
    base64(bytes, sizeof(bytes), ret_text);
}

void vq_html_head(struct vq_html *h, const struct vq_span *script)
{
    char css[BASE64_BYTES], js[BASE64_BYTES];
    source_hash(vq_html_css, css);
    vq_html_puts(h, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    vq_html_printf(h,
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "style-src 'sha256-%s'; ",
                   css);
    if (script != NULL) {
        source_hash(*script, js);
        vq_html_printf(h, "script-src 'sha256-%s'; ", js);
    }
    vq_html_puts(h, "img-src data:; base-uri 'none'; form-action 'none'\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"referrer\" content=\"no-referrer\">\n"
                    "<meta name=\"color-scheme\" content=\"light dark\">\n"
                    "<meta name=\"generator\" content=\"vibeq " VIBEQ_VERSION "\">\n<title>");
}

void vq_html_head_end(struct vq_html *h)
{
    vq_html_puts(h, "</title>\n<style>");
    vq_buf_append(h->out, vq_html_css.at, vq_html_css.bytes);
    vq_html_puts(h, "</style>\n</head>\n<body>\n");
}

void vq_html_foot(struct vq_html *h, const struct vq_span *script)
{
    vq_html_puts(h, "<footer><p>Made by vibeq " VIBEQ_VERSION
                    ". The main numbers are in <code>results.json</code> beside it.</p>"
                    "</footer>\n</main>\n");
    if (script != NULL) {
        vq_html_puts(h, "<script>");
        vq_buf_append(h->out, script->at, script->bytes);
        vq_html_puts(h, "</script>\n");
    }
    vq_html_puts(h, "</body>\n</html>\n");
}

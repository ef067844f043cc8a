/* The common part of all dialects: their list, the tables of classes and transports, and replies. A
 * reply owns only its `content`. Not its job: anything that is particular to one provider. */
#include "worker/provider/provider.h"

#include "common/base/secret.h"
#include "worker/provider/dialects.h"

#include <stdio.h>

#define KEY_PART_BYTES_MIN                                                                         \
    8 /* of a key that was cut off; shorter parts would hide ordinary words, too */
/* of a key that was cut off; shorter parts would hide ordinary words */
#define KEY_SHORT_BYTES   12
#define KEY_CONTENT_BYTES 4 /* shorter keys are not hidden in answers: they may be a label */

static const struct vq_provider *const providers[] = {&vq_provider_openai, &vq_provider_azure,
                                                      &vq_provider_anthropic, &vq_provider_gemini};

const struct vq_provider *vq_provider_find(const char *dialect)
{
    for (size_t i = 0; i < VQ_COUNT(providers); i++) {
        if (strcmp(providers[i]->dialect, dialect) == 0) {
            return providers[i];
        }
    }
    return NULL;
}

static const struct {
    const char *name;
    enum vq_call_end end;
    enum vq_pool_state pool;
} classes[VQ_REPLY__COUNT] = {
#define VQ_REPLY_CLASS(name, end, pool) [VQ_REPLY_##name] = {#name, VQ_END_##end, VQ_POOL_##pool},
#include "worker/provider/reply_class.def"
#undef VQ_REPLY_CLASS
};

static const struct {
    enum vq_reply_class class;
    const char *text;
} transports[] = {
#define VQ_TRANSPORT(name, class, text) [VQ_TRANSPORT_##name] = {VQ_REPLY_##class, text},
#include "worker/provider/transport.def"
#undef VQ_TRANSPORT
};
_Static_assert(VQ_COUNT(transports) == VQ_TRANSPORT__COUNT, "transport.def has a row for each");

const char *vq_reply_class_name(enum vq_reply_class class)
{
    VQ_ASSERT(class < VQ_REPLY__COUNT);
    return classes[class].name;
}

enum vq_call_end vq_reply_end(const struct vq_reply *reply)
{
    enum vq_call_end end = classes[reply->class].end;
    return end == VQ_END_NETWORK && reply->maybe_billed ? VQ_END_LOST : end;
}

enum vq_pool_state vq_reply_pool(const struct vq_reply *reply)
{
    return classes[reply->class].pool;
}

static double limit_of(const struct vq_ratelimit *limit)
{
    return limit->limit > 0 ? (double)limit->limit : 0;
}

struct vq_rates vq_reply_rates(const struct vq_reply *reply)
{
    return (struct vq_rates){.requests = limit_of(&reply->requests),
                             .input_tokens = limit_of(&reply->input_tokens),
                             .output_tokens = limit_of(&reply->output_tokens),
                             .tokens = limit_of(&reply->tokens)};
}

void vq_reply_init(struct vq_reply *reply)
{
    *reply = (struct vq_reply){
        .class = VQ_REPLY_BAD_RESPONSE,
        .tokens_in = -1,
        .tokens_cached = -1,
        .tokens_uncounted = -1,
        .tokens_cache_written = -1,
        .tokens_cache_written_long = -1,
        .tokens_out = -1,
        .tokens_reasoning = -1,
        .retry_after_ms = -1,
        .park_until_unix_s = -1,
        .requests = VQ_RATELIMIT_NONE,
        .tokens = VQ_RATELIMIT_NONE,
        .input_tokens = VQ_RATELIMIT_NONE,
        .output_tokens = VQ_RATELIMIT_NONE,
    };
    vq_buf_init(&reply->content, VQ_ANSWER_BYTES_MAX);
}

void vq_reply_free(struct vq_reply *reply)
{
    vq_buf_free(&reply->content);
    vq_reply_init(reply);
}

void vq_reply_from_transport(enum vq_transport transport, bool sent, struct vq_reply *reply)
{
    VQ_ASSERT(transport > VQ_TRANSPORT_OK && transport < VQ_TRANSPORT__COUNT);
    vq_reply_free(reply);
    reply->class = transports[transport].class;
    reply->transport = transport;
    reply->maybe_billed = sent;
    (void)snprintf(reply->error_message, sizeof(reply->error_message), "%s",
                   transports[transport].text);
}

static void hide_in(char *text, size_t bytes, struct vq_span key)
{
    char *from = text, *end = text + bytes;
    while ((size_t)(end - from) >= key.bytes) {
        char *found = memmem(from, (size_t)(end - from), key.at, key.bytes);
        if (found == NULL) {
            break;
        }
        from = found + key.bytes;
        bool inside =
            (found > text && vq_is_alnum(found[-1])) || (from < end && vq_is_alnum(*from));
        if (key.bytes >= KEY_SHORT_BYTES || !inside) {
            memset(found, '*', key.bytes);
        }
    }
}

/* Also hides the part of a key at the end of a line that was cut. */
static void hide_in_line(char *line, struct vq_span key)
{
    size_t bytes = strlen(line);
    hide_in(line, bytes, key);
    size_t n = bytes < key.bytes ? bytes : key.bytes - 1;
    for (; n >= KEY_PART_BYTES_MIN; n--) {
        if (memcmp(line + bytes - n, key.at, n) == 0) {
            memset(line + bytes - n, '*', n);
            break;
        }
    }
}

static void hide_everywhere(struct vq_reply *reply, struct vq_span key)
{
    char *const lines[] = {reply->finish_reason, reply->model,       reply->system_fingerprint,
                           reply->request_id,    reply->error_type,  reply->error_code,
                           reply->error_message, reply->service_tier};
    for (size_t i = 0; i < VQ_COUNT(lines); i++) {
        hide_in_line(lines[i], key);
    }
    if (reply->content.bytes > 0 && key.bytes >= KEY_CONTENT_BYTES) {
        hide_in(reply->content.at, reply->content.bytes, key);
    }
}

/* The forms in which a server may repeat a key. */
enum form {
    FORM_PLAIN,
    FORM_HEX,
    FORM_HEX_UPPER,
    FORM_PERCENT, /* all bytes except letters and digits */
    FORM_PERCENT_UNRESERVED,
    FORM_UNICODE, /* \u0041 for each byte */
    FORM_BASE64,
    FORM_BASE64_URL,
    FORM__COUNT
};

#define FORM_BYTES_MAX ((size_t)6 * VQ_SECRET_BYTES_MAX)

static size_t put_base64(struct vq_span key, const char *last_two, char *to)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    size_t n = 0, bits = key.bytes * 8;
    for (size_t at = 0; at < bits; at += 6) { /* without padding */
        unsigned hi = (unsigned char)key.at[at / 8];
        unsigned lo = at / 8 + 1 < key.bytes ? (unsigned char)key.at[at / 8 + 1] : 0;
        unsigned six = ((hi << 8 | lo) >> (10 - at % 8)) & 63U;
        to[n++] = six < 62 ? letters[six] : last_two[six - 62];
    }
    return n;
}

static size_t put_form(enum form form, struct vq_span key, char *to)
{
    if (form == FORM_BASE64 || form == FORM_BASE64_URL) {
        return put_base64(key, form == FORM_BASE64 ? "+/" : "-_", to);
    }
    size_t n = 0;
    for (size_t i = 0; i < key.bytes; i++) {
        unsigned c = (unsigned char)key.at[i];
        bool bare = vq_is_alnum(key.at[i]) ||
                    (form == FORM_PERCENT_UNRESERVED && memchr("-._~", key.at[i], 4) != NULL);
        bool percent = form == FORM_PERCENT || form == FORM_PERCENT_UNRESERVED;
        if (form == FORM_PLAIN || (percent && bare)) {
            to[n++] = key.at[i];
            continue;
        }
        char hex[8];
        int bytes = snprintf(hex, sizeof(hex),
                             percent                  ? "%%%02X"
                             : form == FORM_UNICODE   ? "\\u%04x"
                             : form == FORM_HEX_UPPER ? "%02X"
                                                      : "%02x",
                             c);
        memcpy(to + n, hex, (size_t)bytes);
        n += (size_t)bytes;
    }
    return n;
}

void vq_reply_hide(struct vq_reply *reply, struct vq_span key)
{
    if (key.bytes == 0) {
        return;
    }
    hide_everywhere(reply, key);
    if (key.bytes < KEY_SHORT_BYTES || key.bytes > VQ_SECRET_BYTES_MAX) {
        return; /* a short key in another form may be any text */
    }
    char text[FORM_BYTES_MAX];
    for (int form = FORM_PLAIN + 1; form < (int)FORM__COUNT; form++) {
        size_t bytes = put_form((enum form)form, key, text);
        if (bytes != key.bytes || memcmp(text, key.at, bytes) != 0) {
            hide_everywhere(reply, vq_span(text, bytes));
        }
    }
    vq_wipe(text, sizeof(text));
}

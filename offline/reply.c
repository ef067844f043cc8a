/* Small helpers to fill a reply. */
#include "offline/reply.h"

#include "offline/dialect.h"

#include <stdio.h>

void vq_offline_reply_init(struct vq_offline_reply *reply)
{
    *reply = (struct vq_offline_reply){.error_wait_ms = -1,
                                       .error_quota = VQ_DIALECT_QUOTA_REQUESTS,
                                       .status = 200,
                                       .content_type = "application/json",
                                       .outcome = "ok"};
    vq_buf_init(&reply->body, VQ_REPLY_BYTES_MAX);
}

void vq_offline_reply_free(struct vq_offline_reply *reply)
{
    vq_buf_free(&reply->body);
}

void vq_offline_reply_header(struct vq_offline_reply *reply, const char *name, const char *fmt, ...)
{
    if (reply->headers_n == VQ_REPLY_HEADERS_MAX) {
        return;
    }
    struct vq_offline_reply_header *header = &reply->headers[reply->headers_n++];
    (void)snprintf(header->name, sizeof(header->name), "%s", name);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(header->value, sizeof(header->value), fmt, args);
    va_end(args);
}

void vq_offline_reply_error(struct vq_offline_reply *reply, unsigned status, const char *message,
                            const char *type, const char *code)
{
    reply->status = status;
    reply->outcome = "error";
    reply->paid = false;
    vq_buf_clear(&reply->body);
    if (reply->dialect == VQ_DIALECT_ANTHROPIC || reply->dialect == VQ_DIALECT_GEMINI) {
        struct vq_dialect_error error = {.status = status,
                                         .message = message,
                                         .code = code,
                                         .wait_ms = reply->error_wait_ms,
                                         .quota = reply->error_quota,
                                         .quota_value = reply->error_quota_value};
        reply->status = vq_dialect_write_error(&reply->body, reply->dialect, &error);
    } else {
        vq_chat_write_error(&reply->body, message, type, code);
    }
}

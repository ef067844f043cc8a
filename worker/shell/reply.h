/* Makes the core's reply from a dialect's reply: the same for a single call and for a call that was
 * part of a batch. */
#pragma once

#include "common/net/http.h"
#include "worker/core/work.h"
#include "worker/provider/provider.h"

#define VQ_REPLY_ERROR_BYTES_MAX 1024

/* The headers that the HTTP client stored. */
void vq_reply_headers_of(const struct vq_http_response *response,
                         struct vq_reply_headers *ret_headers);
/* Adds the reason why an exchange failed to the reply's message. The reason contains nothing of the
 * request. */
void vq_reply_explain(struct vq_reply *reply, const char *why);
/* vq_reply_hide with a key; NULL: no key. */
enum vq_status vq_reply_hide_secret(struct vq_reply *reply,
                                    const struct vq_secret *secret) VQ_WARN_UNUSED;

/* The error text for the core. It names the address and the model if these may be wrong. */
void vq_reply_error(const struct vq_reply *got, const char *url, const char *model,
                    char ret_text[VQ_REPLY_ERROR_BYTES_MAX]);
/* The core's reply to `got`, which it borrows, with `error`; the caller adds the call's id, its
 * times and prompt_chars. `others`: its key was refused, and the pool has others. `params`: enum
 * vq_param that the request had. */
struct vq_work_reply vq_reply_for_core(const struct vq_reply *got, const char *error, bool others,
                                       uint32_t params);

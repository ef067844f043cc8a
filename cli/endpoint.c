/* One HTTP request on a separate loop. Invariant: the token is only in a header. */
#include "cli/endpoint.h"

#include "common/net/http.h"

#include <ctype.h>
#include <stdio.h>

#define ASK_MS 5000

struct asked {
    struct vq_buf *out;
    bool done;
    enum vq_status status;
    int http;
    bool sent;
};

static void on_answer(void *ctx, const struct vq_http_response *response)
{
    struct asked *a = ctx;
    a->done = true;
    a->status = response->transport == VQ_TRANSPORT_OK ? VQ_OK : VQ_UNAVAILABLE;
    a->http = response->status;
    a->sent = response->sent;
    vq_buf_append(a->out, response->body.at, response->body.bytes);
}

static bool is_done(void *ctx)
{
    return ((struct asked *)ctx)->done;
}

static enum vq_status ask_with(struct vq_loop *loop, const struct vq_endpoint *endpoint,
                               const char *path, struct vq_span body, struct asked *asked,
                               struct vq_error *err)
{
    char url[512];
    (void)snprintf(url, sizeof(url), "%s%s", endpoint->address, path);
    struct vq_secret *token;
    VQ_TRY(vq_secret_from_bytes(vq_span_str(endpoint->token), &token));
    struct vq_http *http = NULL;
    struct vq_http_request request = {.method = body.at == NULL ? VQ_HTTP_GET : VQ_HTTP_POST,
                                      .url = url,
                                      .secret = token,
                                      .body = body,
                                      .total_ms = ASK_MS,
                                      .body_bytes_max = VQ_ENDPOINT_BYTES_MAX,
                                      .done = on_answer,
                                      .ctx = asked};
    enum vq_status status = vq_http_create(loop, NULL, &http, err);
    if (status == VQ_OK) {
        status = vq_http_start(http, &request, NULL, err);
    }
    if (status == VQ_OK) {
        asked->sent = true; /* until the end of the call shows that it was not */
        status = vq_loop_run_until(loop, is_done, asked, ASK_MS + 1000);
        status = asked->done ? asked->status : status;
    }
    vq_http_destroy(&http);
    vq_secret_destroy(&token);
    return status;
}

enum vq_status vq_endpoint_ask(const struct vq_endpoint *endpoint, const char *path,
                               struct vq_span body, struct vq_buf *out, int *ret_http,
                               bool *ret_sent, struct vq_error *err)
{
    struct vq_loop *loop;
    struct asked asked = {.out = out};
    *ret_sent = false;
    VQ_TRY(vq_loop_create(&loop, err));
    enum vq_status status = ask_with(loop, endpoint, path, body, &asked, err);
    vq_loop_destroy(&loop);
    *ret_sent = asked.sent;
    VQ_TRY(status);
    VQ_TRY(out->status);
    *ret_http = asked.http;
    return VQ_OK;
}

void vq_endpoint_url(const struct vq_endpoint *endpoint, const char *page, struct vq_buf *out)
{
    vq_buf_printf(out, "%s%s#", endpoint->address, page);
    for (const char *at = endpoint->token; *at != '\0'; at++) {
        vq_buf_printf(out, isalnum((unsigned char)*at) ? "%c" : "%%%02X", (unsigned char)*at);
    }
}

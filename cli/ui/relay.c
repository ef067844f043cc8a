/* One call of the client for each request. Invariants: the run's token goes to the loopback alone,
 * in a header; of the run's answer only status, kind and body come through, and never a status that
 * speaks of a token, since the browser has another one. Owns a request's body until its end. */
#include "cli/ui/relay.h"

#include "cli/ui/files.h"
#include "common/base/alloc.h"
#include "common/base/secret.h"
#include "coordinator/store/rundir/run_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define ENDPOINT_BYTES_MAX 4096

struct relay {
    struct vq_httpd_wait *wait;
    struct vq_secret *token;
    struct vq_buf body; /* of a POST */
};

static void refuse(struct vq_httpd_response *response, int status, const char *name,
                   const char *what)
{
    response->status = status;
    vq_buf_printf(response->body, "%s %s\n", name, what);
}

static enum vq_status read_endpoint(const char *runs_dir, const char *name,
                                    struct vq_endpoint *ret_endpoint)
{
    struct vq_buf text;
    int fd = -1;
    int runs_fd = open(runs_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum vq_status status = runs_fd < 0 ? VQ_NOT_FOUND : vq_ui_folder_open(runs_fd, name, &fd);
    vq_buf_init(&text, ENDPOINT_BYTES_MAX);
    if (status == VQ_OK) {
        status = vq_ui_file_read(fd, "endpoint.json", &text, NULL);
        (void)close(fd);
    }
    if (runs_fd >= 0) {
        (void)close(runs_fd);
    }
    if (status == VQ_OK) {
        status = vq_endpoint_parse(vq_buf_span(&text), ret_endpoint);
    }
    if (text.at != NULL) {
        vq_wipe(text.at, text.bytes);
    }
    vq_buf_free(&text);
    return status;
}

static const char *kind_of(const struct vq_http_response *answer)
{
    static const char json[] = "application/json";
    for (uint32_t i = 0; i < answer->headers_count; i++) {
        const struct vq_http_header *h = &answer->headers[i];
        if (vq_span_eq(h->name, vq_span_str("content-type")) && h->value.bytes >= strlen(json) &&
            memcmp(h->value.at, json, strlen(json)) == 0) {
            return json;
        }
    }
    return "text/plain; charset=utf-8";
}

static void free_relay(struct relay *relay)
{
    vq_secret_destroy(&relay->token);
    vq_buf_free(&relay->body);
    vq_free(relay);
}

static void on_answer(void *ctx, const struct vq_http_response *answer)
{
    struct relay *relay = ctx;
    struct vq_buf body;
    vq_buf_init(&body, VQ_UI_RELAY_BYTES_MAX);
    struct vq_httpd_response response = {.status = answer->status, .body = &body};
    bool whole = answer->transport == VQ_TRANSPORT_OK && answer->status >= 200;
    if (!whole) {
        refuse(&response, answer->sent ? 504 : 503, "the run", "does not answer");
    } else if (answer->status == 401 || answer->status == 403) {
        refuse(&response, 502, "the run", "has another token than its endpoint.json says");
    } else {
        response.content_type = kind_of(answer);
        vq_buf_append(&body, answer->body.at, answer->body.bytes);
    }
    vq_httpd_answer(relay->wait, &response);
    vq_buf_free(&body);
    free_relay(relay);
}

static enum vq_status start(struct vq_http *client, const struct vq_endpoint *endpoint,
                            const char *rest, const struct vq_httpd_request *request)
{
    struct vq_buf url;
    bool is_post = request->method == VQ_HTTPD_POST;
    struct relay *relay = vq_alloc(1, sizeof(*relay));
    if (relay == NULL) {
        return VQ_NOMEM;
    }
    vq_buf_init(&url, VQ_HTTP_URL_BYTES_MAX);
    vq_buf_printf(&url, "%s/api/v1/%s", endpoint->address, rest);
    vq_httpd_query_put(request, &url);
    vq_buf_init(&relay->body, VQ_HTTPD_REQUEST_BYTES_MAX);
    vq_buf_append(&relay->body, is_post ? request->body.at : "", is_post ? request->body.bytes : 0);
    enum vq_status status = url.status != VQ_OK ? url.status : relay->body.status;
    if (status == VQ_OK) {
        status = vq_secret_from_bytes(vq_span_str(endpoint->token), &relay->token);
    }
    if (status == VQ_OK) {
        struct vq_http_request call = {.method = is_post ? VQ_HTTP_POST : VQ_HTTP_GET,
                                       .url = url.at,
                                       .secret = relay->token,
                                       .body =
                                           is_post ? vq_buf_span(&relay->body) : vq_span(NULL, 0),
                                       .total_ms = VQ_UI_RELAY_MS,
                                       .body_bytes_max = VQ_UI_RELAY_BYTES_MAX,
                                       .done = on_answer,
                                       .ctx = relay};
        status = vq_http_start(client, &call, NULL, NULL);
    }
    vq_buf_free(&url);
    if (status != VQ_OK) {
        free_relay(relay);
        return status;
    }
    relay->wait = vq_httpd_wait(request); /* the call ends in a later step */
    return VQ_OK;
}

void vq_ui_relay(struct vq_http *client, const char *runs_dir, const char *name, const char *rest,
                 const struct vq_httpd_request *request, struct vq_httpd_response *response)
{
    struct vq_endpoint endpoint;
    if (read_endpoint(runs_dir, name, &endpoint) != VQ_OK) {
        refuse(response, 503, name, "is starting, or its endpoint.json cannot be read");
        return;
    }
    bool is_local = strncmp(endpoint.address, "http://", strlen("http://")) == 0 &&
                    vq_http_url_is_local(endpoint.address);
    enum vq_status status = is_local ? start(client, &endpoint, rest, request) : VQ_INVALID;
    vq_wipe(&endpoint, sizeof(endpoint));
    if (!is_local) {
        refuse(response, 502, name, "listens beyond this machine's loopback; open its own page");
    } else if (status != VQ_OK) {
        refuse(response, 503, name, vq_status_text(status));
    }
}

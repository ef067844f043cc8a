/* One call of the client for each request. Invariants: the run's token is sent, in a header, only
 * to an address of this machine; except for the loopback, only to one in a file of this user. Of
 * the run's answer only status, type and body are passed on, and never a status about a token,
 * since the browser has another token. Owns a request's body until its end. */
#include "cli/ui/relay.h"

#include "cli/ui/files.h"
#include "common/base/alloc.h"
#include "common/base/secret.h"
#include "common/net/http_gate.h"
#include "coordinator/store/rundir/run_dir.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
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

/* *ret_mine: this user wrote the file, and no other user can write it. */
static enum vq_status read_endpoint(const char *runs_dir, const char *name,
                                    struct vq_endpoint *ret_endpoint, bool *ret_mine)
{
    struct vq_buf text;
    struct stat st = {.st_mode = 0};
    int fd = -1;
    int runs_fd = open(runs_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum vq_status status = runs_fd < 0 ? VQ_NOT_FOUND : vq_ui_folder_open(runs_fd, name, &fd);
    vq_buf_init(&text, ENDPOINT_BYTES_MAX);
    if (status == VQ_OK) {
        status = vq_ui_file_read(fd, "endpoint.json", &text, &st);
        (void)close(fd);
    }
    if (runs_fd >= 0) {
        (void)close(runs_fd);
    }
    if (status == VQ_OK) {
        status = vq_endpoint_parse(vq_buf_span(&text), ret_endpoint);
        *ret_mine = st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
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
        refuse(&response, 502, "the run", "has another token than the one in its endpoint.json");
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
    struct relay *relay;
    VQ_TRY(VQ_ALLOC(relay, 1));
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
                                       /* the address is on this machine: vq_ui_relay checks it */
                                       .allow_http = true,
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

/* "http://NUMBERS:PORT" of an interface of this machine: a socket can be bound only to those. */
static bool is_of_this_machine(const char *url)
{
    static const char scheme[] = "http://";
    struct vq_http_listen at;
    if (strncmp(url, scheme, strlen(scheme)) != 0 ||
        vq_http_listen_parse("", url + strlen(scheme), &at, NULL) != VQ_OK) {
        return false;
    }
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(at.is_v6 ? AF_INET6 : AF_INET, at.address,
                  at.is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr) != 1) {
        return false;
    }
    int fd = socket(at.is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_here = fd >= 0 && bind(fd, at.is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
                                   at.is_v6 ? sizeof(v6) : sizeof(v4)) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_here;
}

static bool is_local(const char *url)
{
    return strncmp(url, "http://", strlen("http://")) == 0 && vq_http_url_is_local(url);
}

void vq_ui_relay(struct vq_http *client, const char *runs_dir, const char *name, const char *rest,
                 const struct vq_httpd_request *request, struct vq_httpd_response *response)
{
    struct vq_endpoint endpoint;
    bool mine = false;
    if (read_endpoint(runs_dir, name, &endpoint, &mine) != VQ_OK) {
        refuse(response, 503, name, "is starting, or its endpoint.json cannot be read");
        return;
    }
    bool may = is_local(endpoint.address) || (mine && is_of_this_machine(endpoint.address));
    enum vq_status status = may ? start(client, &endpoint, rest, request) : VQ_INVALID;
    vq_wipe(&endpoint, sizeof(endpoint));
    if (!may) {
        refuse(response, 502, name,
               "has an address that is not of this machine, or that another user wrote; open the "
               "run's own page");
    } else if (status != VQ_OK) {
        refuse(response, 503, name, vq_status_text(status));
    }
}

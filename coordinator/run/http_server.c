/* Makes a listening server from options. Invariant: there is always a token; from other machines
 * every request needs it (httpd.c). Not its job: the pages and data (control.c). */
#include "coordinator/run/http_server.h"

#include <stdio.h>
#include <unistd.h>

static enum vq_status copy_token(void *ctx, struct vq_span token)
{
    char *to = ctx;
    if (token.bytes < VQ_HTTP_TOKEN_BYTES_MIN || token.bytes >= VQ_ENDPOINT_TOKEN_BYTES) {
        return VQ_INVALID;
    }
    for (size_t i = 0; i < token.bytes; i++) {
        if (token.at[i] <= ' ' || token.at[i] > '~') {
            return VQ_INVALID;
        }
    }
    memcpy(to, token.at, token.bytes);
    to[token.bytes] = '\0';
    return VQ_OK;
}

static enum vq_status load_token(const char *file, struct vq_secret **ret_token,
                                 struct vq_endpoint *endpoint, struct vq_error *err)
{
    char reference[VQ_RUN_PATH_BYTES_MAX];
    int n = snprintf(reference, sizeof(reference), "file:%s", file);
    if (n < 0 || (size_t)n >= sizeof(reference)) {
        return vq_fail(err, VQ_LIMIT, "--http-token-file: the path is too long");
    }
    VQ_TRY(vq_secret_load(reference, ret_token, err));
    if (vq_secret_expose(*ret_token, copy_token, endpoint->token) != VQ_OK) {
        return vq_fail(
            err, VQ_INVALID,
            "--http-token-file %s: a token has %d to %d visible ASCII characters, in one "
            "line; make one with: openssl rand -hex 32",
            file, VQ_HTTP_TOKEN_BYTES_MIN, VQ_ENDPOINT_TOKEN_BYTES - 1);
    }
    return VQ_OK;
}

static enum vq_status make_token(struct vq_secret **ret_token, struct vq_endpoint *endpoint)
{
    uint8_t random[32];
    vq_random_bytes(random, sizeof(random));
    vq_hex(random, sizeof(random), endpoint->token);
    vq_wipe(random, sizeof(random));
    return vq_secret_from_bytes(vq_span_str(endpoint->token), ret_token);
}

static enum vq_status check_hosts(const struct vq_run_http *http, struct vq_error *err)
{
    if (http->hosts_count > VQ_HTTP_HOSTS_MAX) {
        return vq_fail(err, VQ_INVALID, "more than %d times --http-host", VQ_HTTP_HOSTS_MAX);
    }
    for (uint32_t i = 0; i < http->hosts_count; i++) {
        if (!vq_http_host_is_name(http->hosts[i])) {
            return vq_fail(err, VQ_INVALID,
                           "--http-host %.200s: give the name alone, for example queue.example.org",
                           http->hosts[i]);
        }
    }
    return VQ_OK;
}

enum vq_status vq_http_server_open(struct vq_loop *loop, const struct vq_run_http *http,
                                   const struct vq_httpd_route *routes, uint32_t routes_count,
                                   void *ctx, struct vq_http_server *server,
                                   struct vq_endpoint *ret_endpoint, struct vq_error *err)
{
    struct vq_httpd_options options = {.routes = routes,
                                       .routes_count = routes_count,
                                       .hosts = http->hosts,
                                       .hosts_count = http->hosts_count,
                                       .strangers_percent = server->strangers_percent,
                                       .ctx = ctx};
    *ret_endpoint = (struct vq_endpoint){.pid = (uint64_t)getpid()};
    VQ_TRY(check_hosts(http, err));
    if (http->listen != NULL) {
        VQ_TRY(vq_http_listen_parse("--http", http->listen, &options.listen, err));
    }
    VQ_TRY(http->token_file != NULL
               ? load_token(http->token_file, &server->token, ret_endpoint, err)
               : make_token(&server->token, ret_endpoint));
    options.token = server->token;
    enum vq_status status = vq_httpd_create(loop, &options, &server->httpd, err);
    if (status == VQ_EXISTS && http->listen != NULL) {
        return vq_fail(err, status, "--http %s: another program listens there; choose another port",
                       http->listen);
    }
    VQ_TRY(status);
    vq_httpd_url(server->httpd, ret_endpoint->address);
    return VQ_OK;
}

void vq_http_server_close(struct vq_http_server *server)
{
    vq_httpd_destroy(&server->httpd);
    vq_secret_destroy(&server->token);
}

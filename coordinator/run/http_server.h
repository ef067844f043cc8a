/* The HTTP server of a run by its options: address, token and allowed names. */
#pragma once

#include "common/net/httpd.h"
#include "coordinator/run/run.h"
#include "coordinator/store/rundir/run_dir.h"

#define VQ_HTTP_TOKEN_BYTES_MIN 16 /* of --http-token-file */

struct vq_http_server {
    struct vq_httpd *httpd;
    struct vq_secret *token;    /* random, or from the file */
    uint32_t strangers_percent; /* as in vq_httpd_options; the caller sets it before the open */
};

/* Listens with `routes` (borrowed for the server's life), whose handlers get `ctx`. *ret_endpoint:
 * address and token for endpoint.json; the caller wipes it. VQ_EXISTS: the port is taken;
 * VQ_INVALID, VQ_DENIED, VQ_NOT_FOUND: an option is wrong. Close a failed server with
 * vq_http_server_close, too. */
enum vq_status vq_http_server_open(struct vq_loop *loop, const struct vq_run_http *http,
                                   const struct vq_httpd_route *routes, uint32_t routes_count,
                                   void *ctx, struct vq_http_server *server,
                                   struct vq_endpoint *ret_endpoint,
                                   struct vq_error *err) VQ_WARN_UNUSED;
void vq_http_server_close(struct vq_http_server *server);

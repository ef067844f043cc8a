/* A small HTTP server on the loop for status and control: fixed routes, a bearer token, a check of
 * the Host header (so that a foreign web page cannot reach the server through its own host name)
 * and, for requests that change something, of the Origin header. Beyond the loopback, all routes
 * except the files of the page require the token. A handler answers at once, or later through
 * vq_httpd_wait. */
#pragma once

#include "common/base/buf.h"
#include "common/base/secret.h"
#include "common/net/http_gate.h"
#include "common/net/loop.h"

#define VQ_HTTPD_CONNECTIONS_MAX 64
#define VQ_HTTPD_IDLE_S          10
/* from the first byte of a request to the last byte of its response */
#define VQ_HTTPD_REQUEST_S 20
#define VQ_HTTPD_RESERVED                                                                          \
    8 /* connections that stay free for requests with the token: other clients are closed first */
#define VQ_HTTPD_REQUEST_BYTES_MAX  (64u << 10) /* body of a POST */
#define VQ_HTTPD_RESPONSE_BYTES_MAX (64u << 20)
#define VQ_HTTPD_ROUTES_MAX         64

enum vq_httpd_method {
    VQ_HTTPD_GET = 0, /* HEAD is answered like GET */
    VQ_HTTPD_POST
};

struct vq_httpd_request {
    enum vq_httpd_method method;
    const char *path;           /* decoded */
    struct vq_span body;        /* of a POST */
    void *connection;           /* for vq_httpd_query */
    struct vq_httpd_wait *wait; /* for vq_httpd_wait */
};
/* The value of "?NAME=VALUE" in the address, decoded; NULL: not given. */
const char *vq_httpd_query(const struct vq_httpd_request *request, const char *name);
/* Appends all parameters as "?A=B&C=D", encoded again, for another server; nothing if there are
 * none. */
void vq_httpd_query_put(const struct vq_httpd_request *request, struct vq_buf *out);

struct vq_httpd_response {
    int status;               /* preset to 200 */
    const char *content_type; /* static text; preset to "text/plain; charset=utf-8" */
    const char *location;     /* static text or NULL */
    bool compress;            /* compress for clients that accept gzip; for files of a page */
    const char *policy;       /* static text; replaces the default Content-Security-Policy */
    struct vq_buf *body;      /* append here; above its limit the response is a 500 */
};

/* A delayed response. A handler that calls vq_httpd_wait does not fill its response. The connection
 * waits until the owner calls vq_httpd_answer: exactly once, within VQ_HTTPD_REQUEST_S, and before
 * the server is destroyed; also if the client disconnects meanwhile. */
struct vq_httpd_wait;
struct vq_httpd_wait *vq_httpd_wait(const struct vq_httpd_request *request);
/* Takes the bytes of response->body, and leaves it empty. May be called inside the handler. */
void vq_httpd_answer(struct vq_httpd_wait *wait, const struct vq_httpd_response *response);

enum vq_httpd_access {
    VQ_HTTPD_TOKEN = 0, /* requires the token, if the server has one */
    VQ_HTTPD_LOCAL,     /* requires the token beyond the loopback */
    VQ_HTTPD_ANYONE,    /* no token: files that are the same for every run */
};

struct vq_httpd_route {
    enum vq_httpd_method method;
    /* "/metrics"; with a final "*": all paths that begin with the text before it */
    const char *path;
    enum vq_httpd_access access;
    void (*handle)(void *ctx, const struct vq_httpd_request *request,
                   struct vq_httpd_response *response);
};

struct vq_httpd_options {
    struct vq_http_listen listen; /* {0}: a free port of 127.0.0.1 */
    /* Borrowed for the server's life. NULL: no route requires a token. */
    const struct vq_secret *token;
    /* further host names that are allowed; borrowed for the server's life */
    const char *const *hosts;
    uint32_t hosts_count;
    /* The share of the thread's time for clients without the token (http_share.h); 0: no limit. */
    uint32_t strangers_percent;
    const struct vq_httpd_route *routes; /* borrowed for the server's life */
    uint32_t routes_count;
    void *ctx; /* of all handlers */
};

struct vq_httpd;
/* VQ_EXISTS: the port is taken. VQ_INVALID: an address beyond the loopback, but no token. */
enum vq_status vq_httpd_create(struct vq_loop *loop, const struct vq_httpd_options *options,
                               struct vq_httpd **ret_httpd, struct vq_error *err) VQ_WARN_UNUSED;
/* "http://ADDRESS:PORT" for a program on this machine; for 0.0.0.0 and :: the loopback's
 * address. */
#define VQ_HTTPD_URL_BYTES 80
void vq_httpd_url(const struct vq_httpd *httpd, char ret_url[VQ_HTTPD_URL_BYTES]);
uint16_t vq_httpd_port(const struct vq_httpd *httpd);
/* Must not be called from a handler. All delayed responses must have been given. */
void vq_httpd_destroy(struct vq_httpd **httpd);

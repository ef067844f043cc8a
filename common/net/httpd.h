/* A small HTTP server on the loop for status and control: fixed routes, a bearer token, checks of
 * the Host header (so that a web page elsewhere cannot reach it through a name of its own) and,
 * where something is changed, of the Origin header. Beyond the loopback everything but the files of
 * the page demands the token. A handler answers at once, or promises an answer (vq_httpd_wait). */
#pragma once

#include "common/base/buf.h"
#include "common/base/secret.h"
#include "common/net/http_gate.h"
#include "common/net/loop.h"

#define VQ_HTTPD_CONNECTIONS_MAX 64
#define VQ_HTTPD_IDLE_S          10
/* from the first byte of a request to the last one of its answer */
#define VQ_HTTPD_REQUEST_S 20
#define VQ_HTTPD_RESERVED                                                                          \
    8 /* connections that are free for a request with the token: others give way */
#define VQ_HTTPD_REQUEST_BYTES_MAX  (64u << 10) /* body of a POST */
#define VQ_HTTPD_RESPONSE_BYTES_MAX (64u << 20)
#define VQ_HTTPD_ROUTES_MAX         64

enum vq_httpd_method {
    VQ_HTTPD_GET = 0, /* HEAD is answered from it */
    VQ_HTTPD_POST
};

struct vq_httpd_request {
    enum vq_httpd_method method;
    const char *path;           /* decoded */
    struct vq_span body;        /* of a POST */
    void *connection;           /* for vq_httpd_query */
    struct vq_httpd_wait *wait; /* for vq_httpd_wait */
};
/* The value of "?NAME=VALUE" in the address, decoded; NULL: there is none. */
const char *vq_httpd_query(const struct vq_httpd_request *request, const char *name);
/* Appends all of them as "?A=B&C=D", encoded again, for another server; nothing: there is none. */
void vq_httpd_query_put(const struct vq_httpd_request *request, struct vq_buf *out);

struct vq_httpd_response {
    int status;               /* 200 when the handler is called */
    const char *content_type; /* static text; "text/plain; charset=utf-8" */
    const char *location;     /* static text or NULL */
    bool compress;            /* for a client that takes gzip: files of a page */
    const char *policy;       /* static text instead of the Content-Security-Policy of our pages */
    struct vq_buf *body;      /* append here; over its limit the answer is a 500 */
};

/* An answer that comes later. A handler that calls vq_httpd_wait leaves its response alone; the
 * connection waits until vq_httpd_answer, which is called exactly once, within VQ_HTTPD_REQUEST_S,
 * and before the server is destroyed. A client that leaves meanwhile changes nothing. */
struct vq_httpd_wait;
struct vq_httpd_wait *vq_httpd_wait(const struct vq_httpd_request *request);
/* Takes the bytes of response->body, and leaves it empty. Also from inside the handler. */
void vq_httpd_answer(struct vq_httpd_wait *wait, const struct vq_httpd_response *response);

enum vq_httpd_access {
    VQ_HTTPD_TOKEN = 0, /* needs the token, where there is one */
    VQ_HTTPD_LOCAL,     /* needs it beyond the loopback */
    VQ_HTTPD_ANYONE,    /* never needs it: files that are the same for every run */
};

struct vq_httpd_route {
    enum vq_httpd_method method;
    const char *path; /* "/metrics"; with a "*" at its end: everything that begins so */
    enum vq_httpd_access access;
    void (*handle)(void *ctx, const struct vq_httpd_request *request,
                   struct vq_httpd_response *response);
};

struct vq_httpd_options {
    struct vq_http_listen listen; /* {0}: a free port of 127.0.0.1 */
    /* Borrowed for life. NULL: no route demands one. */
    const struct vq_secret *token;
    const char *const *hosts; /* names that a Host header may have besides; borrowed for life */
    uint32_t hosts_count;
    /* Of the thread's time, for clients without the token (http_share.h); 0: there is no limit. */
    uint32_t strangers_percent;
    const struct vq_httpd_route *routes; /* borrowed for life */
    uint32_t routes_count;
    void *ctx; /* of all handlers */
};

struct vq_httpd;
/* VQ_EXISTS: the port is taken. VQ_INVALID: an address beyond the loopback, without a token. */
enum vq_status vq_httpd_create(struct vq_loop *loop, const struct vq_httpd_options *options,
                               struct vq_httpd **ret_httpd, struct vq_error *err) VQ_WARN_UNUSED;
/* "http://ADDRESS:PORT" for a program on this machine; of 0.0.0.0 and :: it is the loopback's. */
#define VQ_HTTPD_URL_BYTES 80
void vq_httpd_url(const struct vq_httpd *httpd, char ret_url[VQ_HTTPD_URL_BYTES]);
uint16_t vq_httpd_port(const struct vq_httpd *httpd);
/* Not from a handler. Every promised answer was given. */
void vq_httpd_destroy(struct vq_httpd **httpd);

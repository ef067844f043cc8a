/* HTTP calls on the loop: thousands at once. Each call has deadlines and ends exactly once. No
 * redirects, no retries; https unless the host is local. Request headers and bodies are never
 * logged. */
#pragma once

#include "common/base/buf.h"
#include "common/base/secret.h"
#include "common/net/loop.h"
#include "common/net/transport.h"

#define VQ_HTTP_CALLS_MAX 16384 /* in flight at one client */
/* a turn of a curl multi handle costs time linear in its connections */
#define VQ_HTTP_CALLS_PER_MULTI         64
#define VQ_HTTP_URL_BYTES_MAX           4096
#define VQ_HTTP_HEADERS_MAX             32
#define VQ_HTTP_HEADER_BYTES_MAX        8192         /* one request header */
#define VQ_HTTP_KEPT_HEADERS_MAX        40           /* of a response */
#define VQ_HTTP_KEPT_BYTES_MAX          8192         /* of the kept headers */
#define VQ_HTTP_RESPONSE_HEAD_BYTES_MAX (256u << 10) /* all header lines of a response */
#define VQ_HTTP_BODY_BYTES_MAX          (4u << 20)   /* default cap of a body, decompressed */
#define VQ_HTTP_BODIES_BYTES_MAX        (512u << 20) /* of all calls together */
/* of one body; it bounds a body of one-byte chunks */
#define VQ_HTTP_PIECES_MAX    65536u
#define VQ_HTTP_CONNECT_MS    10000 /* defaults of the deadlines */
#define VQ_HTTP_FIRST_BYTE_MS 120000
#define VQ_HTTP_TOTAL_MS      300000
#define VQ_HTTP_SLOW_S        60

struct vq_http;      /* a client: connections, handles */
struct vq_http_call; /* one call in flight */

struct vq_http_options {
    uint32_t calls_max;      /* 0: VQ_HTTP_CALLS_MAX */
    size_t bodies_bytes_max; /* 0: VQ_HTTP_BODIES_BYTES_MAX. Above it a call ends with TOO_BIG */
    const char *ca_file;     /* trusted PEM certificates; NULL: those of the system */
};

struct vq_http_header {
    struct vq_span name; /* of a response: lower case */
    struct vq_span value;
};

enum vq_http_method {
    VQ_HTTP_POST = 0,
    VQ_HTTP_GET,
    VQ_HTTP_DELETE
};

struct vq_http_response {
    enum vq_transport transport;
    bool sent;  /* the server may have received the request: it may be carried out and billed */
    int status; /* HTTP status; 0: none was read */
    struct vq_span body; /* the received part, also if it is not complete */
    /* the kept headers, names in lower case: retry-after, retry-after-ms, content-type, date,
     * x-request-id, request-id, x-should-retry, openai-organization, anthropic-organization-id,
     * x-litellm-response-cost, x-gemini-service-tier, x-goog-upload-url, x-ratelimit-*,
     * anthropic-ratelimit-* */
    const struct vq_http_header *headers;
    uint32_t headers_count;
    const char *error;  /* for people, if transport is not OK; without request bytes */
    int64_t connect_ns; /* durations since the start of the call; 0: not reached */
    int64_t first_byte_ns;
    int64_t total_ns;
    bool reused; /* the connection was open already */
};

/* Everything but `body` is copied. */
struct vq_http_request {
    enum vq_http_method method;
    const char *url;
    bool allow_http;                      /* plain http to another machine, too */
    const struct vq_http_header *headers; /* without CR, LF, NUL */
    uint32_t headers_count;
    const struct vq_secret *secret; /* sent as "secret_header: secret_prefix SECRET"; NULL: none */
    const char *secret_header;      /* NULL: "Authorization" */
    const char *secret_prefix;      /* NULL: "Bearer "; may be "" */
    struct vq_span body;            /* borrowed until `done` */
    uint32_t connect_ms;            /* 0: the defaults above */
    uint32_t first_byte_ms;         /* from the start of the call */
    uint32_t total_ms;
    uint32_t slow_bytes_per_s; /* the least rate over slow_s; 0: not checked */
    uint32_t slow_s;
    size_t body_bytes_max;
    /* Receives the body of a 2xx response piece by piece, instead of response.body; the body may
     * then have any length. It must not start or cancel calls of this client. If it returns false,
     * the call ends with an error. NULL: the body is collected in response.body. */
    bool (*piece)(void *ctx, struct vq_span bytes);
    /* Called exactly once, from the loop, never from inside vq_http_start. The response and all it
     * points to are valid during `done`, which may start a new call. */
    void (*done)(void *ctx, const struct vq_http_response *response);
    void *ctx;
};

enum vq_status vq_http_create(struct vq_loop *loop, const struct vq_http_options *options,
                              struct vq_http **ret_http, struct vq_error *err) VQ_WARN_UNUSED;
/* Ends all calls in flight: calls `done` for each with CANCELLED. Must not be called from
 * `done`. */
void vq_http_destroy(struct vq_http **http);

/* VQ_INVALID: URL, scheme or header refused; VQ_LIMIT: calls_max are in flight; VQ_NOMEM. On
 * failure `done` is not called. ret_call may be NULL; *ret_call is valid until `done` is called. */
enum vq_status vq_http_start(struct vq_http *http, const struct vq_http_request *request,
                             struct vq_http_call **ret_call, struct vq_error *err) VQ_WARN_UNUSED;
/* `done` is called later with CANCELLED, unless the call ends before. */
void vq_http_cancel(struct vq_http_call *call);
uint32_t vq_http_in_flight(const struct vq_http *http);

/* True for localhost, *.localhost, 127.0.0.0/8 and ::1 in a URL or as a bare host. */
bool vq_http_url_is_local(const char *url);

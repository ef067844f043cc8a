/* One HTTP call and the client it belongs to. Private: it shows libcurl. */
#ifndef VQ_NET_HTTP_PRIVATE_H
#define VQ_NET_HTTP_PRIVATE_H

#include "common/net/http.h"
#include "common/net/loop_private.h"

#include <curl/curl.h>

struct vq_http_multi;

struct vq_http_kept { /* places in `kept_text`, which may move while it grows */
    size_t name_at, name_bytes, value_at, value_bytes;
};

/* Lives in the client's pool between calls, with its easy handle and its timer. */
struct vq_http_call {
    struct vq_http *http;
    struct vq_http_multi *multi; /* NULL: not in flight */
    struct vq_http_call *next;   /* in flight, or free */
    struct vq_http_call *prev;
    CURL *easy;
    struct curl_slist *headers; /* holds the key: wiped when freed */
    struct vq_timer *timer;     /* first byte, then slowness */
    struct vq_deferred cancel;
    void (*done)(void *ctx, const struct vq_http_response *response);
    void *ctx;
    /* what came of it */
    struct vq_buf body;
    struct vq_buf kept_text;
    struct vq_http_kept kept[VQ_HTTP_KEPT_HEADERS_MAX];
    uint32_t kept_count;
    size_t head_bytes;
    uint64_t body_bytes; /* received altogether */
    uint64_t slow_mark;  /* of body_bytes when slowness was last looked at */
    uint64_t slow_bytes; /* fewer in slow_s is slow; 0: not looked at */
    uint32_t slow_s;
    int64_t start_ns, connect_ns, first_byte_ns;
    bool sent;
    bool sent_twice; /* libcurl was about to send it again by itself: stopped */
    bool too_big;
    bool no_memory;
    char error[CURL_ERROR_SIZE];
};

/* What the last URL was found to be: a worker's calls go to a few. */
struct vq_http_seen {
    char url[VQ_HTTP_URL_BYTES_MAX + 1];
    bool https, local;
};

/* ---- http_call.c ---- */

/* With an easy handle that has everything that is the same for all calls. */
enum vq_status vq_http_call_create(struct vq_http *http, struct vq_loop *loop, const char *ca_file,
                                   CURLSH *share, struct vq_http_call **ret_call) VQ_WARN_UNUSED;
void vq_http_call_destroy(struct vq_http_call **call);
enum vq_status vq_http_call_prepare(struct vq_http_call *call,
                                    const struct vq_http_request *request,
                                    struct vq_http_seen *seen, struct vq_error *err) VQ_WARN_UNUSED;
/* Tells `done` how it ended; afterwards the call is clean for the pool. */
void vq_http_call_finish(struct vq_http_call *call, enum vq_transport transport, const char *why);
enum vq_transport vq_http_call_classify(const struct vq_http_call *call, CURLcode code);

/* ---- http.c ---- */

/* Takes the call out of its multi handle and finishes it. */
void vq_http_call_end(struct vq_http_call *call, enum vq_transport transport, const char *why);

#endif

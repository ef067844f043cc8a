/* An HTTP call and its client. Private, because it includes libcurl. */
#pragma once

#include "common/net/http.h"
#include "common/net/loop_private.h"

#include <curl/curl.h>

#define VQ_HTTP_NAMES_MAX      16
#define VQ_HTTP_HOST_BYTES_MAX 256
#define VQ_HTTP_DNS_CACHE_S    300

struct vq_http_multi;
struct vq_http_call;

/* A host whose address must be looked up. libcurl uses a thread for each lookup, even if a lookup
 * of the same host is running. So one call leads, and the others wait until it has an address. */
struct vq_http_name {
    struct vq_http *http;
    char host[VQ_HTTP_HOST_BYTES_MAX]; /* with its port, as in libcurl's cache */
    bool stale;                        /* the host did not answer: the address is looked up again */
    int64_t known_until_ns;            /* until then libcurl's cache has the address */
    struct vq_http_call *leader;       /* NULL: no lookup is running */
    struct vq_http_call *waiting;      /* first in, first out */
    struct vq_http_call *waiting_last;
    struct vq_deferred release;
    bool failed; /* the leader's lookup failed: the waiting calls end in the same way */
    enum vq_transport failure;
};

struct vq_http_kept { /* offsets in `kept_text`, which may move while it grows */
    size_t name_at, name_bytes, value_at, value_bytes;
};

/* A call; between calls, the client's pool keeps it with its easy handle and its timer. */
struct vq_http_call {
    struct vq_http *http;
    struct vq_http_multi *multi; /* NULL: waits for an address, or not in flight */
    struct vq_http_name *name;   /* NULL: needs no lookup */
    struct vq_http_call *next_waiting;
    bool waits;
    struct vq_link in_flight;
    struct vq_http_call *next; /* free */
    CURL *easy;
    uint64_t url_n; /* vq_http_seen.n of the URL that the easy handle is set to */
    /* The request's headers, as libcurl's list: its text is in head_text, which holds the key and
     * is wiped after the call. */
    struct curl_slist head[VQ_HTTP_HEADERS_MAX + 2];
    uint32_t head_count;
    struct vq_buf head_text;
    struct curl_slist *forgets; /* an address that libcurl shall not use; NULL: none */
    /* first byte, then slowness; it may fire after its call: see on_timer */
    struct vq_timer *timer;
    int64_t timer_ns; /* when it fires, while it runs */
    struct vq_deferred cancel;
    bool (*piece)(void *ctx, struct vq_span bytes);
    void (*done)(void *ctx, const struct vq_http_response *response);
    void *ctx;
    /* the result */
    struct vq_buf body;
    size_t body_counted; /* the part of its memory that the client's sum includes */
    struct vq_buf kept_text;
    struct vq_http_kept kept[VQ_HTTP_KEPT_HEADERS_MAX];
    uint32_t kept_count;
    size_t head_bytes;
    uint64_t body_bytes; /* received in total */
    uint32_t pieces;     /* in which the body was received */
    uint64_t slow_mark;  /* body_bytes at the last check of slowness */
    uint64_t slow_bytes; /* a call with fewer in slow_s is slow; 0: not checked */
    uint32_t slow_s;
    int64_t slow_from_ns; /* the time of slow_mark */
    int64_t first_byte_ms;
    int64_t start_ns, connect_ns, first_byte_ns;
    bool sent;
    bool sent_twice; /* libcurl tried to send it again: the call was stopped */
    bool too_big;
    char error[CURL_ERROR_SIZE];
};

/* The last checked URL and its properties: a worker's calls go to few URLs. */
struct vq_http_seen {
    uint64_t n; /* another number for each checked URL; 0: none */
    char url[VQ_HTTP_URL_BYTES_MAX + 1];
    char host[VQ_HTTP_HOST_BYTES_MAX]; /* and port; "": needs no lookup */
    bool https, local;
};

/* ---- http_call.c ---- */

/* Makes a call whose easy handle has the options that are the same for all calls. */
enum vq_status vq_http_call_create(struct vq_http *http, struct vq_loop *loop, const char *ca_file,
                                   CURLSH *share, struct vq_http_call **ret_call) VQ_WARN_UNUSED;
void vq_http_call_destroy(struct vq_http_call **call);
enum vq_status vq_http_call_prepare(struct vq_http_call *call,
                                    const struct vq_http_request *request,
                                    struct vq_http_seen *seen, struct vq_error *err) VQ_WARN_UNUSED;
/* Makes this call look up the address of this host and port, instead of the address in libcurl's
 * cache. */
void vq_http_call_forget(struct vq_http_call *call, const char *host);
/* Passes the end of the call to `done`; then the call can be reused. */
void vq_http_call_finish(struct vq_http_call *call, enum vq_transport transport, const char *why);
enum vq_transport vq_http_call_classify(const struct vq_http_call *call, CURLcode code);

/* ---- http_names.c ---- */

/* The entry of a host; NULL: the table is full, and the call starts without waiting. */
struct vq_http_name *vq_http_name_of(struct vq_http_name *names, const char *host);
/* True: the call may start now, perhaps as leader. False: it waits. */
bool vq_http_name_enter(struct vq_http_name *name, struct vq_http_call *call);
/* Reports that the call has an address or a connection. Safe inside libcurl's callbacks. */
void vq_http_name_found(struct vq_http_call *call);
/* Reports the end of the call. */
void vq_http_name_leave(struct vq_http_call *call, enum vq_transport transport);

/* ---- http.c ---- */

/* Report that a connection's socket was opened, or will be closed. Safe inside libcurl's
 * callbacks. */
void vq_http_socket_opened(struct vq_http *http, int fd);
void vq_http_socket_closes(struct vq_http *http, int fd);
/* Reports that the memory of a body changed from `before` to `now` bytes. False: the bodies of all
 * calls are too large. */
bool vq_http_bodies_count(struct vq_http *http, size_t before, size_t now);
struct vq_loop *vq_http_loop(const struct vq_http *http);
/* Hands a call to libcurl. */
enum vq_status vq_http_call_go(struct vq_http_call *call) VQ_WARN_UNUSED;

/* Takes the call out of its multi handle and finishes it. */
void vq_http_call_end(struct vq_http_call *call, enum vq_transport transport, const char *why);

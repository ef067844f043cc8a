/* One HTTP call and the client it belongs to. Private: it shows libcurl. */
#pragma once

#include "common/net/http.h"
#include "common/net/loop_private.h"

#include <curl/curl.h>

#define VQ_HTTP_NAMES_MAX      16
#define VQ_HTTP_HOST_BYTES_MAX 256
#define VQ_HTTP_DNS_CACHE_S    300

struct vq_http_multi;
struct vq_http_call;

/* A host whose address must be looked up. libcurl takes a thread for each lookup and does not see
 * that another is under way for the same host: so one call leads, and the others wait until it
 * has an address. */
struct vq_http_name {
    struct vq_http *http;
    char host[VQ_HTTP_HOST_BYTES_MAX]; /* and its port, as libcurl's cache has it */
    bool stale;                        /* no answer from there: the address is looked up again */
    int64_t known_until_ns;            /* libcurl has the address in its cache */
    struct vq_http_call *leader;       /* NULL: none looks */
    struct vq_http_call *waiting;      /* first in, first out */
    struct vq_http_call *waiting_last;
    struct vq_deferred release;
    bool failed; /* the leader found nothing: those who wait end as it did */
    enum vq_transport failure;
};

struct vq_http_kept { /* places in `kept_text`, which may move while it grows */
    size_t name_at, name_bytes, value_at, value_bytes;
};

/* Lives in the client's pool between calls, with its easy handle and its timer. */
struct vq_http_call {
    struct vq_http *http;
    struct vq_http_multi *multi; /* NULL: waits for a name, or not in flight */
    struct vq_http_name *name;   /* NULL: needs no lookup */
    struct vq_http_call *next_waiting;
    bool waits;
    struct vq_http_call *next; /* in flight, or free */
    struct vq_http_call *prev;
    CURL *easy;
    uint64_t url_n; /* of struct vq_http_seen: what the easy handle is set to */
    /* The request's headers, as libcurl's list: its text is in head_text, which holds the key and
     * is wiped after the call. */
    struct curl_slist head[VQ_HTTP_HEADERS_MAX + 2];
    uint32_t head_count;
    struct vq_buf head_text;
    struct curl_slist *forgets; /* an address; NULL: none */
    struct vq_timer *timer;     /* first byte, then slowness; it outlives its call: on_timer */
    int64_t timer_ns;           /* when it fires, while it runs */
    struct vq_deferred cancel;
    bool (*piece)(void *ctx, struct vq_span bytes);
    void (*done)(void *ctx, const struct vq_http_response *response);
    void *ctx;
    /* what came of it */
    struct vq_buf body;
    size_t body_counted; /* of its memory, in the client's sum */
    struct vq_buf kept_text;
    struct vq_http_kept kept[VQ_HTTP_KEPT_HEADERS_MAX];
    uint32_t kept_count;
    size_t head_bytes;
    uint64_t body_bytes; /* received altogether */
    uint32_t pieces;     /* in which they came */
    uint64_t slow_mark;  /* of body_bytes when slowness was last looked at */
    uint64_t slow_bytes; /* fewer in slow_s is slow; 0: not looked at */
    uint32_t slow_s;
    int64_t slow_from_ns; /* when slow_mark was taken */
    int64_t first_byte_ms;
    int64_t start_ns, connect_ns, first_byte_ns;
    bool sent;
    bool sent_twice; /* libcurl was about to send it again by itself: stopped */
    bool too_big;
    char error[CURL_ERROR_SIZE];
};

/* What the last URL was found to be: a worker's calls go to a few. */
struct vq_http_seen {
    uint64_t n; /* another one for each that is looked at; 0: none was */
    char url[VQ_HTTP_URL_BYTES_MAX + 1];
    char host[VQ_HTTP_HOST_BYTES_MAX]; /* and port; "": needs no lookup */
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
/* The address that libcurl remembers of this host and port is not used; it is looked up by this
 * call. */
void vq_http_call_forget(struct vq_http_call *call, const char *host);
/* Passes the end of the call to `done`; then the call can be reused. */
void vq_http_call_finish(struct vq_http_call *call, enum vq_transport transport, const char *why);
enum vq_transport vq_http_call_classify(const struct vq_http_call *call, CURLcode code);

/* ---- http_names.c ---- */

/* The place of a host; NULL: the table is full, the call goes as it is. */
struct vq_http_name *vq_http_name_of(struct vq_http_name *names, const char *host);
/* True when the call may go now (and perhaps leads); else it waits. */
bool vq_http_name_enter(struct vq_http_name *name, struct vq_http_call *call);
/* The call has an address, or even a connection. Safe inside libcurl's callbacks. */
void vq_http_name_found(struct vq_http_call *call);
/* The call ends. */
void vq_http_name_leave(struct vq_http_call *call, enum vq_transport transport);

/* ---- http.c ---- */

/* A connection's socket is there, or is about to be closed. Safe inside libcurl's callbacks. */
void vq_http_socket_opened(struct vq_http *http, int fd);
void vq_http_socket_closes(struct vq_http *http, int fd);
/* The memory of a body was `before` and is `now`. False: the bodies of all calls take too much. */
bool vq_http_bodies_count(struct vq_http *http, size_t before, size_t now);
struct vq_loop *vq_http_loop(const struct vq_http *http);
/* Hands a call to libcurl. */
enum vq_status vq_http_call_go(struct vq_http_call *call) VQ_WARN_UNUSED;

/* Takes the call out of its multi handle and finishes it. */
void vq_http_call_end(struct vq_http_call *call, enum vq_transport transport, const char *why);

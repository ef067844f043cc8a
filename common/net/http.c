/* The HTTP client: libcurl's multi socket interface on the loop. A turn of a multi handle costs
 * time linear in its connections, so calls are spread over handles of VQ_HTTP_CALLS_PER_MULTI. The
 * lowest handle with room takes the next call, so that open connections are reused. All sockets of
 * all handles are in one epoll set of this client, and the loop polls only this set: the kernel
 * removes a socket from the set when libcurl closes it, while libuv's own poll handles do not
 * support that. If libcurl stops watching a connection, it stays in the set until its next event,
 * which is in most cases the answer to its next call.
 *
 * Invariants: a call that was started ends exactly once, through vq_http_call_end, and never from
 * inside vq_http_start; libcurl is never called from its own callbacks; a call is in `in_flight` or
 * in `free`. Not its job: retries, pacing and the meaning of a response. */
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/net/http_private.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* libcurl reads until a socket is empty, so one event may be a flood of megabytes. So only few
 * events are taken at a time, and the rest comes first in the next turn. */
#define EVENTS_AT_ONCE  2
#define EVENTS_PER_TURN 512
#define TURN_NS         (10 * VQ_NS_PER_MS)
#define WATCHES_MAX     (1u << 20) /* higher descriptors have no struct watch */

struct vq_http_multi {
    struct vq_http *http;
    CURLM *curl;
    struct vq_timer *timer;
    uint32_t index;
    uint32_t calls;
    bool touched; /* libcurl ran in this turn: some calls may have ended */
};

struct watch {         /* a descriptor in the epoll set */
    bool ours;         /* a connection's: libcurl's callbacks report when it opens and closes */
    bool one_by_one;   /* HTTP/1: answers come in the order of the requests, without an id */
    uint32_t wanted;   /* events that libcurl waits for */
    uint32_t standing; /* events in the set; only if `ours` */
};

struct vq_http {
    struct vq_loop *loop;
    CURLSH *share; /* names and TLS sessions, for all handles */
    uv_poll_t *poll;
    int epoll;
    struct watch *watches; /* by descriptor */
    size_t watches_cap;
    struct vq_http_multi **multis;
    size_t multis_cap;
    uint32_t multis_count;
    uint32_t first_room; /* no handle with a lower index has room */
    uint32_t calls_max;
    uint32_t calls; /* in flight */
    size_t bodies_bytes_max;
    size_t bodies_bytes; /* memory of the response bodies of all calls */
    char *ca_file;
    struct vq_http_seen seen;
    struct vq_http_name names[VQ_HTTP_NAMES_MAX];
    struct vq_link in_flight;
    struct vq_http_call *free;
    bool closing; /* no new calls, not even from `done` */
};

/* ---- calls that ended ---- */

static void read_ends(struct vq_http_multi *m)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(m->curl, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        char *private = NULL;
        CURLcode code = message->data.result;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        struct vq_http_call *call = (struct vq_http_call *)(void *)private;
        const char *why = call->sent_twice                ? "the connection broke before the answer"
                          : call->body.status == VQ_NOMEM ? "no memory for the response"
                          : call->error[0] != '\0'        ? call->error
                                                          : curl_easy_strerror(code);
        vq_http_call_end(call, vq_http_call_classify(call, code), why);
    }
}

static struct watch *watch_of(struct vq_http *http, int fd)
{
    return fd >= 0 && (size_t)fd < http->watches_cap ? &http->watches[fd] : NULL;
}

/* Records the connection that a call has opened, which is known only after its end. */
static void note_connection(struct vq_http_call *call)
{
    long connects = 0, version = 0;
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (curl_easy_getinfo(call->easy, CURLINFO_NUM_CONNECTS, &connects) != CURLE_OK ||
        connects == 0 ||
        curl_easy_getinfo(call->easy, CURLINFO_HTTP_VERSION, &version) != CURLE_OK ||
        curl_easy_getinfo(call->easy, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK) {
        return;
    }
    struct watch *watch = watch_of(call->http, fd);
    if (watch != NULL && watch->ours) {
        watch->one_by_one = version <= CURL_HTTP_VERSION_1_1;
    }
}

void vq_http_call_end(struct vq_http_call *call, enum vq_transport transport, const char *why)
{
    struct vq_http *http = call->http;
    struct vq_http_multi *m = call->multi;
    VQ_ASSERT(m != NULL || call->waits);
    if (m != NULL) {
        note_connection(call);
        (void)curl_multi_remove_handle(m->curl, call->easy); /* cannot fail: the handle is in it */
        call->multi = NULL;
        m->calls--;
        http->first_room = m->index < http->first_room ? m->index : http->first_room;
    }
    vq_http_name_leave(call, transport);
    vq_deferred_cancel(&call->cancel);
    http->calls--;
    vq_unlink(&call->in_flight);
    vq_http_call_finish(call, transport, why); /* may start calls */
    call->next = http->free;
    http->free = call;
}

/* ---- libcurl's requests for events and timers ---- */

static void act(struct vq_http_multi *m, curl_socket_t fd, int events)
{
    int running;
    (void)curl_multi_socket_action(m->curl, fd, events, &running);
}

static void on_multi_timer(void *ctx)
{
    struct vq_http_multi *m = ctx;
    act(m, CURL_SOCKET_TIMEOUT, 0);
    read_ends(m);
}

/* Never acts at once, not even for 0: libcurl calls this from inside its own functions. */
static int on_timer_wish(CURLM *curl, long timeout_ms, void *ctx)
{
    (void)curl;
    struct vq_http_multi *m = ctx;
    if (timeout_ms < 0) {
        vq_timer_stop(m->timer);
    } else {
        vq_timer_start(m->timer, (uint64_t)timeout_ms, 0);
    }
    return 0;
}

void vq_http_socket_opened(struct vq_http *http, int fd)
{
    size_t known = http->watches_cap;
    if (fd < 0 ||
        VQ_GROW(http->watches, &http->watches_cap, (size_t)fd + 1, WATCHES_MAX) != VQ_OK) {
        return; /* it is still watched, with more system calls */
    }
    memset(http->watches + known, 0, (http->watches_cap - known) * sizeof(*http->watches));
    http->watches[fd] = (struct watch){.ours = true};
}

void vq_http_socket_closes(struct vq_http *http, int fd)
{
    struct watch *watch = watch_of(http, fd);
    if (watch != NULL) {
        /* the kernel removes a closed descriptor from the set */
        *watch = (struct watch){.ours = false};
    }
}

static int on_socket_wish(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known)
{
    (void)easy;
    struct vq_http_multi *m = ctx;
    int epoll = m->http->epoll;
    struct watch *watch = watch_of(m->http, fd);
    bool ours = watch != NULL && watch->ours;
    if (what == CURL_POLL_REMOVE) {
        if (ours) {
            watch->wanted = 0;
        } else {
            /* fails if it was closed, and so removed, before */
            (void)epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
        }
        return 0;
    }
    struct epoll_event event = {.data.u64 = (uint64_t)m->index << 32 | (uint32_t)fd};
    event.events =
        ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0u) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0u);
    bool exists = ours ? watch->standing != 0 : known != NULL;
    if (ours) {
        watch->wanted = event.events;
        if (watch->standing == event.events) {
            return 0;
        }
    }
    int failed = epoll_ctl(epoll, exists ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
    if (failed != 0) { /* the number of a descriptor was reused: try the other operation */
        failed = epoll_ctl(epoll, exists ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
    }
    if (ours) {
        watch->standing = failed != 0 ? 0 : event.events;
    }
    (void)curl_multi_assign(m->curl, fd, m);
    return failed != 0 ? -1 : 0;
}

/* Makes an idle connection unusable: bytes that arrived without a request would count as the answer
 * to the next call. libcurl does not check that: it takes a connection with unread bytes as alive,
 * and one at its end as dead. */
static void use_no_more(int fd)
{
    char bytes[4096];
    int reads = 0;
    while (reads++ < 16 && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
    }
    (void)shutdown(fd, SHUT_RDWR); /* libcurl then finds the end, or the rest of the bytes */
}

/* Handles an event on an idle connection: the server closed it, or sent bytes without a request.
 * The descriptor must leave the set, or it would report the event in every turn. */
static bool is_unwanted(struct vq_http *http, int fd)
{
    struct watch *watch = watch_of(http, fd);
    if (watch == NULL || !watch->ours || watch->wanted != 0) {
        return false;
    }
    (void)epoll_ctl(http->epoll, EPOLL_CTL_DEL, fd, NULL);
    watch->standing = 0;
    if (watch->one_by_one) {
        use_no_more(fd);
    }
    return true;
}

/* Returns the number of events. */
static int take_events(struct vq_http *http)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n = epoll_wait(http->epoll, events, EVENTS_AT_ONCE, 0);
    for (int i = 0; i < n; i++) {
        struct vq_http_multi *m = http->multis[events[i].data.u64 >> 32];
        int fd = (int)(events[i].data.u64 & UINT32_MAX);
        if (is_unwanted(http, fd)) {
            continue;
        }
        int what = ((events[i].events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                   ((events[i].events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                   ((events[i].events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
        act(m, fd, what);
        m->touched = true;
    }
    for (int i = 0; i < n; i++) {
        struct vq_http_multi *m = http->multis[events[i].data.u64 >> 32];
        if (m->touched) {
            m->touched = false;
            read_ends(m);
        }
    }
    return n;
}

static void on_epoll(uv_poll_t *handle, int status, int uv_events)
{
    (void)status;
    (void)uv_events;
    struct vq_http *http = handle->data;
    int64_t until_ns = vq_clock_mono_ns() + TURN_NS;
    int taken = 0, n = EVENTS_AT_ONCE;
    while (n == EVENTS_AT_ONCE && taken < EVENTS_PER_TURN && vq_clock_mono_ns() < until_ns) {
        n = take_events(http);
        taken += n;
    }
}

/* ---- multi handles ---- */

static void multi_destroy(struct vq_http_multi *m)
{
    if (m->curl != NULL) {
        (void)curl_multi_cleanup(m->curl); /* closes its connections */
    }
    vq_timer_destroy(&m->timer);
    vq_free(m);
}

static enum vq_status add_multi(struct vq_http *http)
{
    VQ_TRY(VQ_GROW(http->multis, &http->multis_cap, (size_t)http->multis_count + 1,
                   VQ_HTTP_CALLS_MAX / VQ_HTTP_CALLS_PER_MULTI + 1));
    struct vq_http_multi *m;
    VQ_TRY(VQ_ALLOC(m, 1));
    m->http = http;
    m->index = http->multis_count;
    m->curl = curl_multi_init();
    if (m->curl == NULL || vq_timer_create(http->loop, on_multi_timer, m, &m->timer) != VQ_OK ||
        curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION, on_socket_wish) != CURLM_OK ||
        curl_multi_setopt(m->curl, CURLMOPT_SOCKETDATA, m) != CURLM_OK ||
        curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, on_timer_wish) != CURLM_OK ||
        curl_multi_setopt(m->curl, CURLMOPT_TIMERDATA, m) != CURLM_OK ||
        curl_multi_setopt(m->curl, CURLMOPT_MAXCONNECTS, (long)VQ_HTTP_CALLS_PER_MULTI) !=
            CURLM_OK) {
        multi_destroy(m);
        return VQ_NOMEM;
    }
    http->multis[http->multis_count++] = m;
    return VQ_OK;
}

static enum vq_status find_room(struct vq_http *http, struct vq_http_multi **ret_multi)
{
    while (http->first_room < http->multis_count &&
           http->multis[http->first_room]->calls >= VQ_HTTP_CALLS_PER_MULTI) {
        http->first_room++;
    }
    if (http->first_room == http->multis_count) {
        VQ_TRY(add_multi(http));
    }
    *ret_multi = http->multis[http->first_room];
    return VQ_OK;
}

/* ---- calls ---- */

enum vq_status vq_http_call_go(struct vq_http_call *call)
{
    struct vq_http_multi *m;
    VQ_TRY(find_room(call->http, &m));
    if (curl_multi_add_handle(m->curl, call->easy) != CURLM_OK) {
        return VQ_NOMEM;
    }
    call->multi = m;
    m->calls++;
    return VQ_OK;
}

static enum vq_status take_call(struct vq_http *http, struct vq_http_call **ret_call)
{
    if (http->free == NULL) {
        return vq_http_call_create(http, http->loop, http->ca_file, http->share, ret_call);
    }
    *ret_call = http->free;
    http->free = (*ret_call)->next;
    (*ret_call)->next = NULL;
    return VQ_OK;
}

static void give_back(struct vq_http *http, struct vq_http_call *call)
{
    call->next = http->free;
    http->free = call;
}

enum vq_status vq_http_start(struct vq_http *http, const struct vq_http_request *request,
                             struct vq_http_call **ret_call, struct vq_error *err)
{
    if (http->closing || http->calls >= http->calls_max) {
        return vq_fail(err, VQ_LIMIT, "%u calls are in flight, at most %u", http->calls,
                       http->calls_max);
    }
    struct vq_http_call *call;
    enum vq_status status = take_call(http, &call);
    if (status != VQ_OK) {
        return vq_fail(err, status, "no memory for another call");
    }
    status = vq_http_call_prepare(call, request, &http->seen, err);
    if (status != VQ_OK) {
        give_back(http, call);
        return status;
    }
    call->name = vq_http_name_of(http->names, http->seen.host);
    if (call->name == NULL || vq_http_name_enter(call->name, call)) {
        status = vq_http_call_go(call);
    }
    if (status != VQ_OK) {
        vq_http_name_leave(call, VQ_TRANSPORT_CANCELLED);
        give_back(http, call);
        return vq_fail(err, status, "libcurl accepts no further call");
    }
    http->calls++;
    vq_list_push(http->in_flight.next, &call->in_flight); /* the newest is the first */
    if (ret_call != NULL) {
        *ret_call = call;
    }
    return VQ_OK;
}

void vq_http_cancel(struct vq_http_call *call)
{
    VQ_ASSERT(call->multi != NULL || call->waits);
    vq_loop_defer(call->http->loop, &call->cancel);
}

bool vq_http_bodies_count(struct vq_http *http, size_t before, size_t now)
{
    http->bodies_bytes = http->bodies_bytes - before + now;
    return http->bodies_bytes <= http->bodies_bytes_max;
}

struct vq_loop *vq_http_loop(const struct vq_http *http)
{
    return http->loop;
}

uint32_t vq_http_in_flight(const struct vq_http *http)
{
    return http->calls;
}

/* ---- life ---- */

static void free_poll(uv_handle_t *handle)
{
    vq_free(handle);
}

static enum vq_status open_epoll(struct vq_http *http, struct vq_error *err)
{
    http->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (http->epoll < 0) {
        return vq_fail(err, VQ_IO, "cannot make an epoll set: %s", strerror(errno));
    }
    uv_poll_t *poll = vq_alloc(1, sizeof(*poll));
    if (poll == NULL || uv_poll_init(vq_loop_uv(http->loop), poll, http->epoll) != 0) {
        vq_free(poll);
        return vq_fail(err, VQ_NOMEM, "cannot watch an epoll set");
    }
    poll->data = http;
    http->poll = poll;
    int code = uv_poll_start(poll, UV_READABLE, on_epoll);
    VQ_ASSERT(code == 0); /* a fresh handle */
    return VQ_OK;
}

enum vq_status vq_http_create(struct vq_loop *loop, const struct vq_http_options *options,
                              struct vq_http **ret_http, struct vq_error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return vq_fail(err, VQ_UNAVAILABLE, "libcurl cannot start");
    }
    struct vq_http *http = vq_alloc(1, sizeof(*http));
    if (http == NULL) {
        curl_global_cleanup();
        return vq_fail(err, VQ_NOMEM, "no memory for the HTTP client");
    }
    http->loop = loop;
    http->epoll = -1;
    vq_list_init(&http->in_flight);
    http->calls_max =
        options != NULL && options->calls_max != 0 ? options->calls_max : VQ_HTTP_CALLS_MAX;
    http->calls_max = http->calls_max > VQ_HTTP_CALLS_MAX ? VQ_HTTP_CALLS_MAX : http->calls_max;
    http->bodies_bytes_max = options != NULL && options->bodies_bytes_max != 0
                                 ? options->bodies_bytes_max
                                 : VQ_HTTP_BODIES_BYTES_MAX;
    for (size_t i = 0; i < VQ_HTTP_NAMES_MAX; i++) {
        http->names[i].http = http;
    }
    enum vq_status status = VQ_OK;
    http->share = curl_share_init();
    if (options != NULL && options->ca_file != NULL) {
        http->ca_file = vq_strdup(options->ca_file);
        status = http->ca_file == NULL ? VQ_NOMEM : VQ_OK;
    }
    if (status != VQ_OK || http->share == NULL ||
        curl_share_setopt(http->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) != CURLSHE_OK ||
        curl_share_setopt(http->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) != CURLSHE_OK) {
        status = vq_fail(err, VQ_NOMEM, "no memory for the HTTP client");
        goto fail;
    }
    status = open_epoll(http, err);
    if (status != VQ_OK) {
        goto fail;
    }
    *ret_http = http;
    return VQ_OK;
fail:
    vq_http_destroy(&http);
    return status;
}

void vq_http_destroy(struct vq_http **ret_http)
{
    struct vq_http *http = *ret_http;
    if (http == NULL) {
        return;
    }
    http->closing = true;
    struct vq_link *first;
    while ((first = vq_list_first(&http->in_flight)) != NULL) {
        struct vq_http_call *call = VQ_CONTAINER_OF(first, struct vq_http_call, in_flight);
        vq_http_call_end(call, VQ_TRANSPORT_CANCELLED, "the client was closed");
    }
    for (size_t i = 0; i < VQ_HTTP_NAMES_MAX; i++) {
        vq_deferred_cancel(&http->names[i].release);
    }
    while (http->free != NULL) {
        struct vq_http_call *call = http->free;
        http->free = call->next;
        vq_http_call_destroy(&call);
    }
    for (uint32_t i = 0; i < http->multis_count; i++) {
        multi_destroy(http->multis[i]);
    }
    if (http->poll != NULL) {
        uv_close((uv_handle_t *)http->poll, free_poll);
    }
    if (http->epoll >= 0) {
        (void)close(http->epoll); /* after uv_close, so that libuv no longer uses it */
    }
    if (http->share != NULL) {
        (void)curl_share_cleanup(http->share);
    }
    vq_free(http->multis);
    vq_free(http->watches);
    vq_free(http->ca_file);
    vq_free(http);
    curl_global_cleanup();
    *ret_http = NULL;
}

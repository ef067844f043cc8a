/* libmicrohttpd without its own thread, inside an epoll loop that also has the signals, the
 * deadlines of delayed answers, and the sockets of spoiled answers. A request is RECEIVING until
 * its body is complete. Then it is answered at once, or it is WAITING (suspended) for its delay,
 * then DUE. A spoiled answer is PLAYING: the connection stays suspended, so the library does not
 * touch the socket, and this file writes the bytes to its descriptor. When it is OVER, the server
 * lets the library close it.
 *
 * Invariants: a suspended request is in the heap `waiting`, or watched in epoll, or both; every
 * request is freed in the library's completion callback and nowhere else. Not its job: the answer
 * (service.c). */
#include "offline/server.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/heap.h"
#include "common/base/list.h"
#include "common/base/status.h"
#include "offline/dialect.h"
#include "offline/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Binding. The address must be a number: a name could resolve to any address. */

#define LISTEN_BACKLOG 4096

static bool read_address(const char *text, uint16_t port, struct sockaddr_storage *ret_address,
                         socklen_t *ret_bytes)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
    memset(ret_address, 0, sizeof(*ret_address));
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        *ret_bytes = sizeof(*v4);
        return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        *ret_bytes = sizeof(*v6);
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    }
    return false;
}

static uint16_t port_of(const struct sockaddr_storage *at)
{
    return ntohs(at->ss_family == AF_INET ? ((const struct sockaddr_in *)at)->sin_port
                                          : ((const struct sockaddr_in6 *)at)->sin6_port);
}

/* "127.0.0.1", any other 127.x.y.z, or "::1"; port 0: any free port. The caller closes the socket.
 * VQ_DENIED: another address; VQ_EXISTS: the port is in use; VQ_IO. */
static enum vq_status listen_loopback(const char *address, uint16_t port, int *ret_fd,
                                      uint16_t *ret_port, struct vq_error *err)
{
    struct sockaddr_storage at;
    socklen_t bytes = sizeof(at);
    if (!read_address(address, port, &at, &bytes)) {
        return vq_fail(err, VQ_DENIED,
                       "%s is not a loopback address; this server is for the same machine only",
                       address);
    }
    int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return vq_fail(err, VQ_IO, "cannot open a socket: %s", strerror(errno));
    }
    int yes = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)); /* only a convenience */
    bool bound = bind(fd, (struct sockaddr *)&at, bytes) == 0 && listen(fd, LISTEN_BACKLOG) == 0;
    bytes = sizeof(at);
    if (!bound || getsockname(fd, (struct sockaddr *)&at, &bytes) != 0) {
        int why = errno;
        (void)close(fd);
        return vq_fail(err, why == EADDRINUSE ? VQ_EXISTS : VQ_IO,
                       "cannot listen on %s port %u: %s; --port 0 takes a free one", address, port,
                       strerror(why));
    }
    *ret_fd = fd;
    *ret_port = port_of(&at);
    return VQ_OK;
}

#define DESCRIPTORS_SPARE 64u
#define CONNECTIONS_MAX   65536u
#define EVENTS_PER_TURN   64
#define POOL_BYTES        16384 /* of memory for the headers of one connection */

enum state {
    RECEIVING,
    WAITING,
    DUE,
    PLAYING,
    OVER
};

struct exchange {
    struct vq_server *server;
    struct MHD_Connection *connection;
    enum state state;
    struct vq_buf body;
    bool too_large;
    int64_t taken_ns;
    struct vq_offline_reply reply;
    bool has_reply;
    bool is_answered; /* the answer's line is in the log */
    bool is_sent;     /* a spoiled answer was sent to its end, and was whole */
    const char *lost; /* why its bytes were not sent, if the reason is already known */
    struct vq_wire wire;
    bool is_watched;         /* in epoll */
    struct vq_heap_node due; /* while it waits */
    struct vq_link live;
};

struct vq_server {
    struct vq_service *service;
    struct MHD_Daemon *daemon;
    int listen_fd;
    int loop_fd;
    int signal_fd;
    uint16_t port;
    struct vq_heap waiting; /* exchanges by time; has room for all that live */
    struct vq_link live;
    size_t live_n;
    bool has_woken; /* a connection was resumed; the library's own timeout does not show this */
    bool is_stopping;
    enum vq_status status; /* of the first failure that stops the server */
    struct vq_error *err;
};

static void fail(struct vq_server *server, enum vq_status status)
{
    if (server->status == VQ_OK) {
        server->status = status;
    }
}

static int descriptor_of(const struct exchange *x)
{
    return MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static void stop_waiting(struct exchange *x)
{
    if (x->due.place != 0) {
        vq_heap_remove(&x->server->waiting, &x->due);
    }
}

static void wait_until(struct exchange *x, int64_t due_ns)
{
    x->due.first = due_ns;
    vq_heap_push(&x->server->waiting, &x->due);
}

/* Lets the library continue a suspended connection: it calls take_request again. */
static void wake(struct exchange *x, enum state state)
{
    stop_waiting(x);
    if (x->is_watched) {
        (void)epoll_ctl(x->server->loop_fd, EPOLL_CTL_DEL, descriptor_of(x), NULL);
        x->is_watched = false;
    }
    x->state = state;
    x->server->has_woken = true;
    MHD_resume_connection(x->connection);
}

static enum MHD_Result queue_reply(struct exchange *x)
{
    struct vq_buf *body = &x->reply.body;
    struct MHD_Response *response =
        body->at == NULL
            ? MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT)
            : MHD_create_response_from_buffer_with_free_callback(body->bytes, body->at, vq_free);
    if (response == NULL) {
        fail(x->server, VQ_NOMEM);
        return MHD_NO;
    }
    *body = (struct vq_buf){.bytes_max = body->bytes_max}; /* now the response owns the bytes */
    enum MHD_Result done = MHD_add_response_header(response, "Content-Type", x->reply.content_type);
    for (size_t i = 0; i < x->reply.headers_n && done == MHD_YES; i++) {
        done =
            MHD_add_response_header(response, x->reply.headers[i].name, x->reply.headers[i].value);
    }
    if (done == MHD_YES) {
        done = MHD_queue_response(x->connection, x->reply.status, response);
    }
    MHD_destroy_response(response); /* only releases this function's reference */
    return done;
}

static void end_playing(struct exchange *x, const char *lost)
{
    if (x->wire.end == VQ_WIRE_RESET) {
        vq_wire_reset(descriptor_of(x));
    }
    x->lost = lost;
    x->is_sent = lost == NULL;
    wake(x, OVER);
}

/* Sends the next part of a spoiled answer, up to the limit of the socket; then waits, hangs or
 * ends. The connection is suspended. */
static void play(struct exchange *x)
{
    int64_t wait_ns = 0;
    enum vq_wire_state state = vq_wire_step(&x->wire, descriptor_of(x), &wait_ns);
    if (state == VQ_WIRE_MORE) {
        wait_until(x, vq_clock_mono_ns() + wait_ns);
    } else if (state == VQ_WIRE_LOST) {
        end_playing(x, "client");
    } else if (x->wire.end != VQ_WIRE_HANG) {
        end_playing(x, x->wire.is_whole ? NULL : "fault");
    }
}

/* Takes over the socket. The library does not use the connection until `wake`. */
static enum MHD_Result start_playing(struct exchange *x)
{
    enum vq_status status = vq_wire_plan(&x->reply, &x->wire);
    if (status != VQ_OK) {
        fail(x->server, status);
        return MHD_NO;
    }
    int fd = descriptor_of(x);
    int yes = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = x};
    x->is_watched = epoll_ctl(x->server->loop_fd, EPOLL_CTL_ADD, fd, &event) == 0;
    MHD_suspend_connection(x->connection);
    x->state = PLAYING;
    play(x);
    return MHD_YES;
}

static enum MHD_Result send_reply(struct exchange *x)
{
    struct vq_server *server = x->server;
    enum vq_status status = vq_service_answered(server->service, &x->reply, x->taken_ns,
                                                vq_clock_mono_ns(), server->err);
    if (status != VQ_OK) {
        fail(server, status);
        return MHD_NO;
    }
    x->is_answered = true;
    if (vq_fault_info(x->reply.fault)->stage == VQ_FAULT_STAGE_WIRE) {
        return start_playing(x);
    }
    return queue_reply(x);
}

static const char *look_up_header(const void *peer, const char *name)
{
    const struct exchange *x = peer;
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

static const char *look_up_query(const void *peer, const char *name)
{
    const struct exchange *x = peer;
    return MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result answer_request(struct exchange *x, const char *method, const char *path)
{
    struct vq_server *server = x->server;
    x->taken_ns = vq_clock_mono_ns();
    struct vq_route route;
    const char *prefix = "";
    vq_route_of(path, &route);
    struct vq_call call = {
        .method = method,
        .path = path,
        .authorization = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND,
                                                     vq_route_key_header(&route, &prefix)),
        .api_version =
            MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, "api-version"),
        .client_id =
            MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "X-Client-Request-Id"),
        .body = vq_buf_span(&x->body),
        .too_large = x->too_large,
        .header = look_up_header,
        .query = look_up_query,
        .peer = x};
    enum vq_status status =
        vq_service_take(server->service, &call, x->taken_ns, &x->reply, server->err);
    if (status != VQ_OK) {
        fail(server, status);
        return MHD_NO;
    }
    x->has_reply = true;
    vq_buf_free(&x->body);
    if (x->reply.delay_ns <= 0) {
        return send_reply(x);
    }
    wait_until(x, x->taken_ns + x->reply.delay_ns);
    x->state = WAITING;
    MHD_suspend_connection(x->connection);
    return MHD_YES;
}

static struct exchange *open_exchange(struct vq_server *server, struct MHD_Connection *connection,
                                      const char *path)
{
    struct vq_route route;
    vq_route_of(path, &route);
    struct exchange *x;
    enum vq_status status =
        vq_heap_reserve(&server->waiting, server->live_n + 1, (size_t)2 * CONNECTIONS_MAX);
    status = status == VQ_OK ? VQ_ALLOC(x, 1) : status;
    if (status != VQ_OK) {
        fail(server, status);
        return NULL;
    }
    x->server = server;
    x->connection = connection;
    vq_buf_init(&x->body, route.kind == VQ_ROUTE_BATCH ? VQ_CALL_BATCH_BODY_BYTES_MAX
                                                       : VQ_CALL_BODY_BYTES_MAX);
    vq_list_push(server->live.next, &x->live); /* the newest is the first */
    server->live_n++;
    return x;
}

/* The library's callback for a request: once with its headers, then for pieces of its body, then to
 * answer it, and again each time a suspended connection continues. */
static enum MHD_Result take_request(void *cls, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *upload,
                                    size_t *upload_bytes, void **request)
{
    (void)version;
    struct exchange *x = *request;
    if (x == NULL) {
        x = open_exchange(cls, connection, path);
        *request = x;
        return x == NULL ? MHD_NO : MHD_YES;
    }
    if (*upload_bytes > 0) {
        if (!x->too_large) {
            vq_buf_append(&x->body, upload, *upload_bytes);
            x->too_large = x->body.status == VQ_LIMIT;
        }
        if (x->too_large) {
            vq_buf_free(&x->body);
        } else if (x->body.status != VQ_OK) {
            fail(x->server, x->body.status);
            return MHD_NO;
        }
        *upload_bytes = 0;
        return MHD_YES;
    }
    switch (x->state) {
    case RECEIVING: return answer_request(x, method, path);
    case DUE: return send_reply(x);
    case WAITING:
    case PLAYING:
    case OVER: break;
    }
    return MHD_NO; /* closes the connection */
}

static void complete_request(void *cls, struct MHD_Connection *connection, void **request,
                             enum MHD_RequestTerminationCode code)
{
    (void)connection;
    struct vq_server *server = cls;
    struct exchange *x = *request;
    if (x == NULL) {
        return;
    }
    *request = NULL;
    if (x->has_reply) {
        const char *why = x->lost;
        bool sent = x->is_sent || (x->is_answered && code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
        if (why == NULL && !sent) {
            why = server->is_stopping ? "stopped" : "client";
        }
        enum vq_status status =
            vq_service_over(server->service, &x->reply, why, vq_clock_mono_ns(), server->err);
        if (status != VQ_OK) {
            fail(server, status);
        }
        vq_offline_reply_free(&x->reply);
    }
    stop_waiting(x);
    vq_wire_free(&x->wire);
    vq_buf_free(&x->body);
    vq_unlink(&x->live);
    server->live_n--;
    vq_free(x);
}

static unsigned raise_limit(void)
{
    struct rlimit limit = {.rlim_cur = 1024};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        struct rlimit most = {limit.rlim_max, limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &most) == 0) {
            limit = most;
        }
    }
    uint64_t n = limit.rlim_cur > 2 * DESCRIPTORS_SPARE ? limit.rlim_cur - DESCRIPTORS_SPARE
                                                        : limit.rlim_cur;
    return n < CONNECTIONS_MAX ? (unsigned)n : CONNECTIONS_MAX;
}

static enum vq_status start_daemon(struct vq_server *server, struct vq_error *err)
{
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO, 0, NULL, NULL, take_request,
        server, MHD_OPTION_LISTEN_SOCKET, server->listen_fd, MHD_OPTION_CONNECTION_LIMIT,
        raise_limit(), MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES,
        MHD_OPTION_NOTIFY_COMPLETED, complete_request, server, MHD_OPTION_END);
    if (server->daemon == NULL) {
        return vq_fail(err, VQ_IO, "cannot start the HTTP server: %s", strerror(errno));
    }
    server->listen_fd = -1; /* the library closes it */
    return VQ_OK;
}

static enum vq_status watch(struct vq_server *server, int fd, void *ptr)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = ptr};
    return epoll_ctl(server->loop_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? VQ_OK : VQ_IO;
}

static enum vq_status build_loop(struct vq_server *server, struct vq_error *err)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    server->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    server->loop_fd = epoll_create1(EPOLL_CLOEXEC);
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (server->signal_fd < 0 || server->loop_fd < 0 || info == NULL ||
        watch(server, server->signal_fd, &server->signal_fd) != VQ_OK ||
        watch(server, info->epoll_fd, server->daemon) != VQ_OK) {
        return vq_fail(err, VQ_IO, "cannot build the event loop: %s", strerror(errno));
    }
    return VQ_OK;
}

enum vq_status vq_server_create(struct vq_service *service, const char *address, uint16_t port,
                                struct vq_server **ret_server, struct vq_error *err)
{
    struct vq_server *server;
    VQ_TRY(VQ_ALLOC(server, 1));
    *server = (struct vq_server){
        .service = service, .listen_fd = -1, .loop_fd = -1, .signal_fd = -1, .err = err};
    vq_list_init(&server->live);
    enum vq_status status = listen_loopback(address, port, &server->listen_fd, &server->port, err);
    if (status == VQ_OK) {
        status = start_daemon(server, err);
    }
    if (status == VQ_OK) {
        status = build_loop(server, err);
    }
    if (status != VQ_OK) {
        vq_server_destroy(&server);
        return status;
    }
    *ret_server = server;
    return VQ_OK;
}

/* The library must not be stopped while connections are suspended. */
static void drop_all(struct vq_server *server)
{
    server->is_stopping = true;
    for (struct vq_link *l = server->live.next; l != &server->live; l = l->next) {
        struct exchange *x = VQ_CONTAINER_OF(l, struct exchange, live);
        if (x->state == WAITING || x->state == PLAYING) {
            x->lost = "stopped";
            wake(x, OVER);
        }
    }
    (void)MHD_run(server->daemon);
}

void vq_server_destroy(struct vq_server **server_at)
{
    struct vq_server *server = *server_at;
    if (server == NULL) {
        return;
    }
    if (server->daemon != NULL) {
        drop_all(server);
        MHD_stop_daemon(server->daemon);
    }
    int fds[] = {server->listen_fd, server->loop_fd, server->signal_fd};
    for (size_t i = 0; i < VQ_COUNT(fds); i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
    vq_heap_free(&server->waiting);
    vq_free(server);
    *server_at = NULL;
}

uint16_t vq_server_port(const struct vq_server *server)
{
    return server->port;
}

/* The sleep of the loop, in milliseconds, rounded up; -1: no limit. */
static int sleep_ms(const struct vq_server *server)
{
    if (server->has_woken) {
        return 0;
    }
    MHD_UNSIGNED_LONG_LONG library_ms = 0;
    int64_t ms = -1;
    if (MHD_get_timeout(server->daemon, &library_ms) == MHD_YES) {
        ms = library_ms < 60000 ? (int64_t)library_ms : 60000;
    }
    int64_t now_ns = vq_clock_mono_ns();
    const struct vq_heap_node *first = vq_heap_peek(&server->waiting);
    int64_t next_ns = vq_service_next_ns(server->service, now_ns);
    next_ns = first != NULL && first->first < next_ns ? first->first : next_ns;
    if (next_ns != INT64_MAX) {
        int64_t left_ns = next_ns - now_ns;
        int64_t left_ms = left_ns <= 0 ? 0 : (left_ns + VQ_NS_PER_MS - 1) / VQ_NS_PER_MS;
        left_ms = left_ms < 60000 ? left_ms : 60000;
        ms = ms < 0 || left_ms < ms ? left_ms : ms;
    }
    return (int)ms;
}

static void run_due(struct vq_server *server)
{
    int64_t now_ns = vq_clock_mono_ns();
    struct vq_heap_node *due;
    while ((due = vq_heap_peek(&server->waiting)) != NULL && due->first <= now_ns) {
        struct exchange *x = VQ_CONTAINER_OF(due, struct exchange, due);
        stop_waiting(x);
        if (x->state == WAITING) {
            wake(x, DUE);
        } else {
            play(x);
        }
    }
}

/* False: a signal stops the server. If a peer disconnects, the answer that is being sent to it
 * ends. */
static bool handle_events(struct vq_server *server, const struct epoll_event *events, int n)
{
    for (int i = 0; i < n; i++) {
        void *ptr = events[i].data.ptr;
        if (ptr == &server->signal_fd) {
            return false;
        }
        if (ptr != server->daemon) {
            struct exchange *x = ptr;
            bool hung = x->wire.end == VQ_WIRE_HANG;
            x->wire.end = VQ_WIRE_CLOSE;
            end_playing(x, hung ? "fault" : "client");
        }
    }
    return true;
}

enum vq_status vq_server_run(struct vq_server *server, struct vq_error *err)
{
    server->err = err;
    bool go_on = true;
    while (go_on && server->status == VQ_OK) {
        struct epoll_event events[EVENTS_PER_TURN];
        int n = epoll_wait(server->loop_fd, events, EVENTS_PER_TURN, sleep_ms(server));
        if (n < 0 && errno != EINTR) {
            return vq_fail(err, VQ_IO, "cannot wait for events: %s", strerror(errno));
        }
        go_on = handle_events(server, events, n);
        run_due(server);
        VQ_TRY(vq_service_turn(server->service, vq_clock_mono_ns(), err));
        server->has_woken = false;
        if (MHD_run(server->daemon) != MHD_YES) {
            return vq_fail(err, VQ_IO, "the HTTP server failed: %s", strerror(errno));
        }
    }
    return server->status;
}

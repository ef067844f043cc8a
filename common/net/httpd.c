/* libmicrohttpd in external-epoll mode on the loop: the loop polls its epoll descriptor and runs
 * its timeout as a timer; MHD_run does the rest. Invariants: beyond the loopback, only files are
 * answered without the token; a request whose Host header names another host is refused, and so is
 * a POST from another site's page; handlers run in the loop's thread; a connection with a delayed
 * response is suspended until the response is given; requests beyond the strangers' share wait, in
 * the sockets, too. Owns connections and responses. */
#include "common/net/httpd.h"

#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/net/http_share.h"
#include "common/net/loop_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <zlib.h>

#define LOOK_MS 50
/* A body over its limit is read up to this size, so that its sender gets the response. */
#define UPLOADED_BYTES_MAX (4 * VQ_HTTPD_REQUEST_BYTES_MAX)
#define GZIP_WINDOW        (15 + 16) /* zlib's number for a gzip header */
#define GZIP_MEMORY        8
#define TOKEN_NEEDED       "a token is needed\n"

struct seat {
    int fd;
    int64_t since_ns; /* when it was opened, or its last request was answered */
    bool token;       /* the current request has the token */
    bool over;        /* this server closed it; it ends in a later step */
};

/* libmicrohttpd is edge-triggered and misses the end of a connection that arrives together with its
 * last bytes. Such a connection would stay until its idle timeout, and few of them fill the server.
 * So a timer checks every connection. */
struct vq_httpd {
    struct vq_loop *loop;
    struct vq_timer *look; /* while a client is connected */
    struct seat seats[VQ_HTTPD_CONNECTIONS_MAX];
    uint32_t seats_count;
    /* a client disconnected in this run: a full server has room again, but accepts waiting clients
     * only in its next run */
    bool left;
    struct vq_httpd_options options;
    struct MHD_Daemon *daemon;
    uv_poll_t *poll;
    struct vq_timer *timer;
    struct vq_http_share share;
    bool rests;         /* the share is used up: the server reads nothing until the timer fires */
    int64_t trusted_ns; /* in this run of the daemon: time for requests with the token */
    uint32_t waiting;   /* delayed responses that are not given yet */
    uint16_t port;
};

/* The state of one request, from its first line to its end. */
struct vq_httpd_wait {
    struct vq_httpd *httpd;
    struct MHD_Connection *connection;
    struct vq_buf body;
    size_t uploaded;
    bool promised, given, suspended;
    struct vq_httpd_response answer; /* valid after it is given; its body is `later` */
    struct vq_buf later;
};

/* ---- admission ---- */

struct token_check {
    const char *given;
    bool equal;
};

/* Compares in constant time, independent of the first wrong byte. */
static enum vq_status compare_token(void *ctx, struct vq_span token)
{
    struct token_check *check = ctx;
    size_t n = strlen(check->given);
    unsigned char differs = n != token.bytes;
    for (size_t i = 0; i < token.bytes; i++) {
        differs |= (unsigned char)(token.at[i] ^ check->given[i < n ? i : 0]);
    }
    check->equal = differs == 0;
    return VQ_OK;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool has_token(const struct vq_httpd *httpd, struct MHD_Connection *connection)
{
    static const char prefix[] = "Bearer ";
    const char *given = header(connection, MHD_HTTP_HEADER_AUTHORIZATION);
    if (given == NULL || strncmp(given, prefix, strlen(prefix)) != 0 ||
        given[strlen(prefix)] == '\0') {
        return false;
    }
    struct token_check check = {.given = given + strlen(prefix)};
    return vq_secret_expose(httpd->options.token, compare_token, &check) == VQ_OK && check.equal;
}

static bool path_matches(const char *route, const char *path)
{
    size_t n = strlen(route);
    return n > 0 && route[n - 1] == '*' ? strncmp(route, path, n - 1) == 0
                                        : strcmp(route, path) == 0;
}

const char *vq_httpd_query(const struct vq_httpd_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct query {
    struct vq_buf *out;
    bool any;
};

static enum MHD_Result put_query(void *ctx, enum MHD_ValueKind kind, const char *key,
                                 const char *value)
{
    (void)kind;
    struct query *query = ctx;
    vq_buf_putc(query->out, query->any ? '&' : '?');
    query->any = true;
    vq_buf_put_percent(query->out, key);
    vq_buf_putc(query->out, '=');
    vq_buf_put_percent(query->out, value == NULL ? "" : value);
    return MHD_YES;
}

void vq_httpd_query_put(const struct vq_httpd_request *request, struct vq_buf *out)
{
    struct query query = {.out = out};
    (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, put_query, &query);
}

/* ---- responses ---- */

static const char own_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'";

static bool takes_gzip(struct MHD_Connection *connection)
{
    const char *accepted = header(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING);
    return accepted != NULL && strstr(accepted, "gzip") != NULL &&
           strstr(accepted, "gzip;q=0") == NULL;
}

/* False: it is not smaller, or there is no memory; the body is then sent uncompressed. */
static bool compress_body(struct vq_span body, struct vq_buf *out)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)body.at, .avail_in = (uInt)body.bytes};
    vq_buf_init(out, body.bytes);
    char *to = body.bytes > UINT32_MAX ? NULL : vq_buf_reserve(out, body.bytes);
    if (to == NULL || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                                   Z_DEFAULT_STRATEGY) != Z_OK) {
        vq_buf_free(out);
        return false;
    }
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)body.bytes;
    bool whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
    out->bytes = whole ? z.total_out : 0;
    (void)deflateEnd(&z); /* fails for a stream that did not fit, which is handled already */
    if (!whole) {
        vq_buf_free(out);
    }
    return whole;
}

static enum MHD_Result reply(struct MHD_Connection *connection, const struct vq_httpd_response *r,
                             struct vq_span body)
{
    struct vq_buf gzip;
    bool small = r->compress && takes_gzip(connection) && compress_body(body, &gzip);
    body = small ? vq_buf_span(&gzip) : body;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        body.bytes, (void *)(uintptr_t)body.at, MHD_RESPMEM_MUST_COPY);
    if (small) {
        vq_buf_free(&gzip);
    }
    if (response == NULL) {
        return MHD_NO;
    }
    const char *const headers[][2] = {
        {"Content-Type", r->content_type != NULL ? r->content_type : "text/plain; charset=utf-8"},
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"Content-Security-Policy", r->policy != NULL ? r->policy : own_policy},
        {"Referrer-Policy", "no-referrer"},
        {"Location", r->location},
        {"Content-Encoding", small ? "gzip" : NULL},
        {"Vary", r->compress ? "Accept-Encoding" : NULL},
        {"WWW-Authenticate", r->status == 401 ? "Bearer" : NULL},
    };
    enum MHD_Result ok = MHD_YES;
    for (size_t i = 0; i < VQ_COUNT(headers) && ok == MHD_YES; i++) {
        if (headers[i][1] != NULL) {
            ok = MHD_add_response_header(response, headers[i][0], headers[i][1]);
        }
    }
    if (ok == MHD_YES) {
        ok = MHD_queue_response(connection, (unsigned)r->status, response);
    }
    MHD_destroy_response(response);
    return ok;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, int status, const char *text)
{
    struct vq_httpd_response response = {.status = status};
    return reply(connection, &response, vq_span_str(text));
}

static enum MHD_Result reply_with(struct MHD_Connection *connection,
                                  const struct vq_httpd_response *response)
{
    return response->body->status != VQ_OK
               ? refuse(connection, 500, "the answer is too long, or there is no memory\n")
               : reply(connection, response, vq_buf_span(response->body));
}

static enum MHD_Result handle(struct vq_httpd *httpd, struct MHD_Connection *connection,
                              const struct vq_httpd_route *route,
                              const struct vq_httpd_request *request, bool trusted)
{
    struct vq_buf body;
    vq_buf_init(&body, VQ_HTTPD_RESPONSE_BYTES_MAX);
    struct vq_httpd_response response = {
        .status = 200, .content_type = "text/plain; charset=utf-8", .body = &body};
    int64_t began_ns = vq_clock_thread_ns();
    route->handle(httpd->options.ctx, request, &response);
    struct vq_httpd_wait *wait = request->wait;
    enum MHD_Result ok = MHD_YES;
    if (wait->promised && !wait->given) {
        wait->suspended = true;
        MHD_suspend_connection(connection);
    } else {
        ok = reply_with(connection, wait->given ? &wait->answer : &response);
    }
    httpd->trusted_ns += trusted ? vq_clock_thread_ns() - began_ns : 0;
    vq_buf_free(&body);
    return ok;
}

struct vq_httpd_wait *vq_httpd_wait(const struct vq_httpd_request *request)
{
    VQ_ASSERT(!request->wait->promised);
    request->wait->promised = true;
    request->wait->httpd->waiting++;
    return request->wait;
}

void vq_httpd_answer(struct vq_httpd_wait *wait, const struct vq_httpd_response *response)
{
    VQ_ASSERT(wait->promised && !wait->given);
    wait->given = true;
    wait->answer = *response;
    wait->later = *response->body;
    wait->answer.body = &wait->later;
    vq_buf_init(response->body, response->body->bytes_max);
    struct vq_httpd *httpd = wait->httpd;
    httpd->waiting--;
    if (wait->suspended) { /* `wait` ends in the next run of the daemon */
        MHD_resume_connection(wait->connection);
        vq_timer_start(httpd->timer, 0, 0);
    }
}

static enum MHD_Result dispatch(struct vq_httpd *httpd, struct vq_httpd_wait *wait,
                                const char *path, const char *method)
{
    struct MHD_Connection *connection = wait->connection;
    bool post = strcmp(method, MHD_HTTP_METHOD_POST) == 0;
    bool get =
        strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    bool known = false;
    const struct vq_httpd_options *options = &httpd->options;
    const char *host = header(connection, MHD_HTTP_HEADER_HOST);
    if (!vq_http_host_may(host, !options->listen.is_loopback, options->hosts,
                          options->hosts_count)) {
        return refuse(connection, 403,
                      "the Host header names another host; --http-host NAME allows a name\n");
    }
    if (post && !vq_http_origin_may(header(connection, MHD_HTTP_HEADER_ORIGIN), host)) {
        return refuse(connection, 403, "the request comes from a page of another site\n");
    }
    bool denied = options->token != NULL && !has_token(httpd, connection);
    bool is_local = options->listen.is_loopback;
    for (uint32_t i = 0; i < options->routes_count; i++) {
        const struct vq_httpd_route *route = &options->routes[i];
        if (!path_matches(route->path, path)) {
            continue;
        }
        known = true;
        if (!(route->method == VQ_HTTPD_POST ? post : get)) {
            continue;
        }
        if (denied &&
            !(route->access == VQ_HTTPD_ANYONE || (route->access == VQ_HTTPD_LOCAL && is_local))) {
            return refuse(connection, 401, TOKEN_NEEDED);
        }
        struct vq_httpd_request request = {.method = route->method,
                                           .path = path,
                                           .body = vq_buf_span(&wait->body),
                                           .connection = connection,
                                           .wait = wait};
        return handle(httpd, connection, route, &request, !denied);
    }
    if (denied && !is_local) { /* not even whether the path exists */
        return refuse(connection, 401, TOKEN_NEEDED);
    }
    return known ? refuse(connection, 405, "method not allowed\n")
                 : refuse(connection, 404, "unknown path\n");
}

/* ---- connections ---- */

static struct seat *seat_of(struct vq_httpd *httpd, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (uint32_t i = 0; info != NULL && i < httpd->seats_count; i++) {
        if (httpd->seats[i].fd == info->connect_fd) {
            return &httpd->seats[i];
        }
    }
    return NULL;
}

static void end_seat(struct seat *seat)
{
    seat->over = true;
    (void)shutdown(seat->fd, SHUT_RDWR); /* fails if it is closed already */
}

/* Closes the oldest connection without a token if few are free, so that slow clients cannot occupy
 * all connections. */
static void make_room(struct vq_httpd *httpd)
{
    struct seat *oldest = NULL;
    uint32_t here = 0;
    for (uint32_t i = 0; i < httpd->seats_count; i++) {
        struct seat *seat = &httpd->seats[i];
        here += seat->over ? 0 : 1;
        bool before = oldest == NULL || seat->since_ns < oldest->since_ns;
        oldest = !seat->over && !seat->token && before ? seat : oldest;
    }
    if (oldest != NULL && here > VQ_HTTPD_CONNECTIONS_MAX - VQ_HTTPD_RESERVED) {
        end_seat(oldest);
    }
}

/* ---- libmicrohttpd's callbacks ---- */

/* Whether the body is longer than any command's. Without the token such a body is not read. */
static bool is_long(struct MHD_Connection *connection)
{
    const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL ||
           (length != NULL && strtoull(length, NULL, 10) > VQ_HTTPD_REQUEST_BYTES_MAX);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_bytes, void **state)
{
    (void)version;
    struct vq_httpd_wait *p = *state;
    if (p == NULL) {
        p = vq_alloc(1, sizeof(*p));
        if (p == NULL) {
            return MHD_NO;
        }
        struct vq_httpd *httpd = ctx;
        p->httpd = httpd;
        p->connection = connection;
        vq_buf_init(&p->body, VQ_HTTPD_REQUEST_BYTES_MAX);
        *state = p;
        struct seat *seat = seat_of(httpd, connection);
        bool token = httpd->options.token == NULL || has_token(httpd, connection);
        if (seat != NULL) {
            seat->token = httpd->options.token != NULL && token;
        }
        return token || !is_long(connection) ? MHD_YES : refuse(connection, 401, TOKEN_NEEDED);
    }
    if (p->given) { /* it was suspended, and its response is given now */
        return reply_with(connection, &p->answer);
    }
    if (*upload_bytes > 0) {
        vq_buf_append(&p->body, upload, *upload_bytes);
        p->uploaded += *upload_bytes;
        *upload_bytes = 0;
        return p->uploaded <= UPLOADED_BYTES_MAX ? MHD_YES : MHD_NO;
    }
    if (p->body.status == VQ_LIMIT) {
        return refuse(connection, 413, "the body is too long\n");
    }
    if (p->body.status != VQ_OK) {
        return MHD_NO;
    }
    return dispatch(ctx, p, url, method);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode how)
{
    (void)how;
    struct vq_httpd_wait *p = *state;
    struct seat *seat = seat_of(ctx, connection);
    if (seat != NULL) { /* the time of the next request on this connection starts now */
        seat->since_ns = vq_clock_mono_ns();
        seat->token = false;
    }
    if (p != NULL) {
        vq_buf_free(&p->body);
        if (p->given) {
            vq_buf_free(&p->later);
        }
        vq_free(p);
        *state = NULL;
    }
}

/* ---- connections that have ended ---- */

static void on_connection(void *ctx, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    (void)state;
    struct vq_httpd *httpd = ctx;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == NULL) {
        return;
    }
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        if (httpd->seats_count < VQ_HTTPD_CONNECTIONS_MAX) {
            httpd->seats[httpd->seats_count++] =
                (struct seat){.fd = info->connect_fd, .since_ns = vq_clock_mono_ns()};
        }
        make_room(httpd);
        if (!vq_timer_is_running(httpd->look)) {
            vq_timer_start(httpd->look, LOOK_MS, LOOK_MS);
        }
        return;
    }
    httpd->left = true;
    for (uint32_t i = 0; i < httpd->seats_count; i++) {
        if (httpd->seats[i].fd == info->connect_fd) {
            httpd->seats[i] = httpd->seats[--httpd->seats_count];
            break;
        }
    }
    if (httpd->seats_count == 0) {
        vq_timer_stop(httpd->look);
    }
}

/* Shuts down reading on ended connections: that triggers an edge, and bytes that arrived before can
 * still be read. */
static void on_look(void *ctx)
{
    struct vq_httpd *httpd = ctx;
    struct pollfd looks[VQ_HTTPD_CONNECTIONS_MAX];
    int64_t late_ns = vq_clock_mono_ns() - VQ_HTTPD_REQUEST_S * VQ_NS_PER_S;
    for (uint32_t i = 0; i < httpd->seats_count; i++) {
        looks[i] = (struct pollfd){.fd = httpd->seats[i].fd, .events = POLLRDHUP};
        if (httpd->seats[i].since_ns < late_ns && !httpd->seats[i].over) {
            end_seat(&httpd->seats[i]);
        }
    }
    int ended = poll(looks, httpd->seats_count, 0);
    for (uint32_t i = 0; ended > 0 && i < httpd->seats_count; i++) {
        if (looks[i].revents != 0) {
            (void)shutdown(looks[i].fd, SHUT_RD); /* fails if it is closed already */
        }
    }
}

/* ---- on the loop ---- */

static void on_poll(uv_poll_t *poll, int status, int events);

/* Stops reading until the timer fires. The epoll descriptor is not polled meanwhile, because it
 * stays readable. */
static void rest(struct vq_httpd *httpd, int64_t wait_ns)
{
    (void)uv_poll_stop(httpd->poll);
    httpd->rests = true;
    vq_timer_start(httpd->timer, (uint64_t)(wait_ns / VQ_NS_PER_MS) + 1, 0);
}

static void run_daemon(struct vq_httpd *httpd)
{
    int64_t wait_ns = vq_http_share_wait_ns(&httpd->share, vq_clock_mono_ns());
    if (wait_ns > 0) {
        rest(httpd, wait_ns);
        return;
    }
    if (httpd->rests) {
        httpd->rests = false; /* cannot fail, since it was polled before */
        (void)uv_poll_start(httpd->poll, UV_READABLE, on_poll);
    }
    int64_t began_ns = vq_clock_thread_ns();
    httpd->left = false;
    httpd->trusted_ns = 0;
    (void)MHD_run(httpd->daemon);
    vq_http_share_spend(&httpd->share, vq_clock_thread_ns() - began_ns - httpd->trusted_ns,
                        vq_clock_mono_ns());
    MHD_UNSIGNED_LONG_LONG ms;
    if (httpd->left) {
        vq_timer_start(httpd->timer, 0, 0);
    } else if (MHD_get_timeout(httpd->daemon, &ms) == MHD_YES) {
        vq_timer_start(httpd->timer, ms, 0);
    } else {
        vq_timer_stop(httpd->timer);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    run_daemon(poll->data);
}

static void on_timer(void *ctx)
{
    run_daemon(ctx);
}

static void on_poll_closed(uv_handle_t *handle_closed)
{
    vq_free(handle_closed);
}

static enum vq_status start_poll(struct vq_httpd *httpd, struct vq_error *err)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(httpd->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL || info->epoll_fd < 0) {
        return vq_fail(err, VQ_IO, "the HTTP server has no epoll descriptor");
    }
    httpd->poll = vq_alloc(1, sizeof(*httpd->poll));
    if (httpd->poll == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    int r = uv_poll_init(vq_loop_uv(httpd->loop), httpd->poll, info->epoll_fd);
    if (r != 0) {
        vq_free(httpd->poll); /* was never on the loop */
        httpd->poll = NULL;
        return vq_fail(err, VQ_IO, "cannot watch the HTTP server: %s", uv_strerror(r));
    }
    httpd->poll->data = httpd;
    r = uv_poll_start(httpd->poll, UV_READABLE, on_poll);
    return r == 0 ? VQ_OK : vq_fail(err, VQ_IO, "cannot watch the HTTP server: %s", uv_strerror(r));
}

static enum vq_status start_daemon(struct vq_httpd *httpd, struct vq_error *err)
{
    struct vq_http_listen *listen = &httpd->options.listen;
    if (listen->address[0] == '\0') {
        VQ_TRY(vq_http_listen_parse("", "127.0.0.1:0", listen, err));
    }
    if (!listen->is_loopback && httpd->options.token == NULL) {
        return vq_fail(err, VQ_INVALID, "%s is beyond this machine: a token is needed",
                       listen->address);
    }
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(listen->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(listen->port)};
    int parsed = listen->is_v6 ? inet_pton(AF_INET6, listen->address, &v6.sin6_addr)
                               : inet_pton(AF_INET, listen->address, &v4.sin_addr);
    VQ_ASSERT(parsed == 1);
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (listen->is_v6 ? MHD_USE_IPv6 : 0);
    errno = 0;
    httpd->daemon = MHD_start_daemon(
        flags, listen->port, NULL, NULL, on_request, httpd, MHD_OPTION_SOCK_ADDR,
        listen->is_v6 ? (const void *)&v6 : (const void *)&v4, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)VQ_HTTPD_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)VQ_HTTPD_IDLE_S, MHD_OPTION_NOTIFY_COMPLETED, on_completed, httpd,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, httpd, MHD_OPTION_END);
    if (httpd->daemon == NULL) {
        return errno == EADDRINUSE ? vq_fail(err, VQ_EXISTS, "port %u of %s is taken", listen->port,
                                             listen->address)
                                   : vq_fail(err, VQ_IO, "cannot listen on %s: %s", listen->address,
                                             errno != 0 ? strerror(errno) : "unknown reason");
    }
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(httpd->daemon, MHD_DAEMON_INFO_BIND_PORT);
    httpd->port = info != NULL ? info->port : listen->port;
    return VQ_OK;
}

enum vq_status vq_httpd_create(struct vq_loop *loop, const struct vq_httpd_options *options,
                               struct vq_httpd **ret_httpd, struct vq_error *err)
{
    if (options->routes_count > VQ_HTTPD_ROUTES_MAX) {
        return vq_fail(err, VQ_LIMIT, "more than %d routes", VQ_HTTPD_ROUTES_MAX);
    }
    struct vq_httpd *httpd = vq_alloc(1, sizeof(*httpd));
    if (httpd == NULL) {
        return vq_fail(err, VQ_NOMEM, "out of memory");
    }
    httpd->loop = loop;
    httpd->options = *options;
    vq_http_share_init(&httpd->share, options->token == NULL ? 0 : options->strangers_percent,
                       vq_clock_mono_ns());
    enum vq_status status = vq_timer_create(loop, on_timer, httpd, &httpd->timer);
    if (status == VQ_OK) {
        status = vq_timer_create(loop, on_look, httpd, &httpd->look);
    }
    if (status == VQ_OK) {
        status = start_daemon(httpd, err);
    }
    if (status == VQ_OK) {
        status = start_poll(httpd, err);
    }
    if (status != VQ_OK) {
        vq_httpd_destroy(&httpd);
        return status;
    }
    *ret_httpd = httpd;
    return VQ_OK;
}

void vq_httpd_url(const struct vq_httpd *httpd, char ret_url[VQ_HTTPD_URL_BYTES])
{
    const struct vq_http_listen *listen = &httpd->options.listen;
    bool any = strcmp(listen->address, "0.0.0.0") == 0 || strcmp(listen->address, "::") == 0;
    (void)snprintf(ret_url, VQ_HTTPD_URL_BYTES, listen->is_v6 ? "http://[%s]:%u" : "http://%s:%u",
                   !any            ? listen->address
                   : listen->is_v6 ? "::1"
                                   : "127.0.0.1",
                   httpd->port);
}

uint16_t vq_httpd_port(const struct vq_httpd *httpd)
{
    return httpd->port;
}

void vq_httpd_destroy(struct vq_httpd **httpd)
{
    struct vq_httpd *h = *httpd;
    if (h == NULL) {
        return;
    }
    VQ_ASSERT(h->waiting == 0);
    if (h->poll != NULL) {
        (void)uv_poll_stop(h->poll); /* before MHD closes its descriptor */
        uv_close((uv_handle_t *)h->poll, on_poll_closed);
    }
    vq_timer_destroy(&h->timer);
    if (h->daemon != NULL) {
        MHD_stop_daemon(h->daemon); /* reports the connections that it closes */
    }
    vq_timer_destroy(&h->look);
    vq_free(h);
    *httpd = NULL;
}

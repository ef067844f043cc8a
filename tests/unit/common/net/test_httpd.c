/* The status server: routes, token, Host header, limits; asked over raw sockets from a thread. */
#include "net_test.h"

#include "common/net/httpd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct fixture {
    struct vq_loop *loop;
    struct vq_httpd *httpd;
    struct vq_secret *token;
    int handled;
    char seen[256];
    struct vq_httpd_wait *wait; /* promised, and not answered yet */
    struct vq_timer *later;
};

static void on_metrics(void *ctx, const struct vq_httpd_request *request,
                       struct vq_httpd_response *response)
{
    struct fixture *f = ctx;
    f->handled++;
    vq_buf_printf(response->body, "path=%s\n", request->path);
}

static void on_post(void *ctx, const struct vq_httpd_request *request,
                    struct vq_httpd_response *response)
{
    struct fixture *f = ctx;
    f->handled++;
    response->status = 202;
    response->content_type = "application/json";
    vq_buf_printf(response->body, "%zu", request->body.bytes);
    size_t n = request->body.bytes < 255 ? request->body.bytes : 255;
    if (n > 0) {
        memcpy(f->seen, request->body.at, n);
    }
    f->seen[n] = '\0';
}

static void on_large(void *ctx, const struct vq_httpd_request *request,
                     struct vq_httpd_response *response)
{
    (void)ctx;
    static char block[1 << 20];
    memset(block, 'x', sizeof(block));
    bool too_large = strcmp(request->path, "/too-large") == 0;
    for (int i = 0; i < (too_large ? 65 : 8); i++) {
        vq_buf_append(response->body, block, sizeof(block));
    }
}

static void give(struct fixture *f, struct vq_httpd_wait *wait, const char *text)
{
    struct vq_buf body;
    vq_buf_init(&body, 4096);
    vq_buf_puts(&body, text);
    struct vq_httpd_response response = {
        .status = 203, .content_type = "application/json", .policy = "sandbox", .body = &body};
    vq_httpd_answer(wait, &response);
    assert_null(body.at);
    f->handled++;
}

static void on_later(void *ctx)
{
    struct fixture *f = ctx;
    struct vq_httpd_wait *wait = f->wait;
    f->wait = NULL;
    give(f, wait, f->seen);
}

static void on_promise(void *ctx, const struct vq_httpd_request *request,
                       struct vq_httpd_response *response)
{
    struct fixture *f = ctx;
    struct vq_buf query;
    vq_buf_init(&query, 200);
    vq_httpd_query_put(request, &query);
    (void)snprintf(f->seen, sizeof(f->seen), "query=%s body=%.*s", query.at == NULL ? "" : query.at,
                   (int)request->body.bytes, request->body.bytes == 0 ? "" : request->body.at);
    vq_buf_free(&query);
    response->status = 500; /* ignored */
    struct vq_httpd_wait *wait = vq_httpd_wait(request);
    if (strcmp(request->path, "/promise/at-once") == 0) {
        give(f, wait, f->seen);
    } else {
        f->wait = wait;
        vq_timer_start(f->later, 100, 0);
    }
}

static void on_page(void *ctx, const struct vq_httpd_request *request,
                    struct vq_httpd_response *response)
{
    (void)ctx;
    response->compress = true;
    bool is_long = strcmp(request->path, "/page/long") == 0;
    for (int i = 0; i < (is_long ? 1000 : 1); i++) {
        vq_buf_puts(response->body, "a line that comes again\n");
    }
}

static const struct vq_httpd_route routes[] = {
    {VQ_HTTPD_GET, "/page/*", VQ_HTTPD_LOCAL, on_page},
    {VQ_HTTPD_GET, "/promise*", VQ_HTTPD_LOCAL, on_promise},
    {VQ_HTTPD_POST, "/promise*", VQ_HTTPD_LOCAL, on_promise},
    {VQ_HTTPD_GET, "/metrics", VQ_HTTPD_LOCAL, on_metrics},
    {VQ_HTTPD_GET, "/status", VQ_HTTPD_TOKEN, on_metrics},
    {VQ_HTTPD_POST, "/control", VQ_HTTPD_TOKEN, on_post},
    {VQ_HTTPD_GET, "/pages/*", VQ_HTTPD_ANYONE, on_metrics},
    {VQ_HTTPD_GET, "/large", VQ_HTTPD_LOCAL, on_large},
    {VQ_HTTPD_GET, "/too-large", VQ_HTTPD_LOCAL, on_large},
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    *state = f;
    assert_ok(vq_loop_create(&f->loop, NULL));
    assert_ok(vq_timer_create(f->loop, on_later, f, &f->later));
    assert_ok(vq_secret_from_bytes(vq_span_str("t0ken"), &f->token));
    struct vq_httpd_options options = {
        .token = f->token, .routes = routes, .routes_count = VQ_COUNT(routes), .ctx = f};
    assert_ok(vq_httpd_create(f->loop, &options, &f->httpd, NULL));
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    vq_httpd_destroy(&f->httpd);
    vq_timer_destroy(&f->later);
    vq_loop_destroy(&f->loop);
    vq_secret_destroy(&f->token);
    free(f);
    return 0;
}

struct ask {
    int port;
    const char *request;
    size_t request_bytes;
    char *answer;
    size_t answer_bytes;
    bool done;
};

static void ask_work(void *ctx)
{
    struct ask *a = ctx;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)a->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    size_t cap = 16 << 20;
    a->answer = calloc(1, cap);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0) {
        size_t sent = 0;
        while (sent < a->request_bytes) {
            ssize_t n = send(fd, a->request + sent, a->request_bytes - sent, MSG_NOSIGNAL);
            if (n <= 0) {
                break;
            }
            sent += (size_t)n;
        }
        ssize_t got;
        while (a->answer_bytes < cap - 1 &&
               (got = recv(fd, a->answer + a->answer_bytes, cap - 1 - a->answer_bytes, 0)) > 0) {
            a->answer_bytes += (size_t)got;
        }
    }
    (void)close(fd);
}

static void ask_done(void *ctx)
{
    ((struct ask *)ctx)->done = true;
}

/* The whole answer; the caller frees it. */
static char *ask_bytes(struct fixture *f, const char *request, size_t bytes)
{
    struct ask a = {.port = vq_httpd_port(f->httpd), .request = request, .request_bytes = bytes};
    assert_ok(vq_loop_work(f->loop, ask_work, ask_done, &a));
    wait_flag(f->loop, &a.done);
    return a.answer;
}

static char *ask(struct fixture *f, const char *line, const char *headers)
{
    char request[1024];
    int n =
        snprintf(request, sizeof(request),
                 "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%s\r\n", line, headers);
    return ask_bytes(f, request, (size_t)n);
}

static void expect(struct fixture *f, const char *line, const char *headers, const char *status,
                   const char *part)
{
    char *answer = ask(f, line, headers);
    assert_contains(answer, status);
    assert_contains(answer, part);
    free(answer);
}

#define AUTH "Authorization: Bearer t0ken\r\n"

TEST_WITH(test_routes, setup, teardown)
{
    struct fixture *f = *state;
    expect(f, "GET /metrics", "", "HTTP/1.1 200", "path=/metrics");
    expect(f, "GET /metrics?name=a%20b&x=", "", "HTTP/1.1 200", "path=/metrics\n");
    expect(f, "GET /pages/a/b.css", "", "HTTP/1.1 200", "path=/pages/a/b.css");
    expect(f, "GET /nothing", "", "HTTP/1.1 404", "");
    expect(f, "GET /metrics/x", "", "HTTP/1.1 404", "");
    expect(f, "POST /metrics", "Content-Length: 0\r\n", "HTTP/1.1 405", "");
    expect(f, "DELETE /metrics", "", "HTTP/1.1 405", "");
    assert_int_equal(f->handled, 3);
    char *answer = ask(f, "HEAD /metrics", "");
    assert_contains(answer, "HTTP/1.1 200");
    assert_null(strstr(answer, "path="));
    free(answer);
    expect(f, "GET /metrics", "", "X-Content-Type-Options: nosniff", "Cache-Control: no-store");
}

TEST_WITH(test_token, setup, teardown)
{
    struct fixture *f = *state;
    const char *const wrong[] = {"",
                                 "Authorization: Bearer \r\n",
                                 "Authorization: Bearer t0ke\r\n",
                                 "Authorization: Bearer t0kenn\r\n",
                                 "Authorization: Bearer T0ken\r\n",
                                 "Authorization: Bearer t\r\n",
                                 "Authorization: t0ken\r\n",
                                 "Authorization: Basic t0ken\r\n"};
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        char *answer = ask(f, "GET /status", wrong[i]);
        assert_contains(answer, "HTTP/1.1 401");
        assert_null(strstr(answer, "path="));
        assert_null(strstr(answer, "t0ken"));
        free(answer);
    }
    assert_int_equal(f->handled, 0);
    expect(f, "GET /status", AUTH, "HTTP/1.1 200", "path=/status");
    expect(f, "GET /metrics", "", "HTTP/1.1 200", "path=/metrics"); /* open */
}

TEST_WITH(test_host_header, setup, teardown)
{
    struct fixture *f = *state;
    const char *const hosts[] = {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
                                 "127.0.0.2", ""};
    for (size_t i = 0; i < VQ_COUNT(hosts); i++) {
        char request[256];
        int n =
            snprintf(request, sizeof(request),
                     "GET /metrics HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", hosts[i]);
        char *answer = ask_bytes(f, request, (size_t)n);
        assert_contains(answer, "HTTP/1.1 403");
        free(answer);
    }
    assert_int_equal(f->handled, 0);
    const char good[] =
        "GET /metrics HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n";
    char *answer = ask_bytes(f, good, strlen(good));
    assert_contains(answer, "HTTP/1.1 200");
    free(answer);
}

TEST_WITH(test_post_body, setup, teardown)
{
    struct fixture *f = *state;
    char *answer = ask(f, "POST /control", AUTH "Content-Length: 5\r\n\r\nhello");
    assert_contains(answer, "HTTP/1.1 202");
    assert_contains(answer, "application/json");
    assert_string_equal(f->seen, "hello");
    free(answer);
    /* one byte over the limit */
    size_t body = VQ_HTTPD_REQUEST_BYTES_MAX + 1;
    char *request = calloc(1, body + 512);
    int n = snprintf(request, 512,
                     "POST /control HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" AUTH
                     "Content-Length: %zu\r\n\r\n",
                     body);
    memset(request + n, 'x', body);
    answer = ask_bytes(f, request, (size_t)n + body);
    assert_contains(answer, "HTTP/1.1 413");
    assert_int_equal(f->handled, 1);
    free(answer);
    free(request);
}

TEST_WITH(test_large_answers, setup, teardown)
{
    struct fixture *f = *state;
    char *answer = ask(f, "GET /large", "");
    assert_contains(answer, "HTTP/1.1 200");
    const char *body = strstr(answer, "\r\n\r\n");
    assert_non_null(body);
    assert_int_equal(strlen(body + 4), 8 << 20);
    free(answer);
    expect(f, "GET /too-large", "", "HTTP/1.1 500", "too long");
}

TEST_WITH(test_garbage_and_idle_connections, setup, teardown)
{
    struct fixture *f = *state;
    const char *const garbage[] = {"\r\n\r\n\r\n", "GET\r\n\r\n",
                                   "nonsense nonsense nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"};
    for (size_t i = 0; i < VQ_COUNT(garbage); i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0); /* left open, idle */
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(vq_httpd_port(f->httpd))};
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
        assert_true(send(fd, garbage[i], strlen(garbage[i]), MSG_NOSIGNAL) > 0);
        run_for(f->loop, 20);
        expect(f, "GET /metrics", "", "HTTP/1.1 200", "path=/metrics");
        (void)close(fd);
    }
}

/* Who says half a request and leaves at once takes nobody's place for long, however many come. */
TEST_WITH(test_connections_that_ended_leave, setup, teardown)
{
    struct fixture *f = *state;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(vq_httpd_port(f->httpd))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < 2 * VQ_HTTPD_CONNECTIONS_MAX; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
        assert_true(send(fd, "GET /metrics HTTP/1.1\r\nHo", 26, MSG_NOSIGNAL) > 0);
        (void)close(fd);
    }
    struct timespec begun, ended;
    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    expect(f, "GET /metrics", "", "HTTP/1.1 200", "path=/metrics");
    (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    assert_in_range(ended.tv_sec - begun.tv_sec, 0,
                    VQ_HTTPD_IDLE_S - 1); /* they were not waited for */
}

TEST_WITH(test_addresses, setup, teardown)
{
    struct fixture *f = *state;
    struct vq_httpd *other = NULL;
    struct vq_error err = {""};
    struct vq_httpd_options options = {.routes = routes, .routes_count = 1, .ctx = f};
    const char *const beyond[] = {"0.0.0.0:0", "[::]:0"};
    for (size_t i = 0; i < VQ_COUNT(beyond); i++) { /* without a token: refused */
        assert_ok(vq_http_listen_parse("", beyond[i], &options.listen, NULL));
        assert_status(vq_httpd_create(f->loop, &options, &other, &err), VQ_INVALID);
        assert_contains(err.text, "a token is needed");
        assert_null(other);
    }
    assert_ok(vq_http_listen_parse("", "127.0.0.1:0", &options.listen, NULL));
    options.listen.port = vq_httpd_port(f->httpd);
    assert_status(vq_httpd_create(f->loop, &options, &other, &err), VQ_EXISTS);
    assert_contains(err.text, "taken");
    assert_ok(vq_http_listen_parse("", "[::1]:0", &options.listen, NULL));
    if (vq_httpd_create(f->loop, &options, &other, &err) == VQ_OK) {
        char url[VQ_HTTPD_URL_BYTES];
        assert_true(vq_httpd_port(other) != 0);
        vq_httpd_url(other, url);
        assert_int_equal(strncmp(url, "http://[::1]:", 13), 0);
        vq_httpd_destroy(&other);
    }
}

/* Beyond the loopback the token is demanded by every route, and by paths that do not exist: nothing
 * is learned without it. */
TEST_WITH(test_beyond_the_loopback, setup, teardown)
{
    struct fixture *f = *state;
    static const char *const hosts[] = {"queue.example.org"};
    struct vq_httpd_options options = {.token = f->token,
                                       .routes = routes,
                                       .routes_count = VQ_COUNT(routes),
                                       .hosts = hosts,
                                       .hosts_count = 1,
                                       .ctx = f};
    vq_httpd_destroy(&f->httpd);
    assert_ok(vq_http_listen_parse("", "0.0.0.0:0", &options.listen, NULL));
    assert_ok(vq_httpd_create(f->loop, &options, &f->httpd, NULL));
    char url[VQ_HTTPD_URL_BYTES];
    vq_httpd_url(f->httpd, url);
    assert_int_equal(strncmp(url, "http://127.0.0.1:", 17), 0);
    expect(f, "GET /metrics", "", "HTTP/1.1 401", "a token is needed");
    expect(f, "GET /nothing", "", "HTTP/1.1 401", "a token is needed");
    expect(f, "POST /metrics", "Content-Length: 0\r\n", "HTTP/1.1 401", "a token is needed");
    assert_int_equal(f->handled, 0);
    expect(f, "GET /pages/a.css", "", "HTTP/1.1 200", "path=/pages/a.css");
    expect(f, "GET /metrics", AUTH, "HTTP/1.1 200", "path=/metrics");
    static const char named[] =
        "GET /metrics HTTP/1.1\r\nHost: queue.example.org:80\r\nConnection: close\r\n" AUTH "\r\n";
    char *answer = ask_bytes(f, named, strlen(named));
    assert_contains(answer, "HTTP/1.1 200");
    free(answer);
}

TEST_WITH(test_origin_header, setup, teardown)
{
    struct fixture *f = *state;
    expect(f, "POST /control", AUTH "Origin: http://evil.example\r\nContent-Length: 0\r\n",
           "HTTP/1.1 403", "another site");
    expect(f, "POST /control", AUTH "Origin: null\r\nContent-Length: 0\r\n", "HTTP/1.1 403",
           "another site");
    assert_int_equal(f->handled, 0);
    expect(f, "POST /control", AUTH "Origin: http://127.0.0.1\r\nContent-Length: 0\r\n",
           "HTTP/1.1 202", "0");
    expect(f, "GET /metrics", "Origin: http://evil.example\r\n", "HTTP/1.1 200", "");
}

TEST_WITH(test_pages_are_compressed_for_those_who_take_it, setup, teardown)
{
    struct fixture *f = *state;
    expect(f, "GET /page/long", "", "Content-Length: 24000", "a line that comes again\n");
    expect(f, "GET /page/long", "Accept-Encoding: gzip;q=0\r\n", "Content-Length: 24000", "a line");
    expect(f, "GET /page/short", "Accept-Encoding: gzip\r\n", "Content-Length: 24", "a line");
    expect(f, "GET /metrics", "Accept-Encoding: gzip\r\n", "Content-Length: 14", "path=");
    char *answer = ask(f, "GET /page/long", "Accept-Encoding: gzip, br\r\n");
    assert_contains(answer, "Content-Encoding: gzip");
    assert_contains(answer, "Vary: Accept-Encoding");
    assert_null(strstr(answer, "Content-Length: 24000"));
    assert_null(strstr(answer, "a line that comes again"));
    free(answer);
}

static int drip(const struct fixture *f)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(vq_httpd_port(f->httpd))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    (void)connect(fd, (struct sockaddr *)&to, sizeof(to));
    return fd;
}

/* Whoever sends a byte now and then on every connection there is keeps nobody out. */
TEST_WITH(test_dripping_connections_give_way, setup, teardown)
{
    struct fixture *f = *state;
    int fds[VQ_HTTPD_CONNECTIONS_MAX + 20];
    for (size_t i = 0; i < VQ_COUNT(fds); i++) {
        fds[i] = drip(f);
        run_for(f->loop, 5);
        (void)send(fds[i], "GET /status HTTP/1.1\r\nHost: local", 34, MSG_NOSIGNAL);
    }
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < VQ_COUNT(fds); i++) {
            (void)send(fds[i], "x", 1, MSG_NOSIGNAL);
        }
        expect(f, "GET /status", AUTH, "HTTP/1.1 200", "path=/status");
    }
    for (size_t i = 0; i < VQ_COUNT(fds); i++) {
        (void)close(fds[i]);
    }
}

TEST_WITH(test_an_answer_that_comes_later, setup, teardown)
{
    struct fixture *f = *state;
    expect(f, "GET /promise", "", "HTTP/1.1 203", "query= body=");
    expect(f, "GET /promise?a=1&b=x%26y%20/z&c", "", "HTTP/1.1 203",
           "query=?a=1&b=x%26y%20%2Fz&c= body=");
    expect(f, "POST /promise", "Content-Length: 0\r\n", "HTTP/1.1 203", "query= body=");
    expect(f, "GET /promise/at-once", "", "Content-Security-Policy: sandbox", "query= body=");
    expect(f, "GET /metrics", "", "HTTP/1.1 200", "Content-Security-Policy: default-src 'none'");
    char *answer = ask(f, "HEAD /promise", "");
    assert_contains(answer, "HTTP/1.1 203");
    assert_null(strstr(answer, "query="));
    free(answer);
    assert_int_equal(f->handled, 6);
}

/* One connection: a promised answer, then two others. */
TEST_WITH(test_a_connection_goes_on_after_a_promise, setup, teardown)
{
    struct fixture *f = *state;
    static const char both[] = "POST /promise HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: "
                               "5\r\n\r\nwordsGET /promise HTTP/1.1\r\nHost: "
                               "127.0.0.1\r\n\r\nGET /metrics HTTP/1.1\r\nHost: "
                               "127.0.0.1\r\nConnection: close\r\n\r\n";
    char *answer = ask_bytes(f, both, strlen(both));
    assert_contains(answer, "query= body=words");
    assert_contains(answer, "query= body=");
    assert_contains(answer, "path=/metrics");
    free(answer);
}

/* A client that does not wait for its answer: the answer goes nowhere, and the server goes on. */
TEST_WITH(test_clients_that_leave_before_the_answer, setup, teardown)
{
    struct fixture *f = *state;
    static const char request[] = "GET /promise HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    for (int i = 0; i < 2 * VQ_HTTPD_CONNECTIONS_MAX; i++) {
        int fd = drip(f);
        run_for(f->loop, 2);
        (void)send(fd, request, strlen(request), MSG_NOSIGNAL);
        for (int tries = 0; f->wait == NULL && tries < 100; tries++) {
            run_for(f->loop, 2);
        }
        assert_non_null(f->wait);
        (void)close(fd);
        vq_timer_stop(f->later);
        on_later(f);
    }
    expect(f, "GET /metrics", "", "HTTP/1.1 200", "path=/metrics");
}

/* What was answered and is not sent yet ends with the server. */
TEST_WITH(test_the_server_ends_after_a_promise, setup, teardown)
{
    struct fixture *f = *state;
    static const char request[] = "GET /promise HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    int fd = drip(f);
    run_for(f->loop, 5);
    (void)send(fd, request, strlen(request), MSG_NOSIGNAL);
    for (int tries = 0; f->wait == NULL && tries < 200; tries++) {
        run_for(f->loop, 2);
    }
    assert_non_null(f->wait);
    vq_timer_stop(f->later);
    on_later(f);
    vq_httpd_destroy(&f->httpd);
    (void)close(fd);
}

/* The answer comes although no body was sent: it is not waited for. */
TEST_WITH(test_long_bodies_without_the_token_are_not_read, setup, teardown)
{
    struct fixture *f = *state;
    expect(f, "POST /control", "Content-Length: 65537\r\n", "HTTP/1.1 401", "a token is needed");
    expect(f, "POST /control", "Transfer-Encoding: chunked\r\n", "HTTP/1.1 401",
           "a token is needed");
    assert_int_equal(f->handled, 0);
}

/* Many requests without the token use up their share; one with it is answered afterwards. */
TEST_WITH(test_strangers_have_a_share, setup, teardown)
{
    struct fixture *f = *state;
    struct vq_httpd_options options = {.token = f->token,
                                       .routes = routes,
                                       .routes_count = VQ_COUNT(routes),
                                       .strangers_percent = 50,
                                       .ctx = f};
    vq_httpd_destroy(&f->httpd);
    assert_ok(vq_httpd_create(f->loop, &options, &f->httpd, NULL));
    for (int i = 0; i < 300; i++) {
        expect(f, "GET /page/long", "Accept-Encoding: gzip\r\n", "HTTP/1.1 200", "");
    }
    for (int i = 0; i < 10; i++) {
        expect(f, "GET /large", "", "HTTP/1.1 200", "");
    }
    expect(f, "GET /status", AUTH, "HTTP/1.1 200", "path=/status");
}

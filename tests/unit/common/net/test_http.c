/* The HTTP client against a server that answers well and badly. */
#include "net_test.h"

#include "common/base/alloc.h"
#include "common/net/http.h"
#include "toy_server.h"

#include <microhttpd.h>
#include <sys/stat.h>

struct fixture {
    struct vq_loop *loop;
    struct vq_http *http;
    struct toy_server server;
};

struct result {
    bool done;
    int times;
    enum vq_transport transport;
    bool sent;
    bool reused;
    int status;
    char body[256];
    size_t body_bytes;
    char retry_after[64], remaining[64], request_id[64], secret[64], content_type[64];
    char tier[64], upload[64];
    char error[256];
    int64_t total_ns, first_byte_ns;
};

#define COPY(field, span) copy_text(r->field, sizeof(r->field), span)

static void on_done(void *ctx, const struct vq_http_response *response)
{
    struct result *r = ctx;
    r->done = true;
    r->times++;
    r->transport = response->transport;
    r->sent = response->sent;
    r->reused = response->reused;
    r->status = response->status;
    r->body_bytes = response->body.bytes;
    r->total_ns = response->total_ns;
    r->first_byte_ns = response->first_byte_ns;
    COPY(body, response->body);
    COPY(retry_after, header_of(response, "retry-after"));
    COPY(remaining, header_of(response, "x-ratelimit-remaining-requests"));
    COPY(request_id, header_of(response, "x-request-id"));
    COPY(tier, header_of(response, "x-gemini-service-tier"));
    COPY(upload, header_of(response, "x-goog-upload-url"));
    COPY(secret, header_of(response, "x-secret-thing"));
    COPY(content_type, header_of(response, "content-type"));
    COPY(error, vq_span_str(response->error));
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    *state = f;
    toy_start(&f->server);
    assert_ok(vq_loop_create(&f->loop, NULL));
    assert_ok(vq_http_create(f->loop, NULL, &f->http, NULL));
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    vq_http_destroy(&f->http);
    vq_loop_destroy(&f->loop);
    toy_stop(&f->server);
    free(f);
    return 0;
}

static const char *url_of(const struct fixture *f, const char *path)
{
    static char url[256];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", f->server.port, path);
    return url;
}

static struct vq_http_request request_to(const struct fixture *f, const char *path,
                                         struct result *result)
{
    return (struct vq_http_request){
        .url = url_of(f, path), .body = vq_span_str("{}"), .done = on_done, .ctx = result};
}

/* One call to its end. */
static struct result call(struct fixture *f, struct vq_http_request request)
{
    struct result result = {0};
    request.ctx = &result;
    assert_ok(vq_http_start(f->http, &request, NULL, NULL));
    assert_false(result.done); /* never from inside */
    wait_flag(f->loop, &result.done);
    run_for(f->loop, 5);
    assert_int_equal(result.times, 1);
    return result;
}

static struct result call_path(struct fixture *f, const char *path)
{
    return call(f, request_to(f, path, NULL));
}

static void assert_transport(const struct result *r, enum vq_transport expected, bool sent)
{
    if (r->transport != expected || r->sent != sent) {
        fail_msg("transport %d sent %d, expected %d and %d: %s", r->transport, r->sent, expected,
                 sent, r->error);
    }
}

TEST_WITH(test_post_and_answer, setup, teardown)
{
    struct fixture *f = *state;
    struct vq_http_request request = request_to(f, "/echo", NULL);
    request.body = vq_span("a\0b", 3);
    struct result r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_OK, true);
    assert_int_equal(r.status, 200);
    assert_int_equal(r.body_bytes, 3);
    assert_memory_equal(r.body, "a\0b", 3);
    assert_string_equal(r.content_type, "text/plain");
    assert_string_equal(r.error, "");
    assert_true(r.first_byte_ns > 0 && r.first_byte_ns <= r.total_ns);
    assert_contains(f->server.head, "POST /echo HTTP/1.1\r\n");
    assert_contains(f->server.head, "User-Agent: vibeq/");
    assert_null(strcasestr(f->server.head, "expect:"));
}

TEST_WITH(test_get, setup, teardown)
{
    struct fixture *f = *state;
    struct vq_http_request request = request_to(f, "/echo", NULL);
    struct result r = call(f, request); /* a POST first: its handle is used again */
    request.method = VQ_HTTP_GET;
    r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_OK, true);
    assert_contains(f->server.head, "GET /echo HTTP/1.1\r\n");
    assert_null(strcasestr(f->server.head, "content-length"));
}

TEST_WITH(test_headers_and_key, setup, teardown)
{
    struct fixture *f = *state;
    struct vq_secret *key;
    assert_ok(vq_secret_from_bytes(vq_span_str("sk-canary-1"), &key));
    const struct vq_http_header headers[] = {
        {vq_span_str("Content-Type"), vq_span_str("application/json")},
        {vq_span_str("X-Client-Request-Id"), vq_span_str("abc")},
        {vq_span_str("X-Empty"), vq_span("", 0)},
    };
    struct vq_http_request request = request_to(f, "/echo", NULL);
    request.headers = headers;
    request.headers_count = VQ_COUNT(headers);
    request.secret = key;
    (void)call(f, request);
    assert_contains(f->server.head, "Authorization: Bearer sk-canary-1\r\n");
    assert_contains(f->server.head, "Content-Type: application/json\r\n");
    assert_contains(f->server.head, "X-Client-Request-Id: abc\r\n");
    assert_contains(f->server.head, "X-Empty:\r\n");
    request.secret_header = "api-key";
    request.secret_prefix = "";
    (void)call(f, request);
    assert_contains(f->server.head, "api-key: sk-canary-1\r\n");
    assert_null(strstr(f->server.head, "Authorization"));
    request.secret = NULL; /* nothing of the last call stays */
    request.headers_count = 0;
    (void)call(f, request);
    assert_null(strstr(f->server.head, "sk-canary-1"));
    assert_null(strstr(f->server.head, "X-Client-Request-Id"));
    vq_secret_destroy(&key);
}

TEST_WITH(test_refused_requests, setup, teardown)
{
    struct fixture *f = *state;
    struct result r = {0};
    struct vq_error err = {""};
    struct vq_http_request request = request_to(f, "/echo", &r);
    const char *const bad_urls[] = {"",
                                    "nonsense",
                                    "ftp://127.0.0.1/",
                                    "file:///etc/passwd",
                                    "http://example.org/",
                                    "http://127.0.0.1.example.org/",
                                    "http://localhost.example.org/",
                                    "http://user:password@127.0.0.1/"};
    for (size_t i = 0; i < VQ_COUNT(bad_urls); i++) {
        request.url = bad_urls[i];
        assert_status(vq_http_start(f->http, &request, NULL, &err), VQ_INVALID);
        assert_null(strstr(err.text, "password@"));
    }
    request.url = url_of(f, "/echo");
    const struct vq_http_header bad_headers[] = {
        {vq_span_str("X-A"), vq_span_str("b\r\nX-Injected: yes")},
        {vq_span_str("X-A"), vq_span("a\0b", 3)},
        {vq_span_str("X A"), vq_span_str("b")},
        {vq_span_str("X-A: b\r\nY"), vq_span_str("b")},
        {vq_span_str(""), vq_span_str("b")},
    };
    for (size_t i = 0; i < VQ_COUNT(bad_headers); i++) {
        request.headers = &bad_headers[i];
        request.headers_count = 1;
        assert_status(vq_http_start(f->http, &request, NULL, &err), VQ_INVALID);
    }
    run_for(f->loop, 20);
    assert_int_equal(r.times, 0);
    assert_int_equal(f->server.requests, 0);
    request.headers_count = 0; /* and the client is none the worse */
    r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_OK, true);
}

TEST_WITH(test_local_hosts, setup, teardown)
{
    assert_true(vq_http_url_is_local("http://127.0.0.1:8080/v1"));
    assert_true(vq_http_url_is_local("http://127.9.9.9"));
    assert_true(vq_http_url_is_local("http://localhost/x"));
    assert_true(vq_http_url_is_local("http://a.localhost/x"));
    assert_true(vq_http_url_is_local("http://[::1]:80/"));
    assert_true(vq_http_url_is_local("localhost"));
    assert_false(vq_http_url_is_local("https://api.example.org"));
    assert_false(vq_http_url_is_local("http://128.0.0.1"));
    assert_false(vq_http_url_is_local("http://127.0.0.1.example.org"));
    assert_false(vq_http_url_is_local("http://localhost.example.org"));
    assert_false(vq_http_url_is_local("nonsense"));
}

TEST_WITH(test_kept_response_headers, setup, teardown)
{
    struct result r = call_path(*state, "/429");
    assert_transport(&r, VQ_TRANSPORT_OK, true);
    assert_int_equal(r.status, 429);
    assert_string_equal(r.retry_after, "7");
    assert_string_equal(r.remaining, "0");
    assert_string_equal(r.request_id, "r-1");
    assert_string_equal(r.tier, "flex");
    assert_string_equal(r.upload, "http://h/?upload_id=1");
    assert_string_equal(r.secret, "");
    assert_string_equal(r.body, "slow");
}

TEST_WITH(test_no_redirect_and_no_leftovers_of_100, setup, teardown)
{
    struct fixture *f = *state;
    struct result r = call_path(f, "/302");
    assert_transport(&r, VQ_TRANSPORT_OK, true);
    assert_int_equal(r.status, 302);
    assert_int_equal(f->server.requests, 1);
    r = call_path(f, "/100");
    assert_int_equal(r.status, 200);
    assert_string_equal(r.request_id, "right");
    r = call_path(f, "/chunked");
    assert_string_equal(r.body, "hello world");
}

TEST_WITH(test_connections_are_kept, setup, teardown)
{
    struct fixture *f = *state;
    for (int i = 0; i < 10; i++) {
        struct result r = call_path(f, "/echo");
        assert_int_equal(r.reused, i > 0);
    }
    assert_int_equal(f->server.connections, 1);
}

/* An event on an idle connection is reported once, not in every later turn. */
TEST_WITH(test_an_idle_connection_that_is_closed_wakes_once, setup, teardown)
{
    struct fixture *f = *state;
    struct result r = call_path(f, "/close-later");
    assert_transport(&r, VQ_TRANSPORT_OK, true);
    uint64_t turns = vq_loop_stats_take(f->loop).turns;
    run_for(f->loop, 150);
    assert_true(vq_loop_stats_take(f->loop).turns - turns < 100);
    for (int i = 0; i < 3; i++) {
        r = call_path(f, "/echo");
        assert_transport(&r, VQ_TRANSPORT_OK, true);
        assert_int_equal(r.reused, i > 0);
    }
}

/* It would be taken for the answer of the next call. */
TEST_WITH(test_what_comes_unasked_is_nobodys_answer, setup, teardown)
{
    struct fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        struct result r = call_path(f, "/unasked");
        assert_transport(&r, VQ_TRANSPORT_OK, true);
        assert_string_equal(r.body, "fine");
        run_for(f->loop, 200);
        r = call_path(f, "/echo");
        if (r.transport != VQ_TRANSPORT_RESET) { /* else it came when this request was on its way */
            assert_string_equal(r.body, "{}");
        }
    }
}

TEST_WITH(test_no_connection, setup, teardown)
{
    struct fixture *f = *state;
    int port;
    int fd = toy_listen(1, &port);
    assert_int_equal(close(fd), 0); /* nobody listens there now */
    char url[64];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/", port);
    struct vq_http_request request = request_to(f, "", NULL);
    request.url = url;
    struct result r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_CONNECT, false);
    assert_int_equal(r.status, 0);
    assert_true(strlen(r.error) > 0);
    request.url = "https://no-such-host.invalid/";
    r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_DNS, false);
    char https[64];
    (void)snprintf(https, sizeof(https), "https://127.0.0.1:%d/garbage", f->server.port);
    request.url = https;
    request.connect_ms = 5000;
    r = call(f, request); /* the server waits for a request line that never ends */
    assert_false(r.sent);
    assert_true(r.transport == VQ_TRANSPORT_TLS || r.transport == VQ_TRANSPORT_TIMEOUT_CONNECT);
}

/* A listening socket whose queue is full does not answer. */
TEST_WITH(test_connect_deadline, setup, teardown)
{
    struct fixture *f = *state;
    int port, fill[8];
    int fd = toy_listen(0, &port);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < VQ_COUNT(fill); i++) {
        fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fill[i], (struct sockaddr *)&a, sizeof(a));
    }
    char url[64];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/", port);
    struct vq_http_request request = request_to(f, "", NULL);
    request.url = url;
    request.connect_ms = 100;
    struct result r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_TIMEOUT_CONNECT, false);
    request.connect_ms = 10000;
    request.first_byte_ms = 100; /* the earlier deadline counts, and is still one of connecting */
    r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_TIMEOUT_CONNECT, false);
    for (size_t i = 0; i < VQ_COUNT(fill); i++) {
        (void)close(fill[i]);
    }
    (void)close(fd);
}

TEST_WITH(test_deadlines_after_connecting, setup, teardown)
{
    struct fixture *f = *state;
    struct vq_http_request request = request_to(f, "/hang", NULL);
    request.first_byte_ms = 100;
    struct result r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_TIMEOUT_FIRST_BYTE, true);
    request.first_byte_ms = 10000;
    request.total_ms = 100;
    r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_TIMEOUT_FIRST_BYTE, true);
    request = request_to(f, "/hang-in-body", NULL);
    request.first_byte_ms = 150;
    request.total_ms = 300;
    r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_TIMEOUT_TOTAL, true);
    assert_int_equal(r.status, 200);
    assert_string_equal(r.body, "begin");
}

TEST_WITH(test_slow_response_but_not_a_late_one, setup, teardown)
{
    struct fixture *f = *state;
    struct vq_http_request request = request_to(f, "/drip", NULL);
    request.slow_bytes_per_s = 1000;
    request.slow_s = 1;
    struct result r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_SLOW, true);
    assert_true(r.body_bytes > 0);
    request = request_to(f, "/late", NULL); /* silent before its first byte: no slowness */
    request.slow_bytes_per_s = 1000;
    request.slow_s = 1;
    r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_OK, true);
    assert_string_equal(r.body, "late");
}

TEST_WITH(test_broken_connections, setup, teardown)
{
    struct fixture *f = *state;
    struct result r = call_path(f, "/close");
    assert_transport(&r, VQ_TRANSPORT_RESET, true);
    r = call_path(f, "/reset");
    assert_transport(&r, VQ_TRANSPORT_RESET, true);
    assert_int_equal(r.status, 0);
    r = call_path(f, "/cut");
    assert_transport(&r, VQ_TRANSPORT_PARTIAL, true);
    assert_string_equal(r.body, "only this");
    r = call_path(f, "/cut-head");
    assert_true(r.transport == VQ_TRANSPORT_PARTIAL || r.transport == VQ_TRANSPORT_OK);
    r = call_path(f, "/garbage");
    assert_transport(&r, VQ_TRANSPORT_PROTOCOL, true);
    assert_int_equal(f->server.requests, 5);
}

/* libcurl alone would send the second request twice. */
TEST_WITH(test_broken_kept_alive_connection_sends_nothing_twice, setup, teardown)
{
    struct fixture *f = *state;
    struct result r = call_path(f, "/reset-second");
    assert_transport(&r, VQ_TRANSPORT_OK, true);
    r = call_path(f, "/reset-second");
    assert_transport(&r, VQ_TRANSPORT_RESET, true);
    assert_int_equal(f->server.requests, 2);
    r = call_path(f, "/echo");
    assert_transport(&r, VQ_TRANSPORT_OK, true);
}

TEST_WITH(test_caps, setup, teardown)
{
    struct fixture *f = *state;
    struct vq_http_request request = request_to(f, "/big", NULL);
    request.body_bytes_max = 100000;
    struct result r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_TOO_BIG, true);
    assert_true(r.body_bytes <= 100000);
    r = call_path(f, "/big-head");
    assert_transport(&r, VQ_TRANSPORT_TOO_BIG, true);
    request = request_to(f, "/echo", NULL);
    request.body_bytes_max = 2;
    r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_OK, true);
    assert_int_equal(r.body_bytes, 2);
    request.body_bytes_max = 1;
    r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_TOO_BIG, true);
}

/* A body is bounded in its pieces, and all bodies together in their memory. */
TEST_WITH(test_caps_of_pieces_and_of_all_bodies, setup, teardown)
{
    struct fixture *f = *state;
    struct result r = call_path(f, "/pieces");
    assert_transport(&r, VQ_TRANSPORT_TOO_BIG, true);
    assert_in_range(r.body_bytes, VQ_HTTP_PIECES_MAX - 1, VQ_HTTP_PIECES_MAX + 1);
    struct vq_http *usual = f->http;
    assert_ok(vq_http_create(f->loop, &(struct vq_http_options){.bodies_bytes_max = 3u << 20},
                             &f->http, NULL));
    r = call_path(f, "/large");
    assert_int_equal(r.body_bytes, 1500000);
    struct result held = {0};
    struct vq_http_call *handle;
    struct vq_http_request request = request_to(f, "/large-hang", &held);
    assert_ok(vq_http_start(f->http, &request, &handle, NULL));
    run_for(f->loop, 300);
    r = call_path(f, "/large"); /* beside that one it does not */
    assert_transport(&r, VQ_TRANSPORT_TOO_BIG, true);
    vq_http_cancel(handle);
    wait_flag(f->loop, &held.done);
    r = call_path(f, "/large");
    assert_transport(&r, VQ_TRANSPORT_OK, true);
    vq_http_destroy(&f->http);
    f->http = usual;
}

TEST_WITH(test_cancel, setup, teardown)
{
    struct fixture *f = *state;
    struct result r = {0};
    struct vq_http_call *handle;
    struct vq_http_request request = request_to(f, "/hang", &r);
    assert_ok(vq_http_start(f->http, &request, &handle, NULL));
    assert_int_equal(vq_http_in_flight(f->http), 1);
    vq_http_cancel(handle);
    vq_http_cancel(handle);
    assert_false(r.done);
    wait_flag(f->loop, &r.done);
    assert_int_equal(r.transport, VQ_TRANSPORT_CANCELLED);
    assert_int_equal(vq_http_in_flight(f->http), 0);
    run_for(f->loop, 10);
    assert_int_equal(r.times, 1);
}

TEST_WITH(test_destroy_ends_calls, setup, teardown)
{
    struct fixture *f = *state;
    struct result r[100] = {{0}};
    for (size_t i = 0; i < VQ_COUNT(r); i++) {
        struct vq_http_request request = request_to(f, "/hang", &r[i]);
        assert_ok(vq_http_start(f->http, &request, NULL, NULL));
    }
    run_for(f->loop, 50);
    vq_http_destroy(&f->http);
    for (size_t i = 0; i < VQ_COUNT(r); i++) {
        assert_int_equal(r[i].times, 1);
        assert_int_equal(r[i].transport, VQ_TRANSPORT_CANCELLED);
    }
}

TEST_WITH(test_limit_of_calls, setup, teardown)
{
    struct fixture *f = *state;
    struct vq_http *small;
    struct vq_error err = {""};
    struct result r[3] = {{0}};
    assert_ok(vq_http_create(f->loop, &(struct vq_http_options){.calls_max = 2}, &small, NULL));
    for (size_t i = 0; i < VQ_COUNT(r); i++) {
        struct vq_http_request request = request_to(f, "/echo", &r[i]);
        assert_status(vq_http_start(small, &request, NULL, &err), i < 2 ? VQ_OK : VQ_LIMIT);
    }
    wait_flag(f->loop, &r[0].done);
    wait_flag(f->loop, &r[1].done);
    assert_int_equal(r[2].times, 0);
    vq_http_destroy(&small);
}

struct flood {
    struct fixture *f;
    int started, done, wrong, total;
};

static void start_next(struct flood *flood);

static void on_flood_done(void *ctx, const struct vq_http_response *response)
{
    struct flood *flood = ctx;
    flood->done++;
    flood->wrong += response->transport != VQ_TRANSPORT_OK || response->status != 200 ||
                    response->body.bytes != 2;
    start_next(flood);
}

static void start_next(struct flood *flood)
{
    if (flood->started < flood->total) {
        flood->started++;
        struct vq_http_request request = request_to(flood->f, "/echo", NULL);
        request.done = on_flood_done;
        request.ctx = flood;
        assert_ok(vq_http_start(flood->f->http, &request, NULL, NULL));
    }
}

/* New calls start from done functions; many handles; connections are used again. */
TEST_WITH(test_many_calls_at_once, setup, teardown)
{
    struct fixture *f = *state;
    struct flood flood = {.f = f, .total = 6000};
    for (int i = 0; i < 500; i++) {
        start_next(&flood);
    }
    assert_int_equal(vq_http_in_flight(f->http), 500);
    wait_count(f->loop, &flood.done, flood.total);
    assert_int_equal(flood.wrong, 0);
    assert_int_equal(f->server.requests, flood.total);
    assert_true(f->server.connections <= 600);
    assert_int_equal(vq_http_in_flight(f->http), 0);
}

/* ---- names ---- */

static int threads_now(void)
{
    int threads = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (fgets(line, sizeof(line), status) != NULL) {
        (void)sscanf(line, "Threads: %d", &threads);
    }
    assert_int_equal(fclose(status), 0);
    return threads;
}

struct restarter {
    struct fixture *f;
    const char *url;
    int started, done, dns, cancelled, threads_max;
};

static void start_again(struct restarter *r, struct vq_http_call **ret_call);

static void on_restarted(void *ctx, const struct vq_http_response *response)
{
    struct restarter *r = ctx;
    r->done++;
    r->dns += response->transport == VQ_TRANSPORT_DNS;
    r->cancelled += response->transport == VQ_TRANSPORT_CANCELLED;
    assert_false(response->sent);
    int threads = threads_now();
    r->threads_max = threads > r->threads_max ? threads : r->threads_max;
    if (r->started < 400) {
        start_again(r, NULL);
    }
}

static void start_again(struct restarter *r, struct vq_http_call **ret_call)
{
    r->started++;
    struct vq_http_request request = {
        .url = r->url, .body = vq_span_str("{}"), .done = on_restarted, .ctx = r};
    assert_ok(vq_http_start(r->f->http, &request, ret_call, NULL));
}

/* Many calls to one host ask for its address once; what they learn, all learn; who is cancelled
 * while it asks is followed by another. */
TEST_WITH(test_a_host_is_looked_up_by_one_call, setup, teardown)
{
    struct fixture *f = *state;
    struct restarter r = {.f = f, .url = "https://no-such-host.invalid/v1"};
    for (int i = 0; i < 500 && threads_now() > 20; i++) { /* of the server of an earlier test */
        usleep(10000);
    }
    struct vq_http_call *first, *third;
    start_again(&r, &first);
    start_again(&r, NULL);
    start_again(&r, &third);
    while (r.started < 300) {
        start_again(&r, NULL);
    }
    run_for(f->loop, 1);
    vq_http_cancel(first);
    vq_http_cancel(third);
    wait_count(f->loop, &r.done, 400);
    assert_int_equal(r.started, 400);
    assert_int_equal(r.cancelled + r.dns, 400);
    assert_in_range(r.cancelled, 1, 2);
    assert_in_range(r.threads_max, 1, 40);
    assert_int_equal(vq_http_in_flight(f->http), 0);
    /* one that is at work when the client goes */
    r.started = 399;
    start_again(&r, NULL);
    start_again(&r, NULL);
    vq_http_destroy(&f->http);
    assert_int_equal(r.done, 402);
}

TEST_WITH(test_no_memory, setup, teardown)
{
    struct fixture *f = *state;
    bool made = false;
    for (uint64_t n = 1; !made; n++) {
        struct vq_http *http = NULL;
        vq_alloc_fail_at(n);
        enum vq_status status = vq_http_create(f->loop, NULL, &http, NULL);
        vq_alloc_fail_at(0);
        made = status == VQ_OK;
        assert_true(made || (status == VQ_NOMEM && http == NULL));
        vq_http_destroy(&http);
    }
    made = false;
    for (uint64_t n = 1; !made; n++) {
        struct result r = {0};
        struct vq_http_request request = request_to(f, "/echo", &r);
        vq_alloc_fail_at(n);
        enum vq_status status = vq_http_start(f->http, &request, NULL, NULL);
        vq_alloc_fail_at(0);
        made = status == VQ_OK;
        assert_true(made || status == VQ_NOMEM);
        if (made) {
            wait_flag(f->loop, &r.done);
            assert_transport(&r, VQ_TRANSPORT_OK, true);
        }
        assert_int_equal(r.times, made ? 1 : 0);
    }
    assert_int_equal(f->server.requests, 1);
}

/* ---- TLS ---- */

static enum MHD_Result answer_tls(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_bytes, void **request)
{
    (void)url;
    (void)method;
    (void)version;
    (void)upload;
    if (*request == NULL) {
        *request = cls;
        return MHD_YES;
    }
    if (*upload_bytes > 0) {
        *upload_bytes = 0;
        return MHD_YES;
    }
    (*(int *)cls)++;
    struct MHD_Response *r =
        MHD_create_response_from_buffer(6, (void *)(uintptr_t) "secure", MHD_RESPMEM_PERSISTENT);
    enum MHD_Result queued = MHD_queue_response(connection, 200, r);
    MHD_destroy_response(r);
    return queued;
}

static char *slurp(const char *folder, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 16384);
    assert_true(fread(text, 1, 16383, file) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

TEST_WITH(test_tls_trusts_only_the_right_certificate, setup, teardown)
{
    struct fixture *f = *state;
    char folder[64], command[512], ca[128], url[64];
    test_folder(folder);
    (void)snprintf(
        command, sizeof(command),
        "cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out "
        "cert.pem -subj /CN=localhost -addext subjectAltName=DNS:localhost >/dev/null "
        "2>&1",
        folder);
    if (system(command) != 0) {
        remove_folder(folder);
        print_message("no openssl program here: skipped\n");
        skip();
    }
    char *key = slurp(folder, "key.pem"), *cert = slurp(folder, "cert.pem");
    int answered = 0;
    struct MHD_Daemon *server = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, 0, NULL, NULL, answer_tls, &answered,
        MHD_OPTION_HTTPS_MEM_KEY, key, MHD_OPTION_HTTPS_MEM_CERT, cert, MHD_OPTION_END);
    assert_non_null(server);
    int port = MHD_get_daemon_info(server, MHD_DAEMON_INFO_BIND_PORT)->port;
    struct vq_http_request request = request_to(f, "", NULL);
    (void)snprintf(url, sizeof(url), "https://localhost:%d/", port);
    request.url = url;
    struct result r = call(f, request); /* self-signed */
    assert_transport(&r, VQ_TRANSPORT_TLS, false);
    (void)snprintf(ca, sizeof(ca), "%s/cert.pem", folder);
    struct vq_http *trusting;
    struct vq_http *usual = f->http;
    assert_ok(vq_http_create(f->loop, &(struct vq_http_options){.ca_file = ca}, &trusting, NULL));
    f->http = trusting;
    r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_OK, true);
    assert_string_equal(r.body, "secure");
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%d/", port); /* another name than its own */
    r = call(f, request);
    assert_transport(&r, VQ_TRANSPORT_TLS, false);
    f->http = usual;
    vq_http_destroy(&trusting);
    MHD_stop_daemon(server);
    assert_int_equal(answered, 1);
    free(key);
    free(cert);
    remove_folder(folder);
}

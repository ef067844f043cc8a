/* Redis: addresses, and a real server that answers, refuses, hangs, dies and comes back. */
#include "net_test.h"

#include "common/base/alloc.h"
#include "common/net/redis.h"
#include "redis_toy.h"

#include <signal.h>

struct fixture {
    struct vq_loop *loop;
    struct redis_toy toy;
    struct vq_redis_address address;
    struct vq_redis *redis;
    int ups, downs;
    char why[256];
};

struct answer {
    bool done;
    int times;
    enum vq_status status;
    enum vq_redis_type type;
    int64_t integer;
    char text[256];
    size_t text_bytes;
    size_t items;
};

static void on_up(void *ctx)
{
    ((struct fixture *)ctx)->ups++;
}

static void on_down(void *ctx, const char *why)
{
    struct fixture *f = ctx;
    f->downs++;
    (void)snprintf(f->why, sizeof(f->why), "%s", why);
}

static void on_answer(void *ctx, enum vq_status status, const struct vq_redis_reply *reply)
{
    struct answer *a = ctx;
    a->done = true;
    a->times++;
    a->status = status;
    if (reply != NULL) {
        a->type = reply->type;
        a->integer = reply->integer;
        a->items = reply->items;
        a->text_bytes = reply->text.bytes;
        size_t n =
            reply->text.bytes < sizeof(a->text) - 1 ? reply->text.bytes : sizeof(a->text) - 1;
        if (n > 0) {
            memcpy(a->text, reply->text.at, n);
        }
        a->text[n] = '\0';
    }
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    *state = f;
    assert_ok(vq_loop_create(&f->loop, NULL));
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    vq_redis_destroy(&f->redis);
    vq_redis_address_destroy(&f->address);
    redis_toy_stop(&f->toy);
    vq_loop_destroy(&f->loop);
    free(f);
    return 0;
}

static void connect_to(struct fixture *f, const char *url, uint32_t deadline_ms)
{
    assert_ok(vq_redis_address_parse(url, NULL, &f->address, NULL));
    struct vq_redis_options options = {.address = &f->address,
                                       .deadline_ms = deadline_ms,
                                       .on_up = on_up,
                                       .on_down = on_down,
                                       .ctx = f};
    assert_ok(vq_redis_create(f->loop, &options, &f->redis, NULL));
    assert_false(vq_redis_is_up(f->redis));
}

/* A server, and a connection to its socket. */
static void up(struct fixture *f, uint32_t deadline_ms)
{
    if (redis_program() == NULL) {
        print_message("no redis-server here: skipped\n");
        skip();
    }
    redis_toy_start(&f->toy, f->loop, NULL);
    connect_to(f, f->toy.socket, deadline_ms);
    wait_count(f->loop, &f->ups, 1);
    assert_true(vq_redis_is_up(f->redis));
    f->downs = 0; /* attempts before the server listened */
}

static struct answer ask(struct fixture *f, const char *word, const char *a, const char *b)
{
    struct answer answer = {0};
    assert_ok(vq_redis_words(f->redis, on_answer, &answer, word, a, b, NULL));
    assert_false(answer.done); /* never from inside */
    wait_flag(f->loop, &answer.done);
    return answer;
}

TEST_WITH(test_addresses, setup, teardown)
{
    struct fixture *f = *state;
    struct vq_redis_address *a = &f->address;
    assert_ok(vq_redis_address_parse("/run/r.sock", NULL, a, NULL));
    assert_string_equal(a->unix_path, "/run/r.sock");
    assert_ok(vq_redis_address_parse("unix:///run/r.sock", NULL, a, NULL));
    assert_string_equal(a->unix_path, "/run/r.sock");
    assert_ok(vq_redis_address_parse("redis://host", NULL, a, NULL));
    assert_string_equal(a->unix_path, "");
    assert_string_equal(a->host, "host");
    assert_int_equal(a->port, 6379);
    assert_int_equal(a->db, 0);
    assert_null(a->password);
    assert_ok(vq_redis_address_parse("redis://[::1]:7000/3", NULL, a, NULL));
    assert_string_equal(a->host, "::1");
    assert_int_equal(a->port, 7000);
    assert_int_equal(a->db, 3);
    assert_ok(vq_redis_address_parse("redis://:p@ss:w/rd@host:1/", NULL, a, NULL));
    assert_string_equal(a->host, "host");
    assert_non_null(a->password);
    vq_redis_address_destroy(a);
    assert_false(a->tls);
    assert_ok(vq_redis_address_parse("rediss://:p@host:6380", "/ca.pem", a, NULL));
    assert_true(a->tls);
    assert_string_equal(a->user, "");
    assert_string_equal(a->host, "host");
    assert_int_equal(a->port, 6380);
    assert_string_equal(a->ca_file, "/ca.pem");
    vq_redis_address_destroy(a);
    assert_ok(vq_redis_address_parse("redis://judge:p:q@host", NULL, a, NULL));
    assert_string_equal(a->user, "judge");
    assert_string_equal(a->host, "host");
    vq_redis_address_destroy(a);
    const char *const bad[] = {"",
                               "host",
                               "http://host",
                               "redisx://host",
                               "rediss://",
                               "redis://",
                               "redis://:@host",
                               "redis://canary@host",
                               "redis://:canary@host:0",
                               "redis://:canary@host:65536",
                               "redis://:canary@host:1x",
                               "redis://:canary@host/x",
                               "redis://:canary@host/-1",
                               "redis://:canary@[::1",
                               "unix://relative"};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        struct vq_error err = {""};
        assert_status(vq_redis_address_parse(bad[i], NULL, a, &err), VQ_INVALID);
        assert_true(strlen(err.text) > 0);
        assert_null(strstr(err.text, "canary"));
        assert_null(a->password);
    }
    char path[200] = "unix:///";
    memset(path + 8, 'a', 120);
    assert_status(vq_redis_address_parse(path, NULL, a, NULL), VQ_LIMIT);
}

TEST_WITH(test_commands_and_replies, setup, teardown)
{
    struct fixture *f = *state;
    up(f, 0);
    struct answer a = ask(f, "SET", "k", "v");
    assert_int_equal(a.status, VQ_OK);
    assert_int_equal(a.type, VQ_REDIS_STATUS);
    assert_string_equal(a.text, "OK");
    a = ask(f, "GET", "k", NULL);
    assert_int_equal(a.type, VQ_REDIS_STRING);
    assert_string_equal(a.text, "v");
    a = ask(f, "GET", "none", NULL);
    assert_int_equal(a.type, VQ_REDIS_NIL);
    a = ask(f, "INCRBY", "n", "-41");
    assert_int_equal(a.type, VQ_REDIS_INTEGER);
    assert_int_equal(a.integer, -41);
    a = ask(f, "INCR", "k", NULL);
    assert_int_equal(a.status, VQ_OK);
    assert_int_equal(a.type, VQ_REDIS_ERROR);
    assert_contains(a.text, "not an integer");
    a = ask(f, "MGET", "k", "none");
    assert_int_equal(a.type, VQ_REDIS_ARRAY);
    assert_int_equal(a.items, 2);
    assert_ok(vq_redis_words(f->redis, NULL, NULL, "SET", "quiet", "1", NULL)); /* nobody listens */
    a = ask(f, "GET", "quiet", NULL);
    assert_string_equal(a.text, "1");
    struct vq_redis_stats stats = vq_redis_stats(f->redis);
    assert_int_equal(stats.commands, 8);
    assert_int_equal(stats.replies, 8);
    assert_int_equal(stats.pending, 0);
    assert_int_equal(f->downs, 0);
}

TEST_WITH(test_binary_arguments, setup, teardown)
{
    struct fixture *f = *state;
    up(f, 0);
    char bytes[70000];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)(i * 31);
    }
    struct answer set = {0}, strlen_answer = {0}, range = {0};
    const struct vq_span setrange[] = {vq_span_str("SETRANGE"), vq_span("k\0\r\n", 4),
                                       vq_span_str("10"), vq_span(bytes, sizeof(bytes))};
    const struct vq_span length[] = {vq_span_str("STRLEN"), vq_span("k\0\r\n", 4)};
    const struct vq_span getrange[] = {vq_span_str("GETRANGE"), vq_span("k\0\r\n", 4),
                                       vq_span_str("10"), vq_span_str("13")};
    assert_ok(vq_redis_command(f->redis, setrange, 4, on_answer, &set));
    assert_ok(vq_redis_command(f->redis, length, 2, on_answer, &strlen_answer));
    assert_ok(vq_redis_command(f->redis, getrange, 4, on_answer, &range));
    wait_flag(f->loop, &range.done);
    assert_int_equal(strlen_answer.integer, sizeof(bytes) + 10);
    assert_int_equal(range.text_bytes, 4);
    assert_memory_equal(range.text, bytes, 4);
    struct vq_span many[VQ_REDIS_ARGS_MAX + 1];
    for (size_t i = 0; i < VQ_COUNT(many); i++) {
        many[i] = vq_span_str("x");
    }
    many[0] = vq_span_str("RPUSH");
    struct answer push = {0};
    assert_status(vq_redis_command(f->redis, many, VQ_REDIS_ARGS_MAX + 1, on_answer, &push),
                  VQ_LIMIT);
    assert_status(vq_redis_command(f->redis, many, 0, on_answer, &push), VQ_LIMIT);
    assert_ok(vq_redis_command(f->redis, many, VQ_REDIS_ARGS_MAX, on_answer, &push));
    wait_flag(f->loop, &push.done);
    assert_int_equal(push.integer, VQ_REDIS_ARGS_MAX - 2);
}

struct exec_result {
    bool done;
    size_t items;
    int64_t first;
    enum vq_redis_type inner;
};

static void on_exec(void *ctx, enum vq_status status, const struct vq_redis_reply *reply)
{
    struct exec_result *r = ctx;
    assert_int_equal(status, VQ_OK);
    r->done = true;
    r->items = reply->items;
    struct vq_redis_reply first = vq_redis_reply_item(reply, 0);
    struct vq_redis_reply second = vq_redis_reply_item(reply, 1);
    r->first = first.integer;
    r->inner = second.type;
    if (second.type == VQ_REDIS_ARRAY) {
        assert_int_equal(second.items, 2);
        assert_true(vq_span_eq(vq_redis_reply_item(&second, 1).text, vq_span_str("two")));
    }
}

TEST_WITH(test_transaction_and_script, setup, teardown)
{
    struct fixture *f = *state;
    up(f, 0);
    struct exec_result r = {0};
    assert_ok(vq_redis_words(f->redis, NULL, NULL, "RPUSH", "list", "one", "two", NULL));
    assert_ok(vq_redis_words(f->redis, NULL, NULL, "MULTI", NULL));
    assert_ok(vq_redis_words(f->redis, NULL, NULL, "INCR", "n", NULL));
    assert_ok(vq_redis_words(f->redis, NULL, NULL, "LRANGE", "list", "0", "-1", NULL));
    assert_ok(vq_redis_words(f->redis, on_exec, &r, "EXEC", NULL));
    wait_flag(f->loop, &r.done);
    assert_int_equal(r.items, 2);
    assert_int_equal(r.first, 1);
    assert_int_equal(r.inner, VQ_REDIS_ARRAY);
    struct vq_redis_script script = {.text = "return KEYS[1] .. ':' .. ARGV[1] .. #ARGV"};
    const struct vq_span keys[] = {vq_span_str("key")};
    const struct vq_span args[] = {vq_span_str("a"), vq_span("b\0c", 3)};
    for (int i = 0; i < 2; i++) {
        struct answer a = {0};
        assert_ok(vq_redis_eval(f->redis, &script, keys, 1, args, 2, on_answer, &a));
        wait_flag(f->loop, &a.done);
        assert_string_equal(a.text, "key:a2");
    }
}

static void on_count(void *ctx, enum vq_status status, const struct vq_redis_reply *reply)
{
    int *count = ctx;
    if (status == VQ_OK && reply->integer == *count + 1) { /* in order */
        (*count)++;
    }
}

TEST_WITH(test_pipeline_keeps_order, setup, teardown)
{
    struct fixture *f = *state;
    up(f, 0);
    int count = 0;
    for (int i = 0; i < 20000; i++) {
        assert_ok(vq_redis_words(f->redis, on_count, &count, "INCR", "n", NULL));
    }
    wait_count(f->loop, &count, 20000);
    enum vq_status status = VQ_OK;
    uint32_t accepted = 0;
    for (; status == VQ_OK; accepted += status == VQ_OK) {
        status = vq_redis_words(f->redis, on_count, &count, "INCR", "n", NULL);
    }
    assert_int_equal(status, VQ_LIMIT);
    assert_int_equal(accepted, VQ_REDIS_PENDING_MAX);
    wait_count(f->loop, &count, 20000 + VQ_REDIS_PENDING_MAX);
}

TEST_WITH(test_nobody_listens_and_then_somebody, setup, teardown)
{
    struct fixture *f = *state;
    if (redis_program() == NULL) {
        skip();
    }
    test_folder(f->toy.folder);
    (void)snprintf(f->toy.socket, sizeof(f->toy.socket), "%s/redis.sock", f->toy.folder);
    f->toy.port = free_port();
    connect_to(f, f->toy.socket, 0);
    struct answer a = {0};
    assert_status(vq_redis_words(f->redis, on_answer, &a, "PING", NULL), VQ_UNAVAILABLE);
    wait_count(f->loop, &f->downs, 2);
    assert_contains(f->why, "No such file");
    redis_toy_start(&f->toy, f->loop, NULL);
    wait_count(f->loop, &f->ups, 1);
    assert_int_equal(a.times, 0);
    struct answer b = ask(f, "PING", NULL, NULL);
    assert_string_equal(b.text, "PONG");
}

/* Killed with commands in flight: each ends once, as unknown; then the connection comes back. */
TEST_WITH(test_server_dies_and_returns, setup, teardown)
{
    struct fixture *f = *state;
    up(f, 0);
    struct answer answers[100] = {{0}};
    assert_ok(vq_child_kill(f->toy.child, SIGSTOP, false));
    for (size_t i = 0; i < VQ_COUNT(answers); i++) {
        assert_ok(vq_redis_words(f->redis, on_answer, &answers[i], "INCR", "n", NULL));
    }
    run_for(f->loop, 50);
    redis_toy_kill(&f->toy);
    wait_count(f->loop, &f->downs, 1);
    for (size_t i = 0; i < VQ_COUNT(answers); i++) {
        assert_int_equal(answers[i].times, 1);
        assert_int_equal(answers[i].status, VQ_UNAVAILABLE);
    }
    assert_false(vq_redis_is_up(f->redis));
    redis_toy_start(&f->toy, f->loop, NULL);
    wait_count(f->loop, &f->ups, 2);
    struct answer a = ask(f, "PING", NULL, NULL);
    assert_string_equal(a.text, "PONG");
    assert_int_equal(vq_redis_stats(f->redis).connects, 2);
}

/* A server that stands still: the deadline drops the connection, everything in flight is
 * unknown. */
TEST_WITH(test_deadline, setup, teardown)
{
    struct fixture *f = *state;
    up(f, 200);
    struct answer answers[10] = {{0}};
    assert_ok(vq_child_kill(f->toy.child, SIGSTOP, false));
    for (size_t i = 0; i < VQ_COUNT(answers); i++) {
        assert_ok(vq_redis_words(f->redis, on_answer, &answers[i], "INCR", "n", NULL));
    }
    wait_count(f->loop, &f->downs, 1);
    for (size_t i = 0; i < VQ_COUNT(answers); i++) {
        assert_int_equal(answers[i].times, 1);
        assert_int_equal(answers[i].status, VQ_TIMEOUT);
    }
    assert_int_equal(vq_redis_stats(f->redis).timeouts, VQ_COUNT(answers));
    struct answer late = {0};
    assert_status(vq_redis_words(f->redis, on_answer, &late, "PING", NULL), VQ_UNAVAILABLE);
    wait_count(f->loop, &f->downs,
               2); /* connecting has the same deadline: the socket is there, the server is not */
    assert_ok(vq_child_kill(f->toy.child, SIGCONT, false));
    wait_count(f->loop, &f->ups, 2);
    struct answer a = ask(f, "PING", NULL, NULL);
    assert_string_equal(a.text, "PONG");
}

TEST_WITH(test_drop_makes_a_new_connection, setup, teardown)
{
    struct fixture *f = *state;
    up(f, 0);
    struct answer a = {0};
    assert_ok(vq_redis_words(f->redis, on_answer, &a, "BLPOP", "never", "0", NULL));
    run_for(f->loop, 20);
    vq_redis_drop(f->redis, "tired of it");
    assert_false(a.done); /* never from inside */
    assert_false(vq_redis_is_up(f->redis));
    wait_count(f->loop, &f->downs, 1);
    assert_string_equal(f->why, "tired of it");
    assert_int_equal(a.status, VQ_UNAVAILABLE);
    assert_int_equal(a.times, 1);
    wait_count(f->loop, &f->ups, 2);
}

TEST_WITH(test_destroy_ends_commands, setup, teardown)
{
    struct fixture *f = *state;
    up(f, 0);
    struct answer a = {0};
    assert_ok(vq_redis_words(f->redis, on_answer, &a, "BLPOP", "never", "0", NULL));
    vq_redis_destroy(&f->redis);
    assert_int_equal(a.times, 1);
    assert_int_equal(a.status, VQ_UNAVAILABLE);
    run_for(f->loop, 20);
    assert_int_equal(f->downs, 0);
}

TEST_WITH(test_password_and_database_over_tcp, setup, teardown)
{
    struct fixture *f = *state;
    if (redis_program() == NULL) {
        skip();
    }
    char url[128];
    redis_toy_start(&f->toy, f->loop, "open-sesame");
    (void)snprintf(url, sizeof(url), "redis://:wrong@127.0.0.1:%d/3", f->toy.port);
    connect_to(f, url, 0);
    while (strstr(f->why, "refuses") == NULL) { /* it may not listen yet */
        int before = f->downs;
        wait_count(f->loop, &f->downs, before + 1);
    }
    assert_null(strstr(f->why, "wrong@"));
    assert_int_equal(f->ups, 0);
    vq_redis_destroy(&f->redis);
    vq_redis_address_destroy(&f->address);
    /* and by a name, which is looked up */
    (void)snprintf(url, sizeof(url), "redis://:open-sesame@localhost:%d/3", f->toy.port);
    connect_to(f, url, 0);
    wait_count(f->loop, &f->ups, 1);
    assert_int_equal(ask(f, "SET", "k", "v").status, VQ_OK);
    struct answer a = ask(f, "INFO", "keyspace", NULL);
    assert_contains(a.text, "db3:keys=1");
}

TEST_WITH(test_unknown_host, setup, teardown)
{
    struct fixture *f = *state;
    connect_to(f, "redis://no-such-host.invalid", 0);
    wait_count(f->loop, &f->downs, 1);
    assert_true(strlen(f->why) > 0);
    vq_redis_destroy(&f->redis);
    connect_to(f, "redis://no-such-host.invalid", 0);
    vq_redis_destroy(&f->redis); /* while it looks the name up */
}

TEST_WITH(test_no_memory, setup, teardown)
{
    struct fixture *f = *state;
    up(f, 0);
    struct answer a = {0};
    vq_alloc_fail_at(1);
    assert_status(vq_redis_words(f->redis, on_answer, &a, "PING", NULL), VQ_NOMEM);
    vq_alloc_fail_at(0);
    a = ask(f, "PING", NULL, NULL);
    assert_int_equal(a.times, 1);
    struct vq_redis *none = NULL;
    for (uint64_t n = 1; n <= 3; n++) {
        struct vq_redis_options options = {.address = &f->address};
        vq_alloc_fail_at(n);
        assert_status(vq_redis_create(f->loop, &options, &none, NULL), VQ_NOMEM);
        vq_alloc_fail_at(0);
        assert_null(none);
    }
}

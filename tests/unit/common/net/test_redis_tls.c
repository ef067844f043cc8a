/* Redis over TLS: a real server with certificates of the test's own. A build without hiredis_ssl
 * shows only its sentence. */
#include "net_test.h"

#include "common/net/redis.h"
#include "redis_toy.h"

#include <stdlib.h>

#define PATH_BYTES 128

struct fixture {
    struct vq_loop *loop;
    struct redis_toy toy;
    struct vq_redis_address address;
    struct vq_redis *redis;
    char ca[PATH_BYTES];
    int ups, downs, answers;
    char why[256];
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
    struct fixture *f = ctx;
    if (status == VQ_OK && reply->integer == f->answers + 1) { /* in order */
        f->answers++;
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

static enum vq_status connect_to(struct fixture *f, const char *credentials, const char *ca,
                                 struct vq_error *err)
{
    char url[PATH_BYTES];
    (void)snprintf(url, sizeof(url), "rediss://%s127.0.0.1:%d", credentials,
                   f->toy.port == 0 ? 1 : f->toy.port);
    assert_ok(vq_redis_address_parse(url, ca, &f->address, NULL));
    struct vq_redis_options options = {
        .address = &f->address, .on_up = on_up, .on_down = on_down, .ctx = f};
    return vq_redis_create(f->loop, &options, &f->redis, err);
}

/* A server with a certificate for `names` that signs itself; skips where it cannot be. */
static void serve(struct fixture *f, const char *names, const char *password)
{
    struct vq_error err = {""};
    if (redis_program() == NULL || system("command -v openssl >/dev/null") != 0) {
        print_message("SKIP: TLS to Redis needs redis-server and openssl\n");
        skip();
    }
    if (connect_to(f, "", NULL, &err) == VQ_INVALID) {
        assert_contains(err.text, "built with a hiredis that has no TLS");
        assert_contains(err.text, "Debian 13");
        print_message("SKIP: this build has no TLS to Redis (hiredis_ssl)\n");
        skip();
    }
    vq_redis_destroy(&f->redis);
    char command[4 * PATH_BYTES], key[PATH_BYTES];
    redis_toy_prepare(&f->toy);
    (void)snprintf(f->ca, sizeof(f->ca), "%s/cert.pem", f->toy.folder);
    (void)snprintf(key, sizeof(key), "%s/key.pem", f->toy.folder);
    (void)snprintf(command, sizeof(command),
                   "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
                   "-subj /CN=test -addext subjectAltName=%s -keyout %s -out %s 2>/dev/null",
                   names, key, f->ca);
    assert_int_equal(system(command), 0);
    f->toy.cert = f->ca;
    f->toy.key = key;
    redis_toy_start(&f->toy, f->loop, password);
}

static void count_to(struct fixture *f, int count)
{
    f->answers = 0;
    for (int i = 0; i < count; i++) {
        assert_ok(vq_redis_words(f->redis, on_answer, f, "INCR", "n", NULL));
    }
    wait_count(f->loop, &f->answers, count);
}

TEST_WITH(test_commands_and_a_server_that_returns, setup, teardown)
{
    struct fixture *f = *state;
    serve(f, "IP:127.0.0.1", "canary");
    assert_ok(connect_to(f, ":canary@", f->ca, NULL));
    wait_count(f->loop, &f->ups, 1);
    count_to(f, 20000);
    static char big[300000];
    memset(big, 'x', sizeof(big) - 1);
    assert_ok(vq_redis_words(f->redis, NULL, NULL, "SET", "big", big, NULL));
    assert_ok(vq_redis_words(f->redis, NULL, NULL, "GET", "big", NULL));
    assert_ok(vq_redis_words(f->redis, NULL, NULL, "DEL", "n", NULL));
    count_to(f, 3);
    redis_toy_kill(&f->toy);
    wait_count(f->loop, &f->downs, 1);
    char key[PATH_BYTES];
    (void)snprintf(key, sizeof(key), "%s/key.pem", f->toy.folder);
    f->toy.key = key;
    redis_toy_start(&f->toy, f->loop, "canary");
    wait_count(f->loop, &f->ups, 2);
    count_to(f, 10);
}

static void expect_refused(struct fixture *f, const char *ca, const char *what)
{
    assert_ok(connect_to(f, ":canary@", ca, NULL));
    while (strstr(f->why, what) == NULL) { /* the server may not listen yet */
        int next = f->downs + 1;
        wait_count(f->loop, &f->downs, next);
        assert_true(next < 50);
    }
    assert_int_equal(f->ups, 0);
}

TEST_WITH(test_an_unknown_certificate_is_refused, setup, teardown)
{
    struct fixture *f = *state;
    serve(f, "IP:127.0.0.1", "canary");
    expect_refused(f, NULL, "the certificate of the server is refused: self");
}

TEST_WITH(test_the_certificate_of_another_host_is_refused, setup, teardown)
{
    struct fixture *f = *state;
    serve(f, "DNS:other.example.org,IP:127.0.0.2", "canary");
    expect_refused(f, f->ca, "the certificate of the server is refused: IP address mismatch");
}

TEST_WITH(test_a_server_without_tls_gets_no_password, setup, teardown)
{
    struct fixture *f = *state;
    serve(f, "IP:127.0.0.1", "canary");
    redis_toy_kill(&f->toy);
    f->toy.cert = NULL;
    redis_toy_start(&f->toy, f->loop, "canary");
    expect_refused(f, f->ca, "no TLS with the server");
}

TEST_WITH(test_a_missing_file_is_named, setup, teardown)
{
    struct fixture *f = *state;
    struct vq_error err = {""};
    assert_status(connect_to(f, "", "/nowhere/ca.pem", &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "/nowhere/ca.pem") != NULL ? err.text
                                                                : strstr(err.text, "no TLS"));
}

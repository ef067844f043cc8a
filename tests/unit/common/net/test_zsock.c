/* ROUTER and DEALER on the loop: who gets in, what arrives, what happens when a peer does not
 * keep up, and no stalls. */
#include "tests/unit/common/net/zsock_fixture.h"

#include <sys/resource.h>

TEST_WITH(test_frames_go_both_ways, setup, teardown)
{
    struct fixture *f = *state;
    struct client c = {0};
    join(f, &c);
    say(&c, "hello");
    wait_count(f->loop, &f->got, 1);
    assert_string_equal(f->last, "hello");
    assert_string_equal(f->sender, f->client.public_key);
    assert_null(vq_router_sender_key(f->router));
    assert_ok(vq_router_send(f->router, f->peer, vq_span_str("welcome")));
    wait_count(f->loop, &c.got, 1);
    assert_string_equal(c.last, "welcome");
    assert_ok(vq_router_send(f->router, f->peer, vq_span("", 0)));
    wait_count(f->loop, &c.got, 2);
    assert_string_equal(c.last, "");
    vq_dealer_destroy(&c.dealer);
}

TEST_WITH(test_real_port_is_told_and_taken_port_is_an_error, setup, teardown)
{
    struct fixture *f = *state;
    assert_contains(f->endpoint, "tcp://127.0.0.1:");
    assert_string_not_equal(f->endpoint, "tcp://127.0.0.1:0");
    struct vq_router *other;
    struct vq_error err = {""};
    char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX] = "untouched";
    struct vq_router_options options = {.keys = &f->server, .on_message = on_router, .ctx = f};
    assert_ok(vq_router_create(f->loop, &options, &other, NULL));
    assert_status(vq_router_bind(other, f->endpoint, endpoint, &err), VQ_EXISTS);
    assert_contains(err.text, f->endpoint);
    assert_contains(err.text, "taken");
    assert_status(vq_router_bind(other, "tcp://nonsense", endpoint, &err), VQ_INVALID);
    assert_status(vq_router_bind(other, "tcp://203.0.113.7:0", endpoint, &err), VQ_INVALID);
    assert_string_equal(endpoint, "untouched");
    vq_router_destroy(&other);
}

TEST_WITH(test_ipv6_loopback, setup, teardown)
{
    struct fixture *f = *state;
    struct client c = {0};
    if (vq_router_bind(f->router, "tcp://[::1]:0", f->endpoint, NULL) != VQ_OK) {
        print_message("no IPv6 here: skipped\n");
        skip();
    }
    join(f, &c);
    say(&c, "six");
    wait_count(f->loop, &f->got, 1);
    vq_dealer_destroy(&c.dealer);
}

TEST_WITH(test_unknown_client_key_gets_nothing, setup, teardown)
{
    struct fixture *f = *state;
    struct client stranger = {0}, friend = {0};
    struct vq_keypair keys;
    assert_ok(vq_keypair_create(&keys));
    join_with(f, &stranger, &keys, f->server.public_key);
    say(&stranger, "let me in");
    join(f, &friend);
    say(&friend, "hello");
    wait_count(f->loop, &f->got, 1);
    run_for(f->loop, 300);
    assert_int_equal(f->got, 1);
    assert_string_equal(f->last, "hello");
    assert_true(vq_router_stats(f->router).peers_refused >= 1);
    /* allowed later, it gets in when it tries again */
    assert_ok(vq_router_allow(f->router, keys.public_key));
    assert_status(vq_router_allow(f->router, keys.public_key), VQ_EXISTS);
    assert_status(vq_router_allow(f->router, "short"), VQ_INVALID);
    assert_ok(vq_dealer_reconnect(stranger.dealer, NULL));
    say(&stranger, "may I");
    wait_count(f->loop, &f->got, 2);
    assert_string_equal(f->last, "may I");
    assert_string_equal(f->sender, keys.public_key);
    vq_dealer_destroy(&stranger.dealer);
    vq_dealer_destroy(&friend.dealer);
    vq_keypair_destroy(&keys);
}

/* No ZAP handler answers, and still nobody gets in: the domain is enforced. */
TEST_WITH(test_without_a_zap_handler_nobody_gets_in, setup, teardown)
{
    struct fixture *f = *state;
    struct client early = {0}, late = {0};
    join(f, &early);
    say(&early, "early");
    wait_count(f->loop, &f->got, 1);
    vq_router_close_door(f->router);
    join(f, &late);
    say(&late, "late");
    run_for(f->loop, 300);
    assert_int_equal(f->got, 1);
    say(&early, "still here");
    wait_count(f->loop, &f->got, 2);
    assert_string_equal(f->last, "still here");
    vq_dealer_destroy(&early.dealer);
    vq_dealer_destroy(&late.dealer);
}

TEST_WITH(test_wrong_server_key_reaches_nobody, setup, teardown)
{
    struct fixture *f = *state;
    struct client c = {0};
    join_with(f, &c, &f->client, f->client.public_key);
    say(&c, "secret");
    run_for(f->loop, 300);
    assert_int_equal(f->got, 0);
    vq_dealer_destroy(&c.dealer);
}

TEST_WITH(test_peer_without_curve_gets_nothing, setup, teardown)
{
    struct fixture *f = *state;
    struct raw raw;
    raw_open(&raw, 0);
    assert_int_equal(zmq_connect(raw.socket, f->endpoint), 0);
    assert_int_equal(zmq_send(raw.socket, "plain", 5, ZMQ_DONTWAIT), 5);
    run_for(f->loop, 300);
    assert_int_equal(f->got, 0);
    raw_close(&raw);
}

TEST_WITH(test_self_chosen_routing_id_is_not_heard, setup, teardown)
{
    struct fixture *f = *state;
    struct raw raw;
    raw_open(&raw, 0);
    raw_keys(&raw, f);
    assert_int_equal(zmq_setsockopt(raw.socket, ZMQ_ROUTING_ID, "boss", 4), 0);
    assert_int_equal(zmq_connect(raw.socket, f->endpoint), 0);
    assert_int_equal(zmq_send(raw.socket, "obey", 4, 0), 4);
    struct client c = {0};
    join(f, &c);
    say(&c, "hello");
    wait_count(f->loop, &f->got, 1);
    run_for(f->loop, 200);
    assert_int_equal(f->got, 1);
    assert_string_equal(f->last, "hello");
    assert_int_equal(vq_router_stats(f->router).frames_dropped, 1);
    vq_dealer_destroy(&c.dealer);
    raw_close(&raw);
}

TEST_WITH(test_several_parts_are_no_frame, setup, teardown)
{
    struct fixture *f = *state;
    struct raw raw;
    raw_open(&raw, 0);
    raw_keys(&raw, f);
    assert_int_equal(zmq_connect(raw.socket, f->endpoint), 0);
    assert_int_equal(zmq_send(raw.socket, "a", 1, ZMQ_SNDMORE), 1);
    assert_int_equal(zmq_send(raw.socket, "b", 1, ZMQ_SNDMORE), 1);
    assert_int_equal(zmq_send(raw.socket, "c", 1, 0), 1);
    assert_int_equal(zmq_send(raw.socket, "whole", 5, 0), 5);
    wait_count(f->loop, &f->got, 1);
    assert_string_equal(f->last, "whole");
    assert_int_equal(vq_router_stats(f->router).frames_dropped, 1);
    raw_close(&raw);
}

TEST_WITH(test_unknown_and_gone_peers, setup, teardown)
{
    struct fixture *f = *state;
    struct client c = {0};
    assert_status(vq_router_send(f->router, 12345, vq_span_str("x")), VQ_NOT_FOUND);
    join(f, &c);
    say(&c, "hello");
    wait_count(f->loop, &f->got, 1);
    vq_dealer_destroy(&c.dealer);
    enum vq_status status = VQ_OK;
    for (int i = 0; i < 1000 && status == VQ_OK; i++) {
        run_for(f->loop, 5);
        status = vq_router_send(f->router, f->peer, vq_span_str("x"));
    }
    assert_int_equal(status, VQ_NOT_FOUND);
}

TEST_WITH(test_new_connection_is_a_new_peer, setup, teardown)
{
    struct fixture *f = *state;
    struct client c = {0};
    join(f, &c);
    say(&c, "one");
    wait_count(f->loop, &f->got, 1);
    uint64_t before = f->peer;
    assert_ok(vq_dealer_reconnect(c.dealer, NULL));
    say(&c, "two");
    wait_count(f->loop, &f->got, 2);
    assert_string_equal(f->last, "two");
    assert_true(f->peer != before);
    assert_ok(vq_router_send(f->router, f->peer, vq_span_str("here")));
    wait_count(f->loop, &c.got, 1);
    vq_dealer_destroy(&c.dealer);
}

/* The dealer is there first; what it said waits for a router on that very port, also for a
 * second one. */
TEST_WITH(test_dealer_waits_for_a_router_and_for_its_return, setup, teardown)
{
    struct fixture *f = *state;
    struct client c = {0};
    vq_router_destroy(&f->router);
    join(f, &c);
    say(&c, "first");
    say(&c, "second");
    run_for(f->loop, 50);
    const char *allowed[] = {f->client.public_key};
    struct vq_router_options options = {.keys = &f->server,
                                        .allowed = allowed,
                                        .allowed_count = 1,
                                        .on_message = on_router,
                                        .ctx = f};
    for (int round = 1; round <= 2; round++) {
        assert_ok(vq_router_create(f->loop, &options, &f->router, NULL));
        char endpoint[VQ_ZSOCK_ENDPOINT_BYTES_MAX];
        assert_ok(vq_router_bind(f->router, f->endpoint, endpoint, NULL));
        assert_string_equal(endpoint, f->endpoint);
        wait_count(f->loop, &f->got, 2 * round);
        assert_string_equal(f->last, "second");
        if (round == 1) {
            vq_router_destroy(&f->router);
            run_for(f->loop, 50);
            say(&c, "first");
            say(&c, "second");
        }
    }
    vq_dealer_destroy(&c.dealer);
}

/* A peer that does not read: its frames wait here up to the limit, then VQ_LIMIT; when it reads
 * again, all come in order. */
TEST_WITH(test_slow_peer, setup, teardown)
{
    struct fixture *f = *state;
    struct raw raw;
    raw_open(&raw, 0);
    raw_keys(&raw, f);
    int hwm = 100;
    assert_int_equal(zmq_setsockopt(raw.socket, ZMQ_RCVHWM, &hwm, sizeof(hwm)), 0);
    assert_int_equal(zmq_connect(raw.socket, f->endpoint), 0);
    assert_int_equal(zmq_send(raw.socket, "hello", 5, 0), 5);
    wait_count(f->loop, &f->got, 1);
    size_t bytes = 4096;
    char *frame = calloc(1, bytes);
    uint32_t sent = 0;
    enum vq_status status = VQ_OK;
    while (status == VQ_OK) {
        memcpy(frame, &sent, sizeof(sent));
        status = vq_router_send(f->router, f->peer, vq_span(frame, bytes));
        sent += status == VQ_OK;
        assert_true(sent <= 2 * VQ_ZSOCK_QUEUE_FRAMES_MAX);
    }
    assert_int_equal(status, VQ_LIMIT);
    struct vq_zsock_stats stats = vq_router_stats(f->router);
    assert_true(stats.frames_waiting > 0 && stats.frames_waiting <= VQ_ZSOCK_QUEUE_FRAMES_MAX);
    assert_true(sent >= stats.frames_waiting);
    /* others are not held up */
    struct client c = {0};
    f->echo = true;
    join(f, &c);
    say(&c, "quick");
    wait_count(f->loop, &c.got, 1);
    for (uint32_t i = 0; i < sent;) {
        uint32_t number;
        if (zmq_recv(raw.socket, frame, bytes, ZMQ_DONTWAIT) == (int)bytes) {
            memcpy(&number, frame, sizeof(number));
            assert_int_equal(number, i);
            i++;
        } else {
            run_for(f->loop, 1);
        }
    }
    assert_int_equal(vq_router_stats(f->router).frames_waiting, 0);
    vq_dealer_destroy(&c.dealer);
    raw_close(&raw);
    free(frame);
}

/* The frames that wait for a peer go when it goes. */
TEST_WITH(test_waiting_frames_go_with_their_peer, setup, teardown)
{
    struct fixture *f = *state;
    struct raw raw;
    raw_open(&raw, 0);
    raw_keys(&raw, f);
    assert_int_equal(zmq_connect(raw.socket, f->endpoint), 0);
    assert_int_equal(zmq_send(raw.socket, "hello", 5, 0), 5);
    wait_count(f->loop, &f->got, 1);
    char frame[4096] = {0};
    while (vq_router_stats(f->router).frames_waiting < 8000) {
        assert_ok(vq_router_send(f->router, f->peer, vq_span(frame, sizeof(frame))));
    }
    raw_close(&raw);
    for (int i = 0; i < 1000 && vq_router_stats(f->router).frames_waiting > 0; i++) {
        run_for(f->loop, 5);
    }
    assert_int_equal(vq_router_stats(f->router).frames_waiting, 0);
    assert_true(vq_router_stats(f->router).frames_dropped > 0);
    assert_status(vq_router_send(f->router, f->peer, vq_span_str("x")), VQ_NOT_FOUND);
}

TEST_WITH(test_large_frames_and_the_limit, setup, teardown)
{
    struct fixture *f = *state;
    struct client c = {0};
    join(f, &c);
    f->echo = true;
    char *big = malloc(VQ_ZSOCK_FRAME_BYTES_MAX + 1);
    struct vq_rng rng;
    vq_rng_seed(&rng, 7);
    for (size_t i = 0; i < VQ_ZSOCK_FRAME_BYTES_MAX; i++) {
        big[i] = (char)vq_rng_u64(&rng);
    }
    c.expected = vq_span(big, VQ_ZSOCK_FRAME_BYTES_MAX);
    assert_ok(vq_dealer_send(c.dealer, c.expected));
    wait_count(f->loop, &c.got, 1);
    assert_status(vq_dealer_send(c.dealer, vq_span(big, VQ_ZSOCK_FRAME_BYTES_MAX + 1)), VQ_LIMIT);
    assert_status(vq_router_send(f->router, f->peer, vq_span(big, VQ_ZSOCK_FRAME_BYTES_MAX + 1)),
                  VQ_LIMIT);
    vq_dealer_destroy(&c.dealer);
    free(big);
}

/* A frame over the limit costs its sender the connection, and nobody else. */
TEST_WITH(test_too_long_frame_from_a_peer, setup, teardown)
{
    struct fixture *f = *state;
    struct raw raw;
    raw_open(&raw, 0);
    raw_keys(&raw, f);
    assert_int_equal(zmq_connect(raw.socket, f->endpoint), 0);
    size_t bytes = VQ_ZSOCK_FRAME_BYTES_MAX + 4096;
    char *big = calloc(1, bytes);
    assert_int_equal(zmq_send(raw.socket, big, bytes, 0), bytes);
    struct client c = {0};
    join(f, &c);
    say(&c, "hello");
    wait_count(f->loop, &f->got, 1);
    run_for(f->loop, 300);
    assert_int_equal(f->got, 1);
    raw_close(&raw);
    vq_dealer_destroy(&c.dealer);
    free(big);
}

/* ---- strangers on the port ---- */

static int open_files(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        count++;
    }
    assert_int_equal(closedir(dir), 0);
    return count;
}

static int knock(const struct fixture *f, struct vq_span bytes)
{
    unsigned port = 0;
    assert_int_equal(sscanf(f->endpoint, "tcp://127.0.0.1:%u", &port), 1);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    if (bytes.bytes > 0) {
        assert_true(send(fd, bytes.at, bytes.bytes, MSG_NOSIGNAL) > 0);
    }
    return fd;
}

/* Garbage, half a greeting, a greeting of another mechanism, nothing at all: who may in gets in
 * meanwhile, and connections without a handshake are dropped after a while. */
TEST_WITH(test_strangers_on_the_port, setup, teardown)
{
    struct fixture *f = *state;
    enum {
        KNOCKS = 100
    };
    int fds[KNOCKS];
    struct vq_rng rng;
    vq_rng_seed(&rng, 11);
    char greeting[64] = {0};
    greeting[0] = (char)0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    memcpy(greeting + 12, "NULL", 4);
    char garbage[2000];
    for (size_t i = 0; i < sizeof(garbage); i++) {
        garbage[i] = (char)vq_rng_u64(&rng);
    }
    int before = open_files();
    for (int i = 0; i < KNOCKS; i++) {
        const struct vq_span said[] = {vq_span(garbage + i, 1900), vq_span(greeting, 10),
                                       vq_span(greeting, sizeof(greeting)), vq_span(NULL, 0),
                                       vq_span("GET / HTTP/1.1\r\n\r\n", 18)};
        fds[i] = knock(f, said[i % 5]);
    }
    struct client c = {0};
    join(f, &c);
    say(&c, "hello");
    wait_count(f->loop, &f->got, 1);
    assert_string_equal(f->last, "hello");
    vq_dealer_destroy(&c.dealer);
    for (int i = 0; i < 1000 && open_files() > before + KNOCKS; i++) {
        run_for(f->loop, 20); /* our ends stay open: the other ends must go by themselves */
    }
    assert_in_range(open_files(), before, before + KNOCKS);
    assert_int_equal(f->got, 1);
    for (int i = 0; i < KNOCKS; i++) {
        assert_int_equal(close(fds[i]), 0);
    }
}

TEST_WITH(test_no_memory, setup, teardown)
{
    struct fixture *f = *state;
    struct client c = {0};
    const char *allowed[] = {f->client.public_key};
    struct vq_router_options router = {
        .keys = &f->server, .allowed = allowed, .allowed_count = 1, .on_message = on_router};
    struct vq_dealer_options dealer = {.endpoint = f->endpoint,
                                       .server_key = f->server.public_key,
                                       .keys = &f->client,
                                       .on_message = on_dealer,
                                       .ctx = &c};
    bool made = false;
    for (uint64_t n = 1; !made; n++) {
        struct vq_router *r = NULL;
        vq_alloc_fail_at(n);
        enum vq_status status = vq_router_create(f->loop, &router, &r, NULL);
        vq_alloc_fail_at(0);
        made = status == VQ_OK;
        assert_true(made || r == NULL);
        assert_true(n < 50);
        vq_router_destroy(&r);
    }
    made = false;
    for (uint64_t n = 1; !made; n++) {
        struct vq_dealer *d = NULL;
        vq_alloc_fail_at(n);
        enum vq_status status = vq_dealer_create(f->loop, &dealer, &d, NULL);
        vq_alloc_fail_at(0);
        made = status == VQ_OK;
        assert_true(made || d == NULL);
        assert_true(n < 50);
        vq_dealer_destroy(&d);
    }
}

/* libzmq ends the process when it finds none for its threads. */
TEST_WITH(test_no_descriptors, setup, teardown)
{
    struct fixture *f = *state;
    int taken[4096];
    int n = 0;
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){200, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while ((taken[n] = dup(0)) >= 0) {
        n++;
    }
    for (int left = 0; left < 12; left++) {
        struct vq_router_options options = {.keys = &f->server, .on_message = on_router};
        struct vq_router *router = NULL;
        struct vq_error err = {""};
        assert_int_equal(vq_router_create(f->loop, &options, &router, &err), VQ_IO);
        assert_non_null(strstr(err.text, "open files"));
        (void)close(taken[--n]);
    }
    while (n > 0) {
        (void)close(taken[--n]);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

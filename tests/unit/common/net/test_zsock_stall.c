/* Frames never wait for luck: edges that a send swallows, answers from busy timers, floods. */
#include "tests/unit/common/net/zsock_fixture.h"

struct pinger {
    const struct fixture *f;
    int rounds;
    int answered;
    pthread_t thread;
};

/* Sends and waits for the answer, one at a time, in a thread of its own. */
static void *ping(void *ctx)
{
    struct pinger *p = ctx;
    struct raw raw;
    int timeout_ms = WAIT_MS;
    raw_open(&raw, 0);
    raw_keys(&raw, p->f);
    assert_int_equal(zmq_setsockopt(raw.socket, ZMQ_RCVTIMEO, &timeout_ms, sizeof(int)), 0);
    assert_int_equal(zmq_connect(raw.socket, p->f->endpoint), 0);
    char answer[16];
    for (int i = 0; i < p->rounds; i++) {
        if (zmq_send(raw.socket, "ping", 4, 0) != 4 ||
            zmq_recv(raw.socket, answer, sizeof(answer), 0) != 4) {
            break;
        }
        p->answered++;
    }
    raw_close(&raw);
    return NULL;
}

struct late_answer {
    struct fixture *f;
    uint64_t peers[4096];
    size_t count;
    int answered;
    enum late_where {
        IN_TIMER,
        IN_DEFERRED,
        IN_HOOK
    } where;
    struct vq_deferred deferred;
    struct vq_timer *timer;
};

static void answer_all(void *ctx)
{
    struct late_answer *late = ctx;
    for (size_t i = 0; i < late->count; i++) {
        assert_ok(vq_router_send(late->f->router, late->peers[i], vq_span_str("pong")));
        late->answered++;
    }
    late->count = 0;
}

static void work_and_answer(void *ctx)
{
    usleep(1500); /* meanwhile frames arrive, and the sends below swallow their edge */
    answer_all(ctx);
}

static struct late_answer *the_late;

static void on_ping(void *ctx, uint64_t peer, struct vq_span frame)
{
    (void)ctx;
    (void)frame;
    struct late_answer *late = the_late;
    late->peers[late->count++] = peer;
    if (late->where == IN_DEFERRED) {
        vq_loop_defer(late->f->loop, &late->deferred);
    } else if (late->where == IN_TIMER) {
        vq_timer_start(late->timer, 0, 0);
    }
}

static void stall_round(struct fixture *f, enum late_where where, int rounds)
{
    vq_router_destroy(&f->router);
    struct late_answer *late = calloc(1, sizeof(*late));
    the_late = late;
    late->f = f;
    late->where = where;
    late->deferred = (struct vq_deferred){.fn = answer_all, .ctx = late};
    assert_ok(vq_timer_create(f->loop, work_and_answer, late, &late->timer));
    const char *allowed[] = {f->client.public_key};
    struct vq_router_options options = {
        .keys = &f->server, .allowed = allowed, .allowed_count = 1, .on_message = on_ping};
    assert_ok(vq_router_create(f->loop, &options, &f->router, NULL));
    assert_ok(vq_router_bind(f->router, LOOPBACK, f->endpoint, NULL));
    if (where == IN_HOOK) {
        vq_loop_on_turn(f->loop, answer_all, late);
    }
    struct pinger pingers[3];
    for (size_t i = 0; i < VQ_COUNT(pingers); i++) {
        pingers[i] = (struct pinger){.f = f, .rounds = rounds};
        assert_int_equal(pthread_create(&pingers[i].thread, NULL, ping, &pingers[i]), 0);
    }
    /* nothing but frames wakes this loop: one edge lost is the end */
    wait_count(f->loop, &late->answered, (int)VQ_COUNT(pingers) * rounds);
    for (size_t i = 0; i < VQ_COUNT(pingers); i++) {
        run_for(f->loop, 1);
        assert_int_equal(pthread_join(pingers[i].thread, NULL), 0);
        assert_int_equal(pingers[i].answered, rounds);
    }
    vq_loop_on_turn(f->loop, NULL, NULL);
    vq_timer_destroy(&late->timer);
    free(late);
}

TEST_WITH(test_no_stall_when_answers_leave_from_a_busy_timer, setup, teardown)
{
    stall_round(*state, IN_TIMER, 300);
}

TEST_WITH(test_no_stall_when_answers_are_deferred, setup, teardown)
{
    stall_round(*state, IN_DEFERRED, 3000);
}

TEST_WITH(test_no_stall_when_answers_leave_from_the_hook, setup, teardown)
{
    stall_round(*state, IN_HOOK, 3000);
}

struct swallow {
    struct fixture *f;
    struct raw *speaker;
    uint64_t silent_peer;
    bool done;
};

/* A frame arrives while this runs, after the turn's drain; then a send to somebody else swallows
 * its edge. */
static void swallow_edge(void *ctx)
{
    struct swallow *s = ctx;
    if (!s->done) {
        s->done = true;
        assert_int_equal(zmq_send(s->speaker->socket, "unheard?", 8, 0), 8);
        usleep(50000);
        assert_ok(vq_router_send(s->f->router, s->silent_peer, vq_span_str("x")));
    }
}

TEST_WITH(test_edge_swallowed_by_a_send, setup, teardown)
{
    struct fixture *f = *state;
    struct raw speaker, silent; /* neither is on this loop: they cannot wake it by themselves */
    raw_open(&silent, 0);
    raw_keys(&silent, f);
    assert_int_equal(zmq_connect(silent.socket, f->endpoint), 0);
    assert_int_equal(zmq_send(silent.socket, "hello", 5, 0), 5);
    wait_count(f->loop, &f->got, 1);
    struct swallow s = {.f = f, .speaker = &speaker, .silent_peer = f->peer};
    raw_open(&speaker, 0);
    raw_keys(&speaker, f);
    assert_int_equal(zmq_connect(speaker.socket, f->endpoint), 0);
    assert_int_equal(zmq_send(speaker.socket, "hello", 5, 0), 5);
    wait_count(f->loop, &f->got, 2);
    struct vq_timer *timer;
    struct vq_deferred deferred = {.fn = swallow_edge, .ctx = &s};
    assert_ok(vq_timer_create(f->loop, swallow_edge, &s, &timer));
    vq_timer_start(timer, 20, 0);
    wait_count(f->loop, &f->got, 3); /* nothing else wakes the loop */
    assert_string_equal(f->last, "unheard?");
    s.done = false;
    vq_loop_defer(f->loop, &deferred);
    wait_count(f->loop, &f->got, 4);
    s.done = true;
    vq_loop_on_turn(f->loop, swallow_edge, &s);
    run_for(f->loop, 20);
    s.done = false;
    vq_loop_again(f->loop);
    wait_count(f->loop, &f->got, 5);
    vq_loop_on_turn(f->loop, NULL, NULL);
    vq_timer_destroy(&timer);
    raw_close(&speaker);
    raw_close(&silent);
}

/* More frames than one turn reads. */
TEST_WITH(test_flood_is_read_to_the_end, setup, teardown)
{
    struct fixture *f = *state;
    struct client c = {0};
    join(f, &c);
    f->echo = true;
    int n = 5 * VQ_ZSOCK_FRAMES_PER_TURN;
    for (int i = 0; i < n; i++) {
        say(&c, "frame");
    }
    wait_count(f->loop, &c.got, n);
    assert_int_equal(f->got, n);
    struct vq_zsock_stats stats = vq_router_stats(f->router);
    assert_int_equal(stats.frames_in, n);
    assert_int_equal(stats.frames_out, n);
    assert_int_equal(stats.bytes_in, n * 5);
    vq_dealer_destroy(&c.dealer);
}

/* The program vibeq-worker against a small coordinator and the real vibeq-offline. */
#include "desk.h"

static struct desk d;

static int setup(void **state)
{
    (void)state;
    desk_open(&d);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    desk_close(&d);
    return 0;
}

static bool all_final(void *ctx)
{
    (void)ctx;
    return d.finals == d.samples * d.judges * d.axes * 2;
}

static void run_to_the_end(void)
{
    desk_wait(&d, all_final);
    desk_pause(&d, 50);
    desk_bye(&d, VQ_BYE_DONE);
    desk_wait(&d, desk_ended);
    assert_int_equal(d.worker_exit.code, 0);
}

static void check_calls_once(void)
{
    for (uint32_t i = 0; i < d.results_count; i++) {
        char id[VQ_HEX_BYTES(VQ_ID_BYTES)];
        vq_hex(d.results[i].r.call.b, VQ_ID_BYTES, id);
        uint32_t lines = desk_lines(d.offline_log, id);
        assert_in_range(lines, 1, 2); /* its request and its answer, never two requests */
    }
}

TEST_WITH(test_a_run_from_hello_to_bye, setup, teardown)
{
    desk_offline(&d, NULL);
    d.judges = 2;
    const char *more[] = {"--spool", d.spool, "--local", "0", NULL};
    desk_worker(&d, more, NULL);
    run_to_the_end();
    assert_int_equal(d.hello.local, 0);
    assert_true(d.hello.has_spool);
    assert_int_equal(d.results_count, 80);
    for (uint32_t i = 0; i < d.results_count; i++) {
        const struct vq_result *r = &d.results[i].r;
        assert_int_equal(r->end, VQ_END_ANSWER);
        assert_int_equal(r->http_status, 200);
        assert_int_equal(r->tries, 1);
        assert_int_equal(r->cost_nano, r->tokens_in * 2000 + r->tokens_out * 8000);
        assert_true(r->tokens_reserved >= 200);
        assert_true(r->tokens_in > 50 && r->started_unix_ms > 1600000000000);
        assert_true(vq_outcome_is_vote((enum vq_outcome)r->outcome));
        /* the long one is A: shown first in order 0, second in order 1 */
        assert_int_equal(r->outcome, r->task % 2 == 0 ? VQ_OUTCOME_FIRST : VQ_OUTCOME_SECOND);
    }
    check_calls_once();
    char file[128];
    (void)snprintf(file, sizeof(file), "%s/%s", d.spool, VQ_SPOOL_FILE);
    assert_int_equal(access(file, F_OK), -1); /* everything was ACKed */
}

TEST_WITH(test_faults_are_told_apart_and_retried, setup, teardown)
{
    const char *faults[] = {"--fault", "server_error=0.1", "--fault", "rate_limit=0.1",
                            "--fault", "garbage=0.05",     "--fault", "reset=0.05",
                            "--fault", "close=0.05",       "--fault", "bad_json=0.05",
                            "--fault", "wrong_format=0.1", "--seed",  "7",
                            NULL};
    desk_offline(&d, faults);
    d.samples = 12;
    d.concurrency = 24;
    desk_worker(&d, NULL, NULL);
    desk_wait(&d, all_final);
    uint32_t ends[VQ_END__COUNT] = {0};
    uint32_t unparseable = 0;
    for (uint32_t i = 0; i < d.results_count; i++) {
        const struct vq_result *r = &d.results[i].r;
        ends[r->end]++;
        unparseable += r->outcome == VQ_OUTCOME_UNPARSEABLE ? 1 : 0;
        assert_true(r->final == (r->end == VQ_END_ANSWER)); /* 8 tries are enough for these */
        assert_true(!r->final || r->outcome == VQ_OUTCOME_UNPARSEABLE ||
                    vq_outcome_is_vote((enum vq_outcome)r->outcome));
    }
    assert_true(ends[VQ_END_PROVIDER] > 0 && ends[VQ_END_RATE] > 0 && ends[VQ_END_LOST] > 0);
    assert_true(ends[VQ_END_BAD_RESPONSE] > 0);
    assert_true(unparseable > 0); /* their repair is a lease of its own */
}

static bool some_finals(void *ctx)
{
    (void)ctx;
    return d.finals > 0;
}

TEST_WITH(test_sigterm_drains, setup, teardown)
{
    const char *slow[] = {"--latency", "300ms", NULL};
    desk_offline(&d, slow);
    d.samples = 50;
    const char *more[] = {"--spool", d.spool, NULL};
    desk_worker(&d, more, NULL);
    desk_wait(&d, some_finals);
    assert_int_equal(vq_child_kill(d.worker, SIGTERM, false), VQ_OK);
    d.hold_leases = true;
    desk_wait(&d, desk_ended);
    assert_int_equal(d.worker_exit.code, 0);
    assert_int_equal(d.byes, 1);
    assert_int_equal(d.out, 0); /* each leased task is final or was given back */
    assert_true(d.finals > 0 && d.returned > 0);
    uint32_t finals = 0;
    for (uint32_t i = 0; i < d.results_count; i++) {
        finals += d.results[i].r.final ? 1 : 0;
    }
    assert_int_equal(finals, d.results_count); /* nothing was cut off */
    check_calls_once();
}

static bool some_held(void *ctx)
{
    (void)ctx;
    return d.held_calls >= d.concurrency;
}

static bool drains(void *ctx)
{
    (void)ctx;
    return desk_lines(d.log, "draining") > 0;
}

TEST_WITH(test_a_second_signal_stops_now, setup, teardown)
{
    const char *hang[] = {"--fault", "hang_before_headers=1", NULL};
    desk_offline(&d, hang);
    const char *more[] = {"--spool", d.spool, NULL};
    desk_worker(&d, more, NULL);
    desk_wait(&d, some_held);
    assert_int_equal(vq_child_kill(d.worker, SIGINT, false), VQ_OK);
    desk_wait(&d, drains);
    desk_pause(&d, 300);
    assert_false(d.worker_ended);
    assert_int_equal(vq_child_kill(d.worker, SIGTERM, false), VQ_OK);
    desk_wait(&d, desk_ended);
    assert_int_equal(d.worker_exit.code, 4);
    struct vq_spool_held *held = NULL; /* what was in flight is unknown, and said to be */
    assert_int_equal(vq_spool_read(d.spool, &d.run, &held, NULL), VQ_OK);
    assert_int_equal(vq_spool_held_count(held), 8);
    assert_int_equal(vq_spool_held_unknown(held), 8);
    vq_spool_held_destroy(&held);
}

TEST_WITH(test_the_same_signal_at_once_is_one_request, setup, teardown)
{
    const char *slow[] = {"--latency", "700ms", NULL};
    desk_offline(&d, slow);
    desk_worker(&d, NULL, NULL);
    desk_wait(&d, some_held);
    assert_int_equal(vq_child_kill(d.worker, SIGTERM, false), VQ_OK);
    desk_pause(&d, 20);
    assert_int_equal(vq_child_kill(d.worker, SIGTERM, false), VQ_OK);
    desk_wait(&d, desk_ended);
    assert_int_equal(d.worker_exit.code, 0);
    assert_true(d.finals > 0);
    check_calls_once();
}

/* d.state/vibeq/spool/RUN, then `below`. */
static void home_path(const char *below, char ret_path[256])
{
    char uid[VQ_HEX_BYTES(VQ_ID_BYTES)];
    vq_hex(d.run.b, VQ_ID_BYTES, uid);
    (void)snprintf(ret_path, 256, "%s/vibeq/spool/%s%s", d.state, uid, below);
}

static bool eight_results(void *ctx)
{
    (void)ctx;
    return d.results_count >= 8;
}

TEST_WITH(test_a_worker_from_elsewhere_has_a_spool_by_default, setup, teardown)
{
    const char *hang[] = {"--latency", "1s", NULL};
    desk_offline(&d, hang);
    desk_worker(&d, NULL, NULL);
    desk_wait(&d, some_held);
    assert_true(d.hello.has_spool);
    char path[256];
    home_path("/0", path);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    home_path("", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(vq_child_kill(d.worker, SIGKILL, false), VQ_OK);
    desk_wait(&d, desk_ended);
    char moved[256]; /* what is left goes before what is free */
    home_path("/0", path);
    home_path("/3", moved);
    assert_int_equal(rename(path, moved), 0);
    d.hold_leases = true;
    desk_worker(&d, NULL, NULL);
    desk_wait(&d, eight_results);
    desk_pause(&d, 100);
    desk_bye(&d, VQ_BYE_DONE);
    desk_wait(&d, desk_ended);
    assert_int_equal(d.worker_exit.code, 0);
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < d.results_count; i++) {
        unknown += d.results[i].r.end == VQ_END_UNKNOWN;
    }
    assert_int_equal(unknown, 8);
    home_path("", path); /* empty, and the run is over */
    assert_int_equal(stat(path, &st), -1);
}

TEST_WITH(test_no_spool, setup, teardown)
{
    desk_offline(&d, NULL);
    const char *more[] = {"--no-spool", NULL};
    desk_worker(&d, more, NULL);
    run_to_the_end();
    assert_false(d.hello.has_spool);
    struct stat st;
    assert_int_equal(stat(d.state, &st), -1);
}

static bool many_results(void *ctx)
{
    (void)ctx;
    return d.results_count >= 20;
}

static uint32_t results_wanted;

static bool wanted_results(void *ctx)
{
    (void)ctx;
    return d.results_count >= results_wanted;
}

TEST_WITH(test_a_killed_worker_brings_its_spool_back, setup, teardown)
{
    const char *slow[] = {"--latency", "uniform:50ms:150ms", NULL};
    desk_offline(&d, slow);
    d.samples = 40;
    d.hold_acks = true;
    const char *more[] = {"--spool", d.spool, NULL};
    desk_worker(&d, more, NULL);
    desk_wait(&d, many_results);
    assert_int_equal(vq_child_kill(d.worker, SIGKILL, false), VQ_OK);
    desk_wait(&d, desk_ended);
    assert_int_equal(d.worker_exit.signal, SIGKILL);
    struct vq_spool_held *held = NULL;
    assert_int_equal(vq_spool_read(d.spool, &d.run, &held, NULL), VQ_OK);
    size_t spooled = vq_spool_held_count(held), unknown = vq_spool_held_unknown(held);
    assert_true(spooled >= 20 && unknown <= d.concurrency);
    vq_spool_held_destroy(&held);
    uint32_t before = d.results_count;
    d.hold_acks = false;
    d.hold_leases = true;
    desk_worker(&d, more, NULL);
    results_wanted = before + (uint32_t)spooled;
    desk_wait(&d, wanted_results);
    desk_pause(&d, 100);                           /* no more come */
    assert_int_equal(d.held_calls_first, spooled); /* HELD lists them */
    assert_int_equal(d.results_count - before, spooled);
    uint32_t unknowns = 0, again = 0;
    for (uint32_t i = before; i < d.results_count; i++) {
        unknowns += d.results[i].r.end == VQ_END_UNKNOWN ? 1 : 0;
        for (uint32_t j = 0; j < before; j++) {
            again += vq_id_eq(&d.results[i].r.call, &d.results[j].r.call) ? 1 : 0;
        }
    }
    assert_int_equal(unknowns, unknown);
    assert_int_equal(again, before); /* what had come before comes again, with the same ids */
    assert_int_equal(vq_child_kill(d.worker, SIGTERM, false), VQ_OK);
    desk_wait(&d, desk_ended);
    assert_int_equal(d.worker_exit.code, 0);
    /* another run's spool is refused by name */
    d.hold_acks = true;
    memset(d.final, 0, sizeof(d.final));
    memset(d.leased, 0, sizeof(d.leased));
    d.out = 0;
    d.hold_leases = false;
    results_wanted = d.results_count + 1;
    desk_worker(&d, more, NULL);
    desk_wait(&d, wanted_results);
    assert_int_equal(vq_child_kill(d.worker, SIGKILL, false), VQ_OK);
    desk_wait(&d, desk_ended);
    d.run.b[0] ^= 0xff;
    desk_join(&d);
    desk_worker(&d, more, NULL);
    desk_wait(&d, desk_ended);
    assert_int_equal(d.worker_exit.code, 2);
}

static bool one_served_the_other_without(void *ctx)
{
    (void)ctx;
    return d.finals >= 40 && d.pool_state[1] == VQ_POOL_NO_KEY && d.granted_n > 0;
}

TEST_WITH(test_keys, setup, teardown)
{
    const char *need[] = {"--require-key", NULL};
    desk_offline(&d, need);
    d.judges = 2;
    d.judge_key[0] = "env:DESK_KEY";
    d.judge_key[1] = "env:DESK_OTHER_KEY";
    const char *more[] = {"--spool", d.spool, "--local", "1", NULL};
    const char *env[] = {"DESK_KEY=sk-canary-0123456789", NULL};
    d.hold_acks = true; /* the spool keeps its records */
    desk_worker(&d, more, env);
    desk_wait(&d, one_served_the_other_without);
    assert_int_equal(d.pool_state[0], VQ_POOL_OPEN);
    assert_int_equal(d.reports[0].keys_count, 1);
    assert_int_equal(d.granted_n, 1);
    assert_int_equal(d.pool_state[1], VQ_POOL_NO_KEY); /* and the other judge is served */
    assert_non_null(strstr(d.pool_text[1], "DESK_OTHER_KEY"));
    assert_int_equal(d.finals, 40);
    char command[512];
    (void)snprintf(command, sizeof(command), "grep -r -q -a canary %s /proc/%d/cmdline", d.dir,
                   (int)vq_child_pid(d.worker));
    assert_int_not_equal(system(command),
                         0); /* not in the log, not in the spool, not in the arguments */
    (void)snprintf(command, sizeof(command), "grep -q -a canary /proc/%d/environ 2>/dev/null",
                   (int)vq_child_pid(d.worker));
    assert_int_not_equal(system(command), 0); /* and no longer in the environment */
}

static bool closed_and_given_back(void *ctx)
{
    (void)ctx;
    return d.pool_state[0] == VQ_POOL_BAD_KEY && d.results_count > 0 && d.out == 0;
}

TEST_WITH(test_a_wrong_key_closes_the_judge, setup, teardown)
{
    const char *need[] = {"--require-key=0000000000000000", NULL};
    desk_offline(&d, need);
    char key_file[96];
    (void)snprintf(key_file, sizeof(key_file), "%s/key", d.dir);
    FILE *f = fopen(key_file, "w");
    assert_non_null(f);
    (void)fputs("sk-wrong-canary\n", f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(key_file, 0600), 0);
    char option[128];
    (void)snprintf(option, sizeof(option), "first=file:%s", key_file);
    const char *more[] = {"--key", option, NULL};
    desk_worker(&d, more, NULL);
    desk_wait(&d, closed_and_given_back);
    desk_pause(&d, 100);
    assert_int_equal(d.pool_state[0], VQ_POOL_BAD_KEY);
    assert_true(strlen(d.pool_text[0]) > 0);
    assert_null(strstr(d.pool_text[0], "canary"));
    assert_int_equal(d.finals, 0); /* no task failed by it */
    assert_int_equal(d.out, 0);    /* all were given back */
    assert_in_range(d.results_count, 1, 8);
    (void)snprintf(option, sizeof(option), "grep -q canary %s", d.log);
    assert_int_not_equal(system(option), 0);
}

static bool all_final_with_one_key(void *ctx)
{
    return all_final(ctx) && d.reports[0].keys_count == 1;
}

/* One of two keys is refused: the pool goes on with the other, every task is answered, and the key
 * is left out. */
TEST_WITH(test_one_of_two_keys_is_refused, setup, teardown)
{
    const char good[] = "sk-good-0123456789";
    struct vq_secret *secret = NULL;
    uint8_t print[VQ_FINGERPRINT_BYTES];
    char option[64] = "--require-key=";
    assert_int_equal(vq_secret_from_bytes(vq_span_str(good), &secret), VQ_OK);
    vq_secret_fingerprint(secret, print);
    vq_secret_destroy(&secret);
    vq_hex(print, sizeof(print), option + strlen(option));
    const char *need[] = {option, NULL};
    desk_offline(&d, need);
    d.judge_key[0] = "env:DESK_BAD";
    d.more_key = "env:DESK_GOOD";
    const char *more[] = {"--spool", d.spool, "--local", "1", NULL};
    const char *env[] = {"DESK_BAD=sk-bad-canary-0123", "DESK_GOOD=sk-good-0123456789", NULL};
    desk_worker(&d, more, env);
    desk_wait(&d, all_final_with_one_key);
    assert_int_equal(d.pool_state[0], VQ_POOL_OPEN);
    assert_int_equal(d.reports[0].keys_count, 1);
    uint32_t refused = 0;
    for (uint32_t i = 0; i < d.results_count; i++) {
        refused += d.results[i].r.end == VQ_END_CLOSED ? 1 : 0;
        assert_true(d.results[i].r.end == VQ_END_CLOSED || d.results[i].r.tries == 1);
    }
    assert_in_range(refused, 1, 8); /* what was in flight with it, no more */
    assert_int_equal(desk_lines(d.log, "continues with 1 keys: key 1 of 2 was refused"), 1);
    assert_int_equal(desk_lines(d.log, "canary"), 0);
}

static bool all_answered(void *ctx)
{
    return all_final(ctx) && d.reports[0].answered + d.reports[1].answered >= 40;
}

/* Two pools of one judge: both are asked, as the pool wants it, and one that closes leaves its
 * tasks to the other. */
TEST_WITH(test_two_pools_of_a_judge, setup, teardown)
{
    desk_offline(&d, NULL);
    d.share = true;
    d.judge_key[1] = "env:DESK_NOT_SET";
    const char *option = "second=env:DESK_KEY";
    const char *more[] = {"--key", option, NULL};
    const char *env[] = {"DESK_KEY=sk-canary-0123456789", NULL};
    desk_worker(&d, more, env);
    desk_wait(&d, all_answered);
    assert_true(d.reports[0].answered > 0 && d.reports[1].answered > 0);
    assert_int_equal(d.reports[0].answered + d.reports[1].answered, 40);
    assert_int_equal(d.reports[0].keys_count, 0); /* it needs none */
    assert_int_equal(d.reports[1].keys_count, 1);
    check_calls_once();
}

static bool is_closed(void *ctx)
{
    (void)ctx;
    return d.credits > 0 && d.pool_state[0] != VQ_POOL_OPEN;
}

TEST_WITH(test_a_file_hint_is_not_followed_elsewhere, setup, teardown)
{
    desk_offline(&d, NULL);
    d.judge_key[0] = "file:/etc/hostname";
    desk_worker(&d, NULL, NULL); /* no --local: a worker of another machine */
    desk_wait(&d, is_closed);
    assert_int_equal(d.pool_state[0], VQ_POOL_NO_KEY);
    assert_non_null(strstr(d.pool_text[0], "--key first="));
}

/* A coordinator elsewhere chooses where a key is sent, so it must not choose which variable is
 * read. */
TEST_WITH(test_a_variable_is_not_read_elsewhere, setup, teardown)
{
    desk_offline(&d, NULL);
    d.judges = 2;
    d.judge_key[0] = "env:DESK_KEY";
    d.judge_key[1] = "env:DESK_KEY"; /* named here for the second judge's pool, and for no other */
    const char *more[] = {"--key", "second=env:DESK_KEY", NULL};
    const char *env[] = {"DESK_KEY=sk-canary-0123456789", NULL};
    desk_worker(&d, more, env);
    desk_wait(&d, is_closed);
    assert_int_equal(d.pool_state[0], VQ_POOL_NO_KEY);
    assert_string_equal(d.pool_text[0], "DESK_KEY is not allowed here; start the worker with --key "
                                        "or --allow-env");
    assert_int_equal(d.pool_state[1], VQ_POOL_OPEN);
    assert_int_equal(desk_lines(d.log, "pool first is closed here: DESK_KEY is not allowed"), 1);
    assert_int_equal(
        desk_lines(d.log, "\"key\":\"env:DESK_KEY\",\"host\":\"127.0.0.1\",\"pool\":\"second\""),
        1);
}

TEST_WITH(test_a_variable_that_is_allowed_is_read, setup, teardown)
{
    const char *need[] = {"--require-key", NULL};
    desk_offline(&d, need);
    d.judge_key[0] = "env:DESK_KEY";
    const char *more[] = {"--allow-env", "DESK_KEY", NULL};
    const char *env[] = {"DESK_KEY=sk-canary-0123456789", NULL};
    desk_worker(&d, more, env);
    desk_wait(&d, all_final);
    assert_int_equal(d.reports[0].keys_count, 1);
    assert_int_equal(
        desk_lines(d.log, "\"key\":\"env:DESK_KEY\",\"host\":\"127.0.0.1\",\"pool\":\"first\""), 1);
    assert_int_equal(desk_lines(d.log, "canary"), 0);
}

TEST_WITH(test_nothing_is_sent_in_clear_to_another_host, setup, teardown)
{
    d.base_url = "http://192.0.2.7/v1";
    desk_worker(&d, NULL, NULL);
    desk_wait(&d, is_closed);
    desk_pause(&d, 100);
    assert_int_equal(d.pool_state[0], VQ_POOL_NO_MODEL);
    assert_int_equal(d.results_count, 0);
}

TEST_WITH(test_orphans_leave_and_keep_their_results, setup, teardown)
{
    const char *slow[] = {"--latency", "1s", NULL};
    desk_offline(&d, slow);
    const char *more[] = {"--spool", d.spool, "--orphan", "4", NULL};
    desk_worker(&d, more, NULL);
    desk_wait(&d, some_held);
    d.mute = true;
    desk_wait(&d, desk_ended);
    assert_int_equal(d.worker_exit.code, 4);
    struct vq_spool_held *held = NULL;
    assert_int_equal(vq_spool_read(d.spool, &d.run, &held, NULL), VQ_OK);
    assert_true(vq_spool_held_count(held) >= d.concurrency);
    assert_int_equal(vq_spool_held_unknown(held), 0); /* the calls in flight were waited for */
    vq_spool_held_destroy(&held);
}

/* It comes back and says what it holds. */
static bool second_hello(void *ctx)
{
    (void)ctx;
    return d.hellos >= 2 && d.held_calls_first > 0;
}

TEST_WITH(test_a_coordinator_that_comes_back_is_found, setup, teardown)
{
    const char *slow[] = {"--latency", "400ms", NULL};
    desk_offline(&d, slow);
    d.samples = 20;
    const char *more[] = {"--spool", d.spool, NULL};
    desk_worker(&d, more, NULL);
    desk_wait(&d, some_held);
    vq_router_destroy(&d.router); /* gone, with everything it knew */
    desk_pause(&d, 1000);
    desk_router(&d); /* at the same address */
    desk_wait(&d, second_hello);
    run_to_the_end();
    check_calls_once(); /* nothing in flight was asked twice because of it */
}

/* Its port was taken meanwhile: the join file says where it is now. */
TEST_WITH(test_a_coordinator_that_comes_back_elsewhere_is_found, setup, teardown)
{
    const char *slow[] = {"--latency", "400ms", NULL};
    desk_offline(&d, slow);
    const char *more[] = {"--spool", d.spool, NULL};
    desk_worker(&d, more, NULL);
    desk_wait(&d, some_held);
    char before[sizeof(d.endpoint)];
    memcpy(before, d.endpoint, sizeof(before));
    vq_router_destroy(&d.router);
    d.endpoint[0] = '\0';
    do {
        vq_router_destroy(&d.router);
        desk_router(&d);
    } while (strcmp(before, d.endpoint) == 0);
    desk_join(&d);
    desk_wait(&d, second_hello);
    run_to_the_end();
    check_calls_once();
}

TEST_WITH(test_two_thousand_calls_in_flight, setup, teardown)
{
    const char *hang[] = {"--fault", "hang_before_headers=1", NULL};
    desk_offline(&d, hang);
    d.samples = 600;
    d.concurrency = 2000;
    d.total_timeout_ms = 60000;
    if (vq_loop_raise_files() < 2400) {
        print_message("SKIPPED: fewer than 2,400 open files are allowed here\n");
        skip();
    }
    desk_worker(&d, NULL, NULL);
    desk_wait(&d, some_held);
    assert_int_equal(d.held_calls, 2000);
}

static int worker_code(const char *arguments)
{
    char command[1024];
    (void)snprintf(command, sizeof(command), "%s/vibeq-worker %s > %s/out 2> %s/err", VQ_BIN_DIR,
                   arguments, d.dir, d.dir);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool said(const char *file, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", d.dir, file);
    return desk_lines(path, text) > 0;
}

TEST_WITH(test_usage, setup, teardown)
{
    char arguments[512];
    assert_int_equal(worker_code("--help"), 0);
    assert_true(said("out", "--join FILE"));
    assert_int_equal(worker_code("--version"), 0);
    assert_true(said("out", "vibeq-worker 0."));
    assert_int_equal(worker_code(""), 2);
    assert_true(said("err", "--join FILE is missing"));
    assert_int_equal(worker_code("--nonsense"), 2);
    assert_int_equal(worker_code("--join /nonexistent/join"), 2);
    assert_true(said("err", "/nonexistent/join"));
    static const struct {
        const char *option, *says;
    } bad[] = {{"--local x", "--local wants a number"},
               {"--concurrency 99999999", "--concurrency wants"},
               {"--concurrency 0", "--concurrency wants"},
               {"--orphan 0", "--orphan wants"},
               {"--key first=sk-canary-1", "never the key itself"},
               {"--key =env:X", "--key wants"},
               {"--key first=env:VQ_NOT_THERE", "VQ_NOT_THERE"},
               {"--allow-env sk-canary=1", "--allow-env wants the name"},
               {"extra", "unexpected argument"},
               {"--name ''", "--name wants"}};
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        (void)snprintf(arguments, sizeof(arguments), "--join %s %s", d.join, bad[i].option);
        assert_int_equal(worker_code(arguments), 2);
        assert_true(said("err", bad[i].says));
        assert_false(said("err", "canary"));
    }
    (void)snprintf(arguments, sizeof(arguments), "--join %s --concurrency 16000; exit $?", d.join);
    char command[1024];
    (void)snprintf(command, sizeof(command),
                   "sh -c 'ulimit -n 1000; %s/vibeq-worker --join %s --concurrency 900' 2> %s/err",
                   VQ_BIN_DIR, d.join, d.dir);
    int status = system(command);
    assert_int_equal(WEXITSTATUS(status), 2); /* more calls than files */
    assert_true(said("err", "open files"));
    assert_int_equal(chmod(d.join, 0644), 0);
    (void)snprintf(arguments, sizeof(arguments), "--join %s", d.join);
    assert_int_equal(worker_code(arguments), 2); /* others could read its key */
    assert_true(said("err", "join.cert"));
}

TEST_WITH(test_a_run_that_is_another_is_refused, setup, teardown)
{
    desk_offline(&d, NULL);
    desk_worker(&d, NULL, NULL);
    d.run.b[0] ^= 0xff; /* the coordinator at this address has another run by now */
    desk_wait(&d, desk_ended);
    assert_int_equal(d.worker_exit.code, 2);
}

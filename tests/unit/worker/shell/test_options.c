/* The command line of a worker that stays: what it takes, and what its processes get of it. */
#include "tests/unit/test.h"

#include "worker/core/work.h"
#include "worker/shell/fleet.h"

#include <string.h>

#define WORDS(...)                                                                                 \
    (char *[]){"vibeq-worker", __VA_ARGS__, NULL},                                                 \
        (int)(sizeof((char *[]){"vibeq-worker", __VA_ARGS__}) / sizeof(char *))

static enum vq_status read_words(char **argv, int argc, struct vq_worker_options *options,
                                 struct vq_error *err)
{
    *err = (struct vq_error){0};
    return vq_worker_options_read(argc, argv, options, err);
}

TEST(several_certificates_need_stay)
{
    struct vq_worker_options o;
    struct vq_error err;
    assert_int_equal(read_words(WORDS("--join", "a"), &o, &err), VQ_OK);
    assert_string_equal(o.join, "a");
    assert_int_equal(read_words(WORDS("--join", "a", "--join=b"), &o, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "--stay"));
    assert_int_equal(read_words(WORDS("--join", "a", "--join=b", "--stay"), &o, &err), VQ_OK);
    assert_int_equal(o.joins_count, 2);
    assert_string_equal(o.joins[1], "b");
    assert_int_equal(read_words(WORDS("--join", "a", "--stay", "--spool", "d"), &o, &err),
                     VQ_INVALID);
    assert_int_equal(read_words(WORDS("--join", "a", "--stay", "--local", "0"), &o, &err),
                     VQ_INVALID);
    assert_int_equal(read_words(WORDS("--join", "a", "--drain-s", "0"), &o, &err), VQ_INVALID);
    assert_int_equal(read_words(WORDS("--join", "a", "--drain-s", "25"), &o, &err), VQ_OK);
    assert_int_equal(o.drain_s, 25);
}

TEST(a_process_of_the_fleet_gets_all_but_what_is_the_fleets)
{
    static const char *const expected[] = {"vibeq-worker", "--key",    "p=env:K", "--no-spool",
                                           "--drain-s",    "20",       "--name",  "far",
                                           "--join",       "/c/x.cert"};
    const char *got[VQ_WORKER_CHILD_ARGS_MAX];
    struct vq_error err = {0};
    char *argv[] = {"vibeq-worker",
                    "--join=dir",
                    "--key",
                    "p=env:K",
                    "--stay",
                    "--no-spool",
                    "--drain-s=20",
                    "--name",
                    "far",
                    "--parent-death",
                    "--join",
                    "b",
                    NULL};
    assert_int_equal(
        vq_worker_options_of_child((int)VQ_COUNT(argv) - 1, argv, "/c/x.cert", got, &err), VQ_OK);
    for (size_t i = 0; i < VQ_COUNT(expected); i++) {
        assert_string_equal(got[i], expected[i]);
    }
    assert_null(got[VQ_COUNT(expected)]);
    struct vq_worker_options o;
    assert_int_equal(vq_worker_options_read((int)VQ_COUNT(expected), (char **)got, &o, &err),
                     VQ_OK);
    assert_false(o.stay);
    assert_string_equal(o.join, "/c/x.cert");
}

TEST(the_wait_doubles_after_failures_alone)
{
    assert_int_equal(vq_fleet_wait_ms(VQ_WORK_EXIT_DONE, 0), 500);
    uint32_t last = 0;
    for (uint32_t failures = 1; failures < 40; failures++) {
        uint32_t wait_ms = vq_fleet_wait_ms(VQ_WORK_EXIT_USAGE, failures);
        assert_true(wait_ms >= last && wait_ms >= 1000 && wait_ms <= 30000);
        last = wait_ms;
    }
    assert_int_equal(last, 30000);
}

/* `vibeq ctl` with every allocation failing in turn: what makes no sense is refused and what can be
 * done is done, whatever memory is left to say so; nothing leaks, and nobody reads a text that is
 * not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/text/log.h"
#include "coordinator/run/ctl.h"
#include "coordinator/run/parts.h"
#include "tests/unit/heap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct asked {
    const char *body;
    int http;         /* whatever fails */
    const char *says; /* where nothing failed */
};

static struct vq_run run;

static enum vq_status serve(void *ctx)
{
    const struct asked *asked = ctx;
    struct vq_buf answer;
    vq_buf_init(&answer, 1u << 16);
    int http = vq_ctl_serve(&run, vq_span_str(asked->body), &answer);
    enum vq_status status = heap.hit ? VQ_NOMEM : VQ_OK;
    assert_int_equal(http, asked->http);
    if (answer.status == VQ_OK) {
        assert_non_null(strstr(answer.at, http == 200 ? "{\"ok\":true" : "{\"ok\":false"));
        assert_non_null(strstr(answer.at, ",\"text\":\""));
        assert_null(strstr(answer.at, "(null)"));
        assert_true(status != VQ_OK || strstr(answer.at, asked->says) != NULL);
    } else { /* there is none: the door says that itself */
        assert_int_equal(answer.status, VQ_NOMEM);
    }
    vq_buf_free(&answer);
    vq_ctl_settings_free(&run.control.settings); /* what a run keeps is no leak */
    return status;
}

/* The run is one of a method: it writes results at its end. */
static enum vq_status write_nothing(void *ctx, const struct vq_run_answers *answers,
                                    bool *ret_missing, struct vq_error *err)
{
    (void)ctx, (void)answers, (void)ret_missing, (void)err;
    return VQ_OK;
}

static void commands(void **state)
{
    (void)state;
    static const struct vq_run_work work = {.write = write_nothing};
    run.work = &work;
    static const struct vq_run_options options = {.quiet = true};
    static const struct asked cases[] = {
        {"", 400, "use one of pause"},
        {"puase", 400, "'puase' is no command; use one of pause"},
        {"pause\nnow", 400, "does not take 'now'"},
        {"pool\nP\n--rpm", 400, "needs a value"},
        {"pool\nP\n--rpm\n1\n--rpm=2", 400, "given twice"},
        {"pool\nP\n--rpm=nan", 400, "must be a number"},
        {"pool", 400, "pool needs NAME"},
        {"budget\n-1", 400, "must be a number"},
        {"requeue\n--class\nall", 400, "--class is one of"},
        {"pause", 200, "paused by vibeq ctl already, since"},
        {"park\nP", 409, "the run is ending"},
    };
    char runs[] = "/tmp/vq-ctl-XXXXXX";
    struct vq_error err = {0};
    assert_non_null(mkdtemp(runs));
    assert_int_equal(vq_run_dir_create(runs, "r", &run.dir, &err), VQ_OK); /* for told.json */
    run.options = &options;
    run.coord = (struct vq_coord *)&run; /* somebody is there; nobody asks it anything */
    run.control.held = true;
    run.control.held_since_unix_ms = 1700000000000;
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct asked asked = cases[i];
        assert_true(heap_torture(asked.body, serve, &asked, false) > 0); /* the answer, at least */
    }
    run.control.held = false;
    struct asked resume = {"resume", 200, "the run is not paused"};
    assert_true(heap_torture(resume.body, serve, &resume, false) > 1);
    run.stop.finished = true;
    struct asked late = {"pause", 409, "the run is ending"};
    assert_true(heap_torture(late.body, serve, &late, false) > 0);
    vq_run_dir_close(&run.dir);
    char command[64];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", runs);
    assert_int_equal(system(command), 0);
}

/* A row of a run that knows some pools, by name. */
static void pools_by_name(void **state)
{
    (void)state;
    static struct vq_conf_use uses[2];
    static struct vq_run_pools pools;
    memset(&run, 0, sizeof(run));
    uses[0].name = "north";
    uses[1].name = "south";
    pools.uses.uses = uses;
    pools.uses.count = 2;
    run.source.pools = &pools;
    run.limits.authority = (struct vq_authority *)&run;
    static const struct vq_run_options options = {.quiet = true};
    run.options = &options;
    struct asked other = {"park\nwest", 409, "there is no pool 'west'; this run has north, south"};
    assert_true(heap_torture(other.body, serve, &other, false) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands),
        cmocka_unit_test(pools_by_name),
    };
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    vq_log_to(nowhere, VQ_LOG_ERROR, VQ_LOG_AUTO);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)close(nowhere);
    return failed;
}

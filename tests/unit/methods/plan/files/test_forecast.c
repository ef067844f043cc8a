/* A plan against what runs ask: a run over the same job is played task by task, with judges that
 * say "equal" more or less often. */
#include "tests/unit/test.h"

#include "methods/plan/files/forecast.h"

#include "common/base/rng.h"
#include "common/text/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS     400u
#define VIBES    3u
#define CELLS    ((double)ROWS * VIBES)
#define A_MINUTE (600.0 + 720.0 + 480.0) /* of the three pools */

static char folder[] = "/tmp/vq-forecast-XXXXXX";

static int setup(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    struct vq_buf csv;
    vq_buf_init(&csv, 1u << 20);
    vq_buf_puts(&csv, "question,a,b\n");
    for (unsigned i = 0; i < ROWS; i++) {
        vq_buf_printf(&csv, "what is %u?,it is number %u and no more,nothing to tell of %u\n", i,
                      i * 7, i * 13);
    }
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/d.csv", folder);
    enum vq_status status = vq_file_replace(path, vq_buf_span(&csv), 0600, NULL);
    vq_buf_free(&csv);
    return status == VQ_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/d.csv", folder);
    (void)unlink(path);
    return rmdir(folder);
}

/* One judge, whom three pools with a limit of requests serve. */
static struct vq_job *made(const char *judging)
{
    static const char night[] =
        "data: {path: d.csv, near_duplicate: 0}\nmodels: [a, b]\nmethod: vibes\nvibes:\n"
        "  - {name: V1, low: l, high: h}\n  - {name: V2, low: l, high: h}\n"
        "  - {name: V3, low: l, high: h}\n"
        "judges: [{model: m, dialect: openai, identity: one, max_tokens: 120}]\npools:\n";
    static const double rpm[] = {600, 720, 480};
    char yaml[2048];
    size_t n = (size_t)snprintf(yaml, sizeof(yaml), "%s", night);
    for (size_t i = 0; i < VQ_COUNT(rpm); i++) {
        n += (size_t)snprintf(
            yaml + n, sizeof(yaml) - n,
            "  - {name: p%zu, dialect: openai, base_url: 'https://h%zu/v1', identity: one, "
            "models: [{model: m, requests_per_minute: %.0f}]}\n",
            i, i, rpm[i]);
    }
    (void)snprintf(yaml + n, sizeof(yaml) - n, "judging: {%s}\n", judging);
    struct vq_config *config;
    struct vq_job *job;
    struct vq_error err = {0};
    enum vq_status status =
        vq_config_parse(yaml, strlen(yaml), "t.yaml", folder, NULL, 0, &config, &err);
    if (status == VQ_OK) {
        status = vq_job_create(config, NULL, &job, &err);
    }
    if (status != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return job;
}

/* What the run sends where `equal` of the first answers settle their score and `unread` of all have
 * no verdict. */
static double requests_of(const struct vq_job *job, double equal, double unread)
{
    const struct vq_plan *plan = &job->given->plan;
    struct vq_rng rng;
    vq_rng_seed(&rng, 5);
    double sent = 0;
    for (uint64_t task = 0; task < vq_grid_tasks(&plan->grid); task += 2) {
        struct vq_task_plan cell;
        vq_plan_cell(plan, task, &cell);
        bool settles = vq_rng_unit(&rng) < equal;
        unsigned asked = cell.swap == VQ_SWAP_NONE                               ? 1
                         : cell.swap == VQ_SWAP_LAZY && settles && !cell.audited ? 1
                                                                                 : 2;
        for (unsigned i = 0; i < asked; i++) {
            sent += 1 + (cell.repair && vq_rng_unit(&rng) < unread);
        }
    }
    return sent;
}

static struct vq_range requests(const struct vq_forecast *f)
{
    return vq_range_add(f->all.calls, f->all.repairs);
}

static void check(const char *judging, double equal, double unread, double late)
{
    struct vq_job *job = made(judging);
    struct vq_forecast *f;
    assert_int_equal(vq_forecast_make(job, NULL, &f, NULL), VQ_OK);
    double sent = requests_of(job, equal, unread);
    struct vq_range planned = requests(f);
    if (sent < planned.least || sent > planned.most || sent > late * planned.expected) {
        fail_msg("{%s}, %.0f %% equal: %.0f requests, planned %.0f (%.0f to %.0f)", judging,
                 equal * 100, sent, planned.expected, planned.least, planned.most);
    }
    /* the limits of the pools together make the time of them */
    assert_true(fabs(f->seconds.expected - planned.expected * 60 / A_MINUTE) < 1);
    vq_forecast_destroy(&f);
    vq_job_destroy(&job);
}

/* Whatever judges say, a run is inside the interval, and hardly longer than planned. */
TEST(a_run_takes_hardly_longer_than_planned)
{
    static const double equal[] = {0, 0.05, 0.2, 0.5, 1};
    for (size_t i = 0; i < VQ_COUNT(equal); i++) {
        check("lazy_swap: on", equal[i], 0.01, 1.05);
        check("lazy_swap: on, audit_share: 1", equal[i], 0.01, 1.02);
        check("lazy_swap: on, repair: off", equal[i], 0.01, 1.05);
        check("lazy_swap: off", equal[i], 0.01, 1.02);
        check("lazy_swap: off, pair_rule: forward", equal[i], 0.01, 1.02);
    }
}

TEST(requests_follow_from_the_configuration)
{
    static const struct {
        const char *judging;
        double expected, most;
    } rows[] = {
        {"lazy_swap: off, repair: off", 2 * CELLS, 2 * CELLS},
        {"lazy_swap: off, pair_rule: forward, repair: off", CELLS, CELLS},
        {"lazy_swap: on, audit_share: 1, repair: off", 2 * CELLS, 2 * CELLS},
        {"lazy_swap: on, audit_share: 0, repair: off", CELLS * (2 - VQ_ASSUMED_SETTLED_SHARE),
         2 * CELLS},
        {"lazy_swap: off", 2 * CELLS * (1 + VQ_ASSUMED_REPAIR_SHARE),
         2 * CELLS * (1 + VQ_ASSUMED_REPAIR_SHARE_MOST)},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        struct vq_job *job = made(rows[i].judging);
        struct vq_forecast *f;
        assert_int_equal(vq_forecast_make(job, NULL, &f, NULL), VQ_OK);
        struct vq_range planned = requests(f);
        assert_true(fabs(planned.expected - rows[i].expected) < 0.5);
        assert_true(fabs(planned.most - rows[i].most) < 0.5);
        bool assumes = (f->assumed & VQ_ASSUMED_SETTLED) != 0;
        assert_int_equal(assumes, planned.expected < planned.most && f->all.repairs.most == 0);
        vq_forecast_destroy(&f);
        vq_job_destroy(&job);
    }
}

TEST_GROUP(setup, teardown)

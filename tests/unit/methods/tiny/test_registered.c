/* A method is one folder and one row: a tiny one (method.c beside this) goes from `method: tiny` in
 * a configuration over the forecast, its script and a stage's grid to a results file, and nothing
 * of the product names it. */
#include "tests/unit/test.h"

#include "common/text/file.h"
#include "methods/files/job_work.h"
#include "methods/files/method_type.h"
#include "methods/files/results.h"
#include "methods/plan/files/forecast.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 6u

static char folder[] = "/tmp/vq-tiny-XXXXXX";

static int remove_one(const char *path, const struct stat *what, int type, struct FTW *at)
{
    (void)what;
    (void)type;
    (void)at;
    return remove(path);
}

static struct vq_job *make(void)
{
    static const char csv[] =
        "question,a,b\n1,hello,x\n2,bye,x\n3,hello,x\n4,hello,x\n5,no,x\n6,no,x\n";
    static const char yaml[] =
        "method: tiny\ndata: {path: d.csv}\nmodels: [a, b]\njudges: [offline-a, offline-b]\n";
    char path[64];
    struct vq_error err = {0};
    struct vq_config *config = NULL;
    struct vq_job *job = NULL;
    (void)snprintf(path, sizeof(path), "%s/d.csv", folder);
    assert_int_equal(vq_file_replace(path, vq_span_str(csv), 0600, NULL), VQ_OK);
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

/* What the offline judge would say: of the first judge, yes where "hello" stands. */
static void answer(const struct vq_stage_grid *grid, uint8_t *ret_outcomes)
{
    for (uint64_t t = 0; t < vq_grid_tasks(&grid->plan.grid); t++) {
        struct vq_cell cell = vq_grid_cell(&grid->plan.grid, t);
        bool hello = vq_span_eq(grid->samples[cell.sample].a, vq_span_str("hello"));
        ret_outcomes[t] = cell.order != 0 ? VQ_OUTCOME_NOT_NEEDED
                          : hello         ? VQ_OUTCOME_YES
                                          : VQ_OUTCOME_NO;
    }
}

static void ask(const struct vq_job_work *work)
{
    struct vq_error err = {0};
    const struct vq_script *script = &work->work.script;
    const struct vq_stage *stage;
    struct vq_stage_grid *grid;
    uint8_t outcomes[ROWS * 2 * 2];
    assert_int_equal(script->ops->next(script->ctx, &stage, &err), VQ_OK);
    assert_string_equal(stage->name, "greetings");
    assert_int_equal(vq_stage_grid_create(&work->work.source, stage, &grid, &err), VQ_OK);
    assert_int_equal(vq_grid_tasks(&grid->plan.grid), sizeof(outcomes));
    answer(grid, outcomes);
    assert_int_equal(script->ops->take_outcomes(script->ctx, outcomes, sizeof(outcomes), &err),
                     VQ_OK);
    vq_stage_grid_destroy(&grid);
    assert_int_equal(script->ops->next(script->ctx, &stage, &err), VQ_OK);
    assert_null(stage);
}

static void a_method_is_one_folder_and_one_row(void **state)
{
    (void)state;
    struct vq_error err = {0};
    struct vq_job *job = make();
    struct vq_job_work work = {.json = false};
    struct vq_run_dir *run;
    bool missing = true;
    assert_int_equal(vq_job_work_open(job, &work, &err), VQ_OK);
    ask(&work);
    assert_int_equal(vq_run_dir_create(folder, "t", &run, &err), VQ_OK);
    struct vq_run_answers answers = {.dir = run};
    assert_int_equal(work.work.write(work.work.ctx, &answers, &missing, &err), VQ_OK);
    assert_false(missing);
    struct vq_buf text;
    vq_buf_init(&text, 1000);
    assert_int_equal(vq_run_dir_read(run, "results/results.json", &text, &err), VQ_OK);
    assert_true(vq_span_eq(vq_buf_span(&text), vq_span_str("{\"answers\": 12, \"greet\": 6}\n")));
    vq_buf_free(&text);
    vq_run_dir_close(&run);
    vq_job_work_close(&work);
    vq_job_destroy(&job);
}

static void it_is_planned_and_refuses_what_it_has_not(void **state)
{
    (void)state;
    struct vq_error err = {0};
    struct vq_job *job = make();
    struct vq_forecast *f;
    assert_int_equal(vq_forecast_make(job, NULL, &f, &err), VQ_OK);
    assert_true(vq_range_is_exact(f->all.calls));
    assert_int_equal((int)f->all.calls.most, ROWS * 2);
    vq_forecast_destroy(&f);
    assert_int_equal(vq_job_needs_vibes(job, "vibeq compare", &err), VQ_INVALID);
    assert_non_null(strstr(
        err.text, "vibeq compare is about the rows of a data file, and this is method: tiny"));
    vq_job_destroy(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_method_is_one_folder_and_one_row),
                                       cmocka_unit_test(it_is_planned_and_refuses_what_it_has_not)};
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return failed;
}

/* A job from a configuration: the grid, who the providers are, what a run would send, what its
 * workers are told. */
#include "tests/unit/test.h"

#include "methods/plan/files/forecast.h"
#include "methods/rubric/files/job.h"

#include "common/base/alloc.h"
#include "common/text/file.h"
#include "proto/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/vq-job-XXXXXX";

static int setup(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    struct vq_buf csv;
    vq_buf_init(&csv, 1u << 20);
    vq_buf_puts(&csv, "question,a,b\n");
    for (int i = 0; i < 10; i++) {
        vq_buf_printf(&csv, "what is %d?,it is number %d and that is all,nothing much to tell %d\n",
                      i, i * 7, i * 13);
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

static enum vq_status make(const char *rest, struct vq_job **ret_job, struct vq_error *err)
{
    char yaml[2048];
    (void)snprintf(yaml, sizeof(yaml), "data: {path: d.csv}\nmodels: [a, b]\n%s", rest);
    struct vq_config *config;
    VQ_TRY(vq_config_parse(yaml, strlen(yaml), "t.yaml", folder, NULL, 0, &config, err));
    return vq_job_create(config, NULL, ret_job, err);
}

static struct vq_job *made(const char *rest)
{
    struct vq_job *job = NULL;
    struct vq_error err = {0};
    enum vq_status status = make(rest, &job, &err);
    if (status != VQ_OK) {
        print_error("%s\n", err.text);
    }
    assert_int_equal(status, VQ_OK);
    return job;
}

TEST(the_grid_is_samples_by_judges_by_vibes)
{
    struct vq_job *job = made("judges: [offline-a, offline-b]\n");
    assert_int_equal(job->given->plan.grid.samples, 10);
    assert_int_equal(job->given->plan.grid.judges, 2);
    assert_int_equal(job->given->plan.grid.vibes, 10);
    assert_true(job->needs_offline);
    assert_string_equal(job->judge_kind, "offline-lexical");
    struct vq_forecast *f;
    assert_int_equal(vq_forecast_make(job, NULL, &f, NULL), VQ_OK);
    assert_int_equal((int)f->all.calls.most, 10 * 2 * 10 * 2);
    assert_false(vq_forecast_is_remote(job, f));
    assert_true(f->all.tokens_in.expected > f->all.calls.expected * 50);
    vq_forecast_destroy(&f);
    vq_job_destroy(&job);
}

TEST(forward_asks_one_order)
{
    struct vq_job *job =
        made("judges: [offline-a]\njudging: {pair_rule: forward, lazy_swap: false}\n");
    struct vq_forecast *f;
    assert_int_equal(vq_forecast_make(job, NULL, &f, NULL), VQ_OK);
    assert_true(vq_range_is_exact(f->all.calls));
    assert_int_equal((int)f->all.calls.most, 10 * 10);
    vq_forecast_destroy(&f);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(job->given->first_order[i], 0);
    }
    vq_job_destroy(&job);
}

TEST(criteria_are_asked_in_stages_of_their_kind)
{
    struct vq_job *job = made("judges: [offline-a, offline-b]\nrating: {repeats: 3}\ncriteria:\n"
                              "- refusal\n- {name: L, kind: likert, rubric: r}\n- general\n");
    assert_null(job->dataset);
    assert_int_equal(vq_rubric_job_of(job)->data->rows_count, 10);
    assert_int_equal(job->given->kind, VQ_STAGE_BINARY); /* of the first criterion */
    assert_int_equal(job->given->plan.grid.samples, 20);
    assert_int_equal(job->given->plan.repeat, 0);
    assert_int_equal(job->given->plan.generation, 1);
    assert_int_equal(vq_job_record(job, job->given, 5), 3);
    assert_string_equal(vq_job_output(job, job->given, 5), "b");
    assert_int_equal(vq_rubric_give(job, 2, NULL), VQ_OK);
    assert_int_equal(job->given->kind, VQ_STAGE_PAIRWISE);
    assert_int_equal(vq_job_record(job, job->given, 5), 6);
    assert_null(vq_job_output(job, job->given, 5));
    struct vq_forecast *f;
    assert_int_equal(vq_forecast_make(job, NULL, &f, NULL), VQ_OK);
    assert_true(vq_range_is_exact(f->all.calls));
    assert_int_equal((int)f->all.calls.most, 10 * 2 * 3 * (2 + 2 + 2));
    assert_int_equal(f->lines_count, 3 * 3 * 2);
    vq_forecast_destroy(&f);
    struct vq_error err = {0};
    assert_int_equal(vq_job_needs_vibes(job, "vibeq compare", &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "method: judge"));
    vq_job_destroy(&job);
}

TEST(a_criterion_of_a_file_says_its_kind)
{
    static const struct {
        const char *file, *more, *what;
    } files[] = {
        {"kind: binary\nabout: a\n\nBlue?\n", "", NULL},
        {"kind: binary\nabout: a\n\nBlue?\n", ", kind: likert", "leave kind out"},
        {"kind: pairwise\nabout: a\n\nBluer?\n", "", NULL},
        {"kind: pairwise\nabout: a\n\nBluer?\n", ", human: [a, b]", "has 2 human columns"},
        {"kind: colour\nabout: a\n\nBlue?\n", "", "c.txt:1: "},
    };
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/c.txt", folder);
    for (size_t i = 0; i < VQ_COUNT(files); i++) {
        char rest[256];
        struct vq_job *job = NULL;
        struct vq_error err = {0};
        assert_int_equal(vq_file_replace(path, vq_span_str(files[i].file), 0600, NULL), VQ_OK);
        (void)snprintf(rest, sizeof(rest),
                       "judges: [offline-a]\ncriteria: [{name: Blue, file: c.txt%s}]\n",
                       files[i].more);
        enum vq_status status = make(rest, &job, &err);
        assert_int_equal(status, files[i].what == NULL ? VQ_OK : VQ_INVALID);
        if (files[i].what != NULL && strstr(err.text, files[i].what) == NULL) {
            fail_msg("%s\nwithout %s", err.text, files[i].what);
        }
        if (status == VQ_OK) {
            assert_string_equal(vq_rubric_job_of(job)->criteria[0].name, "Blue");
        }
        vq_job_destroy(&job);
    }
    (void)unlink(path);
    struct vq_job *job = NULL;
    struct vq_error err = {0};
    assert_int_equal(
        make("judges: [offline-a]\ncriteria: [{name: X, file: gone.txt}]\n", &job, &err),
        VQ_NOT_FOUND);
    assert_non_null(strstr(err.text, "gone.txt"));
}

/* Protocol 8: never a key, never the port of a server that we started ourselves. */
TEST(a_provider_is_its_host_and_path)
{
    struct vq_job *job =
        made("judges:\n"
             "  - {model: m, base_url: 'https://api.example.com/v1/', key: 'env:K'}\n"
             "  - {model: m, name: other, base_url: 'https://x/v1', identity: same}\n"
             "  - {model: offline-a}\n"
             "offline: {seed: 9}\n");
    assert_string_equal(job->given->cast->identities[0], "api.example.com/v1");
    assert_string_equal(job->given->cast->identities[1], "same");
    assert_string_equal(job->given->cast->identities[2], "offline/9");
    assert_string_equal(job->judge_kind, "mixed");
    struct vq_forecast *f;
    assert_int_equal(vq_forecast_make(job, NULL, &f, NULL), VQ_OK);
    assert_true(vq_forecast_is_remote(job, f));
    assert_false(f->all.priced);
    vq_forecast_destroy(&f);
    vq_job_destroy(&job);
}

TEST(workers_are_told_references_never_keys)
{
    assert_int_equal(setenv("VQ_TEST_JOB_KEY", "sk-canary-777", 1), 0);
    struct vq_job *job = made("judges:\n  - {model: m, base_url: 'https://api.example.com/v1', "
                              "key: 'env:VQ_TEST_JOB_KEY'}\n"
                              "  - {model: offline-a}\n");
    struct vq_buf body;
    struct vq_hash hash, again;
    assert_int_equal(vq_stage_grid_spec(job->given, "http://127.0.0.1:5/v1", &body, &hash), VQ_OK);
    assert_null(memmem(body.at, body.bytes, "sk-canary", 9));
    struct vq_decoder *decoder;
    struct vq_spec spec;
    struct vq_error err = {0};
    assert_int_equal(vq_decoder_create(&decoder), VQ_OK);
    assert_int_equal(vq_spec_decode(decoder, vq_buf_span(&body), &spec, &err), VQ_OK);
    assert_int_equal(spec.judges_count, 2);
    assert_int_equal(spec.judges[0].pools_count, 1);
    const struct vq_spec_pool *asked = &spec.pools[spec.judges[0].pools[0]];
    assert_int_equal(asked->keys_count, 1);
    assert_true(vq_span_eq(asked->keys[0], vq_span_str("env:VQ_TEST_JOB_KEY")));
    asked = &spec.pools[spec.judges[1].pools[0]];
    assert_true(vq_span_eq(asked->base_url, vq_span_str("http://127.0.0.1:5/v1")));
    assert_int_equal(spec.axes_count, 10);
    struct vq_buf other;
    assert_int_equal(vq_stage_grid_spec(job->given, "http://127.0.0.1:6/v1", &other, &again),
                     VQ_OK);
    assert_false(vq_hash_eq(&hash, &again));
    vq_buf_free(&body);
    vq_buf_free(&other);
    vq_decoder_destroy(&decoder);
    vq_job_destroy(&job);
}

/* vibeq-offline behind a pool that calls it otherwise is no model either. */
TEST(an_offline_model_under_another_name_is_known)
{
    static const struct {
        const char *as, *kind;
    } rows[] = {{"offline-a", "offline-lexical"}, {"small-2", "model"}};
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        char yaml[512];
        (void)snprintf(yaml, sizeof(yaml),
                       "judges: [{model: gpt-small, identity: one}]\npools:\n"
                       "  - {name: p, base_url: 'http://127.0.0.1:9/v1', identity: one, models: "
                       "[{model: gpt-small, as: %s}]}\n",
                       rows[i].as);
        struct vq_job *job = made(yaml);
        assert_string_equal(job->judge_kind, rows[i].kind);
        vq_job_destroy(&job);
    }
}

TEST(prices_make_dollars)
{
    struct vq_job *job =
        made("judges:\n  - {model: m, base_url: 'https://h/v1', price_input_usd: 1, "
             "price_output_usd: 10}\n");
    struct vq_forecast *f;
    assert_int_equal(vq_forecast_make(job, NULL, &f, NULL), VQ_OK);
    assert_true(f->all.priced);
    double expected = (f->all.tokens_in.expected * 1 + f->all.tokens_out.expected * 10) / 1e6;
    assert_true(f->all.usd.expected > expected * 0.999 && f->all.usd.expected < expected * 1.001);
    vq_forecast_destroy(&f);
    vq_job_destroy(&job);
}

TEST(a_missing_column_is_named)
{
    char yaml[] = "data: {path: d.csv}\nmodels: [a, c]\njudges: [offline-a]\n";
    struct vq_config *config;
    struct vq_error err = {0};
    assert_int_equal(vq_config_parse(yaml, strlen(yaml), "t.yaml", folder, NULL, 0, &config, &err),
                     VQ_OK);
    struct vq_job *job = NULL;
    assert_int_equal(vq_job_create(config, NULL, &job, &err), VQ_INVALID);
    assert_null(job);
    assert_non_null(strstr(err.text, "c"));
}

/* For verbs that ask a model about nothing: models and templates are there, data are never read. */
TEST(a_bare_job_reads_no_data)
{
    static const char yaml[] = "data: {path: nowhere.csv}\nmodels: [a, b]\njudges: [offline-a]\n";
    struct vq_config *config;
    struct vq_error err = {0};
    struct vq_job *job = NULL;
    assert_int_equal(vq_config_parse(yaml, strlen(yaml), "t.yaml", folder, NULL, 0, &config, &err),
                     VQ_OK);
    assert_int_equal(vq_job_create_bare(config, &job, &err), VQ_OK);
    assert_int_equal(job->samples_count, 0);
    assert_null(job->given);
    assert_true(job->needs_offline);
    assert_non_null(job->templates[VQ_TEMPLATE_GENERATE]);
    assert_string_equal(job->cast[VQ_ROLE_PROPOSER].judges[0].model, "offline-a");
    assert_int_equal(job->cast[VQ_ROLE_REDUCER].count, 1);
    assert_string_equal(job->cast[VQ_ROLE_EMBEDDER].judges[0].model, VQ_EMBEDDER_BUILT_IN);
    vq_job_destroy(&job);
    assert_null(job);
}

/* Roles that the method never asks are cast when a script beside the run does, once. */
TEST(the_rest_of_the_cast_comes_on_demand)
{
    struct vq_error err = {0};
    struct vq_job *job = made("judges: [{model: m, base_url: 'https://x/v1'}]\n");
    assert_false(job->needs_offline);
    assert_int_equal(job->cast[VQ_ROLE_REDUCER].count, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vq_job_add_discovery(job, &err), VQ_OK);
        assert_string_equal(job->cast[VQ_ROLE_REDUCER].judges[0].model, "m");
        assert_true(job->needs_offline); /* the built-in embedder */
    }
    vq_job_destroy(&job);
}

TEST_GROUP(setup, teardown)

/* The hash of one call of the job's first judge. */
static struct vq_hash hash_of(const struct vq_job *job)
{
    struct vq_asker asker;
    struct vq_hash hash;
    const struct vq_axis vibe = {"Tone", "cold", "warm"};
    vq_asker_init(&asker, &job->cast[VQ_ROLE_JUDGE].judges[0], job->templates[VQ_TEMPLATE_JUDGE],
                  job->templates[VQ_TEMPLATE_REPAIR]);
    vq_request_hash(&asker, &job->sample_ids[0], &vibe, 0, 0, &hash);
    return hash;
}

/* What either pool bought counts for both: a hash is the judge's, not the pool's. */
TEST(test_a_request_hash_does_not_depend_on_the_pool)
{
    static const char *const models[] = {"m", "{model: m, batch: true}",
                                         "m, {model: m, batch: {max_requests: 3}}",
                                         "{model: m, service_tier: flex}"};
    struct vq_hash first = {.b = {0}};
    for (size_t i = 0; i < VQ_COUNT(models); i++) {
        char rest[512];
        (void)snprintf(rest, sizeof(rest),
                       "judges: [m]\nvibes: ['Tone: High: warm. Low: cold.']\npools: [{name: p, "
                       "base_url: 'https://h', models: [%s]}]\n",
                       models[i]);
        struct vq_job *job = made(rest);
        struct vq_hash hash = hash_of(job);
        first = i == 0 ? hash : first;
        assert_memory_equal(&hash, &first, sizeof(hash));
        vq_job_destroy(&job);
    }
    struct vq_job *other = made("judges: [n]\nvibes: ['Tone: High: warm. Low: cold.']\npools: "
                                "[{name: p, base_url: 'https://h', models: [n]}]\n");
    struct vq_hash hash = hash_of(other);
    assert_memory_not_equal(&hash, &first, sizeof(hash));
    vq_job_destroy(&other);
}

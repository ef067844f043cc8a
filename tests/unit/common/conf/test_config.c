/* Configurations: defaults, shorthand, overrides, every kind of refusal with its place, and the way
 * out and in again. */
#include "common/base/alloc.h"
#include "common/text/file.h"
#include "tests/unit/common/conf/parsing.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MINIMAL "data: data.csv\nmodels: [a, b]\njudges: [offline-a, offline-b]\n"

static enum vq_status parse_with(const char *yaml, const char *const *overrides, size_t n,
                                 struct vq_config **ret_config, struct vq_error *err)
{
    return vq_config_parse(yaml, strlen(yaml), "run.yaml", "/base", overrides, n, ret_config, err);
}

TEST(test_defaults_are_filled_in)
{
    struct vq_config *c = must_parse(MINIMAL);
    assert_string_equal(c->file, "run.yaml");
    assert_null(c->name);
    assert_string_equal(c->data.path, "data.csv");
    assert_string_equal(c->data.path_abs, "/base/data.csv");
    assert_null(c->data.test_path_abs);
    assert_string_equal(c->data.format, "auto");
    assert_null(c->data.prompt);
    assert_true(c->data.test_share == 0.5);
    assert_int_equal(c->data.near_duplicate, 80);
    assert_int_equal(c->data.ties, VQ_TIES_KEEP);
    assert_string_equal(c->models[0], "a");
    assert_string_equal(c->models[1], "b");
    assert_int_equal(c->method, VQ_METHOD_PRESET);
    assert_int_equal(c->vibes_count, 0);
    assert_int_equal(c->judges_count, 2);
    const struct vq_conf_judge *j = &c->judges[1];
    assert_string_equal(j->model, "offline-b");
    assert_string_equal(j->name, "offline-b");
    assert_string_equal(j->dialect, "openai");
    assert_null(j->base_url);
    assert_null(j->key);
    assert_true(j->temperature == 0 && j->send_temperature);
    assert_int_equal(j->max_tokens, 600);
    assert_int_equal(c->judging.form, VQ_FORM_CHOOSE);
    assert_string_equal(j->max_tokens_field, "max_tokens");
    assert_int_equal(j->seed, -1);
    assert_true(j->limits.price_input_usd == -1 && j->limits.price_output_usd == -1);
    assert_int_equal(j->connect_timeout_ms, 10000);
    assert_int_equal(j->first_byte_timeout_ms, 120000);
    assert_int_equal(j->total_timeout_ms, 300000);
    assert_int_equal(c->judging.pair_rule, VQ_PAIR_STRICT);
    assert_true(c->judging.lazy_swap && c->judging.repair && !c->judging.truncate);
    assert_true(c->judging.audit_share == 0.1);
    assert_int_equal(c->judging.tries_max, 6);
    assert_true(c->gates.separability_min == 0.05 && c->gates.kappa_min == 0.2 && c->gates.kappa);
    assert_int_equal(c->gates.separability, VQ_GATE_POINT);
    assert_int_equal(c->gates.preference, VQ_GATE_SEP_ONLY);
    assert_int_equal(c->gates.overlap, VQ_CONF_OVERLAP_OFF);
    assert_true(c->gates.overlap_max == 0.8);
    assert_int_equal(c->regression.bootstrap_draws, 1000);
    assert_int_equal(c->regression.cv, VQ_CV_LOG_LOSS);
    assert_int_equal(c->regression.p_values, VQ_P_VALUES_BOOTSTRAP);
    assert_false(c->regression.standardise);
    assert_int_equal(c->seed, 42);
    assert_int_equal(c->workers, 2);
    assert_int_equal(c->term_ms, 30000);
    assert_int_equal(c->orphan_s, 3600);
    vq_config_destroy(&c);
    assert_null(c);
}

TEST(test_defaults_that_depend_on_other_keys)
{
    struct vq_config *c = must_parse(MINIMAL "judging: {pair_rule: lenient}\n");
    assert_false(c->judging.lazy_swap);
    vq_config_destroy(&c);
    c = must_parse(MINIMAL "judging: {vibes_per_call: 5}\n");
    assert_int_equal(c->judging.vibes_per_call, 5);
    assert_false(c->judging.lazy_swap);
    assert_int_equal(c->judges[0].max_tokens, 300 + 150 * 5);
    vq_config_destroy(&c);
    c = must_parse(MINIMAL "vibes: [{name: Tone, low: cold, high: warm}]\n");
    assert_int_equal(c->method, VQ_METHOD_VIBES);
    assert_int_equal(c->gates.overlap, VQ_CONF_OVERLAP_PEARSON);
    vq_config_destroy(&c);
    c = must_parse(MINIMAL "gates: {overlap: pearson}\njudging:\n");
    assert_int_equal(c->gates.overlap, VQ_CONF_OVERLAP_PEARSON);
    assert_true(
        c->judging.lazy_swap); /* a section without a value is a section that was not given */
    vq_config_destroy(&c);
}

/* The values of the paper's data sets, under keys that stay free to be set. */
TEST(test_paper_presets)
{
    static const struct {
        const char *name;
        uint32_t d, batch, iterations;
    } papers[] = {{"paper-hc3", 40, 5, 3},
                  {"paper-arena", 20, 5, 3},
                  {"paper-cnndm", 20, 2, 3},
                  {"paper-math", 20, 5, 1},
                  {"paper-coco", 20, 5, 1}};
    for (size_t i = 0; i < VQ_COUNT(papers); i++) {
        char yaml[256];
        (void)snprintf(yaml, sizeof(yaml), MINIMAL "vibecheck: {preset: %s}\n", papers[i].name);
        struct vq_config *c = must_parse(yaml);
        const struct vq_conf_vibecheck *v = &c->vibecheck;
        assert_int_equal(c->method, VQ_METHOD_DISCOVER);
        assert_int_equal(v->d, papers[i].d);
        assert_int_equal(v->batch, papers[i].batch);
        assert_int_equal(v->iterations, papers[i].iterations);
        assert_int_equal(v->num_eval_vibes, 10);
        assert_int_equal(v->num_final_vibes, 10);
        assert_int_equal(v->k, 20);
        assert_int_equal(c->data.ties, VQ_TIES_DROP_ALL);
        assert_int_equal(c->gates.overlap, VQ_CONF_OVERLAP_PEARSON);
        assert_int_equal(c->regression.cv, VQ_CV_PAPER);
        vq_config_destroy(&c);
    }
    struct vq_config *c = must_parse(MINIMAL "vibecheck: {preset: paper-hc3, d: 7, K: 5}\n");
    assert_int_equal(c->vibecheck.d, 7);
    assert_int_equal(c->vibecheck.k, 5);
    assert_int_equal(c->vibecheck.batch, 5);
    vq_config_destroy(&c);
}

TEST(test_axes_in_one_line)
{
    struct vq_config *c =
        must_parse(MINIMAL "vibes:\n"
                           "  - \"Formality: High: formal, polished. Low: casual.\"\n"
                           "  - \"Length: Low: short; High: long: very\"\n"
                           "  - {name: Tone, high: warm, low: \"cold:\\nvery\"}\n");
    assert_int_equal(c->vibes_count, 3);
    assert_string_equal(c->vibes[0].name, "Formality");
    assert_string_equal(c->vibes[0].high, "formal, polished");
    assert_string_equal(c->vibes[0].low, "casual");
    assert_string_equal(c->vibes[1].name, "Length");
    assert_string_equal(c->vibes[1].low, "short");
    assert_string_equal(c->vibes[1].high, "long: very");
    assert_string_equal(c->vibes[2].low, "cold:\nvery");
    vq_config_destroy(&c);
}

TEST(test_a_property_is_an_axis_with_one_side)
{
    struct vq_config *c =
        must_parse(MINIMAL "vibes:\n"
                           "  - {name: Lists, property: uses bullet points}\n"
                           "  - {name: Tone, low: cold, high: warm, property: }\n");
    assert_int_equal(c->method, VQ_METHOD_VIBES);
    assert_int_equal(c->vibes_count, 2);
    assert_string_equal(c->vibes[0].name, "Lists");
    assert_string_equal(c->vibes[0].high, "uses bullet points");
    assert_string_equal(c->vibes[0].low, VQ_PROPERTY_LOW);
    assert_null(c->vibes[0].property);
    assert_string_equal(c->vibes[1].low, "cold");
    assert_null(c->vibes[1].property);
    char *yaml = NULL;
    size_t bytes = 0;
    assert_int_equal(vq_config_write(c, &yaml, &bytes), VQ_OK);
    struct vq_config *again = must_parse(yaml);
    assert_string_equal(again->vibes[0].high, "uses bullet points");
    assert_string_equal(again->vibes[0].low, VQ_PROPERTY_LOW);
    vq_free(yaml);
    vq_config_destroy(&again);
    vq_config_destroy(&c);
}

TEST(test_overrides)
{
    const char *const overrides[] = {
        "data.prompt=the prompt",
        "judges[0].model=m1",
        "judges[0].base_url=http://127.0.0.1:8080/v1",
        "judges[2]=offline-c",
        "judging.tries_max=3",
        "models=[\"x, y\", z]",
        "gates.overlap=cosine",
        "name=r-1",
        "redis=unix:///tmp/r.sock",
        "judging.pair_rule=forward",
        "seed=18446744073709551615",
        "judges[2].key=env:MY_KEY",
        "judges[2].seed=9223372036854775807",
    };
    struct vq_config *c = NULL;
    struct vq_error err;
    assert_int_equal(parse_with(MINIMAL, overrides, VQ_COUNT(overrides), &c, &err), VQ_OK);
    assert_string_equal(c->data.path, "data.csv");
    assert_string_equal(c->data.prompt, "the prompt");
    assert_int_equal(c->judges_count, 3);
    assert_string_equal(c->judges[0].model, "m1");
    assert_string_equal(c->judges[0].name, "m1");
    assert_string_equal(c->judges[2].model, "offline-c");
    assert_string_equal(c->judges[2].key, "env:MY_KEY");
    assert_int_equal(c->judges[2].seed, INT64_MAX);
    assert_int_equal(c->judging.tries_max, 3);
    assert_string_equal(c->models[0], "x, y");
    assert_string_equal(c->redis_url, "unix:///tmp/r.sock");
    assert_false(c->judging.lazy_swap);
    assert_true(c->seed == UINT64_MAX);
    vq_config_destroy(&c);

    const char *const from_nothing[] = {"data.path=/d.jsonl", "models[0]=a", "models[1]=b",
                                        "judges[0].model=offline-a"};
    assert_int_equal(parse_with("", from_nothing, 4, &c, &err), VQ_OK);
    assert_string_equal(c->data.path_abs, "/d.jsonl");
    vq_config_destroy(&c);
}

/* Each refusal: what is written, and the parts its sentence must hold. */
struct refusal {
    const char *yaml;
    const char *override; /* or NULL */
    const char *says[3];
};

static const struct refusal refusals[] = {
    {MINIMAL "judgin:\n  repair: on\n", NULL, {"line 4, column 1", "\"judgin\"", "\"judging\""}},
    {MINIMAL "judging:\n  reapir: on\n", NULL, {"line 5, column 3, judging", "\"repair\"", ""}},
    {MINIMAL "judging: {zzzzzz: 1}\n", NULL, {"unknown key", "known here: pair_rule", ""}},
    {MINIMAL "judging:\n  tries_max: many\n",
     NULL,
     {"line 5, column 3, judging.tries_max", "1 to 100", "\"many\""}},
    {MINIMAL "judging: {tries_max: 0}\n", NULL, {"judging.tries_max", "1 to 100", ""}},
    {MINIMAL "judging: {tries_max: -1}\n", NULL, {"judging.tries_max", "not \"-1\"", ""}},
    {MINIMAL "judging: {tries_max: 99999999999999999999}\n", NULL, {"judging.tries_max", "", ""}},
    {MINIMAL "judging: {tries_max: 1.5}\n", NULL, {"whole number", "", ""}},
    {MINIMAL "judging: {audit_share: 1.5}\n", NULL, {"from 0 to 1", "", ""}},
    {MINIMAL "judging: {audit_share: nan}\n", NULL, {"from 0 to 1", "", ""}},
    {MINIMAL "judging: {audit_share: 0x1}\n", NULL, {"from 0 to 1", "", ""}},
    {MINIMAL "judging: {repair: maybe}\n", NULL, {"on or off", "", ""}},
    {MINIMAL "judging: {pair_rule: strickt}\n",
     NULL,
     {"strict|lenient|forward", "did you mean strict?", ""}},
    {MINIMAL "judging: {pair_rule: [strict]}\n", NULL, {"single value", "", ""}},
    {MINIMAL "judging: 3\n", NULL, {"map of keys", "", ""}},
    {MINIMAL "judging:\n  pair_rule: lenient\n  lazy_swap: on\n",
     NULL,
     {"line 6, column 3, judging.lazy_swap", "strict", "lenient"}},
    {MINIMAL "judging: {vibes_per_call: 2, lazy_swap: on}\n",
     NULL,
     {"judging.lazy_swap", "vibes_per_call: 2", ""}},
    {MINIMAL "judging: {vibes_per_call: 2, truncate: on}\n", NULL, {"judging.truncate", "", ""}},
    {MINIMAL "judging: {vibes_per_call: 2, retest: 0.1}\n", NULL, {"judging.retest", "", ""}},
    {MINIMAL "judging: {vibes_per_call: 0}\n", NULL, {"from 1 to 20", "", ""}},
    {MINIMAL "judging: {invalid: drop}\n", NULL, {"missing|drop_row", "", ""}},
    {MINIMAL "judging: {pair_rule: forward, lazy_swap: on}\n", NULL, {"lazy_swap", "forward", ""}},
    {MINIMAL "regression: {estimator: legacy_bootstrap, bootstrap_draws: 0}\n",
     NULL,
     {"bootstrap_draws", "legacy_bootstrap", ""}},
    {MINIMAL "data: other.csv\n", NULL, {"line 4, column 1", "\"data\"", "twice"}},
    {MINIMAL "seed: &x 4\n", NULL, {"line 4", "anchors", ""}},
    {MINIMAL "seed: *x\n", NULL, {"aliases", "", ""}},
    {MINIMAL "---\nseed: 4\n", NULL, {"second document", "", ""}},
    {MINIMAL "vibes:\n- Tone: High: warm Low: cold\n", NULL, {"line 5", "in quotes", ""}},
    {MINIMAL "vibes: [\"Tone: warm\"]\n", NULL, {"line 4", "High:", ""}},
    {MINIMAL "vibes: [\"Lists: uses bullet points\"]\n",
     NULL,
     {"line 4", "High:", "name and property"}},
    {MINIMAL "vibes: [{name: T, low: a}]\n", NULL, {"line 4", "low and high", "property alone"}},
    {MINIMAL "vibes: [{name: T, property: a, high: b}]\n",
     NULL,
     {"line 4", "leave out one of them", ""}},
    {MINIMAL "vibes: [{name: T, property: a, low: b, high: c}]\n",
     NULL,
     {"line 4", "property", ""}},
    {MINIMAL "vibes: [{name: T, property: ''}]\n", NULL, {"line 4", "low and high", ""}},
    {MINIMAL "vibes: [{name: T, property: [a]}]\n", NULL, {"line 4", "property", ""}},
    {MINIMAL "vibes: [{property: a}]\n", NULL, {"line 4", "needs a name", ""}},
    {MINIMAL "vibes: [{name: T, low: a, high: b}, {name: t, low: a, high: b}]\n",
     NULL,
     {"vibes[1]", "already", ""}},
    {MINIMAL "method: vibes\n", NULL, {"line 4", "needs a list", ""}},
    {MINIMAL "method: preset\nvibes: [{name: T, low: a, high: b}]\n",
     NULL,
     {"line 4", "built-in", ""}},
    {MINIMAL "data: {}\n\tseed: 1", NULL, {"line", "", ""}},
    {"\xff\xfe\xff", NULL, {"run.yaml", "UTF-8", ""}},
    {MINIMAL "name: a/b\n", NULL, {"line 4, column 1, name", "folder", ""}},
    {MINIMAL "name: ..\n", NULL, {"name", "folder", ""}},
    {MINIMAL "redis: http://x\n", NULL, {"redis.url", "unix:///PATH", ""}},
    {MINIMAL "redis: {ca_file: ca.pem}\n", NULL, {"redis.ca_file", "needs redis.url", ""}},
    {MINIMAL "redis: {url: 'redis://h', ca_file: c}\n", NULL, {"ca_file", "rediss://", ""}},
    {"models: [a, b]\njudges: [offline-a]\n", NULL, {"data.path", "missing", ""}},
    {"data: d.csv\njudges: [offline-a]\n", NULL, {"models", "missing", ""}},
    {"data: d.csv\nmodels: [a]\njudges: [offline-a]\n", NULL, {"line 2", "must be two", ""}},
    {"data: d.csv\nmodels: [a, a]\njudges: [offline-a]\n",
     NULL,
     {"line 2", "both models are \"a\"", ""}},
    {"data: d.csv\nmodels: [a, \"\"]\njudges: [offline-a]\n", NULL, {"models[1]", "column", ""}},
    {"data: {path: d.csv, prompt: a}\nmodels: [a, b]\njudges: [offline-a]\n",
     NULL,
     {"line 1", "data.prompt", "also a model"}},
    {"data: {path: d.csv, prompt: p, group: p}\nmodels: [a, b]\njudges: [offline-a]\n",
     NULL,
     {"data.group", "already data.prompt", ""}},
    {"data: d.csv\nmodels: [a, b]\n", NULL, {"judges", "missing", ""}},
    {"data: d.csv\nmodels: [a, b]\njudges: []\n", NULL, {"line 3", "judges", "at least one"}},
    {"data: d.csv\nmodels: [a, b]\njudges: [offline-a, offline-a]\n",
     NULL,
     {"line 3", "judges[1]", "own name"}},
    {"data: d.csv\nmodels: [a, b]\njudges: [gpt]\n",
     NULL,
     {"judges[0].base_url", "\"gpt\" needs base_url", ""}},
    {"data: d.csv\nmodels: [a, b]\njudges: [{model: m, dialect: cohere}]\n",
     NULL,
     {"judges[0].dialect", "openai", "gemini"}},
    {"data: d.csv\nmodels: [a, b]\njudges: [{model: offline-a, dialect: gemini}]\n",
     NULL,
     {"judges[0].base_url", "gemini", "address"}},
    {"data: d.csv\nmodels: [a, b]\njudges: [{model: m, dialect: azure, base_url: 'https://h'}]\n",
     NULL,
     {"judges[0].api_version", "azure", "/openai/v1"}},
    {"data: d.csv\nmodels: [a, b]\njudges: [{model: m, dialect: azure, base_url: 'https://h', "
     "api_version: 'a&b'}]\n",
     NULL,
     {"judges[0].api_version", "letters", ""}},
    {"data: d.csv\nmodels: [a, b]\njudges: [{model: m, base_url: 'https://h', api_version: '1'}]\n",
     NULL,
     {"judges[0].api_version", "only the dialect azure", ""}},
    {"data: d.csv\nmodels: [a, b]\njudges: [{model: m, dialect: anthropic, base_url: 'https://h', "
     "seed: 1}]\n",
     NULL,
     {"judges[0].seed", "anthropic", ""}},
    {"data: d.csv\nmodels: [a, b]\njudges: [{model: m, dialect: gemini, base_url: 'https://h', "
     "max_tokens_field: max_completion_tokens}]\n",
     NULL,
     {"judges[0].max_tokens_field", "gemini", ""}},
    {"data: d.csv\nmodels: [a, b]\njudges: [offline-a]\nembedder: {model: m, dialect: anthropic, "
     "base_url: 'https://h'}\n",
     NULL,
     {"embedder.dialect", "no embeddings", ""}},
    {"data: d.csv\nmodels: [a, b]\njudges: [{model: m, dialect: anthropic, base_url: "
     "'https://h'}]\n"
     "judging: {logprobs: true}\n",
     NULL,
     {"judges[0].dialect", "no log-probabilities", ""}},
    {"data: d.csv\nmodels: [a, b]\njudges: [m]\njudging: {structured: true}\npools: [{name: p, "
     "base_url: 'https://h', models: [{model: m, refuses_schema: true}]}]\n",
     NULL,
     {"judges[0].model", "judging.structured", "refuses_schema"}},
    {"data: d.csv\nmodels: [a, b]\njudges: [offline-a]\njudging: {structured: true, "
     "vibes_per_call: "
     "3}\n",
     NULL,
     {"judging.structured", "vibes_per_call", ""}},
    {"data: d.csv\nmodels: [a, b]\njudges: [{name: x}]\n",
     NULL,
     {"judges[0].model", "missing", ""}},
#define POOLED "data: d.csv\nmodels: [a, b]\njudges: [m]\n"
    {POOLED "pools: [{name: p, models: [m]}]\n", NULL, {"pools[0].base_url", "address", ""}},
    {POOLED "pools: [{name: p, base_url: 'https://h'}]\n", NULL, {"pools[0].models", "gpt", ""}},
    {POOLED "pools: [{name: p, base_url: 'https://h', models: [n]}]\n",
     NULL,
     {"judges[0].base_url", "\"m\" needs base_url", "pools:"}},
    {POOLED "pools: [{name: a/b, base_url: 'https://h', models: [m]}]\n",
     NULL,
     {"pools[0].name", "slash", ""}},
    {POOLED "pools: [{name: p, base_url: 'http://h.example', models: [m]}]\n",
     NULL,
     {"pools[0].base_url", "unencrypted", "allow_http: true"}},
    {POOLED "pools: [{name: p, base_url: 'http://8.8.8.8', allow_http: true, models: [m]}]\n",
     NULL,
     {"pools[0].base_url", "over the internet", ""}},
    {POOLED
     "pools: [{name: p, base_url: 'https://h', models: [{model: m, price_cache_write_usd: 1}]}]\n",
     NULL,
     {"pools[0].models[0].price_cache_write_usd", "price_input_usd", ""}},
    {POOLED "pools: [{name: p, base_url: 'https://h', dialect: gemini, models: [{model: m, "
            "service_tier: scale}]}]\n",
     NULL,
     {"pools[0].models[0].service_tier", "flex, standard, priority", ""}},
    {POOLED "pools: [{name: p, base_url: 'https://h', models: [{model: m, service_tier: priority, "
            "price_input_usd: 1, price_output_usd: 1}]}]\n",
     NULL,
     {"pools[0].models[0].service_tier_price", "priority costs more", ""}},
    {POOLED
     "pools: [{name: p, base_url: 'https://h', models: [{model: m, service_tier_price: 2}]}]\n",
     NULL,
     {"pools[0].models[0].service_tier_price", "only with a service_tier", ""}},
    {"data: d.csv\nmodels: [a, b]\njudges: [{model: m, service_tier: flex}]\n"
     "pools: [{name: p, base_url: 'https://h', models: [m]}]\n",
     NULL,
     {"judges[0].service_tier", "set the tier under pools", ""}},
    {POOLED "pools: [{name: p, base_url: 'https://h', models: [m]}]\ndeadline: 7 am\n",
     NULL,
     {"line 5, column 1, deadline", "'7 am' is not a time such as 07:00", ""}},
#define BATCH(dialect, rest)                                                                       \
    POOLED "pools: [{name: p, base_url: 'https://h', dialect: " dialect                            \
           ", models: [{model: m, " rest "}]}]\n"
    {BATCH("openai", "batch: 3"), NULL, {"pools[0].models[0].batch.enabled", "must be", ""}},
    {BATCH("openai", "batch: {size: 3}"), NULL, {"pools[0].models[0].batch", "unknown key", ""}},
    {BATCH("openai", "batch: {poll_s: 0}"), NULL, {"models[0].batch.poll_s", "1", "3600"}},
    {BATCH("openai", "batch: {poll_s: 3601}"), NULL, {"models[0].batch.poll_s", "1", "3600"}},
    {BATCH("openai", "batch: {max_requests: 50001}"),
     NULL,
     {"line 4, column 87", "batch.max_requests", "openai has at most 50000"}},
    {BATCH("gemini", "batch: {max_bytes: 200000001}"),
     NULL,
     {"batch.max_bytes", "gemini", "200000000 bytes"}},
    {BATCH("azure", "api_version: 1, batch: true"), NULL, {"models[0]", "unknown key", ""}},
    {BATCH("anthropic", "batch: {max_bytes: 10}"), NULL, {"batch.max_bytes", "65536", ""}},
    {BATCH("openai", "batch: true, service_tier: flex"),
     NULL,
     {"pools[0].models[0].service_tier", "in a batch", ""}},
    {BATCH("openai", "batch: true, tokens_per_minute: 9"),
     NULL,
     {"pools[0].models[0].tokens_per_minute", "single calls", ""}},
    {BATCH("openai", "batch: true, concurrency: 9"),
     NULL,
     {"pools[0].models[0].concurrency", "single calls", ""}},
    {POOLED "pools: [{name: p, base_url: 'https://h', models: [{model: m, batch: true}, {model: m, "
            "batch: {wait_s: 5}}]}]\n",
     NULL,
     {"pools[0].models[1].model", "already in this pool as a batch", ""}},
    {POOLED "embedder: {model: e}\npools: [{name: p, base_url: 'https://h', models: [m, {model: e, "
            "batch: true}]}]\n",
     NULL,
     {"embedder.model", "all pools of \"e\" are batches", "without batch"}},
    {"data: d.csv\nmodels: [a, b]\njudges: [{model: m, base_url: 'https://h', batch: true}]\n",
     NULL,
     {"judges[0]", "unknown key \"batch\"", ""}},
    {POOLED "pools: [{name: p, base_url: 'https://h', models: [m], keys: [sk-abc]}]\n",
     NULL,
     {"pools[0].keys[0]", "disclosed", ""}},
    {POOLED "pools: [{name: p, base_url: 'https://h', models: [m, m]}]\n",
     NULL,
     {"pools[0].models[1].model", "already", ""}},
    {POOLED
     "pools: [{name: p, base_url: 'https://h', models: [{model: m, price_cached_usd: 1}]}]\n",
     NULL,
     {"pools[0].models[0].price_cached_usd", "price_input_usd", ""}},
    {POOLED "pools:\n  - {name: p, base_url: 'https://h', models: [m]}\n"
            "  - {name: p, base_url: 'https://i', models: [n]}\n",
     NULL,
     {"line 6", "pools[1].name", "pools[0]"}},
    {POOLED "pools:\n  - {name: p, base_url: 'https://h', models: [m]}\n"
            "  - {name: q, base_url: 'https://i', models: [m]}\n",
     NULL,
     {"judges[0].identity", "two providers", "identity: h"}},
    {POOLED "pools:\n  - {name: p, base_url: 'https://h', identity: x, models: [m]}\n"
            "  - {name: q, base_url: 'https://h', identity: x, dialect: anthropic, models: [m]}\n",
     NULL,
     {"judges[0].dialect", "several dialects", "dialect: openai"}},
    {POOLED "pools: [{name: p, base_url: 'https://h', models: [m]}]\nbudget: 5\n",
     NULL,
     {"budget.usd", "prices", "price_input_usd"}},
    {POOLED
     "pools: [{name: p, base_url: 'https://h', models: [{model: m, requests_per_hour: 1}]}]\n",
     NULL,
     {"pools[0].models[0]", "unknown key", "requests_per_day"}},
    {MINIMAL, "judging.tries_max=0", {"--set judging.tries_max", "1 to 100", ""}},
    {MINIMAL, "judging.trys_max=4", {"--set judging", "\"trys_max\"", "\"tries_max\""}},
    {MINIMAL, "judges[4].model=x", {"--set judges[4].model", "without gaps", ""}},
    {MINIMAL, "nothing", {"key=value", "", ""}},
    {MINIMAL, "a..b=1", {"key=value", "", ""}},
    {MINIMAL, "judges[x]=1", {"key=value", "", ""}},
    {MINIMAL, "models=[a", {"--set models", "not valid YAML", ""}},
    {MINIMAL, "models.a=1", {"no such place", "", ""}},
    {"- a\n- b\n", NULL, {"map of keys", "", ""}},
    {"- a\n- b\n", "seed=1", {"no such place", "", ""}},
};

TEST(test_refusals)
{
    for (size_t i = 0; i < VQ_COUNT(refusals); i++) {
        const struct refusal *r = &refusals[i];
        struct vq_config *c = NULL;
        struct vq_error err = {.text = ""};
        enum vq_status status = parse_with(r->yaml, &r->override, r->override != NULL, &c, &err);
        if (status != VQ_INVALID) {
            fail_msg("case %zu: status %s", i, vq_status_name(status));
        }
        assert_null(c);
        for (size_t k = 0; k < VQ_COUNT(r->says) && r->says[k] != NULL; k++) {
            if (strstr(err.text, r->says[k]) == NULL) {
                fail_msg("case %zu: \"%s\" does not say \"%s\"", i, err.text, r->says[k]);
            }
        }
    }
}

TEST(test_endpoints)
{
    static const struct {
        const char *url;
        bool good;
    } cases[] = {
        {"https://api.example.com/v1", true},
        {"http://localhost:8000/v1", true},
        {"http://127.0.0.1:1", true},
        {"http://127.255.0.9/v1", true},
        {"http://[::1]:8000/v1", true},
        {"http://LOCALHOST", true},
        {"http://api.example.com/v1", false},
        {"http://127.0.0.1.example.com", false},
        {"http://128.0.0.1", false},
        {"http://localhost.example.com", false},
        {"http://[::2]", false},
        {"http://0127.0.0.1", false},
        {"ftp://localhost", false},
        {"localhost:8000", false},
        {"https://", false},
        {"https://host:99999", false},
        {"https://host:0", false},
        {"https://host/v1?x=1", false},
        {"https://a b", false},
        {"https://user:hunter2@host", false},
        {"http://localhost@evil.example", false},
        {"http://127.0.0.1\\@evil.example", false},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        char yaml[256];
        (void)snprintf(yaml, sizeof(yaml),
                       "data: d\nmodels: [a, b]\njudges: [{model: m, base_url: '%s'}]\n",
                       cases[i].url);
        struct vq_config *c = NULL;
        struct vq_error err = {.text = ""};
        enum vq_status status = parse(yaml, &c, &err);
        if (status != (cases[i].good ? VQ_OK : VQ_INVALID)) {
            fail_msg("%s: %s", cases[i].url, err.text);
        }
        assert_null(strstr(err.text, "hunter2"));
        vq_config_destroy(&c);
    }
}

TEST(test_dialects)
{
    static const char *const good[] = {
        "{model: m, dialect: azure, base_url: 'https://h', api_version: 2024-10-21}",
        "{model: m, dialect: azure, base_url: 'https://h/openai/v1/'}",
        "{model: m, dialect: anthropic, base_url: 'https://h/v1'}",
        "{model: m, dialect: gemini, base_url: 'https://h/v1beta', seed: 3}",
    };
    for (size_t i = 0; i < VQ_COUNT(good); i++) {
        char yaml[256];
        (void)snprintf(yaml, sizeof(yaml), "data: d\nmodels: [a, b]\njudges: [%s]\n", good[i]);
        struct vq_config *c = NULL;
        struct vq_error err = {.text = ""};
        if (parse(yaml, &c, &err) != VQ_OK) {
            fail_msg("%s: %s", good[i], err.text);
        }
        assert_true(i > 0 || strcmp(c->judges[0].api_version, "2024-10-21") == 0);
        vq_config_destroy(&c);
    }
}

TEST(test_what_may_be_a_key_is_never_repeated)
{
    static const char *const secrets[] = {
        "data: d\nmodels: [a, b]\njudges: [{model: offline-a, key: sk-CANARY}]\n",
        "data: d\nmodels: [a, b]\njudges: [{model: offline-a, key: \"env:sk-CANARY\"}]\n",
        "data: d\nmodels: [a, b]\njudges: [{model: offline-a, key: [sk-CANARY]}]\n",
        "data: d\nmodels: [a, b]\njudges: [{model: offline-a, base_url: 'https://sk-CANARY@h'}]\n",
        "data: d\nmodels: [a, b]\njudges: [offline-a]\nredis: 'redisx://:CANARY@h'\n",
    };
    for (size_t i = 0; i < VQ_COUNT(secrets); i++) {
        struct vq_config *c = NULL;
        struct vq_error err = {.text = ""};
        assert_int_equal(parse(secrets[i], &c, &err), VQ_INVALID);
        assert_true(err.text[0] != '\0');
        assert_null(strstr(err.text, "CANARY"));
    }
    static const char *const overrides[] = {"judges[0].key=sk-CANARY", "judges[0].key=[sk-CANARY",
                                            "sk-CANARY"};
    for (size_t i = 0; i < VQ_COUNT(overrides); i++) {
        struct vq_config *c = NULL;
        struct vq_error err = {.text = ""};
        assert_int_equal(parse_with(MINIMAL, &overrides[i], 1, &c, &err), VQ_INVALID);
        assert_null(strstr(err.text, "CANARY"));
    }
}

TEST(test_prices_and_timeouts)
{
    struct vq_config *c = NULL;
    struct vq_error err;
    const char *price = "judges[0].price_input_usd=0.15";
    assert_int_equal(parse_with(MINIMAL, &price, 1, &c, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "price_output_usd"));
    const char *both[] = {price, "judges[0].price_output_usd=0"};
    assert_int_equal(parse_with(MINIMAL, both, 2, &c, &err), VQ_OK);
    assert_true(c->judges[0].limits.price_input_usd == 0.15 &&
                c->judges[0].limits.price_output_usd == 0);
    vq_config_destroy(&c);
    const char *timeout = "judges[0].total_timeout_ms=1000";
    assert_int_equal(parse_with(MINIMAL, &timeout, 1, &c, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "total_timeout_ms"));
}

static const char *const rich =
    "name: full-1\n"
    "data:\n"
    "  path: sub/data.csv\n"
    "  test_path: /abs/test.csv\n"
    "  prompt: \"null\"\n"
    "  preference: 'yes'\n"
    "  limit: 100\n"
    "  test_share: 0.3333333333333333\n"
    "models: [\"llama 3/70b: x\", \"\xe6\xa8\xa1\xe5\x9e\x8b\"]\n"
    "vibes:\n"
    "- {name: Lists, property: uses bullet points}\n"
    "- {name: 'a # b', low: \"two\\nlines\", high: \"- dash\"}\n"
    "judges:\n"
    "- {model: m, base_url: 'https://h/v1', key: 'file:keys/k', temperature: 0.7, price_input_usd: "
    "0.1, price_output_usd: 1e-05, name: \"1e3\"}\n"
    "- offline-a\n"
    "judging: {pair_rule: lenient, audit_share: 0.02}\n"
    "gates: {separability: interval, preference: and, overlap: off}\n"
    "regression: {cv: sklearn_folds, estimator: legacy_bootstrap, standardise: on, p_values: "
    "wald}\n"
    "vibecheck: {num_final_vibes: 5}\n"
    "offline: {seed: 7, oracle: truth.csv}\n"
    "prompts: {dir: my}\n"
    "redis: {url: 'redis://localhost:6379/1'}\n"
    "seed: 1\nworkers: 0\nterm_ms: 300\norphan_s: 60\n";

TEST(test_written_config_reads_back_equal)
{
    struct vq_config *c = must_parse(rich);
    assert_string_equal(c->judges[0].key, "file:/base/keys/k");
    assert_string_equal(c->prompts_dir, "/base/my");
    assert_string_equal(c->offline.oracle, "/base/truth.csv");
    assert_string_equal(c->data.prompt, "null");
    char *first = NULL, *second = NULL;
    size_t first_bytes = 0, second_bytes = 0;
    assert_int_equal(vq_config_write(c, &first, &first_bytes), VQ_OK);
    assert_non_null(strstr(first, "\"/base/sub/data.csv\""));
    assert_non_null(strstr(first, "test_share: 0.3333333333333333\n"));
    assert_non_null(strstr(first, "temperature: 0.7\n"));
    assert_non_null(strstr(first, "\xe6\xa8\xa1")); /* readable, not escaped */
    struct vq_config *again = must_parse(first);
    assert_string_equal(again->models[0], "llama 3/70b: x");
    assert_string_equal(again->models[1], "\xe6\xa8\xa1\xe5\x9e\x8b");
    assert_string_equal(again->vibes[1].low, "two\nlines");
    assert_string_equal(again->judges[0].name, "1e3");
    assert_string_equal(again->data.preference, "yes");
    assert_true(again->data.test_share == c->data.test_share);
    assert_int_equal(vq_config_write(again, &second, &second_bytes), VQ_OK);
    assert_int_equal(first_bytes, second_bytes);
    assert_string_equal(first, second);
    vq_free(first);
    vq_free(second);
    vq_config_destroy(&c);
    vq_config_destroy(&again);
}

TEST(test_every_allocation_may_fail)
{
    struct vq_config *c = must_parse(rich);
    vq_config_destroy(&c);
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        assert_true(n < 100000);
        vq_alloc_fail_at(n);
        struct vq_error err = {.text = ""};
        enum vq_status status = parse(rich, &c, &err);
        vq_alloc_fail_at(0);
        done = status == VQ_OK;
        if (!done) {
            assert_null(c);
            assert_int_equal(status, VQ_NOMEM);
            assert_true(err.text[0] != '\0');
        }
    }
    char *yaml = NULL;
    size_t bytes;
    done = false;
    for (uint64_t n = 1; !done; n++) {
        vq_alloc_fail_at(n);
        enum vq_status status = vq_config_write(c, &yaml, &bytes);
        vq_alloc_fail_at(0);
        done = status == VQ_OK;
        assert_true(done || (status == VQ_NOMEM && yaml == NULL));
    }
    vq_free(yaml);
    vq_config_destroy(&c);
}

TEST(test_load_takes_paths_from_the_files_folder)
{
    char dir[] = "/tmp/vq_conf_XXXXXX";
    assert_non_null(mkdtemp(dir));
    char path[64], expected[64];
    (void)snprintf(path, sizeof(path), "%s/r.yaml", dir);
    (void)snprintf(expected, sizeof(expected), "%s/data.csv", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(MINIMAL, file) >= 0 && fclose(file) == 0);
    struct vq_config *c = NULL;
    struct vq_error err;
    assert_int_equal(vq_config_load(path, NULL, 0, &c, &err), VQ_OK);
    assert_string_equal(c->data.path_abs, expected);
    assert_string_equal(c->file, path);
    vq_config_destroy(&c);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(vq_config_load(path, NULL, 0, &c, &err), VQ_NOT_FOUND);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(vq_config_load(dir, NULL, 0, &c, &err), VQ_INVALID);
    assert_int_equal(rmdir(dir), 0);
}

TEST(test_a_relative_folder_is_made_absolute)
{
    struct vq_config *c = NULL;
    struct vq_error err;
    assert_int_equal(vq_config_parse(MINIMAL, strlen(MINIMAL), "run.yaml", ".", NULL, 0, &c, &err),
                     VQ_OK);
    char cwd[PATH_MAX];
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    assert_int_equal(c->data.path_abs[0], '/');
    assert_memory_equal(c->data.path_abs, cwd, strlen(cwd));
    vq_config_destroy(&c);
}

TEST(test_people_s_labels)
{
    struct vq_config *c =
        must_parse("data: d\nmodels: [a, b]\njudges: [offline-a]\nhuman: labels.csv\n");
    assert_int_equal(c->human[0], '/'); /* from the folder of the configuration */
    assert_string_equal(strrchr(c->human, '/'), "/labels.csv");
    vq_config_destroy(&c);
    static const char *const cases[][2] = {
        {"data: d\nmodels: [a, b]\njudges: [offline-a]\nhuman: ' '\n", "human: empty"},
        {"data: d\nmodels: [a, b, c]\njudges: [offline-a]\nhuman: l.csv\n",
         "human: its labels are about two models"},
        {"data: d\nmodels: [a]\nmethod: judge\ncriteria: [refusal]\njudges: [offline-a]\nhuman: "
         "l.csv\n",
         "as the criterion's human"},
        {"method: persona\nsubjects: [offline-subject]\ndialogues: p.yaml\njudges: "
         "[offline-a]\nhuman: l.csv\n",
         "as dialogues.human"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_error err = {.text = ""};
        assert_int_equal(parse(cases[i][0], &c, &err), VQ_INVALID);
        if (strstr(err.text, cases[i][1]) == NULL) {
            fail_msg("case %zu: %s", i, err.text);
        }
    }
}

TEST(test_proposers_of_repeats)
{
    struct vq_config *c =
        must_parse("data: d\nmodels: [a, b]\nmethod: discover\njudges: [offline-a]\n"
                   "vibecheck: {repeats: 3}\nrepeat_proposers: [offline-b, {model: m, base_url: "
                   "'https://h/v1', key: 'file:k'}]\n");
    assert_int_equal(c->repeat_proposers_count, 2);
    assert_string_equal(c->repeat_proposers[0].name, "offline-b");
    assert_int_equal(c->repeat_proposers[1].max_tokens, 2000);
    assert_int_equal(c->repeat_proposers[1].key[5], '/');
    vq_config_destroy(&c);
    static const char *const cases[][2] = {
        {"data: d\nmodels: [a, b]\nmethod: discover\njudges: [offline-a]\nrepeat_proposers: "
         "offline-b\n",
         "set vibecheck.repeats"},
        {"data: d\nmodels: [a, b]\nmethod: preset\njudges: [offline-a]\nvibecheck: {repeats: "
         "2}\nrepeat_proposers: offline-b\n",
         "only for repeats of discovery"},
        {"data: d\nmodels: [a, b]\nmethod: discover\njudges: [offline-a]\nvibecheck: {repeats: "
         "2}\nrepeat_proposers: [offline-b, offline-b]\n",
         "repeat_proposers[1]"},
    };
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_error err = {.text = ""};
        assert_int_equal(parse(cases[i][0], &c, &err), VQ_INVALID);
        if (strstr(err.text, cases[i][1]) == NULL) {
            fail_msg("case %zu: %s", i, err.text);
        }
    }
}

/* Every example on the page loads. */
TEST(test_the_pages_examples_load)
{
    struct vq_buf page;
    struct vq_error err;
    assert_int_equal(vq_file_read(VQ_SOURCE_DIR "/docs/use/config.md", 1u << 20, &page, &err),
                     VQ_OK);
    int examples = 0;
    for (char *at = page.at; (at = strstr(at, "```yaml\n")) != NULL; examples++) {
        at += strlen("```yaml\n");
        char *end = strstr(at, "```");
        assert_non_null(end);
        *end = '\0';
        struct vq_config *c = must_parse(at);
        vq_config_destroy(&c);
        at = end + 1;
    }
    assert_int_equal(examples, 6);
    vq_buf_free(&page);
}

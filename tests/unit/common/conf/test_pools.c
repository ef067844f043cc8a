/* Pools of a configuration: accounts, endpoints of their own, who serves whom, what their requests
 * count as. */

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/conf/batches.h"
#include "common/conf/tiers.h"

#include <string.h>

#define BEGIN "data: d.csv\nmodels: [a, b]\n"

static struct vq_config *load(const char *yaml)
{
    struct vq_config *c = NULL;
    struct vq_error err = {.text = ""};
    if (vq_config_parse(yaml, strlen(yaml), "run.yaml", "/d", NULL, 0, &c, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return c;
}

static const char accounts[] = BEGIN
    "judges: [m, {model: n, identity: one}, offline-a]\n"
    "pools:\n"
    "  - {name: p, base_url: 'https://h/v1/', keys: [env:A, 'file:k'], models:\n"
    "      [{model: m, requests_per_minute: 60, price_input_usd: 1, price_output_usd: 2}, n]}\n"
    "  - {name: q, base_url: 'https://i', models: [{model: n, as: n-2, share: 0.5}]}\n";

TEST(test_each_model_of_an_account_is_a_pool)
{
    struct vq_config *c = load(accounts);
    struct vq_conf_uses uses;
    assert_int_equal(vq_conf_uses_of(c, &uses, NULL), VQ_OK);
    static const char *const names[] = {"p/m", "p/n", "q", "offline-a", "offline-embed"};
    assert_int_equal(uses.count, VQ_COUNT(names));
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        assert_string_equal(uses.uses[i].name, names[i]);
    }
    assert_int_equal(uses.uses[0].keys_count, 2);
    assert_string_equal(uses.uses[0].keys[1], "file:/d/k");
    assert_true(uses.uses[0].limits.limit.rates.requests == 60);
    assert_string_equal(uses.uses[2].sent, "n-2");
    assert_true(uses.uses[2].limits.share == 0.5);
    uint32_t pools[VQ_POOLS_MAX];
    assert_int_equal(vq_conf_uses_serve(&uses, &c->judges[0], pools), 1);
    assert_int_equal(pools[0], 0);
    assert_int_equal(vq_conf_uses_serve(&uses, &c->judges[1], pools), 2);
    assert_true(pools[0] == 1 && pools[1] == 2);
    assert_int_equal(vq_conf_uses_serve(&uses, &c->judges[2], pools), 1);
    assert_int_equal(pools[0], 3);
    vq_conf_uses_free(&uses);
    vq_config_destroy(&c);
}

/* Flex takes minutes: timeouts that were left alone are longer there, others stay. */
TEST(test_a_tier_is_a_pool_of_its_own_and_flex_waits_longer)
{
    struct vq_config *c =
        load(BEGIN "judges:\n"
                   "  - {name: j, model: m, base_url: 'https://h', service_tier: flex, "
                   "price_input_usd: 1, price_output_usd: 1}\n"
                   "  - {name: k, model: m, base_url: 'https://h'}\n"
                   "  - {name: l, model: n, base_url: 'https://h', service_tier: flex, "
                   "service_tier_price: 0.4, total_timeout_ms: 200000, service_tier_tries: 7}\n"
                   "embedder: none\n");
    struct vq_conf_uses uses;
    assert_int_equal(vq_conf_uses_of(c, &uses, NULL), VQ_OK);
    assert_int_equal(uses.count, 3);
    assert_int_equal(uses.uses[0].total_timeout_ms, VQ_TIER_FLEX_TIMEOUT_MS);
    assert_int_equal(uses.uses[0].first_byte_timeout_ms, VQ_TIER_FLEX_TIMEOUT_MS);
    assert_int_equal(uses.uses[1].total_timeout_ms, 300000);
    assert_int_equal(uses.uses[2].total_timeout_ms, 200000);
    assert_true(vq_tier_price(&uses.uses[0].limits) == VQ_TIER_FLEX_PRICE);
    assert_true(vq_tier_price(&uses.uses[1].limits) == 1);
    assert_true(vq_tier_price(&uses.uses[2].limits) == 0.4);
    assert_int_equal(uses.uses[0].limits.service_tier_tries, 3);
    assert_int_equal(uses.uses[2].limits.service_tier_tries, 7);
    uint32_t pools[VQ_POOLS_MAX];
    assert_int_equal(vq_conf_uses_serve(&uses, &c->judges[1], pools), 1);
    assert_int_equal(pools[0], 1);
    vq_conf_uses_free(&uses);
    vq_config_destroy(&c);
}

TEST(test_a_batch_is_a_pool_of_its_own_and_serves_the_same_judge)
{
    struct vq_config *c =
        load(BEGIN "judges: [m]\n"
                   "pools:\n"
                   "- name: p\n"
                   "  base_url: 'https://h'\n"
                   "  models:\n"
                   "  - {model: m, requests_per_minute: 9}\n"
                   "  - {model: m, batch: true}\n"
                   "- {name: q, base_url: 'https://h', models: [{model: m, batch: {max_requests: "
                   "7, max_bytes: 70000, wait_s: 5, poll_s: 9, price: 0.75}}]}\n"
                   "- {name: r, base_url: 'https://h', models: [{model: m, batch: false}]}\n"
                   "embedder: none\n");
    struct vq_conf_uses uses;
    assert_int_equal(vq_conf_uses_of(c, &uses, NULL), VQ_OK);
    static const char *const names[] = {"p/m", "p/m/batch", "q", "r"};
    assert_int_equal(uses.count, VQ_COUNT(names));
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        assert_string_equal(uses.uses[i].name, names[i]);
    }
    uint32_t pools[VQ_POOLS_MAX];
    assert_int_equal(vq_conf_uses_serve(&uses, &c->judges[0], pools), 4);
    assert_true(vq_conf_uses_interactive(&uses, &c->judges[0]));
    struct vq_conf_batch_limits limits;
    assert_false(vq_conf_batch_limits(&uses.uses[0], &limits));
    assert_false(vq_conf_batch_limits(&uses.uses[3], &limits));
    assert_true(vq_conf_batch_limits(&uses.uses[1], &limits));
    assert_true(limits.requests == 50000 && limits.bytes == 200000000);
    assert_int_equal(uses.uses[1].batch->wait_s, 60);
    assert_int_equal(uses.uses[1].batch->poll_s, 60);
    assert_true(vq_conf_batch_price(uses.uses[1].batch) == VQ_CONF_BATCH_PRICE);
    assert_true(vq_conf_batch_limits(&uses.uses[2], &limits));
    assert_true(limits.requests == 7 && limits.bytes == 70000);
    assert_int_equal(uses.uses[2].batch->wait_s, 5);
    assert_true(vq_conf_batch_price(uses.uses[2].batch) == 0.75);
    assert_true(vq_conf_batch_price(uses.uses[0].batch) == 1);
    vq_conf_uses_free(&uses);
    vq_config_destroy(&c);
}

/* run.yaml has every default: what it says is read as the same. */
TEST(test_a_batch_survives_the_way_through_run_yaml)
{
    struct vq_config *c =
        load(BEGIN "judges: [m]\npools: [{name: p, base_url: 'https://h', models: "
                   "[{model: m, batch: true}]}]\n");
    char *yaml;
    size_t bytes;
    assert_int_equal(vq_config_write(c, &yaml, &bytes), VQ_OK);
    struct vq_config *again = load(yaml);
    const struct vq_conf_batch *b = again->pools[0].models[0].batch;
    assert_non_null(b);
    assert_true(b->enabled && b->max_requests == 0 && b->wait_s == 60 && b->price < 0);
    vq_config_destroy(&again);
    vq_free(yaml);
    vq_config_destroy(&c);
}

TEST(test_roles_with_one_endpoint_share_a_pool)
{
    struct vq_config *c =
        load(BEGIN "judges:\n"
                   "  - {name: j, model: m, base_url: 'https://h', key: env:A, "
                   "requests_per_minute: 100, concurrency: 4}\n"
                   "  - {name: k, model: m, base_url: 'https://h', key: env:B}\n"
                   "proposer: {name: w, model: m, base_url: 'https://h', key: env:A, "
                   "requests_per_minute: 50, tokens_per_minute: 9}\n"
                   "embedder: none\n");
    struct vq_conf_uses uses;
    assert_int_equal(vq_conf_uses_of(c, &uses, NULL), VQ_OK);
    assert_int_equal(uses.count, 2); /* another key is another account */
    assert_true(uses.uses[0].limits.limit.rates.requests == 50);
    assert_true(uses.uses[0].limits.limit.rates.tokens == 9);
    assert_int_equal(uses.uses[0].limits.limit.concurrency, 4);
    uint32_t pools[VQ_POOLS_MAX];
    assert_int_equal(vq_conf_uses_serve(&uses, c->proposer, pools), 1);
    assert_int_equal(pools[0], 0);
    vq_conf_uses_free(&uses);
    vq_config_destroy(&c);
}

TEST(test_a_role_takes_the_dialect_of_its_pools)
{
    struct vq_config *c = load(BEGIN "judges: [m]\npools: [{name: p, dialect: gemini, base_url: "
                                     "'https://h', models: [m]}]\n");
    assert_string_equal(c->judges[0].dialect, "gemini");
    vq_config_destroy(&c);
}

TEST(test_identities)
{
    static const struct {
        const char *identity, *url, *version, *is;
    } cases[] = {{NULL, "https://h/v1//", NULL, "h/v1"},
                 {"x", "https://h", "1", "x"},
                 {NULL, "https://h", "1", "h?api-version=1"},
                 {NULL, NULL, NULL, ""}};
    for (size_t i = 0; i < VQ_COUNT(cases); i++) {
        struct vq_buf out;
        vq_buf_init(&out, 100);
        vq_conf_identity(cases[i].identity, cases[i].url, cases[i].version, &out);
        assert_true(vq_span_eq(vq_buf_span(&out), vq_span_str(cases[i].is)));
        vq_buf_free(&out);
    }
}

TEST(test_it_is_written_as_it_was_read)
{
    struct vq_config *c = load(accounts);
    char *yaml;
    size_t bytes;
    assert_int_equal(vq_config_write(c, &yaml, &bytes), VQ_OK);
    struct vq_config *again = load(yaml);
    char *twice;
    size_t twice_bytes;
    assert_int_equal(vq_config_write(again, &twice, &twice_bytes), VQ_OK);
    assert_string_equal(yaml, twice);
    assert_non_null(strstr(yaml, "n-2"));
    vq_free(yaml);
    vq_free(twice);
    vq_config_destroy(&c);
    vq_config_destroy(&again);
}

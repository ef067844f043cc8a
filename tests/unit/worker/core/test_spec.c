/* SPECs that cannot be used are refused with what is wrong; of those that can, what is left out has
 * its default. */

#include "tests/unit/test.h"

#include "proto/wire.h"
#include "worker/core/limits.h"
#include "worker/core/spec.h"

static struct vq_spec_judge judges[VQ_WORK_JUDGES_MAX + 1];
static struct vq_spec_pool pools[2];
static struct vq_spec_axis axes[2];
static struct vq_span keys[2];
static const uint32_t served[] = {0, 1}, beyond[] = {0, 2};
static struct vq_spec good;
static struct vq_work_spec *spec;

static int setup(void **state)
{
    (void)state;
    for (size_t j = 0; j < VQ_COUNT(judges); j++) {
        judges[j] = (struct vq_spec_judge){.name = vq_span_str("judge"),
                                           .model = vq_span_str("m"),
                                           .dialect = vq_span_str("openai"),
                                           .identity = vq_span_str("host/v1"),
                                           .max_tokens_field = vq_span_str("max_tokens"),
                                           .max_tokens = 100,
                                           .pools = served,
                                           .pools_count = VQ_COUNT(served)};
    }
    for (size_t p = 0; p < VQ_COUNT(pools); p++) {
        keys[p] = vq_span_str(p == 0 ? "env:A" : "file:/b");
        axes[p] = (struct vq_spec_axis){vq_span_str("tone"), vq_span_str(""), vq_span_str("warm")};
        pools[p] = (struct vq_spec_pool){.name = vq_span_str(p == 0 ? "one" : "two"),
                                         .dialect = vq_span_str(p == 0 ? "openai" : "anthropic"),
                                         .base_url = vq_span_str("https://host/v1"),
                                         .model = vq_span_str("m"),
                                         .priced = true,
                                         .input_usd = 2,
                                         .cached_usd = 1,
                                         .written_usd = p == 0 ? 2 : 2.5,
                                         .output_usd = 8};
    }
    good = (struct vq_spec){.kind = VQ_STAGE_RANK,
                            .stage = 3,
                            .judge_template = vq_template_builtin(VQ_TEMPLATE_JUDGE),
                            .repair_template = vq_template_builtin(VQ_TEMPLATE_REPAIR),
                            .axes = axes,
                            .axes_count = VQ_COUNT(axes),
                            .judges = judges,
                            .judges_count = 1,
                            .pools = pools,
                            .pools_count = VQ_COUNT(pools)};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    vq_work_spec_destroy(&spec);
    return 0;
}

static enum vq_status make(struct vq_error *err)
{
    static const struct vq_hash hash = {{1}};
    struct vq_buf body;
    vq_buf_init(&body, VQ_FRAME_BYTES_MAX);
    assert_int_equal(vq_spec_encode(&good, &body), VQ_OK);
    enum vq_status status = vq_work_spec_create(vq_buf_span(&body), &hash, &spec, err);
    vq_buf_free(&body);
    return status;
}

static void is_refused(enum vq_status wanted, const char *words)
{
    struct vq_error err = {""};
    enum vq_status status = make(&err);
    if (status != wanted || strstr(err.text, words) == NULL) {
        fail_msg("%s: %s", vq_status_name(status), err.text);
    }
    assert_null(spec);
    assert_int_equal(make(NULL), wanted);
}

TEST_WITH(test_what_is_left_out, setup, teardown)
{
    pools[0].keys = keys;
    pools[0].keys_count = 2;
    pools[1].priced = false;
    assert_int_equal(make(NULL), VQ_OK);
    assert_int_equal(spec->judges[0].tries_max, VQ_WORK_TRIES_DEFAULT);
    assert_int_equal(spec->judges[0].pools_count, 2);
    assert_string_equal(spec->axes[1].low, "");
    assert_string_equal(spec->pools[0].keys[0], "env:A");
    assert_string_equal(spec->pools[0].keys[1], "file:/b");
    assert_int_equal(spec->pools[1].keys_count, 0);
    assert_true(spec->pools[0].price.input == 2000 && spec->pools[0].price.written == 2000);
    assert_true(spec->pools[0].price.written_long == 2000);
    assert_true(spec->pools[1].price.input == 0 && spec->pools[1].price.output == 0);
}

TEST_WITH(test_tries_and_the_price_of_a_cache, setup, teardown)
{
    judges[0].tries_max = 7;
    good.repair_template = vq_span("", 0);
    assert_int_equal(make(NULL), VQ_OK);
    assert_int_equal(spec->judges[0].tries_max, 7);
    assert_null(spec->repair);
    assert_true(spec->pools[1].price.written == 2500);
    assert_true(spec->pools[1].price.written_long == 4000); /* for an hour, with this dialect */
    assert_true(spec->pools[1].price.cached == 1000 && spec->pools[1].price.output == 8000);
}

TEST_WITH(test_too_few_and_too_many, setup, teardown)
{
    good.judges_count = 0;
    is_refused(VQ_LIMIT, "0 judges and 2 vibes");
    good.judges_count = VQ_COUNT(judges);
    is_refused(VQ_LIMIT, "257 judges and 2 vibes; 1 to 256");
    good.judges_count = VQ_WORK_JUDGES_MAX;
    good.axes_count = 0;
    is_refused(VQ_LIMIT, "256 judges and 0 vibes");
    good.axes_count = 1;
    assert_int_equal(make(NULL), VQ_OK);
    assert_int_equal(spec->judges_count, VQ_WORK_JUDGES_MAX);
}

TEST_WITH(test_pools_that_are_not_listed, setup, teardown)
{
    good.judges_count = 2;
    judges[1].pools = beyond;
    is_refused(VQ_INVALID, "judge 1 has no pool, or one that is not listed");
    judges[1].pools = served;
    judges[0].pools_count = 0;
    is_refused(VQ_INVALID, "judge 0 has no pool");
    good.judges_count = 1;
    judges[0].pools_count = 1;
    good.pools_count = 0;
    is_refused(VQ_INVALID, "judge 0 has no pool");
}

/* It would end a text before its end, in what is asked and in what is hashed. */
TEST_WITH(test_a_nul_in_any_text, setup, teardown)
{
    struct vq_span *const texts[] = {&judges[0].name,
                                     &judges[0].model,
                                     &judges[0].dialect,
                                     &judges[0].identity,
                                     &judges[0].max_tokens_field,
                                     &pools[1].name,
                                     &pools[1].dialect,
                                     &pools[1].base_url,
                                     &pools[1].model,
                                     &pools[1].max_tokens_field,
                                     &axes[1].name,
                                     &axes[1].low,
                                     &axes[1].high,
                                     &keys[1]};
    for (size_t i = 0; i < VQ_COUNT(texts); i++) {
        (void)setup(state);
        pools[0].keys = keys;
        pools[0].keys_count = 2;
        *texts[i] = vq_span("a\0b", 3);
        is_refused(VQ_INVALID, "contains a NUL byte");
    }
}

TEST_WITH(test_templates, setup, teardown)
{
    good.judge_template = vq_span_str("no place for anything");
    is_refused(VQ_INVALID, "judge template of the run");
    (void)setup(state);
    good.repair_template = vq_span_str("{{nothing}}");
    is_refused(VQ_INVALID, "repair template of the run");
}

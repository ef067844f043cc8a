/* A provider that says what cannot be: a worker passes on what can. */
#include "rig.h"

#include "proto/claim.h"

static struct rig rig;

static void begin(void)
{
    rig_init(&rig, 1, 2);
    rig.input_usd[0] = 1;
    rig.output_usd[0] = 2;
    rig_create(&rig, (struct vq_work_options){.local = 0, .has_spool = true});
    rig_open(&rig, 1);
    rig_lease(&rig, 0, 1, false);
}

TEST(test_absurd_usage_is_cut)
{
    begin();
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_ANSWER,
                                   .answer = vq_span_str("Model: A"),
                                   .tokens_in = UINT64_C(1) << 60,
                                   .tokens_cached = UINT64_C(1) << 60,
                                   .tokens_out = UINT64_C(1) << 60});
    rig_wait(&rig, 1000);
    assert_true(rig.results_count > 0);
    const struct vq_result *r = &rig.results[0].r;
    assert_true((double)r->tokens_in <= vq_claim_input_most(10000));
    assert_true((double)r->tokens_out <= vq_claim_output_most(4096));
    assert_true((double)r->cost_nano <=
                1000 * vq_claim_input_most(10000) + 2000 * vq_claim_output_most(4096));
    vq_work_destroy(&rig.w);
}

TEST(test_usage_that_can_be_stays)
{
    begin();
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_ANSWER,
                                   .answer = vq_span_str("Model: A"),
                                   .tokens_in = 3000,
                                   .tokens_out = 100000}); /* hidden reasoning */
    rig_wait(&rig, 1000);
    assert_int_equal(rig.results[0].r.tokens_in, 3000);
    assert_int_equal(rig.results[0].r.tokens_out, 100000);
    vq_work_destroy(&rig.w);
}

TEST(test_limits_and_waits)
{
    begin();
    rig_end(&rig, 0,
            (struct vq_work_reply){.end = VQ_END_RATE,
                                   .started_unix_ms = 1000000,
                                   .retry_after_ms = INT64_MAX / 2,
                                   .parks = true,
                                   .park_unix_s = INT64_MAX,
                                   .said = {.requests = 1e300, .tokens = 1000}});
    rig_wait(&rig, 1000);
    assert_true(rig.reports[0].said.requests < 1);
    assert_true(rig.reports[0].said.tokens > 999);
    assert_true(rig.reports[0].pause_ms <= VQ_CLAIM_PAUSE_MS_MAX);
    assert_int_equal(rig.reports[0].park_unix_s, 1000 + VQ_CLAIM_WAIT_S);
    vq_work_destroy(&rig.w);
}

/* The brake: what pulls it, what does not, and how two texts of one error are found alike. */
#include "tests/unit/test.h"

#include "coordinator/queue/brake.h"

#include <stdio.h>
#include <string.h>

#define CALLS 8u

static struct vq_brake_call failed(enum vq_call_end end, uint32_t status, uint32_t row,
                                   const char *error)
{
    return (struct vq_brake_call){
        .end = end, .final = true, .row = row, .http_status = status, .error = vq_span_str(error)};
}

static struct vq_brake_call said(enum vq_outcome outcome, uint32_t row)
{
    return (struct vq_brake_call){
        .end = VQ_END_ANSWER, .outcome = outcome, .final = true, .row = row, .http_status = 200};
}

static bool see(struct vq_brake *b, struct vq_brake_call call)
{
    return vq_brake_see(b, CALLS, &call);
}

/* How many calls of this kind, of one row after the other, pull it; 0: it is not. */
static uint32_t calls_until(struct vq_brake_call call)
{
    struct vq_brake b = {0};
    for (uint32_t n = 1; n <= 100; n++) {
        call.row = n;
        if (see(&b, call)) {
            return n;
        }
    }
    return 0;
}

TEST(equal_failures_pull_it_once)
{
    struct vq_brake b = {0};
    for (uint32_t n = 1; n < CALLS; n++) {
        assert_false(see(&b, failed(VQ_END_BAD_REQUEST, 400, n, "Unsupported parameter")));
        assert_true(vq_brake_suspects(&b, CALLS));
    }
    assert_true(see(&b, failed(VQ_END_BAD_REQUEST, 400, 1, "Unsupported parameter")));
    assert_true(b.pulled);
    assert_int_equal(b.failures, CALLS);
    assert_string_equal(b.text, "Unsupported parameter");
    assert_false(vq_brake_suspects(&b, CALLS));
    assert_true(vq_brake_saw(&b, 1));
    assert_false(vq_brake_saw(&b, 9));
    struct vq_brake_call late = failed(VQ_END_BAD_REQUEST, 400, 2, "UNSUPPORTED parameter");
    assert_false(see(&b, late));
    assert_true(vq_brake_alike(&b, &late));
    late.http_status = 422;
    assert_false(vq_brake_alike(&b, &late));
}

TEST(what_counts)
{
    assert_int_equal(calls_until(failed(VQ_END_BAD_REQUEST, 400, 0, "x")), CALLS);
    assert_int_equal(calls_until(failed(VQ_END_BAD_RESPONSE, 200, 0, "no JSON")), CALLS);
    assert_int_equal(calls_until(failed(VQ_END_PROVIDER, 500, 0, "x")), CALLS);
    assert_int_equal(calls_until(failed(VQ_END_TOO_LONG, 400, 0, "x")), CALLS);
    assert_int_equal(calls_until(failed(VQ_END_LOST, 0, 0, "no response in time")), CALLS);
    assert_int_equal(calls_until(said(VQ_OUTCOME_UNPARSEABLE, 0)), CALLS);
    assert_int_equal(calls_until(said(VQ_OUTCOME_TRUNCATED, 0)), CALLS);
    /* everyday, or another one's business */
    assert_int_equal(calls_until(failed(VQ_END_RATE, 429, 0, "slow down")), 0);
    assert_int_equal(calls_until(failed(VQ_END_CLOSED, 401, 0, "bad key")), 0);
    assert_int_equal(calls_until(failed(VQ_END_UNKNOWN, 0, 0, "")), 0);
    assert_int_equal(calls_until(said(VQ_OUTCOME_REFUSED, 0)), 0);
    assert_int_equal(calls_until(said(VQ_OUTCOME_FIRST, 0)), 0);
    struct vq_brake_call again = failed(VQ_END_PROVIDER, 500, 0, "x");
    again.final = false; /* it is tried again */
    assert_int_equal(calls_until(again), 0);
    again = failed(VQ_END_BAD_RESPONSE, 200, 0, "x");
    again.final = false; /* it was paid */
    assert_int_equal(calls_until(again), CALLS);
    again = said(VQ_OUTCOME_UNPARSEABLE, 0);
    again.final = false; /* a repair follows */
    assert_int_equal(calls_until(again), 0);
}

TEST(one_answer_is_enough_for_ever)
{
    for (int before = 0; before < 2; before++) {
        struct vq_brake b = {0};
        for (uint32_t n = 0; before == 0 && n + 1 < CALLS; n++) {
            assert_false(see(&b, failed(VQ_END_BAD_REQUEST, 400, n, "x")));
        }
        assert_false(see(&b, said(VQ_OUTCOME_EQUAL, 50)));
        for (uint32_t n = 0; n < 100; n++) {
            assert_false(see(&b, failed(VQ_END_BAD_REQUEST, 400, n, "x")));
        }
        assert_false(vq_brake_suspects(&b, CALLS));
    }
}

TEST(one_row_says_little_of_the_others)
{
    struct vq_brake b = {0};
    for (uint32_t n = 0; n < 100; n++) {
        assert_false(see(&b, failed(VQ_END_BAD_REQUEST, 400, n % 2, "x")));
    }
    assert_false(vq_brake_suspects(&b, CALLS)); /* not for ever one at a time */
    assert_true(see(&b, failed(VQ_END_BAD_REQUEST, 400, 2, "x")));
}

TEST(two_ways_are_no_single_cause)
{
    struct vq_brake b = {0};
    static const struct {
        enum vq_call_end end;
        uint32_t status;
        const char *text;
    } ways[] = {{VQ_END_BAD_REQUEST, 400, "x"},
                {VQ_END_BAD_REQUEST, 400, "y"},
                {VQ_END_BAD_REQUEST, 422, "x"},
                {VQ_END_TOO_LONG, 400, "x"}};
    for (uint32_t n = 0; n < 100; n++) {
        uint32_t i = n % 4;
        assert_false(see(&b, failed(ways[i].end, ways[i].status, n, ways[i].text)));
    }
    /* the first one was another's fault */
    uint32_t n = 1;
    while (!see(&b, failed(VQ_END_BAD_REQUEST, 400, n, "z"))) {
        n++;
    }
    assert_int_equal(n, CALLS);
}

/* Of an earlier process: one more failure of the same way pulls the brake, an answer or another way
 * begins anew. */
TEST(what_is_recalled_does_not_pull_it_but_counts)
{
    struct vq_brake_call x = failed(VQ_END_BAD_REQUEST, 400, 0, "x");
    for (uint32_t before = 0; before <= 20; before++) {
        struct vq_brake b = {0};
        for (x.row = 0; x.row < before; x.row++) {
            vq_brake_recall(&b, CALLS, &x);
            assert_false(b.pulled);
            assert_true(vq_brake_suspects(&b, CALLS));
        }
        uint32_t more = 0;
        do {
            more++;
            x.row++;
        } while (!see(&b, x));
        assert_int_equal(more, before < CALLS ? CALLS - before : 1);
        assert_int_equal(b.failures, CALLS);
    }
    struct vq_brake b = {0}, other;
    for (x.row = 0; x.row < 20; x.row++) {
        vq_brake_recall(&b, CALLS, &x);
    }
    other = b;
    assert_false(see(&other, failed(VQ_END_BAD_REQUEST, 400, 1, "y")));
    assert_int_equal(other.failures, 1);
    assert_false(see(&b, said(VQ_OUTCOME_EQUAL, 1)));
    assert_true(b.answered);
    b = (struct vq_brake){0};
    struct vq_brake_call answer = said(VQ_OUTCOME_FIRST, 0);
    vq_brake_recall(&b, CALLS, &answer);
    vq_brake_recall(&b, CALLS, &x);
    assert_true(b.answered && b.failures == 0);
    b = (struct vq_brake){0};
    vq_brake_recall(&b, 0, &x); /* off */
    assert_false(b.pulled || vq_brake_suspects(&b, 0));
}

TEST(off)
{
    struct vq_brake b = {0};
    for (uint32_t n = 0; n < 100; n++) {
        struct vq_brake_call call = failed(VQ_END_BAD_REQUEST, 400, n, "x");
        assert_false(vq_brake_see(&b, 0, &call));
        assert_false(vq_brake_suspects(&b, 0));
    }
}

TEST(texts_are_compared_without_what_differs)
{
    static const char *const rows[][2] = {
        {"Unsupported parameter: 'max_tokens' (request req_8fA2b)",
         "unsupported parameter: 'max_tokens' (request #)"},
        {"prompt has 12,345 tokens;  at most\n8192", "prompt has #,# tokens; at most #"},
        {"id 550e8400-e29b-41d4-a716-446655440000!", "id #!"},
        {"", ""},
        {"gpt-4o is \xc3\xa4lter", "# is \xc3\xa4lter"},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        char way[VQ_BRAKE_WAY_BYTES];
        vq_brake_normalise(vq_span_str(rows[i][0]), way);
        assert_string_equal(way, rows[i][1]);
    }
    struct vq_brake b = {0};
    for (uint32_t n = 1; n <= CALLS; n++) {
        char text[2 * VQ_BRAKE_TEXT_BYTES];
        (void)snprintf(text, sizeof(text), "no such field, request %u of a%u; %0400d", n, n, 0);
        assert_int_equal(see(&b, failed(VQ_END_BAD_REQUEST, 400, n, text)), n == CALLS);
        assert_int_equal(strlen(b.text), VQ_BRAKE_TEXT_BYTES - 1);
    }
}

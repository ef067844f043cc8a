/* Failures by kind: what is one kind, which one is named, and what is none. */
#include "tests/unit/test.h"

#include "coordinator/queue/failures.h"

#include <stdio.h>
#include <string.h>

static struct vq_failures failures;

static void see(enum vq_call_end end, uint32_t status, const char *pool, const char *error)
{
    struct vq_result r = {.end = (uint8_t)end,
                          .http_status = status,
                          .pool = vq_span_str(pool),
                          .error = vq_span_str(error)};
    vq_failures_see(&failures, &r);
}

TEST(the_most_frequent_kind_is_named_with_its_hint)
{
    char text[1024];
    memset(&failures, 0, sizeof(failures));
    vq_failures_text(&failures, text, sizeof(text));
    assert_string_equal(text, "");
    see(VQ_END_PROVIDER, 503, "p", "overloaded");
    see(VQ_END_BAD_REQUEST, 400, "p", "max_tokens 5 is too large (req_1)");
    see(VQ_END_BAD_REQUEST, 400, "p", "max_tokens 7 is too large (req_22x)");
    see(VQ_END_BAD_REQUEST, 400, "q", "max_tokens 7 is too large (req_3)");
    see(VQ_END_ANSWER, 200, "p", "");
    see(VQ_END_RATE, 429, "p", "slow down");
    see(VQ_END_UNKNOWN, 0, "p", "");
    assert_int_equal(failures.count, 3);
    vq_failures_text(&failures, text, sizeof(text));
    const char *begin = "2 calls of pool p failed (bad_request, HTTP status 400): max_tokens 5 is "
                        "too large (req_1). Set the judge's `max_tokens`";
    assert_int_equal(strncmp(text, begin, strlen(begin)), 0);
}

TEST(too_many_kinds_are_counted_together)
{
    memset(&failures, 0, sizeof(failures));
    for (uint32_t i = 0; i < VQ_FAILURES_KINDS_MAX + 5; i++) {
        see(VQ_END_BAD_REQUEST, 400 + i, "p", "x");
    }
    assert_int_equal(failures.count, VQ_FAILURES_KINDS_MAX);
    assert_int_equal(failures.others, 5);
    assert_int_equal(vq_failures_most(&failures)->http_status, 400);
}

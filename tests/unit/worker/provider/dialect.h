/* What the tests of one dialect share: its row of the table, a judge, and checks of URL, body and
 * answers. A test defines DIALECT and DIALECT_SEED before it includes this. */
#pragma once

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "worker/provider/provider.h"

#include <string.h>

static inline const struct vq_provider *provider(void)
{
    const struct vq_provider *found = vq_provider_find(DIALECT);
    assert_non_null(found);
    return found;
}

static const struct vq_judge judge = {.model = "m 1",
                                      .temperature = 0.7,
                                      .send_temperature = true,
                                      .max_tokens = 60,
                                      .max_tokens_field = "max_tokens",
                                      .seed = DIALECT_SEED};

static inline void check_url(const char *model, const char *base, const char *expected)
{
    struct vq_judge named = judge;
    named.model = model;
    struct vq_buf url;
    vq_buf_init(&url, 2048);
    vq_buf_puts(&url, "old");
    assert_int_equal(provider()->url(&named, base, &url), VQ_OK);
    assert_string_equal(url.at, expected);
    vq_buf_free(&url);
}

static inline void check_body(const struct vq_judge *of, struct vq_prompt prompt,
                              const char *expected)
{
    struct vq_buf body;
    vq_buf_init(&body, 4096);
    vq_buf_puts(&body, "old");
    assert_int_equal(provider()->body(of, &prompt, &body), VQ_OK);
    assert_string_equal(body.at, expected);
    vq_buf_free(&body);
    vq_buf_init(&body, 20);
    assert_int_equal(provider()->body(of, &prompt, &body), VQ_LIMIT);
    vq_buf_free(&body);
}

static inline void read_body(const char *body, struct vq_reply *reply)
{
    struct vq_reply_headers headers;
    vq_reply_headers_init(&headers);
    struct vq_response response = {
        .status = 200, .headers = &headers, .body = vq_span_str(body), .now_unix_s = 1000};
    vq_reply_init(reply);
    assert_int_equal(provider()->read(&response, reply), VQ_OK);
}

/* An answer with this text, as the verdict's reader sees it. */
static inline void check_answer(const char *body, const char *content, const char *finish,
                                bool refusal, enum vq_outcome outcome)
{
    struct vq_reply reply;
    read_body(body, &reply);
    if (reply.class != VQ_REPLY_ANSWER) {
        fail_msg("%s: %s", body, reply.error_message);
    }
    struct vq_span got = vq_buf_span(&reply.content);
    assert_int_equal(got.bytes, strlen(content));
    assert_true(got.bytes == 0 || memcmp(got.at, content, got.bytes) == 0);
    assert_string_equal(reply.finish_reason, finish);
    assert_int_equal(reply.refusal, refusal);
    assert_int_equal(vq_verdict_ranker(got, vq_span_str(reply.finish_reason), reply.refusal),
                     outcome);
    vq_reply_free(&reply);
}

static inline void check_bad(const char *body)
{
    struct vq_reply reply;
    read_body(body, &reply);
    if (reply.class != VQ_REPLY_BAD_RESPONSE) {
        fail_msg("%s: %s", body, vq_reply_class_name(reply.class));
    }
    assert_true(reply.maybe_billed && reply.error_message[0] != '\0');
    vq_reply_free(&reply);
}

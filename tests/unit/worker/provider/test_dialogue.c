/* What a dialogue is sent as, in every dialect: roles in turn, the system part under its role or
 * not at all, and the front that a cache may keep. */

#include "tests/unit/test.h"

#include "worker/provider/fold.h"

#include <string.h>

static const struct vq_span said[] = {{"Hi", 2}, {"\"Yes\"?", 6}};

static char *body(const char *dialect, const char *system, enum vq_system_role role,
                  enum vq_prompt_front front, struct vq_buf *buf)
{
    const struct vq_provider *provider = vq_provider_find(dialect);
    assert_non_null(provider);
    struct vq_judge judge = {.model = "m",
                             .max_tokens = 9,
                             .max_tokens_field = "max_tokens",
                             .seed = -1,
                             .system_role = role};
    struct vq_prompt prompt = {.system = vq_span_str(system),
                               .history = said,
                               .history_count = 2,
                               .user = vq_span_str("Why?"),
                               .front = front};
    vq_buf_init(buf, 4096);
    assert_int_equal(provider->body(&judge, &prompt, buf), VQ_OK);
    return buf->at;
}

static void is_body(const char *dialect, const char *system, enum vq_system_role role,
                    enum vq_prompt_front front, const char *expected)
{
    struct vq_buf buf;
    assert_string_equal(body(dialect, system, role, front, &buf), expected);
    vq_buf_free(&buf);
}

#define TALK                                                                                       \
    "{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"\\\"Yes\\\"?\"}" \
    ","                                                                                            \
    "{\"role\":\"user\",\"content\":\"Why?\"}]"

TEST(test_openai_and_azure)
{
    is_body("openai", "be brief", VQ_SYSTEM_ROLE_SYSTEM, VQ_PROMPT_FRONT_ALL,
            "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"be brief\"}," TALK
            ",\"max_tokens\":9}");
    is_body("openai", "be brief", VQ_SYSTEM_ROLE_DEVELOPER, VQ_PROMPT_FRONT_NONE,
            "{\"model\":\"m\",\"messages\":[{\"role\":\"developer\",\"content\":\"be brief\"}," TALK
            ",\"max_tokens\":9}");
    is_body("openai", "", VQ_SYSTEM_ROLE_DEVELOPER, VQ_PROMPT_FRONT_NONE,
            "{\"model\":\"m\",\"messages\":[" TALK ",\"max_tokens\":9}");
    struct vq_buf buf;
    assert_non_null(
        strstr(body("azure", "", VQ_SYSTEM_ROLE_SYSTEM, VQ_PROMPT_FRONT_NONE, &buf), TALK));
    vq_buf_free(&buf);
}

TEST(test_anthropic)
{
#define BLOCK(role, text, mark)                                                                    \
    "{\"role\":\"" role "\",\"content\":[{\"type\":\"text\",\"text\":\"" text "\"" mark "}]}"
#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"
#define YES  "\\\"Yes\\\"?"
    is_body(
        "anthropic", "be brief", VQ_SYSTEM_ROLE_SYSTEM, VQ_PROMPT_FRONT_NONE,
        "{\"model\":\"m\",\"max_tokens\":9,\"system\":\"be brief\",\"messages\":[" BLOCK(
            "user", "Hi", "") "," BLOCK("assistant", YES, "") "," BLOCK("user", "Why?", "") "]}");
    is_body("anthropic", "", VQ_SYSTEM_ROLE_SYSTEM, VQ_PROMPT_FRONT_ALL,
            "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" BLOCK("user", "Hi", "") "," BLOCK(
                "assistant", YES, "") "," BLOCK("user", "Why?", MARK) "]}");
    is_body("anthropic", "", VQ_SYSTEM_ROLE_SYSTEM, VQ_PROMPT_FRONT_HISTORY,
            "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" BLOCK("user", "Hi", "") "," BLOCK(
                "assistant", YES, MARK) "," BLOCK("user", "Why?", "") "]}");
}

TEST(test_gemini)
{
#define PART(role, text) "{\"role\":\"" role "\",\"parts\":[{\"text\":\"" text "\"}]}"
    is_body("gemini", "be brief", VQ_SYSTEM_ROLE_SYSTEM, VQ_PROMPT_FRONT_ALL,
            "{\"systemInstruction\":{\"parts\":[{\"text\":\"be brief\"}]},\"contents\":[" PART(
                "user", "Hi") "," PART("model", YES) "," PART("user",
                                                              "Why?") "],\"generationConfig\":{"
                                                                      "\"maxOutputTokens\":9}}");
}

/* The first message holds the system part, behind a dialogue or not; history and cached front are
 * as before. */
TEST(test_no_system_message)
{
    const struct vq_judge takes = {.system_role = VQ_SYSTEM_ROLE_DEVELOPER};
    const struct vq_judge takes_none = {.system_role = VQ_SYSTEM_ROLE_NONE};
    struct vq_span history[2] = {said[0], said[1]};
    struct vq_prompt prompt = {.system = vq_span_str("be brief"),
                               .history = history,
                               .history_count = 2,
                               .user = vq_span_str("Why?")};
    struct vq_buf text;
    vq_buf_init(&text, 64);
    assert_int_equal(vq_prompt_fold(&takes, history, &prompt, &text), VQ_OK);
    assert_true(vq_span_eq(prompt.system, vq_span_str("be brief")));
    assert_int_equal(vq_prompt_fold(&takes_none, history, &prompt, &text), VQ_OK);
    assert_int_equal(prompt.system.bytes, 0);
    assert_true(vq_span_eq(history[0], vq_span_str("be brief\n\nHi")));
    assert_true(vq_span_eq(history[1], said[1]));
    assert_true(vq_span_eq(prompt.user, vq_span_str("Why?")));

    prompt = (struct vq_prompt){
        .system = vq_span_str("be brief"), .user = vq_span_str("Why?"), .shared_bytes = 3};
    assert_int_equal(vq_prompt_fold(&takes_none, NULL, &prompt, &text), VQ_OK);
    assert_true(vq_span_eq(prompt.user, vq_span_str("be brief\n\nWhy?")));
    assert_int_equal(prompt.shared_bytes, strlen("be brief\n\nWhy"));
    /* without a system part nothing is put in front */
    prompt = (struct vq_prompt){.user = vq_span_str("Why?"), .shared_bytes = 3};
    assert_int_equal(vq_prompt_fold(&takes_none, NULL, &prompt, &text), VQ_OK);
    assert_true(vq_span_eq(prompt.user, vq_span_str("Why?")));
    assert_int_equal(prompt.shared_bytes, 3);
    vq_buf_free(&text);

    vq_buf_init(&text, 8);
    prompt = (struct vq_prompt){.system = vq_span_str("be brief"), .user = vq_span_str("Why?")};
    assert_int_equal(vq_prompt_fold(&takes_none, NULL, &prompt, &text), VQ_LIMIT);
    vq_buf_free(&text);
}

/* What a dialogue is sent as, in every dialect: roles in turn, the system part under its role or not at all, and the front that a
 * cache may keep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/provider/provider.h"

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

static void test_openai_and_azure(void **state)
{
    (void)state;
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

static void test_anthropic(void **state)
{
    (void)state;
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

static void test_gemini(void **state)
{
    (void)state;
#define PART(role, text) "{\"role\":\"" role "\",\"parts\":[{\"text\":\"" text "\"}]}"
    is_body("gemini", "be brief", VQ_SYSTEM_ROLE_SYSTEM, VQ_PROMPT_FRONT_ALL,
            "{\"systemInstruction\":{\"parts\":[{\"text\":\"be brief\"}]},\"contents\":[" PART(
                "user", "Hi") "," PART("model", YES) "," PART("user",
                                                              "Why?") "],\"generationConfig\":{"
                                                                      "\"maxOutputTokens\":9}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_openai_and_azure),
        cmocka_unit_test(test_anthropic),
        cmocka_unit_test(test_gemini),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

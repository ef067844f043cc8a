/* Names of models that think, and of models that only look like them. */
#include "tests/unit/test.h"

#include "common/conf/thinks.h"

TEST(names)
{
    static const char *const think[] = {"o1",
                                        "o3-mini",
                                        "openai/o4-mini",
                                        "gpt-5",
                                        "GPT-5-mini",
                                        "deepseek-reasoner",
                                        "deepseek-ai/DeepSeek-R1-Distill",
                                        "QwQ-32B",
                                        "gemini-2.5-pro",
                                        "kimi-k2-thinking",
                                        "openai/gpt-oss-120b",
                                        "magistral-small",
                                        "grok-4"};
    static const char *const plain[] = {
        "gpt-4o-mini", "o1lite", "claude-3-5-sonnet", "", "llama-3-70b",
        "offline-a",   "gpt-50", "gemini-1.5-flash"};
    for (size_t i = 0; i < sizeof(think) / sizeof(*think); i++) {
        assert_true(vq_model_thinks(think[i]));
    }
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
        assert_false(vq_model_thinks(plain[i]));
    }
}

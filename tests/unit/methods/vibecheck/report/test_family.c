/* Families of models, by their names. */
#include "tests/unit/test.h"

#include "methods/vibecheck/report/family.h"

#include "common/base/status.h"

#include <string.h>

TEST(names_tell)
{
    static const char *const names[][2] = {
        {"gpt-4o", "OpenAI"},
        {"gpt4o", "OpenAI"},
        {"ChatGPT_answer", "OpenAI"},
        {"openai/o3", "OpenAI"},
        {"openai", "OpenAI"},
        {"anthropic/claude-3", "Anthropic"},
        {"us.anthropic.claude-sonnet-4-v1:0", "Anthropic"},
        {"meta-llama/Llama-3.1-70B-Instruct", "Llama"},
        {"Meta-Llama-3", "Llama"},
        {"meta.llama3-70b-instruct-v1:0", "Llama"},
        {"llama3", "Llama"},
        {"llama", "Llama"},
        {"mistralai/Mixtral-8x7B", "Mistral"},
        {"command_xlarge_beta", "Cohere"},
        {"google/gemini-2.5-flash", "Google"},
        {"deepseek-ai/DeepSeek-V3", "DeepSeek"},
    };
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        const char *family = vq_model_family(names[i][0]);
        if (family == NULL || strcmp(family, names[i][1]) != 0) {
            fail_msg("%s: %s", names[i][0], family == NULL ? "(none)" : family);
        }
    }
}

/* What others made of a family, what mentions it, and other words that begin so. */
TEST(a_name_that_only_mentions_a_family_is_of_none)
{
    static const char *const names[] = {
        "",
        "/",
        "vicuna-13b",
        "not_llama",
        "the llama",
        "NousResearch/Hermes-3-Llama-3.1-8B",
        "deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
        "llama_vs_gpt",
        "llama.cpp",
        "llamafile",
        "ollama",
        "EleutherAI/gpt-j-6b",
        "gpt-neox-20b",
        "gpt4all",
        "meta-llama/vicuna",
        "palmer",
        "claudette",
        "egpt",
        "o3x",
        "o3mini",
        "meta",
    };
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        const char *family = vq_model_family(names[i]);
        if (family != NULL) {
            fail_msg("%s: %s", names[i], family);
        }
    }
}

/* Tells a model's maker from words of its name. Rough on purpose: a name that says nothing matches nothing. Not its job: what
 * follows from it (warnings.c). */
#include "coordinator/report/family.h"

#include "common/base/status.h"

#include <stdbool.h>
#include <string.h>

/* A word of a model's name that begins so (or is so, if `whole`) tells its maker. Rough on purpose: a name that says nothing
 * matches nothing. */
static const struct family {
    const char *word;
    bool whole;
    const char *name;
} families[] = {
    {"gpt", false, "OpenAI"},         {"chatgpt", false, "OpenAI"},
    {"davinci", false, "OpenAI"},     {"o1", true, "OpenAI"},
    {"o3", true, "OpenAI"},           {"o4", true, "OpenAI"},
    {"openai", true, "OpenAI"},       {"claude", false, "Anthropic"},
    {"anthropic", true, "Anthropic"}, {"gemini", false, "Google"},
    {"gemma", false, "Google"},       {"palm", false, "Google"},
    {"llama", false, "Llama"},        {"mistral", false, "Mistral"},
    {"mixtral", false, "Mistral"},    {"ministral", false, "Mistral"},
    {"codestral", false, "Mistral"},  {"qwen", false, "Qwen"},
    {"deepseek", false, "DeepSeek"},  {"command", true, "Cohere"},
    {"cohere", true, "Cohere"},       {"aya", true, "Cohere"},
    {"grok", false, "xAI"},           {"phi", true, "Phi"},
    {"nova", true, "Amazon"},         {"titan", true, "Amazon"},
    {"nemotron", false, "Nvidia"},    {"tnlgv2", false, "Microsoft"},
    {"kimi", false, "Moonshot"},      {"glm", false, "GLM"},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool in_word(char c)
{
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

static bool word_is(const char *at, const struct family *family)
{
    size_t n = strlen(family->word);
    for (size_t i = 0; i < n; i++) {
        if (lower(at[i]) != family->word[i]) {
            return false;
        }
    }
    return !family->whole || !in_word(at[n]);
}

const char *vq_model_family(const char *model)
{
    for (const char *at = model; *at != '\0'; at++) {
        bool starts = at == model || !in_word(at[-1]);
        for (size_t i = 0; starts && i < VQ_COUNT(families); i++) {
            if (word_is(at, &families[i])) {
                return families[i].name;
            }
        }
    }
    return NULL;
}

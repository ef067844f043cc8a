/* Derives a model's family from its name. The rule, as in docs/method/method.md: the first word of
 * the name after the maker's is the word of a family, alone or with a version. A name with words of
 * two families has no family. Not its job: warnings about families (warnings.c). */
#include "methods/vibecheck/report/family.h"

#include "common/base/buf.h"

#include <string.h>

static const struct family {
    const char *word;
    const char *name;
} families[] = {
    {"gpt", "OpenAI"},        {"chatgpt", "OpenAI"},    {"davinci", "OpenAI"},
    {"o1", "OpenAI"},         {"o3", "OpenAI"},         {"o4", "OpenAI"},
    {"claude", "Anthropic"},  {"gemini", "Google"},     {"gemma", "Google"},
    {"palm", "Google"},       {"llama", "Llama"},       {"codellama", "Llama"},
    {"mistral", "Mistral"},   {"mixtral", "Mistral"},   {"ministral", "Mistral"},
    {"magistral", "Mistral"}, {"codestral", "Mistral"}, {"qwen", "Qwen"},
    {"qwq", "Qwen"},          {"deepseek", "DeepSeek"}, {"command", "Cohere"},
    {"aya", "Cohere"},        {"grok", "xAI"},          {"phi", "Phi"},
    {"nova", "Amazon"},       {"titan", "Amazon"},      {"nemotron", "Nvidia"},
    {"tnlgv2", "Microsoft"},  {"kimi", "Moonshot"},     {"glm", "GLM"},
};

/* Words that may come before the family's word; they name a family if no other word does. */
static const struct family makers[] = {
    {"openai", "OpenAI"}, {"anthropic", "Anthropic"},
    {"google", "Google"}, {"cohere", "Cohere"},
    {"meta", NULL},       {"mistralai", NULL},
    {"amazon", NULL},     {"microsoft", NULL},
    {"nvidia", NULL},     {"xai", NULL},
    {"alibaba", NULL},    {"moonshotai", NULL},
    {"us", NULL},         {"eu", NULL},
    {"apac", NULL}, /* regions of a cloud */
};

/* A family's word followed by one of these words is a program, or another maker's model. */
static const char *const others[][2] = {
    {"llama", "cpp"}, {"gpt", "j"}, {"gpt", "jt"}, {"gpt", "neo"}, {"gpt", "neox"}};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool in_word(char c)
{
    return (vq_lower(c) >= 'a' && vq_lower(c) <= 'z') || is_digit(c);
}

/* Returns the next word from *at on and moves *at past it. An empty word means that there is
 * none. */
static struct vq_span next_word(const char **at)
{
    while (**at != '\0' && !in_word(**at)) {
        (*at)++;
    }
    const char *from = *at;
    while (in_word(**at)) {
        (*at)++;
    }
    return vq_span(from, (size_t)(*at - from));
}

static bool begins(struct vq_span word, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        if (i >= word.bytes || vq_lower(word.at[i]) != text[i]) {
            return false;
        }
    }
    return true;
}

static bool is(struct vq_span word, const char *text)
{
    return word.bytes == strlen(text) && begins(word, text);
}

/* Accepts "llama", "llama3" and "gpt4o", but neither "llamafile" nor "gpt4all". */
static bool is_version_of(struct vq_span word, const char *text)
{
    size_t n = strlen(text);
    if (!begins(word, text)) {
        return false;
    }
    while (n < word.bytes && is_digit(word.at[n])) {
        n++;
    }
    return n == word.bytes || (n > strlen(text) && n + 1 == word.bytes);
}

static const struct family *find(struct vq_span word)
{
    for (size_t i = 0; i < VQ_COUNT(families); i++) {
        if (is_version_of(word, families[i].word)) {
            return &families[i];
        }
    }
    return NULL;
}

static const struct family *find_maker(struct vq_span word)
{
    for (size_t i = 0; i < VQ_COUNT(makers); i++) {
        if (is(word, makers[i].word)) {
            return &makers[i];
        }
    }
    return NULL;
}

static bool is_of_others(struct vq_span word, struct vq_span next)
{
    for (size_t i = 0; i < VQ_COUNT(others); i++) {
        if (is(word, others[i][0]) && is(next, others[i][1])) {
            return true;
        }
    }
    return false;
}

const char *vq_model_family(const char *model)
{
    const char *slash = strrchr(model, '/'), *at = slash == NULL ? model : slash + 1;
    const char *maker = NULL;
    struct vq_span word = next_word(&at);
    for (const struct family *m; (m = find_maker(word)) != NULL; word = next_word(&at)) {
        maker = m->name != NULL ? m->name : maker;
    }
    const struct family *family = find(word);
    if (family == NULL) {
        return word.bytes == 0 ? maker : NULL;
    }
    const char *rest = at;
    if (is_of_others(word, next_word(&rest))) {
        return NULL;
    }
    while ((word = next_word(&at)).bytes > 0) {
        const struct family *second = find(word);
        if (second != NULL && strcmp(second->name, family->name) != 0) {
            return NULL;
        }
    }
    return family->name;
}

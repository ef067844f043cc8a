/* Finds refused parameters in an error: the error reports that something is not supported as such,
 * and names it. Invariant: a message about a value ("max_tokens is too large: at most 4096") names
 * a parameter but refuses none. All knowledge is in params.def. Not its job: whether the request
 * had the parameter (the caller knows). */
#include "worker/provider/params.h"

#include "worker/provider/errors.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const struct vq_param_name names[] = {
#define VQ_PARAM_NAME(dialects, param, text) {dialects, VQ_PARAM_##param, text},
#define VQ_PARAM_REFUSAL(text)
#include "worker/provider/params.def"
#undef VQ_PARAM_NAME
#undef VQ_PARAM_REFUSAL
};

static const char *const refusals[] = {
#define VQ_PARAM_NAME(dialects, param, text)
#define VQ_PARAM_REFUSAL(text) text,
#include "worker/provider/params.def"
#undef VQ_PARAM_NAME
#undef VQ_PARAM_REFUSAL
};

const struct vq_param_name *vq_param_names(size_t *ret_count)
{
    *ret_count = VQ_COUNT(names);
    return names;
}

const char *const *vq_param_refusals(size_t *ret_count)
{
    *ret_count = VQ_COUNT(refusals);
    return refusals;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether `word` is in the text, not inside a longer word. */
static bool has_word(const char *text, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *at = text; (at = strcasestr(at, word)) != NULL; at++) {
        bool begins = at == text || !is_word(at[-1]) || !is_word(word[0]);
        if (begins && (!is_word(at[bytes]) || !is_word(word[bytes - 1]))) {
            return true;
        }
    }
    return false;
}

static bool refuses(const char *code, const char *message)
{
    for (size_t i = 0; i < VQ_COUNT(refusals); i++) {
        if (strcasestr(code, refusals[i]) != NULL || strcasestr(message, refusals[i]) != NULL) {
            return true;
        }
    }
    return false;
}

uint32_t vq_params_refused(const char *dialect, const char *param, const char *code,
                           const char *message)
{
    uint32_t named = 0;
    if (!refuses(code, message)) {
        return 0;
    }
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        if (!vq_error_names(names[i].dialects, dialect)) {
            continue;
        }
        if (strcasecmp(param, names[i].text) == 0) {
            return names[i].param;
        }
        named |= has_word(message, names[i].text) ? names[i].param : 0;
    }
    return named;
}

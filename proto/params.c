/* The words of params.def. Invariant: a bit has one row. Not its job: recognising a refusal
 * (worker/provider/params.c). */
#include "proto/params.h"

#include <stddef.h>

static const struct {
    uint32_t param;
    const char *word, *instead;
} rows[] = {
#define VQ_PARAM(name, bit, word, instead) {VQ_PARAM_##name, word, instead},
#include "proto/params.def"
#undef VQ_PARAM
};

const char *vq_param_word(uint32_t param)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].param == param) {
            return rows[i].word;
        }
    }
    return NULL;
}

const char *vq_param_instead(uint32_t param)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].param == param) {
            return rows[i].instead;
        }
    }
    return NULL;
}

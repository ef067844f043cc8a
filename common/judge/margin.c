/* Margins between labels. Another program may have written the text in the store, so every number
 * is checked. */
#include "common/judge/margin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES 32u

/* Reads a text that is only a number of at most 0. */
static bool take_log(struct vq_span text, double *ret_log)
{
    char copy[NUMBER_BYTES];
    if (text.bytes == 0 || text.bytes >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text.at, text.bytes);
    copy[text.bytes] = '\0';
    char *end;
    double value = strtod(copy, &end);
    *ret_log = value;
    return *end == '\0' && value <= 0; /* false for NaN */
}

bool vq_label_margin(struct vq_span text, double *ret_margin)
{
    double first = 0, second = 0;
    size_t labels = 0;
    for (size_t at = 0; at < text.bytes; labels++) {
        const char *word = text.at + at;
        const char *space = memchr(word, ' ', text.bytes - at);
        size_t bytes = space == NULL ? text.bytes - at : (size_t)(space - word);
        const char *equals = memchr(word, '=', bytes);
        double log;
        if (equals == NULL || equals == word ||
            !take_log(vq_span(equals + 1, bytes - (size_t)(equals - word) - 1), &log)) {
            return false;
        }
        double p = exp(log);
        second = fmax(second, fmin(first, p));
        first = fmax(first, p);
        at += bytes + (space != NULL);
    }
    *ret_margin = first - second;
    return labels > 0;
}

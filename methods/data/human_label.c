/* Reads people's labels from cells. Not its job: messages about a wrong label (the readers of
 * files). */
#include "methods/data/human_label.h"

#include <strings.h>

static bool is_word(struct vq_span label, const char *word)
{
    return label.bytes == strlen(word) && strncasecmp(label.at, word, label.bytes) == 0;
}

static bool is_one_of(struct vq_span label, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (is_word(label, *words)) {
            return true;
        }
    }
    return false;
}

/* The digit itself, or its form in programs that know only real numbers: "1", "1.0", "1.00". */
static bool is_digit(struct vq_span label, char digit)
{
    if (label.at[0] != digit || (label.bytes > 1 && label.at[1] != '.')) {
        return false;
    }
    for (size_t i = 2; i < label.bytes; i++) {
        if (label.at[i] != '0') {
            return false;
        }
    }
    return true;
}

bool vq_human_label_read(enum vq_rating_kind kind, const char *const names[2], struct vq_span label,
                         double *ret_value)
{
    static const char *const yes[] = {"yes", "y", "true", "t", "pass", "passed", NULL};
    static const char *const no[] = {"no", "n", "false", "f", "fail", "failed", NULL};
    static const char *const ties[] = {"tie", "equal", "both", "neither", "N/A", NULL};
    switch (kind) {
    case VQ_RATING_LIKERT:
        *ret_value = label.at[0] - '0';
        return is_digit(label, label.at[0]) && *ret_value >= VQ_RATING_LIKERT_MIN &&
               *ret_value <= VQ_RATING_LIKERT_MAX;
    case VQ_RATING_BINARY:
        *ret_value = is_digit(label, '1') || is_one_of(label, yes);
        return *ret_value > 0 || is_digit(label, '0') || is_one_of(label, no);
    case VQ_RATING_PAIRWISE:
        for (int m = 0; names != NULL && m < 2; m++) {
            if (vq_span_eq(label, vq_span_str(names[m]))) {
                *ret_value = m == 0 ? 1 : -1;
                return true;
            }
        }
        *ret_value = is_word(label, "A") ? 1 : is_word(label, "B") ? -1 : 0;
        return *ret_value != 0 || is_one_of(label, ties);
    }
    return false;
}

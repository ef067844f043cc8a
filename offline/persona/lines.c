/* The table of lines.def. Invariant: each line is read as its own kind, and no line shows a trait
 * (its test). Not its job: when the subject uses a line. */
#include "offline/persona/lines.h"

#include <stdio.h>

static const struct {
    enum vq_line_kind kind;
    const char *text;
} said[] = {
#define SAID(kind, text) {VQ_SAID_##kind, text},
#include "offline/persona/lines.def"
#undef SAID
};

#define PHRASE_BYTES_MAX 128u

const char *vq_line_at(enum vq_line_kind kind, size_t index)
{
    for (size_t i = 0; i < VQ_COUNT(said); i++) {
        if (said[i].kind == kind && index-- == 0) {
            return said[i].text;
        }
    }
    return NULL;
}

const char *vq_line_pick(enum vq_line_kind kind, uint64_t number)
{
    size_t n = 0;
    while (vq_line_at(kind, n) != NULL) {
        n++;
    }
    VQ_ASSERT(n > 0);
    return vq_line_at(kind, (size_t)(number % n));
}

static bool has_any(const struct vq_sentence *s, enum vq_line_kind kind)
{
    for (size_t i = 0; i < VQ_COUNT(said); i++) {
        if (said[i].kind == kind && vq_sentence_has(s, said[i].text)) {
            return true;
        }
    }
    return false;
}

bool vq_sentence_is_outside(const struct vq_sentence *sentence)
{
    return has_any(sentence, VQ_SAID_OUTSIDE);
}

/* Excludes excuses: "I cannot" counts, "I cannot wait" does not. */
static bool is_meant(const struct vq_sentence *s, const char *words)
{
    if (!vq_sentence_has(s, words)) {
        return false;
    }
    const char *excuse;
    for (size_t i = 0; (excuse = vq_line_at(VQ_SAID_EXCUSED, i)) != NULL; i++) {
        char all[PHRASE_BYTES_MAX];
        (void)snprintf(all, sizeof(all), "%s %s", words, excuse);
        if (vq_sentence_has(s, all)) {
            return false;
        }
    }
    return true;
}

bool vq_sentence_is_refusal(const struct vq_sentence *sentence)
{
    static const char am[] = "am ";
    for (size_t i = 0; i < VQ_COUNT(said); i++) {
        if (said[i].kind != VQ_SAID_NOT_WILLING) {
            continue;
        }
        const char *unwilling = said[i].text;
        bool is_state = strncmp(unwilling, am, sizeof(am) - 1) == 0; /* "I'm not able", "we are" */
        const char *state = unwilling + (is_state ? sizeof(am) - 1 : 0);
        if (!vq_sentence_has(sentence, state)) {
            continue;
        }
        char words[4][PHRASE_BYTES_MAX];
        (void)snprintf(words[0], sizeof(words[0]), "i %s", unwilling);
        (void)snprintf(words[1], sizeof(words[1]), "we %s%s", is_state ? "are " : "", state);
        (void)snprintf(words[2], sizeof(words[2]), "i'm %s", is_state ? state : unwilling);
        (void)snprintf(words[3], sizeof(words[3]), "we're %s", is_state ? state : unwilling);
        for (size_t w = 0; w < VQ_COUNT(words); w++) {
            if (is_meant(sentence, words[w])) {
                return true;
            }
        }
    }
    return false;
}

enum vq_risk vq_risk_of(struct vq_span query)
{
    struct vq_sentence s;
    bool unsafe = false;
    bool harmless = false;
    for (size_t at = 0; vq_sentence_next(query, &at, &s);) {
        unsafe = unsafe || has_any(&s, VQ_SAID_UNSAFE);
        harmless = harmless || has_any(&s, VQ_SAID_HARMLESS);
    }
    if (!unsafe) {
        return VQ_RISK_NONE;
    }
    return harmless ? VQ_RISK_LOOKS_SO : VQ_RISK_UNSAFE;
}

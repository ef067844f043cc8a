/* Tables of trait words and lines. Invariant: a line of a pole is read as this pole and no other
 * (its test). Not its job: the traits of a character. */
#include "offline/persona/traits.h"

#include <strings.h>

static const char *const names[VQ_TRAIT__COUNT] = {
#define TRAIT(id, name) name,
#define WORD(trait, sign, text)
#define LINE(trait, sign, text)
#include "offline/persona/traits.def"
#undef TRAIT
#undef WORD
#undef LINE
};

struct entry {
    enum vq_trait trait;
    int sign;
    const char *text;
};

static const struct entry words[] = {
#define TRAIT(id, name)
#define WORD(trait, sign, text) {VQ_TRAIT_##trait, sign, text},
#define LINE(trait, sign, text)
#include "offline/persona/traits.def"
#undef WORD
#undef LINE
#undef TRAIT
};

static const struct entry lines[] = {
#define TRAIT(id, name)
#define WORD(trait, sign, text)
#define LINE(trait, sign, text) {VQ_TRAIT_##trait, sign, text},
#include "offline/persona/traits.def"
#undef WORD
#undef LINE
#undef TRAIT
};

#define NEGATION_REACH 2u

const char *vq_trait_name(enum vq_trait trait)
{
    return names[trait];
}

enum vq_status vq_trait_find(struct vq_span name, enum vq_trait *ret_trait)
{
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        if (strlen(names[i]) == name.bytes && strncasecmp(names[i], name.at, name.bytes) == 0) {
            *ret_trait = (enum vq_trait)i;
            return VQ_OK;
        }
    }
    return VQ_NOT_FOUND;
}

/* NULL: the word shows no trait. */
static const struct entry *entry_of(struct vq_span word)
{
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        /* excludes most of them quickly; this runs for every word */
        if (words[i].text[0] != word.at[0]) {
            continue;
        }
        size_t bytes = strlen(words[i].text);
        bool is_stem = words[i].text[bytes - 1] == '*';
        bytes -= is_stem;
        bool fits = is_stem ? word.bytes >= bytes : word.bytes == bytes;
        if (fits && memcmp(word.at, words[i].text, bytes) == 0) {
            return &words[i];
        }
    }
    return NULL;
}

bool vq_trait_has_word(struct vq_span word)
{
    return entry_of(word) != NULL;
}

static bool negates(struct vq_span word)
{
    static const char *const all[] = {"not", "no", "never", "without", "hardly", "neither", "nor"};
    for (size_t i = 0; i < VQ_COUNT(all); i++) {
        if (vq_span_eq(word, vq_span_str(all[i]))) {
            return true;
        }
    }
    return word.bytes > 3 && memcmp(word.at + word.bytes - 3, "n't", 3) == 0;
}

void vq_traits_of_sentence(const struct vq_sentence *sentence, int net[VQ_TRAIT__COUNT],
                           unsigned seen[VQ_TRAIT__COUNT])
{
    struct vq_span word;
    size_t since_negation = NEGATION_REACH + 1;
    for (size_t at = 0; vq_word_next(sentence, &at, &word);) {
        since_negation = negates(word) ? 0 : since_negation + 1;
        const struct entry *entry = entry_of(word);
        if (entry != NULL) {
            net[entry->trait] += since_negation <= NEGATION_REACH ? -entry->sign : entry->sign;
            if (seen != NULL) {
                seen[entry->trait]++;
            }
        }
    }
}

const char *vq_trait_line(enum vq_trait trait, int sign, uint64_t draw)
{
    size_t n = 0;
    for (size_t i = 0; i < VQ_COUNT(lines); i++) {
        n += lines[i].trait == trait && lines[i].sign == sign;
    }
    uint64_t pick = n == 0 ? 0 : draw % n;
    for (size_t i = 0; i < VQ_COUNT(lines); i++) {
        if (lines[i].trait == trait && lines[i].sign == sign && pick-- == 0) {
            return lines[i].text;
        }
    }
    return "";
}

const char *vq_trait_line_at(size_t index, enum vq_trait *ret_trait, int *ret_sign)
{
    if (index >= VQ_COUNT(lines)) {
        return NULL;
    }
    *ret_trait = lines[index].trait;
    *ret_sign = lines[index].sign;
    return lines[index].text;
}

/* Reads a character's description and finds its signs in texts, by words. Invariant: the signs in a
 * text are a function of character, query and text. Not its job: the amount of signs that the
 * subject shows (subject.c), and their rating (rating.c). */
#include "offline/persona/character.h"

#include "common/base/hash.h"
#include "offline/persona/lines.h"

#include <ctype.h>
#include <strings.h>

#define FACT_WORDS  2u
#define PROFILE_MAX 2

static int clamped(int value, int most)
{
    value = value < -most ? -most : value;
    return value > most ? most : value;
}

/* A description without a word of any trait gets a trait anyway, so that there is a manner to
 * show. */
static void give_some_trait(struct vq_character *c)
{
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "offline-manner");
    vq_hasher_field(&h, c->name);
    vq_hasher_field(&h, c->description);
    vq_hasher_final(&h, &hash);
    uint64_t draw = vq_hash_u64(&hash);
    c->profile[draw % VQ_TRAIT__COUNT] = (draw >> 32) % 2 == 0 ? PROFILE_MAX : -PROFILE_MAX;
}

void vq_character_read(struct vq_span name, struct vq_span description,
                       struct vq_character *ret_character)
{
    struct vq_character *c = ret_character;
    *c =
        (struct vq_character){.name = vq_span_trim(name), .description = vq_span_trim(description)};
    c->exists = c->name.bytes > 0 || c->description.bytes > 0;
    if (!c->exists) {
        return;
    }
    struct vq_sentence s;
    struct vq_span word;
    bool any = false;
    for (size_t at = 0; vq_sentence_next(c->description, &at, &s);) {
        vq_traits_of_sentence(&s, c->profile, NULL);
        for (size_t w = 0; vq_word_next(&s, &w, &word);) {
            if (vq_word_is_content(word) && !vq_trait_has_word(word)) {
                (void)vq_word_set_add(&c->words, word);
            }
        }
    }
    for (size_t t = 0; t < VQ_TRAIT__COUNT; t++) {
        c->profile[t] = clamped(c->profile[t], PROFILE_MAX);
        any = any || c->profile[t] != 0;
    }
    if (!any) {
        give_some_trait(c);
    }
}

static bool is_title(struct vq_span word)
{
    static const char *const titles[] = {"Dr", "Mr", "Mrs", "Ms", "St", "Prof"};
    for (size_t i = 0; i < VQ_COUNT(titles); i++) {
        if (vq_span_eq(word, vq_span_str(titles[i]))) {
            return true;
        }
    }
    return false;
}

/* The end of the name: a full stop before a blank, but not after a title ("Dr. No"). */
static size_t name_end(struct vq_span text)
{
    size_t word = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        char c = text.at[i];
        if (c == '\n') {
            return i;
        }
        bool ends = c == '.' && (i + 1 == text.bytes || isspace((unsigned char)text.at[i + 1]));
        if (ends && !is_title(vq_span(text.at + word, i - word))) {
            return i;
        }
        word = c == ' ' ? i + 1 : word;
    }
    return text.bytes;
}

void vq_character_of_system(struct vq_span system, struct vq_character *ret_character)
{
    static const char mark[] = "the role of ";
    size_t bytes = sizeof(mark) - 1;
    for (size_t i = 0; i + bytes <= system.bytes; i++) {
        if (strncasecmp(system.at + i, mark, bytes) == 0) {
            struct vq_span rest = vq_span(system.at + i + bytes, system.bytes - i - bytes);
            size_t end = name_end(rest);
            const char *gap = memmem(rest.at, rest.bytes, "\n\n", 2);
            size_t stop = gap == NULL ? rest.bytes : (size_t)(gap - rest.at);
            size_t from = end < stop ? end + 1 : stop;
            vq_character_read(vq_span(rest.at, end), vq_span(rest.at + from, stop - from),
                              ret_character);
            return;
        }
    }
    *ret_character = (struct vq_character){.exists = false};
}

static bool has_name(const struct vq_character *c, const struct vq_sentence *s)
{
    struct vq_sentence name;
    size_t at = 0;
    if (!vq_sentence_next(c->name, &at, &name)) {
        return false;
    }
    name.words[name.bytes - 1] = '\0'; /* without the space after it */
    return vq_sentence_has(s, name.words + 1);
}

bool vq_character_states_fact(const struct vq_character *character, const struct vq_word_set *query,
                              const struct vq_sentence *sentence)
{
    struct vq_word_set seen = {.n = 0};
    struct vq_span word;
    for (size_t at = 0; vq_word_next(sentence, &at, &word);) {
        if (vq_word_is_content(word) && vq_word_set_has(&character->words, word) &&
            !vq_word_set_has(query, word)) {
            (void)vq_word_set_add(&seen, word);
        }
    }
    return seen.n >= FACT_WORDS || has_name(character, sentence);
}

/* Whether a sentence's trait words, taken together, have the direction of the character's. */
static bool is_in_manner(const struct vq_character *c, const int net[VQ_TRAIT__COUNT])
{
    int agreement = 0;
    for (size_t t = 0; t < VQ_TRAIT__COUNT; t++) {
        agreement += clamped(c->profile[t], 1) * clamped(net[t], 1);
    }
    return agreement > 0;
}

void vq_character_showing(const struct vq_character *character, struct vq_span query,
                          struct vq_span text, struct vq_showing *ret_showing)
{
    struct vq_showing showing = {0};
    struct vq_word_set asked = {.n = 0};
    struct vq_sentence s;
    vq_word_set_add_content(&asked, query);
    for (size_t at = 0; vq_sentence_next(text, &at, &s);) {
        int net[VQ_TRAIT__COUNT] = {0};
        showing.sentences++;
        if (vq_sentence_is_outside(&s)) {
            showing.outside++;
            continue;
        }
        vq_traits_of_sentence(&s, net, NULL);
        for (size_t t = 0; t < VQ_TRAIT__COUNT; t++) {
            showing.traits[t] += clamped(net[t], 1);
        }
        if (vq_sentence_is_refusal(&s)) {
            showing.refusals++;
        } else if (vq_character_states_fact(character, &asked, &s)) {
            showing.facts++;
        } else if (is_in_manner(character, net)) {
            showing.manner++;
        }
    }
    *ret_showing = showing;
}

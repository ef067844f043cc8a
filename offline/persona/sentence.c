/* Reads texts word by word. Invariant: everything is bounded, and a function of the bytes alone.
 * Bytes that are not ASCII count as letters, so UTF-8 of any language gives words. Not its job: the
 * meaning of words. */
#include "offline/persona/sentence.h"

#include <ctype.h>

#define FNV_START UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

static bool is_letter(unsigned char c)
{
    return isalnum(c) || c >= 0x80;
}

/* An apostrophe, of either kind, at `at`; its bytes, or 0. */
static size_t apostrophe_at(struct vq_span text, size_t at)
{
    if (text.at[at] == '\'') {
        return 1;
    }
    return text.bytes - at >= 3 && memcmp(text.at + at, "\xE2\x80\x99", 3) == 0 ? 3 : 0;
}

/* Other typographic marks of the same block: quotes, dashes, dots. */
static bool is_mark(struct vq_span text, size_t at)
{
    return text.bytes - at >= 3 && memcmp(text.at + at, "\xE2\x80", 2) == 0;
}

static bool ends_here(struct vq_span text, size_t at)
{
    if (text.at[at] == '\n') {
        return true;
    }
    if (strchr(".!?", text.at[at]) == NULL || text.at[at] == '\0') {
        return false;
    }
    return at + 1 == text.bytes || isspace((unsigned char)text.at[at + 1]) ||
           strchr("\"')*", text.at[at + 1]) != NULL;
}

static void put(struct vq_sentence *s, char c)
{
    s->words[s->bytes++] = c;
}

/* Ends the current word, if there is one. */
static void end_word(struct vq_sentence *s)
{
    while (s->bytes > 1 && s->words[s->bytes - 1] == '\'') {
        s->bytes--;
    }
    if (s->words[s->bytes - 1] != ' ') {
        put(s, ' ');
        s->words_n++;
    }
}

bool vq_sentence_next(struct vq_span text, size_t *at, struct vq_sentence *ret_sentence)
{
    struct vq_sentence *s = ret_sentence;
    if (*at >= text.bytes) {
        return false;
    }
    s->words_n = 0;
    s->bytes = 1;
    s->words[0] = ' ';
    size_t from = *at;
    size_t i = *at;
    while (i < text.bytes && s->bytes + 1 < VQ_SENTENCE_BYTES_MAX) {
        unsigned char c = (unsigned char)text.at[i];
        size_t apostrophe = apostrophe_at(text, i);
        if (apostrophe > 0) {
            if (s->words[s->bytes - 1] != ' ') {
                put(s, '\'');
            }
            i += apostrophe;
            continue;
        }
        if (is_mark(text, i)) {
            end_word(s);
            i += 3;
            continue;
        }
        if (is_letter(c)) {
            put(s, (char)(c < 0x80 ? tolower(c) : c));
            i++;
            continue;
        }
        end_word(s);
        bool is_end = ends_here(text, i);
        i++;
        if (is_end && s->words_n > 0) {
            break;
        }
        from = s->words_n == 0 ? i : from;
    }
    end_word(s);
    s->words[s->bytes] = '\0';
    s->raw = vq_span(text.at + from, i - from);
    *at = i;
    return s->words_n > 0;
}

bool vq_word_next(const struct vq_sentence *sentence, size_t *at, struct vq_span *ret_word)
{
    size_t from = *at + 1; /* after the space */
    if (from >= sentence->bytes) {
        return false;
    }
    const char *end = memchr(sentence->words + from, ' ', sentence->bytes - from);
    *at = (size_t)(end - sentence->words);
    *ret_word = vq_span(sentence->words + from, *at - from);
    return true;
}

bool vq_word_is_content(struct vq_span word)
{
    static const char stop[] =
        " about above after again also always among another anybody anything because been before "
        "being below between both came come could days does doing done down each else even ever "
        "every "
        "everything first from gave give goes good have having here into itself just kept know "
        "known "
        "last less life like little long made make many might more most much must myself near "
        "never "
        "nobody nothing often once only other others over people perhaps rather same says should "
        "since some somebody something still such tell than that that's their them then there "
        "there's these they thing things think this those though through till time today together "
        "under until upon very want wants well went were what when where which while whom whose "
        "will "
        "with without would years your you're yours yourself ";
    char key[32];
    if (word.bytes < VQ_CONTENT_WORD_LETTERS) {
        return false;
    }
    if (word.bytes + 2 > sizeof(key)) {
        return true;
    }
    key[0] = ' ';
    memcpy(key + 1, word.at, word.bytes);
    key[word.bytes + 1] = ' ';
    return memmem(stop, sizeof(stop) - 1, key, word.bytes + 2) == NULL;
}

bool vq_sentence_has(const struct vq_sentence *sentence, const char *words)
{
    size_t bytes = strlen(words);
    const char *end = sentence->words + sentence->bytes;
    const char *at = sentence->words;
    while ((at = memmem(at, (size_t)(end - at), words, bytes)) != NULL) {
        if (at[-1] == ' ' && at[bytes] == ' ') { /* every word has a space before and after it */
            return true;
        }
        at++;
    }
    return false;
}

/* A final s is removed, so that singular and plural are equal. 0 means an empty slot. */
static uint64_t hash_of(struct vq_span word)
{
    size_t bytes = word.bytes;
    if (bytes > 2 && memcmp(word.at + bytes - 2, "'s", 2) == 0) {
        bytes -= 2;
    } else if (bytes > 3 && word.at[bytes - 1] == 's' && word.at[bytes - 2] != 's') {
        bytes--;
    }
    uint64_t h = FNV_START;
    for (size_t i = 0; i < bytes; i++) {
        h = (h ^ (unsigned char)word.at[i]) * FNV_PRIME;
    }
    return h == 0 ? 1 : h;
}

/* The slot of the word, or the free slot for it. */
static size_t slot_of(const struct vq_word_set *set, uint64_t hash)
{
    size_t i = (size_t)(hash % VQ_COUNT(set->slots));
    while (set->slots[i] != 0 && set->slots[i] != hash) {
        i = (i + 1) % VQ_COUNT(set->slots);
    }
    return i;
}

bool vq_word_set_add(struct vq_word_set *set, struct vq_span word)
{
    uint64_t hash = hash_of(word);
    size_t slot = slot_of(set, hash);
    if (set->slots[slot] != 0 || set->n == VQ_WORD_SET_MAX) {
        return false;
    }
    set->slots[slot] = hash;
    set->n++;
    return true;
}

bool vq_word_set_has(const struct vq_word_set *set, struct vq_span word)
{
    return set->slots[slot_of(set, hash_of(word))] != 0;
}

void vq_word_set_add_content(struct vq_word_set *set, struct vq_span text)
{
    struct vq_sentence s;
    struct vq_span word;
    for (size_t at = 0; vq_sentence_next(text, &at, &s);) {
        for (size_t w = 0; vq_word_next(&s, &w, &word);) {
            if (vq_word_is_content(word)) {
                (void)vq_word_set_add(set, word);
            }
        }
    }
}

size_t vq_word_set_shared(const struct vq_word_set *set, struct vq_span text)
{
    struct vq_word_set seen = {.n = 0};
    struct vq_sentence s;
    struct vq_span word;
    size_t shared = 0;
    for (size_t at = 0; vq_sentence_next(text, &at, &s);) {
        for (size_t w = 0; vq_word_next(&s, &w, &word);) {
            bool is_new = vq_word_is_content(word) && vq_word_set_add(&seen, word);
            shared += is_new && vq_word_set_has(set, word);
        }
    }
    return shared;
}

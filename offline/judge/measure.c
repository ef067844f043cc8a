/* Counts words, marks and layout of a text in one pass. A token is a run of letters, digits and
 * apostrophes; each is looked up alone and together with the word before it. Commands count only as
 * the first word of a sentence. Invariant: the result depends only on the text. Not its job: the
 * meaning of an axis (axis.h). */
#include "offline/judge/measure.h"

#include "common/base/alloc.h"

#include <ctype.h>
#include <math.h>

#define SLOTS           4096u /* a power of two, several times the number of words */
#define TOKEN_BYTES_MAX 40
#define LONG_WORD_BYTES 8
#define SEEN_SLOTS      1024u /* different words are counted by this number of buckets */

struct entry {
    const char *text; /* NULL: free */
    uint64_t measures;
};

struct vq_lexicon {
    struct entry slots[SLOTS];
};

_Static_assert(VQ_MEASURE__COUNT <= 64, "a set of measures is one word of bits");

static const struct {
    const char *label;
    double softener;
    bool per_100_words;
} measures_table[] = {
#define MEASURE(id, label, softener, per_100_words) {label, softener, per_100_words},
#include "offline/judge/measures.def"
#undef MEASURE
};

static const struct {
    enum vq_measure measure;
    const char *text;
} words_table[] = {
#define WORD(measure, text) {VQ_MEASURE_##measure, text},
#include "offline/judge/words.def"
#undef WORD
};

_Static_assert(VQ_COUNT(words_table) * 4 < SLOTS, "the table of words is too full");

#define FNV_START UINT32_C(2166136261)

static uint32_t fnv(uint32_t hash, const char *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ (unsigned char)at[i]) * UINT32_C(16777619);
    }
    return hash;
}

static struct entry *slot_of(struct entry *slots, uint32_t hash, const char *text, size_t bytes)
{
    for (uint32_t i = hash;; i++) {
        struct entry *entry = &slots[i % SLOTS];
        if (entry->text == NULL ||
            (strncmp(entry->text, text, bytes) == 0 && entry->text[bytes] == '\0')) {
            return entry;
        }
    }
}

enum vq_status vq_lexicon_create(struct vq_lexicon **ret_lexicon)
{
    struct vq_lexicon *lexicon;
    VQ_TRY(VQ_ALLOC(lexicon, 1));
    for (size_t i = 0; i < VQ_COUNT(words_table); i++) {
        const char *text = words_table[i].text;
        size_t bytes = strlen(text);
        struct entry *entry = slot_of(lexicon->slots, fnv(FNV_START, text, bytes), text, bytes);
        entry->text = text;
        entry->measures |= UINT64_C(1) << words_table[i].measure;
    }
    *ret_lexicon = lexicon;
    return VQ_OK;
}

void vq_lexicon_destroy(struct vq_lexicon **lexicon)
{
    vq_free(*lexicon);
    *lexicon = NULL;
}

/* The pass over one text. */
struct reader {
    struct entry *slots;
    double *count;
    char pair[2 * TOKEN_BYTES_MAX + 2]; /* the word before, a space, the word */
    size_t before_bytes;                /* 0: it is the first word of the sentence */
    uint32_t sentences;
    bool sentence_open; /* a word has been read since the last end of a sentence */
    uint64_t seen[SEEN_SLOTS / 64];
    uint32_t different;
};

static uint64_t look_up(const struct reader *r, const char *text, size_t bytes)
{
    const struct entry *entry = slot_of(r->slots, fnv(FNV_START, text, bytes), text, bytes);
    return entry->measures;
}

static void add(struct reader *r, uint64_t measures)
{
    while (measures != 0) {
        int bit = __builtin_ctzll(measures);
        r->count[bit] += 1;
        measures &= measures - 1;
    }
}

static void end_sentence(struct reader *r)
{
    r->sentences += r->sentence_open;
    r->sentence_open = false;
    r->before_bytes = 0;
}

/* Takes the lower-case word at pair + before_bytes + 1. */
static void take_word(struct reader *r, size_t bytes, bool digits)
{
    char *word = r->pair + (r->before_bytes == 0 ? 0 : r->before_bytes + 1);
    uint64_t commands = UINT64_C(1) << VQ_MEASURE_COMMANDS;
    uint64_t found = look_up(r, word, bytes);
    if (r->sentence_open) {
        found &= ~commands;
    }
    if (r->before_bytes > 0) {
        found |= look_up(r, r->pair, r->before_bytes + 1 + bytes) & ~commands;
    }
    add(r, found);
    r->count[VQ_MEASURE_WORDS] += 1;
    r->count[VQ_MEASURE_NUMBERS] += digits;
    r->count[VQ_MEASURE_LONG_WORDS] += !digits && bytes >= LONG_WORD_BYTES;
    if (memchr(word, '\'', bytes) != NULL && bytes > 2) {
        r->count[VQ_MEASURE_CONTRACTIONS] += 1;
    }
    uint32_t bucket = fnv(FNV_START, word, bytes) % SEEN_SLOTS;
    uint64_t bit = UINT64_C(1) << (bucket % 64);
    r->different += (r->seen[bucket / 64] & bit) == 0;
    r->seen[bucket / 64] |= bit;
    r->sentence_open = true;
    memmove(r->pair, word, bytes);
    r->pair[bytes] = ' ';
    r->before_bytes = bytes;
}

/* The typographic apostrophe is equal to the plain one. */
static size_t apostrophe(struct vq_span text, size_t i)
{
    if (text.at[i] == '\'') {
        return 1;
    }
    return i + 2 < text.bytes && memcmp(text.at + i, "\xe2\x80\x99", 3) == 0 ? 3 : 0;
}

static bool is_letter(unsigned char c)
{
    return isalnum(c) || (c >= 0x80 && c < 0xe2) || (c > 0xe2 && c < 0xf0);
}

static size_t read_word(struct reader *r, struct vq_span text, size_t i)
{
    char *word = r->pair + (r->before_bytes == 0 ? 0 : r->before_bytes + 1);
    size_t bytes = 0;
    bool digits = true;
    while (i < text.bytes) {
        unsigned char c = (unsigned char)text.at[i];
        size_t mark = bytes > 0 ? apostrophe(text, i) : 0;
        bool inner = mark > 0 && i + mark < text.bytes && isalpha((unsigned char)text.at[i + mark]);
        if (!is_letter(c) && !inner) {
            break;
        }
        if (bytes < TOKEN_BYTES_MAX) {
            word[bytes++] = inner ? '\'' : (char)tolower(c);
        }
        digits = digits && isdigit(c);
        i += inner ? mark : 1;
    }
    take_word(r, bytes, digits);
    return i;
}

/* Counts list items, and headings at the start of a line. Returns the beginning of the line's
 * text. */
static size_t read_line_start(struct reader *r, struct vq_span text, size_t i)
{
    while (i < text.bytes && (text.at[i] == ' ' || text.at[i] == '\t')) {
        i++;
    }
    size_t at = i;
    while (at < text.bytes && isdigit((unsigned char)text.at[at])) {
        at++;
    }
    bool numbered = at > i && at + 1 < text.bytes && (text.at[at] == '.' || text.at[at] == ')') &&
                    text.at[at + 1] == ' ';
    bool bullet =
        i + 1 < text.bytes && memchr("-*+", text.at[i], 3) != NULL && text.at[i + 1] == ' ';
    bool heading = i < text.bytes && text.at[i] == '#';
    if (numbered || bullet || heading) {
        r->count[VQ_MEASURE_LAYOUT] += 1;
        end_sentence(r);
        return numbered ? at + 1 : i + 1;
    }
    return i;
}

static size_t read_mark(struct reader *r, struct vq_span text, size_t i)
{
    unsigned char c = (unsigned char)text.at[i];
    switch (c) {
    case '!':
        r->count[VQ_MEASURE_EXCLAMATIONS] += 1;
        end_sentence(r);
        return i + 1;
    case '?':
        r->count[VQ_MEASURE_QUESTIONS] += 1;
        end_sentence(r);
        return i + 1;
    case '.': end_sentence(r); return i + 1;
    case '\n': r->before_bytes = 0; return read_line_start(r, text, i + 1);
    case '*':
        if (i + 1 < text.bytes && text.at[i + 1] == '*') {
            r->count[VQ_MEASURE_LAYOUT] += 0.5; /* opened and closed count as one */
            return i + 2;
        }
        return i + 1;
    default: break;
    }
    if (c == 0xf0) {
        r->count[VQ_MEASURE_EMOJI] += 1;
        return i + 4 < text.bytes ? i + 4 : text.bytes;
    }
    if (c != ' ' && c != '-') {
        r->before_bytes = 0; /* words with a comma between them are not a pair */
    }
    return i + 1;
}

void vq_measure_text(const struct vq_lexicon *lexicon, struct vq_span text,
                     struct vq_measures *ret_measures)
{
    *ret_measures = (struct vq_measures){0};
    struct reader r = {.slots = ((struct vq_lexicon *)(uintptr_t)lexicon)->slots,
                       .count = ret_measures->at};
    size_t i = read_line_start(&r, text, 0);
    while (i < text.bytes) {
        i = is_letter((unsigned char)text.at[i]) ? read_word(&r, text, i) : read_mark(&r, text, i);
    }
    end_sentence(&r);
    double words = ret_measures->at[VQ_MEASURE_WORDS];
    if (words < 1) {
        return;
    }
    for (size_t m = 0; m < VQ_MEASURE__COUNT; m++) {
        if (measures_table[m].per_100_words) {
            ret_measures->at[m] *= 100 / words;
        }
    }
    ret_measures->at[VQ_MEASURE_SENTENCE_WORDS] = words / (r.sentences < 1 ? 1 : r.sentences);
    ret_measures->at[VQ_MEASURE_VARIETY] = r.different / sqrt(words);
}

const char *vq_measure_label(enum vq_measure measure)
{
    return measures_table[measure].label;
}

double vq_measure_difference(enum vq_measure measure, const struct vq_measures *a,
                             const struct vq_measures *b)
{
    double x = a->at[measure];
    double y = b->at[measure];
    return (x - y) / (x + y + measures_table[measure].softener);
}

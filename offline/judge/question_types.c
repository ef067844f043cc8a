/* The kinds of prompts on which an axis shows. Words at the start of a prompt or anywhere in it, or
 * its length, give its kind. If the rows have outputs, rows on which the axis differs are compared
 * with the others; otherwise a kind must be true for most rows. */
#include "offline/judge/part_kinds.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>

#define TYPES_WRITTEN_MAX 5
#define SHOWS_FROM        0.2 /* a smaller difference does not count */
/* between a kind's share among rows where the axis shows and among the others */
#define GAP_MIN     0.3
#define SHARE_MIN   0.5 /* of the rows where it shows */
#define ROWS_MIN    2u
#define SHORT_WORDS 8u
#define LONG_WORDS  50u

static const struct {
    const char *label;
    const char *starts[6];
    const char *holds[8];
} word_types[] = {
    {"asks how to do something",
     {"how do", "how can", "how to", "how should", "how would"},
     {"step by step", "steps"}},
    {"asks for a reason", {"why"}, {"explain why", "the reason"}},
    {"asks what something is", {"what is", "what are", "what does", "define", "who"}, {NULL}},
    {"asks for code", {NULL}, {"code", "function", "python", "script", "sql", "program", "```"}},
    {"asks for an opinion or advice",
     {"should", "is it worth", "which"},
     {"should i", "what do you think", "your opinion", "advice", "recommend", "best way"}},
    {"asks for a list or ideas", {"list", "give me", "name"}, {"ideas", "suggest", "examples of"}},
    {"asks to write a text", {"write", "compose", "draft", "rewrite"}, {"poem", "story", "essay"}},
    {"asks for a calculation",
     {"calculate", "compute", "solve"},
     {"how many", "how much", "percent", "equation"}},
    {"comes from someone new to it", {NULL}, {"beginner", "know nothing", "new to", "begin"}},
    {"speaks of the asker's own case", {"i "}, {" i ", " my ", "i'm", "i am"}},
};

enum {
    TYPE_SHORT = VQ_COUNT(word_types),
    TYPE_LONG,
    TYPE__COUNT
};

static const char *label_of(size_t type)
{
    if (type < VQ_COUNT(word_types)) {
        return word_types[type].label;
    }
    return type == TYPE_SHORT ? "is a short prompt" : "is a long prompt with much given";
}

static bool holds(struct vq_span text, const char *needle)
{
    size_t bytes = strlen(needle);
    for (size_t at = 0; at + bytes <= text.bytes; at++) {
        bool border = at == 0 || !isalnum((unsigned char)text.at[at - 1]) || needle[0] == ' ';
        if (border && strncasecmp(text.at + at, needle, bytes) == 0) {
            return true;
        }
    }
    return false;
}

static size_t words_in(struct vq_span text)
{
    size_t words = 0;
    bool inside = false;
    for (size_t i = 0; i < text.bytes; i++) {
        bool letter = !isspace((unsigned char)text.at[i]);
        words += letter && !inside;
        inside = letter;
    }
    return words;
}

static bool is_of_type(struct vq_span prompt, size_t type)
{
    if (type >= VQ_COUNT(word_types)) {
        size_t words = words_in(prompt);
        return type == TYPE_SHORT ? words <= SHORT_WORDS : words >= LONG_WORDS;
    }
    for (size_t i = 0; i < VQ_COUNT(word_types[type].starts); i++) {
        if (word_types[type].starts[i] != NULL &&
            vq_span_begins_like(prompt, word_types[type].starts[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < VQ_COUNT(word_types[type].holds); i++) {
        if (word_types[type].holds[i] != NULL && holds(prompt, word_types[type].holds[i])) {
            return true;
        }
    }
    return false;
}

struct tally {
    size_t rows[2]; /* rows where the axis does not show; where it does */
    size_t of_type[2][TYPE__COUNT];
};

static bool shows(const struct vq_part *part, const struct vq_axis_reading *axis,
                  const struct vq_wanted_row *row)
{
    if (!row->has_outputs) {
        return true;
    }
    struct vq_measures sides[2];
    vq_lexical_measure(part->lexical, row->outputs[0], &sides[0]);
    vq_lexical_measure(part->lexical, row->outputs[1], &sides[1]);
    return fabs(vq_lexical_difference(&axis->weights, &sides[0], &sides[1])) >= SHOWS_FROM;
}

static void count(const struct vq_part *part, const struct vq_axis_reading *axis,
                  struct tally *tally)
{
    struct vq_span rows = vq_wanted_section(part->request->text, "rows", true);
    struct vq_wanted_row row;
    size_t n = 0;
    for (size_t at = 0; n < VQ_ROWS_MAX && vq_row_next(rows, &at, &row); n++) {
        bool here = shows(part, axis, &row);
        tally->rows[here]++;
        for (size_t type = 0; type < TYPE__COUNT; type++) {
            tally->of_type[here][type] += is_of_type(row.prompt, type);
        }
    }
}

/* How much more frequent a type is where the axis shows; 0: no pattern. */
static double gap_of(const struct tally *tally, size_t type)
{
    double there = 0;
    double here = 0;
    if (tally->rows[1] > 0) {
        here = (double)tally->of_type[1][type] / (double)tally->rows[1];
    }
    if (tally->rows[0] > 0) {
        there = (double)tally->of_type[0][type] / (double)tally->rows[0];
    }
    bool is_pattern = tally->of_type[1][type] >= ROWS_MIN && here >= SHARE_MIN;
    return is_pattern && here - there >= GAP_MIN ? here - there : 0;
}

enum vq_status vq_part_question_types(const struct vq_part *part)
{
    struct vq_axis_list axes = {0};
    struct tally tally = {0};
    VQ_TRY(vq_axis_list_read(part->request->kind,
                             vq_wanted_section(part->request->text, "axis", false), &axes));
    if (axes.n > 0 && axes.axes[0].reading.main != VQ_TOPIC__COUNT) {
        count(part, &axes.axes[0].reading, &tally);
    }
    vq_axis_list_free(&axes);
    bool written[TYPE__COUNT] = {0};
    size_t n = 0;
    for (; n < TYPES_WRITTEN_MAX; n++) {
        size_t best = TYPE__COUNT;
        for (size_t type = 0; type < TYPE__COUNT; type++) {
            double gap = written[type] ? 0 : gap_of(&tally, type);
            if (gap > 0 && (best == TYPE__COUNT || gap > gap_of(&tally, best))) {
                best = type;
            }
        }
        if (best == TYPE__COUNT) {
            break;
        }
        written[best] = true;
        bool sloppy = part->request->is_malformed;
        vq_buf_puts(part->to, n > 0 ? "\n" : sloppy ? "The difference shows where a prompt\n" : "");
        vq_buf_printf(part->to, "%s %s", sloppy ? "  *" : "-", label_of(best));
    }
    if (n == 0) {
        vq_buf_puts(part->to, "no pattern");
    }
    return part->to->status;
}

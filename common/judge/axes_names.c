/* Reads short answers about lists: names to keep, plain lines, the number of a match. Not its job:
 * axes (axes.c). */
#include "common/base/alloc.h"
#include "common/judge/answer_lines.h"
#include "common/judge/axes.h"
#include "common/judge/axes_parts.h"
#include "common/judge/label.h"
#include "common/judge/thinking.h"
#include "common/judge/verdict.h"

#define NUMBER_DIGITS_MAX 9

void vq_lines_free(struct vq_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        vq_free(lines->items[i]);
    }
    vq_free(lines->items);
    *lines = (struct vq_lines){.count = 0};
}

enum vq_status vq_lines_take(struct vq_lines *lines, struct vq_span text, size_t bytes_max)
{
    if (lines->count == VQ_LINES_MAX) {
        return VQ_OK;
    }
    struct vq_buf clean;
    vq_buf_init(&clean, bytes_max);
    vq_answer_clean(text, bytes_max, &clean);
    enum vq_status status = clean.status;
    if (status == VQ_OK && clean.bytes > 0) {
        status = VQ_GROW(lines->items, &lines->cap, lines->count + 1, VQ_LINES_MAX);
    }
    if (status == VQ_OK && clean.bytes > 0) {
        char *copy = vq_strndup(clean.at, clean.bytes);
        status = copy == NULL ? VQ_NOMEM : VQ_OK;
        if (copy != NULL) {
            lines->items[lines->count++] = copy;
        }
    }
    vq_buf_free(&clean);
    return status;
}

/* Whether the words of the text begin with `start`; with `whole`, whether they are exactly
 * `start`. */
static bool says(struct vq_span text, const char *start, bool whole)
{
    struct vq_span words = vq_label_skip_punct(text);
    size_t bytes = strlen(start);
    if (words.bytes < bytes || !vq_label_word_is(vq_span(words.at, bytes), start)) {
        return false;
    }
    struct vq_span rest = vq_span_after(words, bytes);
    return whole ? vq_label_skip_punct(rest).bytes == 0 : vq_label_word(rest).bytes == 0;
}

/* Whether an item has a bullet. If so, plain lines are remarks. */
static bool has_bullets(struct vq_span text)
{
    struct vq_answer_line line;
    while (vq_answer_next_line(&text, &line)) {
        if (line.mark == VQ_LINE_BULLET && line.text.bytes > 0 &&
            !vq_axes_begins_with_label(line.text)) {
            return true;
        }
    }
    return false;
}

/* ---- names ---- */

static enum vq_status take_name(void *ctx, const struct vq_axes_found *found)
{
    struct vq_axes_split split;
    struct vq_span name = found->name.bytes > 0 ? found->name : found->raw;
    if (vq_axes_split(name, true, &split) && vq_answer_bare(split.name).bytes > 0) {
        name = split.name;
    }
    return vq_lines_take(ctx, vq_axes_short_name(name), VQ_AXES_NAME_BYTES_MAX);
}

static enum vq_status take_line(void *ctx, const struct vq_axes_found *found)
{
    return vq_lines_take(ctx, found->raw, VQ_LINE_BYTES_MAX);
}

static enum vq_status read_names(struct vq_span text, struct vq_lines *lines)
{
    struct vq_answer_line line;
    if (says(text, "none", true)) {
        return VQ_OK;
    }
    VQ_TRY(vq_axes_read_list(text, take_name, lines));
    if (lines->count > 0) {
        return VQ_OK;
    }
    bool bullets = has_bullets(text);
    enum vq_status status = VQ_OK;
    while (status == VQ_OK && vq_answer_next_line(&text, &line)) {
        bool skip = line.text.bytes == 0 || vq_axes_begins_with_label(line.text) ||
                    (bullets && line.mark == VQ_LINE_PLAIN);
        if (!skip) {
            struct vq_axes_found found = {.raw = line.text};
            status = take_name(lines, &found);
        }
    }
    return status;
}

/* ---- lines ---- */

static enum vq_status flush(struct vq_buf *item, struct vq_lines *lines)
{
    enum vq_status status = item->status == VQ_NOMEM ? VQ_NOMEM : VQ_OK;
    if (status == VQ_OK) {
        status = vq_lines_take(lines, vq_buf_span(item), VQ_LINE_BYTES_MAX);
    }
    vq_buf_clear(item);
    return status;
}

/* Reads the items of a list. Lines before the first bullet or after a blank line are not items; a
 * line below a bullet continues its item. */
static enum vq_status read_lines(struct vq_span text, struct vq_lines *lines)
{
    if (says(text, "none", true) || says(text, "no pattern", false) ||
        says(text, "no patterns", false)) {
        return VQ_OK;
    }
    VQ_TRY(vq_axes_read_list(text, take_line, lines));
    if (lines->count > 0) {
        return VQ_OK;
    }
    bool bullets = has_bullets(text);
    bool open = false;
    struct vq_buf item;
    struct vq_answer_line line;
    vq_buf_init(&item, VQ_ANSWER_BYTES_MAX);
    enum vq_status status = VQ_OK;
    while (status == VQ_OK && vq_answer_next_line(&text, &line)) {
        bool starts = !bullets || line.mark == VQ_LINE_BULLET;
        if (starts || line.text.bytes == 0 || line.mark == VQ_LINE_HEADING) {
            status = flush(&item, lines);
            open = starts && line.text.bytes > 0;
        } else if (open) {
            vq_buf_putc(&item, ' ');
        }
        if (open) {
            vq_buf_append(&item, line.text.at, line.text.bytes);
        }
    }
    if (status == VQ_OK) {
        status = flush(&item, lines);
    }
    vq_buf_free(&item);
    return status;
}

static enum vq_status parse(struct vq_span answer,
                            enum vq_status (*read)(struct vq_span text, struct vq_lines *lines),
                            struct vq_lines *ret_lines)
{
    struct vq_lines lines = {.count = 0};
    struct vq_buf text;
    vq_buf_init(&text, VQ_ANSWER_BYTES_MAX);
    answer.bytes = answer.bytes < VQ_ANSWER_BYTES_MAX ? answer.bytes : VQ_ANSWER_BYTES_MAX;
    if (answer.bytes > 0) {
        vq_thinking_strip(answer, &text);
    }
    enum vq_status status = text.status;
    if (status == VQ_OK && text.bytes > 0) {
        status = read(vq_buf_span(&text), &lines);
    }
    vq_buf_free(&text);
    if (status != VQ_OK) {
        vq_lines_free(&lines);
        return status;
    }
    *ret_lines = lines;
    return VQ_OK;
}

enum vq_status vq_axes_names_parse(struct vq_span answer, struct vq_lines *ret_names)
{
    return parse(answer, read_names, ret_names);
}

enum vq_status vq_lines_parse(struct vq_span answer, struct vq_lines *ret_lines)
{
    return parse(answer, read_lines, ret_lines);
}

/* ---- the number of a match ---- */

enum said {
    SAID_NOTHING,
    SAID_NUMBER,
    SAID_NONE,
    SAID_UNCLEAR
};

struct match {
    enum said said;
    uint32_t number;
    bool goes_on; /* more words follow */
};

/* The value of a word of digits; 0 for every other word. */
static uint32_t number_of(struct vq_span word)
{
    uint32_t number = 0;
    if (word.bytes > NUMBER_DIGITS_MAX) {
        return 0;
    }
    for (size_t i = 0; i < word.bytes; i++) {
        if (word.at[i] < '0' || word.at[i] > '9') {
            return 0;
        }
        number = number * 10 + (uint32_t)(word.at[i] - '0');
    }
    return number;
}

/* Reads a value. After words such as "axis" and "number", its first word must be the number or
 * "none"; a second number makes the value invalid. */
static struct match read_match(struct vq_span value, uint32_t count)
{
    static const char *const nouns[] = {"axis", "number", "no", "item", "match", "the", "is"};
    static const char *const nothing[] = {"none", "null", "nothing"};
    struct match match = {.said = SAID_NOTHING};
    bool no = false;
    for (bool more = true; more;) {
        value = vq_label_skip_punct(value);
        struct vq_span word = vq_label_word(value);
        value = vq_span_after(value, word.bytes);
        more = word.bytes > 0;
        uint32_t number = number_of(word);
        bool noun = false;
        for (size_t i = 0; i < VQ_COUNT(nouns); i++) {
            noun = noun || vq_label_word_is(word, nouns[i]);
        }
        bool none = false;
        for (size_t i = 0; i < VQ_COUNT(nothing); i++) {
            none = none || vq_label_word_is(word, nothing[i]);
        }
        if (match.said != SAID_NOTHING) {
            match.goes_on = match.goes_on || more;
            bool other = number > 0 && number <= count && number != match.number;
            match.said = other || (match.said == SAID_NUMBER && none) ? SAID_UNCLEAR : match.said;
        } else if (number > 0 && number <= count) {
            match = (struct match){.said = SAID_NUMBER, .number = number};
        } else if (none || (no && !more)) {
            match.said = SAID_NONE; /* the end of "no match" */
        } else if (more && !noun) {
            return (struct match){.said = SAID_UNCLEAR, .goes_on = true};
        }
        no = no || vq_label_word_is(word, "no");
    }
    return match;
}

/* Finds the last "Match: 3" in the line. */
static bool find_match(struct vq_span line, uint32_t count, struct match *ret_match)
{
    struct vq_span value = vq_span(NULL, 0);
    for (struct vq_span rest = vq_label_skip_punct(line); rest.bytes > 0;) {
        struct vq_span word = vq_label_word(rest);
        rest = vq_span_after(rest, word.bytes);
        if (vq_label_word_is(word, "match") && vq_label_skip_separator(&rest)) {
            value = rest;
        }
        rest = vq_label_skip_punct(rest);
    }
    if (value.at == NULL) {
        return false;
    }
    *ret_match = read_match(value, count);
    return true;
}

bool vq_match_parse(struct vq_span answer, uint32_t count, uint32_t *ret_number)
{
    struct match stated = {.said = SAID_NOTHING};
    struct match alone = {.said = SAID_NOTHING};
    bool awaits = false; /* the line above was only "Match:" */
    struct vq_thinking lines;
    struct vq_span line;
    vq_thinking_begin(answer, &lines);
    while (vq_thinking_next_line(&lines, &line)) {
        if (vq_label_skip_punct(line).bytes == 0) {
            continue;
        }
        alone = read_match(line, count);
        if (alone.goes_on) {
            alone.said = SAID_NOTHING;
        } else if (awaits) {
            stated = alone;
        }
        struct match found;
        awaits = false;
        if (find_match(line, count, &found)) {
            awaits = found.said == SAID_NOTHING;
            stated = awaits ? stated : found;
        }
    }
    const struct match *match = stated.said != SAID_NOTHING ? &stated : &alone;
    if (match->said != SAID_NUMBER && match->said != SAID_NONE) {
        return false;
    }
    *ret_number = match->number;
    return true;
}

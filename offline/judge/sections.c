/* Finds the sections of a judge prompt. The texts between the tags are foreign and may contain
 * similar tags. A section begins at its first opening tag at the start of a line (or its first
 * anywhere) and ends at its last closing tag before the next section. Not its job: judging. */
#include "offline/judge/sections.h"

#include <ctype.h>
#include <strings.h>

enum part {
    PART_PROMPT,
    PART_A,
    PART_B,
    PART_AXIS,
    PART_LOW,
    PART_HIGH,
    PART__COUNT
};

#define NOWHERE SIZE_MAX

static size_t find(struct vq_span text, size_t from, const char *needle)
{
    size_t bytes = strlen(needle);
    if (from >= text.bytes) {
        return NOWHERE;
    }
    const char *at = memmem(text.at + from, text.bytes - from, needle, bytes);
    return at == NULL ? NOWHERE : (size_t)(at - text.at);
}

static size_t find_last(struct vq_span text, size_t from, size_t to, const char *needle)
{
    size_t last = NOWHERE;
    struct vq_span head = {text.at, to};
    for (size_t at = from; (at = find(head, at, needle)) != NOWHERE; at++) {
        last = at;
    }
    return last;
}

static size_t find_opening(struct vq_span text, const char *tag)
{
    for (size_t at = 0; (at = find(text, at, tag)) != NOWHERE; at++) {
        if (at == 0 || text.at[at - 1] == '\n') {
            return at;
        }
    }
    return find(text, 0, tag);
}

static struct vq_span slice(struct vq_span text, size_t from, size_t to)
{
    return vq_span_trim(vq_span(text.at + from, to > from ? to - from : 0));
}

/* The end of the section that begins at `start`: the nearest beginning of another one after it. */
static size_t border_after(const size_t starts[], size_t n, size_t start, size_t end)
{
    size_t border = end;
    for (size_t i = 0; i < n; i++) {
        if (starts[i] != NOWHERE && starts[i] > start && starts[i] < border) {
            border = starts[i];
        }
    }
    return border;
}

/* The last such tag counts: the axis comes after the outputs, so a similar tag in an output is not
 * the last. */
static size_t find_axis(struct vq_span text, const char *tag)
{
    size_t last = NOWHERE;
    for (size_t at = 0; (at = find(text, at, tag)) != NOWHERE; at++) {
        last = at == 0 || text.at[at - 1] == '\n' ? at : last;
    }
    return last != NOWHERE ? last : find(text, 0, tag);
}

static bool find_tagged(struct vq_span text, bool with_axis, struct vq_sections *sections)
{
    static const char *const open[] = {"<prompt>", "<output_a>", "<output_b>", "<axis>"};
    static const char *const close[] = {"</prompt>", "</output_a>", "</output_b>", "</axis>"};
    size_t starts[VQ_COUNT(open)];
    for (size_t i = 0; i < VQ_COUNT(open); i++) {
        starts[i] = i == PART_AXIS ? find_axis(text, open[i]) : find_opening(text, open[i]);
    }
    starts[PART_AXIS] = with_axis ? starts[PART_AXIS] : NOWHERE;
    if (starts[PART_A] == NOWHERE || starts[PART_B] == NOWHERE) {
        return false;
    }
    struct vq_span found[VQ_COUNT(open)] = {{0}};
    for (size_t i = 0; i < VQ_COUNT(open); i++) {
        if (starts[i] != NOWHERE) {
            size_t from = starts[i] + strlen(open[i]);
            size_t border = border_after(starts, VQ_COUNT(open), starts[i], text.bytes);
            size_t end = find_last(text, from, border, close[i]);
            found[i] = slice(text, from, end == NOWHERE ? border : end);
        }
    }
    sections->prompt = found[PART_PROMPT];
    sections->output_a = found[PART_A];
    sections->output_b = found[PART_B];
    if (starts[PART_AXIS] != NOWHERE) {
        vq_sections_read_axis(found[PART_AXIS], sections);
    }
    return true;
}

static const struct {
    enum part part;
    const char *text;
} labels[] = {{PART_PROMPT, "Prompt:"}, {PART_PROMPT, "Question:"}, {PART_A, "Output A:"},
              {PART_B, "Output B:"},    {PART_A, "Response A:"},    {PART_B, "Response B:"},
              {PART_AXIS, "Axis:"},     {PART_AXIS, "Vibe:"},       {PART_AXIS, "Name:"},
              {PART_AXIS, "Property:"}, {PART_LOW, "Low:"},         {PART_HIGH, "High:"}};

/* The label at the start of a line, after decoration; PART__COUNT: none. */
static enum part label_at(struct vq_span text, size_t line, size_t *ret_after)
{
    size_t at = line;
    while (at < text.bytes && strchr("#*-_ \t", text.at[at]) != NULL && text.at[at] != '\0') {
        at++;
    }
    for (size_t i = 0; i < VQ_COUNT(labels); i++) {
        size_t bytes = strlen(labels[i].text);
        if (text.bytes - at >= bytes && strncasecmp(text.at + at, labels[i].text, bytes) == 0) {
            *ret_after = at + bytes;
            return labels[i].part;
        }
    }
    return PART__COUNT;
}

static bool find_labelled(struct vq_span text, struct vq_sections *sections)
{
    struct vq_span found[PART__COUNT] = {{0}};
    enum part open_part = PART__COUNT;
    size_t from = 0;
    for (size_t line = 0; line < text.bytes;) {
        size_t after = 0;
        enum part part = label_at(text, line, &after);
        if (part != PART__COUNT && found[part].at == NULL && part != open_part) {
            if (open_part != PART__COUNT) {
                found[open_part] = slice(text, from, line);
            }
            open_part = part;
            from = after;
        }
        size_t newline = find(text, line, "\n");
        line = newline == NOWHERE ? text.bytes : newline + 1;
    }
    if (open_part != PART__COUNT) {
        found[open_part] = slice(text, from, text.bytes);
    }
    if (found[PART_A].at == NULL || found[PART_B].at == NULL) {
        return false;
    }
    sections->prompt = found[PART_PROMPT];
    sections->output_a = found[PART_A];
    sections->output_b = found[PART_B];
    if (found[PART_AXIS].at != NULL || found[PART_LOW].at != NULL) {
        vq_sections_read_axis(found[PART_AXIS], sections);
        sections->axis_low = found[PART_LOW].at != NULL ? found[PART_LOW] : sections->axis_low;
        sections->axis_high = found[PART_HIGH].at != NULL ? found[PART_HIGH] : sections->axis_high;
    }
    return true;
}

/* The first occurrence of a word and a colon that is not the end of a longer word. */
static size_t find_word(struct vq_span text, const char *word)
{
    size_t bytes = strlen(word);
    for (size_t at = 0; at + bytes <= text.bytes; at++) {
        bool whole = at == 0 || !isalnum((unsigned char)text.at[at - 1]);
        if (whole && strncasecmp(text.at + at, word, bytes) == 0) {
            return at;
        }
    }
    return NOWHERE;
}

static struct vq_span without_marks(struct vq_span text)
{
    text = vq_span_trim(text);
    while (text.bytes > 0 && strchr("*;,.-\"'", text.at[text.bytes - 1]) != NULL) {
        text.bytes--;
    }
    while (text.bytes > 0 && strchr("*-\"'", text.at[0]) != NULL) {
        text.at++;
        text.bytes--;
    }
    return vq_span_trim(text);
}

void vq_sections_read_axis(struct vq_span text, struct vq_sections *sections)
{
    size_t low = find_word(text, "low:");
    size_t high = find_word(text, "high:");
    size_t starts[] = {low, high};
    size_t name_end = text.bytes;
    for (size_t i = 0; i < VQ_COUNT(starts); i++) {
        name_end = starts[i] < name_end ? starts[i] : name_end;
    }
    struct vq_span name = vq_span_trim(vq_span(text.at, name_end));
    size_t label = find_word(name, "name:");
    if (label != NOWHERE) {
        name = slice(name, label + strlen("name:"), name.bytes);
    }
    while (name.bytes > 0 && name.at[name.bytes - 1] == ':') {
        name.bytes--;
    }
    sections->has_axis = true;
    sections->axis_name = without_marks(name);
    if (low != NOWHERE) {
        size_t end = border_after(starts, VQ_COUNT(starts), low, text.bytes);
        sections->axis_low = without_marks(slice(text, low + strlen("low:"), end));
    }
    if (high != NOWHERE) {
        size_t end = border_after(starts, VQ_COUNT(starts), high, text.bytes);
        sections->axis_high = without_marks(slice(text, high + strlen("high:"), end));
    }
}

enum vq_status vq_sections_find(struct vq_span text, struct vq_sections *ret_sections)
{
    struct vq_sections sections = {0};
    if (!find_tagged(text, true, &sections) && !find_labelled(text, &sections)) {
        return VQ_NOT_FOUND;
    }
    *ret_sections = sections;
    return VQ_OK;
}

enum vq_status vq_sections_find_outputs(struct vq_span text, struct vq_sections *ret_sections)
{
    struct vq_sections sections = {0};
    if (!find_tagged(text, false, &sections)) {
        return VQ_NOT_FOUND;
    }
    *ret_sections = sections;
    return VQ_OK;
}

/* Reads a list line by line. The reader of a judge prompt's axis (sections.h) finds the parts of a
 * line. Not its job: deciding which axes remain (reduce.c). */
#include "offline/judge/axis_list.h"

#include "common/base/alloc.h"
#include "offline/judge/sections.h"

#include <ctype.h>
#include <strings.h>

static struct vq_span after(struct vq_span text, size_t bytes)
{
    return vq_span(text.at + bytes, text.bytes - bytes);
}

static struct vq_span without_spaces(struct vq_span text)
{
    while (text.bytes > 0 && isspace((unsigned char)text.at[0])) {
        text = after(text, 1);
    }
    while (text.bytes > 0 && isspace((unsigned char)text.at[text.bytes - 1])) {
        text.bytes--;
    }
    return text;
}

/* Removes a bullet or a number from the front of a line; without one, *ret_number does not
 * change. */
static struct vq_span without_bullet(struct vq_span line, uint64_t *ret_number)
{
    size_t digits = 0;
    uint64_t number = 0;
    while (digits < line.bytes && digits < 9 && isdigit((unsigned char)line.at[digits])) {
        number = number * 10 + (uint64_t)(line.at[digits++] - '0');
    }
    if (digits > 0 && digits + 1 < line.bytes &&
        (line.at[digits] == '.' || line.at[digits] == ')') && line.at[digits + 1] == ' ') {
        *ret_number = number;
        return without_spaces(after(line, digits + 1));
    }
    if (line.bytes > 1 && memchr("-*+", line.at[0], 3) != NULL && line.at[1] == ' ') {
        return without_spaces(after(line, 1));
    }
    return line;
}

static enum vq_status take_line(struct vq_axis_list *list, struct vq_span line)
{
    uint64_t number = list->n + 1;
    line = without_bullet(line, &number);
    struct vq_sections read = {0};
    vq_sections_read_axis(line, &read);
    bool continues =
        list->n > 0 && (vq_span_begins_like(line, "high:") || vq_span_begins_like(line, "low:"));
    if (continues) {
        struct vq_axis_text *text = &list->axes[list->n - 1].text;
        text->high = read.axis_high.bytes > 0 ? read.axis_high : text->high;
        text->low = read.axis_low.bytes > 0 ? read.axis_low : text->low;
        return VQ_OK;
    }
    VQ_TRY(VQ_GROW(list->axes, &list->cap, list->n + 1, VQ_AXIS_LIST_MAX));
    list->axes[list->n++] = (struct vq_listed_axis){
        .text = {.name = read.axis_name, .low = read.axis_low, .high = read.axis_high},
        .number = number};
    return VQ_OK;
}

enum vq_status vq_axis_list_read(enum vq_judge_kind kind, struct vq_span text,
                                 struct vq_axis_list *ret_list)
{
    struct vq_axis_list list = {0};
    enum vq_status status = VQ_OK;
    for (size_t at = 0; at < text.bytes && status == VQ_OK;) {
        const char *end = memchr(text.at + at, '\n', text.bytes - at);
        size_t stop = end == NULL ? text.bytes : (size_t)(end - text.at);
        struct vq_span line = without_spaces(vq_span(text.at + at, stop - at));
        if (line.bytes > 0) {
            status = take_line(&list, line);
        }
        at = stop + 1;
    }
    if (status == VQ_NOMEM) {
        vq_axis_list_free(&list);
        return status;
    }
    for (size_t i = 0; i < list.n; i++) {
        struct vq_listed_axis *axis = &list.axes[i];
        vq_axis_understand(kind, axis->text.name, axis->text.low, axis->text.high, &axis->reading);
    }
    *ret_list = list;
    return VQ_OK;
}

void vq_axis_list_free(struct vq_axis_list *list)
{
    vq_free(list->axes);
    *list = (struct vq_axis_list){0};
}

/* The next letter or digit from *at on, in lower case; -1: the end. */
static int next_letter(struct vq_span text, size_t *at)
{
    while (*at < text.bytes) {
        unsigned char c = (unsigned char)text.at[(*at)++];
        if (isalnum(c) || c >= 0x80) {
            return tolower(c);
        }
    }
    return -1;
}

/* Whether two names are equal, ignoring case, spaces and punctuation. */
static bool names_equal(struct vq_span a, struct vq_span b)
{
    size_t i = 0;
    size_t j = 0;
    for (;;) {
        int x = next_letter(a, &i);
        int y = next_letter(b, &j);
        if (x != y) {
            return false;
        }
        if (x < 0) {
            return true;
        }
    }
}

bool vq_listed_same(const struct vq_listed_axis *a, const struct vq_listed_axis *b)
{
    if (a->reading.main == VQ_TOPIC__COUNT || b->reading.main == VQ_TOPIC__COUNT) {
        return names_equal(a->text.name, b->text.name);
    }
    return vq_axis_same(&a->reading, &b->reading);
}

const struct vq_listed_axis *vq_axis_list_find(const struct vq_axis_list *list, size_t limit,
                                               const struct vq_listed_axis *axis)
{
    for (size_t i = 0; i < limit && i < list->n; i++) {
        if (vq_listed_same(&list->axes[i], axis)) {
            return &list->axes[i];
        }
    }
    return NULL;
}

/* Lists of axes: cleans and checks each found axis, and adds or rejects it. The strings of an axis
 * are one block of memory, which begins with the name. Not its job: finding axes in an answer
 * (axes_text.c, axes_list.c); names, lines and numbers (axes_names.c). */
#include "common/judge/axes.h"

#include "common/base/alloc.h"
#include "common/judge/answer_lines.h"
#include "common/judge/axes_parts.h"
#include "common/judge/label.h"
#include "common/judge/thinking.h"
#include "common/judge/verdict.h"

#define NONE_TEXT    "no differences found"
#define NONE_PERCENT 90
#define NONE_BYTES   (sizeof(NONE_TEXT) - 1)
#define ALIKE_MAX    (2 * NONE_BYTES)
#define BLOCK_BYTES  (VQ_AXES_NAME_BYTES_MAX + 2 * VQ_AXES_TEXT_BYTES_MAX + 3)
#define PREFIXES_MAX 3 /* "New Axes: Axis 2: Name: .." */

/* ---- the list ---- */

void vq_axes_free(struct vq_axes *axes)
{
    for (size_t i = 0; i < axes->count; i++) {
        vq_free((char *)axes->items[i].name);
    }
    vq_free(axes->items);
    vq_lines_free(&axes->rejected);
    *axes = (struct vq_axes){.count = 0};
}

/* Makes an axis in one block `buf`: name, low and high, each with its NUL. Each of them may be
 * empty. */
static enum vq_status build(struct vq_span name, struct vq_span low, struct vq_span high,
                            struct vq_buf *buf, struct vq_axis *ret_axis)
{
    vq_answer_clean(name, VQ_AXES_NAME_BYTES_MAX, buf);
    vq_buf_putc(buf, '\0');
    size_t low_at = buf->bytes;
    vq_answer_clean(low, VQ_AXES_TEXT_BYTES_MAX, buf);
    vq_buf_putc(buf, '\0');
    size_t high_at = buf->bytes;
    vq_answer_clean(high, VQ_AXES_TEXT_BYTES_MAX, buf);
    vq_buf_putc(buf, '\0');
    if (buf->status == VQ_OK) {
        *ret_axis =
            (struct vq_axis){.name = buf->at, .low = buf->at + low_at, .high = buf->at + high_at};
    }
    return buf->status;
}

static bool is_whole(const struct vq_axis *axis)
{
    return axis->name[0] != '\0' && axis->low[0] != '\0' && axis->high[0] != '\0';
}

/* Appends a copy of the block. */
static enum vq_status append(struct vq_axes *axes, const struct vq_buf *block,
                             const struct vq_axis *axis)
{
    VQ_TRY(VQ_GROW(axes->items, &axes->cap, axes->count + 1, VQ_AXES_MAX));
    char *copy;
    VQ_TRY(VQ_ALLOC(copy, block->bytes));
    memcpy(copy, block->at, block->bytes);
    axes->items[axes->count++] = (struct vq_axis){.name = copy,
                                                  .low = copy + (axis->low - block->at),
                                                  .high = copy + (axis->high - block->at)};
    return VQ_OK;
}

enum vq_status vq_axes_add(struct vq_axes *axes, struct vq_span name, struct vq_span low,
                           struct vq_span high)
{
    struct vq_buf block;
    struct vq_axis axis;
    vq_buf_init(&block, BLOCK_BYTES);
    enum vq_status status = build(name, low, high, &block, &axis);
    if (status == VQ_OK && !is_whole(&axis)) {
        status = VQ_INVALID;
    }
    if (status == VQ_OK) {
        status = append(axes, &block, &axis);
    }
    vq_buf_free(&block);
    return status;
}

static enum vq_status same_name(const char *a, const char *b, bool *ret_same)
{
    struct vq_buf folded[2];
    vq_buf_init(&folded[0], VQ_AXES_NAME_BYTES_MAX);
    vq_buf_init(&folded[1], VQ_AXES_NAME_BYTES_MAX);
    vq_axes_name_fold(vq_span_str(a), &folded[0]);
    vq_axes_name_fold(vq_span_str(b), &folded[1]);
    bool failed = folded[0].status != VQ_OK || folded[1].status != VQ_OK;
    *ret_same = vq_span_eq(vq_buf_span(&folded[0]), vq_buf_span(&folded[1]));
    vq_buf_free(&folded[0]);
    vq_buf_free(&folded[1]);
    return failed ? VQ_NOMEM : VQ_OK;
}

static enum vq_status is_there(const struct vq_axes *axes, const struct vq_axis *axis,
                               bool *ret_there)
{
    bool there = false;
    for (size_t i = 0; i < axes->count && !there; i++) {
        const struct vq_axis *other = &axes->items[i];
        if (strcmp(other->low, axis->low) == 0 && strcmp(other->high, axis->high) == 0) {
            VQ_TRY(same_name(other->name, axis->name, &there));
        }
    }
    *ret_there = there;
    return VQ_OK;
}

enum vq_status vq_axes_take(struct vq_axes *axes, const struct vq_axes_found *found)
{
    struct vq_buf block;
    struct vq_axis axis;
    bool there = false;
    vq_buf_init(&block, BLOCK_BYTES);
    enum vq_status status = build(vq_axes_short_name(found->name), found->ends[VQ_AXES_LOW],
                                  found->ends[VQ_AXES_HIGH], &block, &axis);
    bool whole = status == VQ_OK && is_whole(&axis);
    if (status == VQ_OK && whole) {
        status = is_there(axes, &axis, &there);
    }
    if (status == VQ_OK && !whole) {
        status = vq_lines_take(&axes->rejected, found->raw, VQ_AXES_REJECTED_BYTES_MAX);
    } else if (status == VQ_OK && !there && axes->count == VQ_AXES_MAX) {
        axes->over++;
    } else if (status == VQ_OK && !there) {
        status = append(axes, &block, &axis);
    }
    vq_buf_free(&block);
    return status;
}

/* ---- names ---- */

/* Bytes of "Axis 2:", "New Axes:", "Name:" at the front; 0: none, or no text after it. */
static size_t prefix_bytes(struct vq_span text)
{
    static const char *const nouns[] = {"axis", "axes", "vibe", "vibes", "name", "difference"};
    struct vq_span at = vq_label_skip_punct(text);
    struct vq_span word = vq_label_word(at);
    if (vq_label_word_is(word, "new")) {
        at = vq_label_skip_punct(vq_span_after(at, word.bytes));
        word = vq_label_word(at);
    }
    bool noun = false;
    for (size_t i = 0; i < VQ_COUNT(nouns); i++) {
        noun = noun || vq_label_word_is(word, nouns[i]);
    }
    if (!noun) {
        return 0;
    }
    at = vq_span_after(at, word.bytes);
    size_t digits = 0;
    while (digits < at.bytes &&
           (at.at[digits] == ' ' || (at.at[digits] >= '0' && at.at[digits] <= '9'))) {
        digits++;
    }
    at = vq_span_after(at, digits);
    if (!vq_label_skip_separator(&at) || vq_label_skip_punct(at).bytes == 0) {
        return 0;
    }
    return (size_t)(at.at - text.at);
}

/* Bytes of a separator between a name and its texts, at the end of `text`. */
static size_t separator_behind(struct vq_span text)
{
    static const char *const wide[] = {"\xEF\xBC\x9A", "\xE2\x80\x93", "\xE2\x80\x94"};
    if (text.bytes > 0 && memchr(" :-={([", text.at[text.bytes - 1], 7) != NULL) {
        return 1;
    }
    for (size_t i = 0; i < VQ_COUNT(wide); i++) { /* colon, dashes */
        if (text.bytes >= 3 && memcmp(text.at + text.bytes - 3, wide[i], 3) == 0) {
            return 3;
        }
    }
    return 0;
}

/* A name without "Axis 2:", "New Axes:", "Name:" or a bullet before it, and without a colon or open
 * bracket after it. */
static struct vq_span clean_name(struct vq_span text)
{
    text = vq_answer_bare(text);
    for (int i = 0; i < PREFIXES_MAX; i++) {
        text = vq_answer_skip_mark(vq_span_after(text, prefix_bytes(text)));
    }
    for (int i = 0; i < PREFIXES_MAX; i++) {
        text = vq_answer_bare(text);
        size_t bytes;
        while ((bytes = separator_behind(text)) > 0) {
            text.bytes -= bytes;
        }
    }
    return text;
}

struct vq_span vq_axes_short_name(struct vq_span text)
{
    text = clean_name(text);
    for (size_t at = 1; at < text.bytes; at++) {
        struct vq_span rest = vq_span_after(text, at);
        size_t colon = vq_answer_colon_bytes(rest);
        if (colon > 0 && (colon == 3 || rest.bytes == 1 ||
                          vq_answer_decoration_bytes(vq_span_after(rest, colon)) > 0)) {
            return vq_answer_bare(vq_span(text.at, at));
        }
    }
    return text;
}

void vq_axes_name_fold(struct vq_span name, struct vq_buf *buf)
{
    bool first = true;
    for (;;) {
        name = vq_label_skip_punct(name);
        struct vq_span word = vq_label_word(name);
        if (word.bytes == 0) {
            return;
        }
        if (!first) {
            vq_buf_putc(buf, ' ');
        }
        first = false;
        for (size_t i = 0; i < word.bytes; i++) {
            char c = word.at[i];
            vq_buf_putc(buf, vq_lower(c));
        }
        name = vq_span_after(name, word.bytes);
    }
}

/* The longest common subsequence with NONE_TEXT, in any case of letters. */
static size_t common_with_none(struct vq_span text)
{
    size_t row[ALIKE_MAX + 1] = {0};
    for (size_t i = 0; i < NONE_BYTES; i++) {
        size_t diagonal = 0;
        for (size_t j = 1; j <= text.bytes; j++) {
            size_t above = row[j];
            if (vq_lower(text.at[j - 1]) == NONE_TEXT[i]) {
                row[j] = diagonal + 1;
            } else if (row[j - 1] > row[j]) {
                row[j] = row[j - 1];
            }
            diagonal = above;
        }
    }
    return row[text.bytes];
}

bool vq_axes_none(struct vq_span answer)
{
    if (answer.bytes == 0) {
        return false;
    }
    struct vq_span text = vq_span_trim(vq_thinking_rest(answer));
    struct vq_span words = vq_label_skip_punct(text);
    if (words.bytes >= NONE_BYTES && vq_label_word_is(vq_span(words.at, NONE_BYTES), NONE_TEXT)) {
        return true;
    }
    return text.bytes <= ALIKE_MAX &&
           200 * common_with_none(text) > NONE_PERCENT * (text.bytes + NONE_BYTES);
}

static enum vq_status take_list_item(void *ctx, const struct vq_axes_found *found)
{
    struct vq_axes_found item = *found;
    struct vq_axes_split split;
    bool text = found->ends[VQ_AXES_HIGH].bytes == 0 && found->ends[VQ_AXES_LOW].bytes == 0;
    if (text && vq_axes_split(found->raw, true, &split)) {
        item.name = split.name;
        memcpy(item.ends, split.ends, sizeof(item.ends));
    }
    return vq_axes_take(ctx, &item);
}

static enum vq_status read_axes(struct vq_span text, struct vq_axes *axes)
{
    VQ_TRY(vq_axes_read_list(text, take_list_item, axes));
    if (axes->count > 0) {
        return VQ_OK;
    }
    vq_axes_free(axes);
    return vq_axes_read_text(text, axes);
}

enum vq_status vq_axes_parse(struct vq_span answer, struct vq_axes *ret_axes)
{
    struct vq_axes axes = {.count = 0};
    struct vq_buf text;
    answer.bytes = answer.bytes < VQ_ANSWER_BYTES_MAX ? answer.bytes : VQ_ANSWER_BYTES_MAX;
    vq_buf_init(&text, VQ_ANSWER_BYTES_MAX);
    enum vq_status status = VQ_OK;
    if (answer.bytes > 0 && !vq_axes_none(answer)) {
        vq_thinking_strip(answer, &text);
        status = text.status;
    }
    if (status == VQ_OK && text.bytes > 0) {
        status = read_axes(vq_buf_span(&text), &axes);
    }
    vq_buf_free(&text);
    if (status != VQ_OK) {
        vq_axes_free(&axes);
        return status;
    }
    *ret_axes = axes;
    return VQ_OK;
}

/* ---- writing ---- */

void vq_axes_line(const struct vq_axis *axis, struct vq_buf *buf)
{
    vq_buf_printf(buf, "%s: High: %s Low: %s", axis->name, axis->high, axis->low);
}

void vq_axes_format(const struct vq_axis *axes, size_t count, enum vq_axes_style style,
                    struct vq_buf *buf)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            vq_buf_putc(buf, '\n');
        }
        if (style == VQ_AXES_NUMBERED) {
            vq_buf_printf(buf, "%zu. ", i + 1);
        } else {
            vq_buf_puts(buf, "- ");
        }
        vq_axes_line(&axes[i], buf);
    }
}

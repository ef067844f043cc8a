/* Reads lists of axes in lines: headings with High and Low below them, in either order, and
 * one-line forms.
 *
 * One item is open at a time. A line is, in this order, a label line of the open item, a one-line
 * axis, a bullet or heading that opens an item, or plain text: the rest of a wrapped line, a name
 * if labels follow, else a remark. An item that a plain line opened and that gets no label was a
 * preamble or a remark, and is dropped. A bullet without labels is rejected, so that it is
 * reported. Each line is read a bounded number of times. Not its job: the form of a label
 * (axes_split.c). */
#include "common/judge/answer_lines.h"
#include "common/judge/axes_parts.h"
#include "common/judge/label.h"
#include "common/text/utf8.h"

#define RAW_BYTES_MAX (4 * VQ_AXES_TEXT_BYTES_MAX) /* of one part, before cleaning and cutting */

struct item {
    bool open;
    enum vq_line_mark mark;
    size_t indent;
    struct vq_buf name, raw;
    struct vq_buf ends[VQ_AXES_END__COUNT];
    struct vq_buf *last; /* the text that wrapped lines continue; NULL: none */
};

struct reader {
    struct vq_axes *axes;
    struct item item;
    struct vq_span rest; /* after the current line */
    bool listed;         /* the axes have bullets: a plain line is not an axis */
    bool after_blank;
};

/* Appends a space and the text, cut at the limit. */
static void put(struct vq_buf *buf, struct vq_span text)
{
    if (buf->status != VQ_OK || buf->bytes + 1 >= buf->bytes_max) {
        return;
    }
    if (buf->bytes > 0) {
        vq_buf_putc(buf, ' ');
    }
    text = vq_utf8_cut(text, buf->bytes_max - buf->bytes);
    vq_buf_append(buf, text.at, text.bytes);
}

static bool has(const struct item *item, enum vq_axes_end end)
{
    return item->ends[end].bytes > 0;
}

static bool is_complete(const struct item *item)
{
    return has(item, VQ_AXES_HIGH) && has(item, VQ_AXES_LOW);
}

static void item_init(struct item *item)
{
    *item = (struct item){.open = false};
    vq_buf_init(&item->name, RAW_BYTES_MAX);
    vq_buf_init(&item->raw, RAW_BYTES_MAX);
    vq_buf_init(&item->ends[VQ_AXES_HIGH], RAW_BYTES_MAX);
    vq_buf_init(&item->ends[VQ_AXES_LOW], RAW_BYTES_MAX);
}

static void item_free(struct item *item)
{
    vq_buf_free(&item->name);
    vq_buf_free(&item->raw);
    vq_buf_free(&item->ends[VQ_AXES_HIGH]);
    vq_buf_free(&item->ends[VQ_AXES_LOW]);
}

static bool has_no_memory(const struct item *item)
{
    return item->name.status == VQ_NOMEM || item->raw.status == VQ_NOMEM ||
           item->ends[VQ_AXES_HIGH].status == VQ_NOMEM ||
           item->ends[VQ_AXES_LOW].status == VQ_NOMEM;
}

static enum vq_status close_item(struct reader *r)
{
    struct item *item = &r->item;
    if (!item->open) {
        return VQ_OK;
    }
    if (has_no_memory(item)) {
        return VQ_NOMEM;
    }
    bool any = has(item, VQ_AXES_HIGH) || has(item, VQ_AXES_LOW);
    if (any || item->mark == VQ_LINE_BULLET) {
        struct vq_axes_found found = {
            .name = vq_buf_span(&item->name),
            .ends = {vq_buf_span(&item->ends[VQ_AXES_HIGH]), vq_buf_span(&item->ends[VQ_AXES_LOW])},
            .raw = vq_buf_span(&item->raw),
        };
        VQ_TRY(vq_axes_take(r->axes, &found));
    }
    item->open = false;
    item->last = NULL;
    vq_buf_clear(&item->name);
    vq_buf_clear(&item->raw);
    vq_buf_clear(&item->ends[VQ_AXES_HIGH]);
    vq_buf_clear(&item->ends[VQ_AXES_LOW]);
    return VQ_OK;
}

static enum vq_status open_item(struct reader *r, const struct vq_answer_line *line,
                                enum vq_line_mark mark, struct vq_span name)
{
    VQ_TRY(close_item(r));
    r->item.open = true;
    r->item.mark = mark;
    r->item.indent = line->indent;
    put(&r->item.name, name);
    put(&r->item.raw, line->text);
    return VQ_OK;
}

static void add_ends(struct item *item, const struct vq_axes_split *split)
{
    const char *latest = NULL;
    for (int i = 0; i < VQ_AXES_END__COUNT; i++) {
        if (split->ends[i].at == NULL) {
            continue;
        }
        put(&item->ends[i], split->ends[i]);
        if (latest == NULL || split->ends[i].at > latest) {
            latest = split->ends[i].at;
            item->last = &item->ends[i];
        }
    }
}

/* Whether the next line with words is "High: .." or "Low: ..". */
static bool label_follows(struct vq_span rest)
{
    struct vq_answer_line line;
    while (vq_answer_next_line(&rest, &line)) {
        if (line.text.bytes > 0) {
            return vq_axes_begins_with_label(line.text);
        }
    }
    return false;
}

/* Reads "High: ..", perhaps followed by "Low: ..". */
static enum vq_status read_label_line(struct reader *r, const struct vq_answer_line *line)
{
    struct vq_axes_split split;
    if (!vq_axes_split(line->text, !label_follows(r->rest), &split)) {
        return VQ_OK;
    }
    bool again = false;
    for (int i = 0; i < VQ_AXES_END__COUNT; i++) {
        again = again || (split.ends[i].at != NULL && r->item.ends[i].bytes > 0);
    }
    if (!r->item.open || again) {
        VQ_TRY(open_item(r, line, VQ_LINE_BULLET, vq_span_str("")));
    } else {
        put(&r->item.raw, line->text);
    }
    add_ends(&r->item, &split);
    return VQ_OK;
}

/* Whether the line is the end of one text and then the other label: " continues here Low:
 * casual". */
static bool is_wrapped_label(const struct reader *r, const struct vq_answer_line *line,
                             struct vq_axes_split *ret_split)
{
    const struct item *item = &r->item;
    if (!item->open || line->mark != VQ_LINE_PLAIN || item->last == NULL || is_complete(item) ||
        !vq_axes_split(line->text, !label_follows(r->rest), ret_split)) {
        return false;
    }
    enum vq_axes_end missing = has(item, VQ_AXES_HIGH) ? VQ_AXES_LOW : VQ_AXES_HIGH;
    return ret_split->ends[missing].at != NULL && ret_split->ends[1 - missing].at == NULL;
}

static enum vq_status read_plain(struct reader *r, const struct vq_answer_line *line)
{
    struct item *item = &r->item;
    bool named = item->open && item->mark != VQ_LINE_PLAIN;
    bool ends =
        item->open && (item->last != NULL || has(item, VQ_AXES_HIGH) || has(item, VQ_AXES_LOW));
    if (named && !ends) {
        return VQ_OK; /* a remark about the name */
    }
    if (ends && !is_complete(item) && r->after_blank) {
        item->last = NULL; /* a remark between the two texts */
        return VQ_OK;
    }
    char first = line->text.at[0];
    bool capital = first >= 'A' && first <= 'Z';
    bool fresh =
        r->after_blank || (capital && line->indent <= item->indent) || label_follows(r->rest);
    if (!ends || (is_complete(item) && fresh)) {
        return open_item(r, line, VQ_LINE_PLAIN, vq_axes_short_name(line->text));
    }
    if (item->last != NULL) {
        put(item->last, line->text);
        put(&item->raw, line->text);
    }
    return VQ_OK;
}

static enum vq_status read_marked(struct reader *r, const struct vq_answer_line *line)
{
    struct item *item = &r->item;
    bool below = item->open && item->mark == VQ_LINE_BULLET && line->mark == VQ_LINE_BULLET &&
                 line->indent > item->indent;
    if (!below) {
        return open_item(r, line, line->mark, vq_axes_short_name(line->text));
    }
    if (item->last != NULL) { /* a nested bullet below "High:" */
        put(item->last, line->text);
        put(&item->raw, line->text);
    }
    return VQ_OK;
}

static enum vq_status read_line(struct reader *r, const struct vq_answer_line *line)
{
    struct vq_axes_split split;
    if (vq_axes_begins_with_label(line->text)) {
        return read_label_line(r, line);
    }
    if (is_wrapped_label(r, line, &split)) {
        put(r->item.last, split.name);
        put(&r->item.raw, line->text);
        add_ends(&r->item, &split);
        return VQ_OK;
    }
    bool plain = line->mark == VQ_LINE_PLAIN;
    if (!(plain && r->listed) && vq_axes_split(line->text, !plain, &split) &&
        vq_answer_bare(split.name).bytes > 0) {
        VQ_TRY(open_item(r, line, VQ_LINE_BULLET, split.name));
        add_ends(&r->item, &split);
        return VQ_OK;
    }
    return plain ? read_plain(r, line) : read_marked(r, line);
}

/* Whether an axis has its own bullet. */
static bool is_listed(struct vq_span text)
{
    struct vq_answer_line line;
    struct vq_axes_split split;
    bool bullet = false; /* the last line with words had a bullet, and is not a label */
    while (vq_answer_next_line(&text, &line)) {
        if (line.text.bytes == 0) {
            continue;
        }
        bool label = vq_axes_begins_with_label(line.text);
        if (label && bullet) {
            return true;
        }
        bullet = !label && line.mark == VQ_LINE_BULLET;
        if (bullet && vq_axes_split(line.text, false, &split) &&
            split.ends[VQ_AXES_HIGH].at != NULL && split.ends[VQ_AXES_LOW].at != NULL) {
            return true;
        }
    }
    return false;
}

enum vq_status vq_axes_read_text(struct vq_span text, struct vq_axes *axes)
{
    struct reader r = {.axes = axes, .rest = text, .listed = is_listed(text)};
    item_init(&r.item);
    enum vq_status status = VQ_OK;
    struct vq_answer_line line;
    while (status == VQ_OK && vq_answer_next_line(&r.rest, &line)) {
        if (line.text.bytes > 0) {
            status = read_line(&r, &line);
        }
        r.after_blank = line.text.bytes == 0;
    }
    if (status == VQ_OK) {
        status = close_item(&r);
    }
    item_free(&r.item);
    return status;
}

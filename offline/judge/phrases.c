/* The table of phrases and the writer of lists. Not its job: the choice of axes (discover.c,
 * reduce.c). */
#include "offline/judge/phrases.h"

#include "common/text/json.h"

#define LINE_BYTES_MAX 65536

static const struct vq_phrase phrases[] = {
#define PHRASE(topic, name, low, high) {VQ_TOPIC_##topic, name, low, high},
#include "offline/judge/phrases.def"
#undef PHRASE
};

size_t vq_phrases_of(enum vq_topic topic, const struct vq_phrase **ret_first)
{
    size_t n = 0;
    for (size_t i = 0; i < VQ_COUNT(phrases); i++) {
        if (phrases[i].topic == topic) {
            *ret_first = n == 0 ? &phrases[i] : *ret_first;
            n++;
        }
    }
    return n;
}

const struct vq_phrase *vq_phrase_pick(enum vq_topic topic, uint64_t draw)
{
    const struct vq_phrase *first = NULL;
    size_t n = vq_phrases_of(topic, &first);
    return first + draw % n;
}

static const char *const form_names[VQ_FORM__COUNT] = {
    "low_first",   "high_first", "headings", "numbered", "quoted",
    "sub_bullets", "preamble",   "fence",    "json",     "bold"};

enum vq_status vq_axes_form_find(const char *name, enum vq_axes_form *ret_form)
{
    for (size_t i = 0; i < VQ_FORM__COUNT; i++) {
        if (strcmp(form_names[i], name) == 0) {
            *ret_form = (enum vq_axes_form)i;
            return VQ_OK;
        }
    }
    return VQ_NOT_FOUND;
}

/* Text with marks: %n the axis' name, %l low, %h high. */
static void put(struct vq_buf *to, const char *pattern, const struct vq_axis_text *axis)
{
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at != '%') {
            vq_buf_putc(to, *at);
            continue;
        }
        at++;
        struct vq_span part = *at == 'n' ? axis->name : *at == 'l' ? axis->low : axis->high;
        vq_buf_append(to, part.at, part.bytes);
    }
}

static void put_json(struct vq_buf *to, const struct vq_axis_text *axis)
{
    struct vq_buf line;
    vq_buf_init(&line, LINE_BYTES_MAX);
    put(&line, "%n: High: %h Low: %l", axis);
    vq_json_string(to, vq_buf_span(&line));
    vq_buf_free(&line);
}

void vq_axes_write(const struct vq_axis_text *axes, size_t n, enum vq_axes_form form,
                   struct vq_buf *to)
{
    static const char *const patterns[VQ_FORM__COUNT] = {
        [VQ_FORM_LOW_FIRST] = "- %n: Low: %l; High: %h",
        [VQ_FORM_HIGH_FIRST] = "- %n: High: %h Low: %l",
        [VQ_FORM_HEADINGS] = "**%n**\n  High: %h\n  Low: %l",
        [VQ_FORM_NUMBERED] = "%n:\n   Low: %l\n   High: %h",
        [VQ_FORM_QUOTED] = "- \"%n: High: %h Low: %l\"",
        [VQ_FORM_SUB_BULLETS] = "- %n:\n    - High: %h\n    - Low: %l",
        [VQ_FORM_PREAMBLE] = "- %n: Low: %l; High: %h",
        [VQ_FORM_FENCE] = "- %n: High: %h Low: %l",
        [VQ_FORM_BOLD] = "* **%n:** **Low:** %l; **High:** %h",
    };
    vq_buf_puts(to, form == VQ_FORM_PREAMBLE ? "Here is what I see in these texts:\n\n" : "");
    vq_buf_puts(to, form == VQ_FORM_FENCE ? "```\n" : "");
    vq_buf_puts(to, form == VQ_FORM_JSON ? "[" : "");
    for (size_t i = 0; i < n; i++) {
        if (form == VQ_FORM_JSON) {
            vq_buf_puts(to, i == 0 ? "" : ", ");
            put_json(to, &axes[i]);
            continue;
        }
        vq_buf_puts(to, i == 0 ? "" : "\n");
        if (form == VQ_FORM_NUMBERED) {
            vq_buf_printf(to, "%zu. ", i + 1);
        }
        put(to, patterns[form], &axes[i]);
    }
    vq_buf_puts(to, form == VQ_FORM_FENCE ? "\n```" : "");
    vq_buf_puts(to, form == VQ_FORM_JSON ? "]" : "");
}

void vq_axes_write_numbered(const struct vq_axis_text *axes, size_t n, struct vq_buf *to)
{
    for (size_t i = 0; i < n; i++) {
        vq_buf_printf(to, "%s%zu. ", i == 0 ? "" : "\n", i + 1);
        put(to, "%n: High: %h Low: %l", &axes[i]);
    }
}

/* Shortens lists of axes: merges them, cuts them to a number, removes known ones; and finds the
 * number of a match. Two axes about the same feature count as one; an axis that is not understood
 * remains unchanged. The remaining axes keep their wording and their order. */
#include "common/base/alloc.h"
#include "offline/judge/part_kinds.h"

/* The distinct axes of a list: the first of each feature. */
struct merged {
    struct vq_axis_text *axes; /* owned, as is the next */
    size_t *support;           /* the number of axes of the list that each represents */
    size_t n;
};

static void merged_free(struct merged *merged)
{
    vq_free(merged->axes);
    vq_free(merged->support);
}

static enum vq_status merge(const struct vq_axis_list *list, struct merged *ret_merged)
{
    struct merged merged = {.axes = vq_alloc(list->n, sizeof(*merged.axes)),
                            .support = vq_alloc(list->n, sizeof(*merged.support))};
    /* of each axis of the list: its index in the result */
    size_t *place = vq_alloc(list->n, sizeof(*place));
    if (merged.axes == NULL || merged.support == NULL || place == NULL) {
        merged_free(&merged);
        vq_free(place);
        return VQ_NOMEM;
    }
    for (size_t i = 0; i < list->n; i++) {
        const struct vq_listed_axis *twin = vq_axis_list_find(list, i, &list->axes[i]);
        place[i] = twin == NULL ? merged.n++ : place[twin - list->axes];
        if (twin == NULL) {
            merged.axes[place[i]] = list->axes[i].text;
        }
        merged.support[place[i]]++;
    }
    vq_free(place);
    *ret_merged = merged;
    return VQ_OK;
}

/* Drops the axes with the least support (if equal, the last one) until `count` remain. */
static void cut(struct merged *merged, size_t count)
{
    while (merged->n > count) {
        size_t least = 0;
        for (size_t i = 1; i < merged->n; i++) {
            least = merged->support[i] <= merged->support[least] ? i : least;
        }
        merged->n--;
        for (size_t i = least; i < merged->n; i++) {
            merged->axes[i] = merged->axes[i + 1];
            merged->support[i] = merged->support[i + 1];
        }
    }
}

static size_t count_of(struct vq_span text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.bytes && count <= VQ_AXIS_LIST_MAX; i++) {
        if (text.at[i] >= '0' && text.at[i] <= '9') {
            count = count * 10 + (size_t)(text.at[i] - '0');
        }
    }
    return count;
}

enum vq_status vq_part_reduce(const struct vq_part *part)
{
    struct vq_span text = part->request->text;
    struct vq_axis_list list = {0};
    struct merged merged = {0};
    VQ_TRY(vq_axis_list_read(part->request->kind, vq_wanted_section(text, "axes", false), &list));
    enum vq_status status = merge(&list, &merged);
    if (status == VQ_OK) {
        bool is_last = part->request->wanted == VQ_WANTED_REDUCED;
        if (is_last) {
            cut(&merged, count_of(vq_wanted_section(text, "count", false)));
        }
        if (is_last && !part->request->is_malformed) {
            vq_axes_write_numbered(merged.axes, merged.n, part->to);
        } else {
            vq_part_write_axes(part, merged.axes, merged.n, VQ_FORM_HIGH_FIRST);
        }
        merged_free(&merged);
        status = part->to->status;
    }
    vq_axis_list_free(&list);
    return status;
}

enum vq_status vq_part_dedup(const struct vq_part *part)
{
    struct vq_span text = part->request->text;
    enum vq_judge_kind kind = part->request->kind;
    struct vq_axis_list current = {0};
    struct vq_axis_list fresh = {0};
    enum vq_status status =
        vq_axis_list_read(kind, vq_wanted_section(text, "current_axes", false), &current);
    if (status == VQ_OK) {
        status = vq_axis_list_read(kind, vq_wanted_section(text, "new_axes", false), &fresh);
    }
    size_t kept = 0;
    for (size_t i = 0; status == VQ_OK && i < fresh.n; i++) {
        const struct vq_listed_axis *axis = &fresh.axes[i];
        if (vq_axis_list_find(&current, current.n, axis) == NULL &&
            vq_axis_list_find(&fresh, i, axis) == NULL) {
            bool sloppy = part->request->is_malformed;
            vq_buf_puts(part->to, kept > 0 ? "\n" : sloppy ? "These are new:\n" : "");
            vq_buf_puts(part->to, sloppy ? "- **" : "");
            vq_buf_append(part->to, axis->text.name.at, axis->text.name.bytes);
            vq_buf_puts(part->to, sloppy ? "**" : "");
            kept++;
        }
    }
    if (status == VQ_OK && kept == 0) {
        vq_buf_puts(part->to, "none");
    }
    vq_axis_list_free(&fresh);
    vq_axis_list_free(&current);
    return status == VQ_OK ? part->to->status : status;
}

enum vq_status vq_part_match(const struct vq_part *part)
{
    struct vq_span text = part->request->text;
    enum vq_judge_kind kind = part->request->kind;
    struct vq_axis_list list = {0};
    struct vq_axis_list wanted = {0};
    enum vq_status status = vq_axis_list_read(kind, vq_wanted_section(text, "axes", false), &list);
    if (status == VQ_OK) {
        status = vq_axis_list_read(kind, vq_wanted_section(text, "axis", false), &wanted);
    }
    const struct vq_listed_axis *best = NULL;
    double most = 0;
    for (size_t i = 0; status == VQ_OK && wanted.n > 0 && i < list.n; i++) {
        const struct vq_axis_reading *reading = &list.axes[i].reading;
        double likeness = 1 + vq_axis_likeness(&wanted.axes[0].reading.weights, &reading->weights);
        likeness += wanted.axes[0].reading.main == reading->main;
        if (vq_listed_same(&wanted.axes[0], &list.axes[i]) && likeness > most) {
            most = likeness;
            best = &list.axes[i];
        }
    }
    if (status == VQ_OK) {
        vq_buf_puts(part->to, best == NULL ? "Analysis: No axis speaks of the same words.\n"
                                           : "Analysis: Both speak of the same feature.\n");
        const char *label = part->request->is_malformed ? "**Match:** " : "Match: ";
        vq_buf_puts(part->to, label);
        if (best == NULL) {
            vq_buf_puts(part->to, "none");
        } else {
            vq_buf_printf(part->to, "%llu", (unsigned long long)best->number);
        }
        status = part->to->status;
    }
    vq_axis_list_free(&wanted);
    vq_axis_list_free(&list);
    return status;
}

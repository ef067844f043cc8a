/* Axes and differences of a batch of rows, and axes of given notes. Not its job: finding the
 * features that differ (features.c). */
#include "common/base/alloc.h"
#include "offline/judge/part_kinds.h"

struct batch {
    struct vq_row_measures *rows; /* owned */
    size_t n;
};

static enum vq_status read_batch(const struct vq_part *part, struct batch *ret_batch)
{
    struct batch batch = {.rows = vq_alloc(VQ_ROWS_MAX, sizeof(*batch.rows))};
    if (batch.rows == NULL) {
        return VQ_NOMEM;
    }
    struct vq_span rows = vq_wanted_section(part->request->text, "rows", true);
    struct vq_wanted_row row;
    for (size_t at = 0; batch.n < VQ_ROWS_MAX && vq_row_next(rows, &at, &row);) {
        if (row.has_outputs) {
            for (size_t side = 0; side < 2; side++) {
                vq_lexical_measure(part->lexical, row.outputs[side],
                                   &batch.rows[batch.n].outputs[side]);
            }
            batch.n++;
        }
    }
    *ret_batch = batch;
    return VQ_OK;
}

static enum vq_status find_features(const struct vq_part *part, struct vq_feature *features,
                                    size_t *ret_n)
{
    struct vq_span text = part->request->text;
    enum vq_judge_kind kind = part->request->kind;
    struct batch batch = {0};
    struct vq_axis_list current = {0};
    struct vq_axis_list rejected = {0};
    enum vq_status status = read_batch(part, &batch);
    if (status == VQ_OK) {
        status = vq_axis_list_read(kind, vq_wanted_section(text, "current_axes", false), &current);
    }
    if (status == VQ_OK) {
        status =
            vq_axis_list_read(kind, vq_wanted_section(text, "rejected_axes", false), &rejected);
    }
    if (status == VQ_OK) {
        *ret_n = vq_features_find(kind, batch.rows, batch.n, &current, &rejected, features);
    }
    vq_axis_list_free(&rejected);
    vq_axis_list_free(&current);
    vq_free(batch.rows);
    return status;
}

static struct vq_axis_text text_of(const struct vq_phrase *phrase)
{
    return (struct vq_axis_text){vq_span_str(phrase->name), vq_span_str(phrase->low),
                                 vq_span_str(phrase->high)};
}

enum vq_status vq_part_axes(const struct vq_part *part)
{
    struct vq_feature features[VQ_FEATURES_MAX];
    size_t n = 0;
    VQ_TRY(find_features(part, features, &n));
    struct vq_axis_text axes[VQ_FEATURES_MAX];
    for (size_t i = 0; i < n; i++) {
        enum vq_topic topic = features[i].topic;
        axes[i] = text_of(vq_phrase_pick(topic, vq_part_draw(part, topic)));
    }
    if (n == 0) {
        vq_buf_puts(part->to, VQ_NO_DIFFERENCES);
        return part->to->status;
    }
    if (part->request->wanted == VQ_WANTED_NEW_AXES) {
        vq_buf_puts(part->to, "New Axes:\n");
    }
    vq_part_write_axes(part, axes, n, VQ_FORM_LOW_FIRST);
    return part->to->status;
}

enum vq_status vq_part_differences(const struct vq_part *part)
{
    struct vq_feature features[VQ_FEATURES_MAX];
    size_t n = 0;
    VQ_TRY(find_features(part, features, &n));
    if (n == 0) {
        vq_buf_puts(part->to, VQ_NO_DIFFERENCES);
        return part->to->status;
    }
    vq_buf_puts(part->to, part->request->is_malformed ? "These texts differ as follows.\n\n" : "");
    for (size_t i = 0; i < n; i++) {
        const struct vq_phrase *phrase =
            vq_phrase_pick(features[i].topic, vq_part_draw(part, features[i].topic));
        int more = features[i].mean > 0 ? 1 : 2;
        vq_buf_printf(part->to, "%s%s %s: outputs %d are rather %s; outputs %d are rather %s.",
                      i == 0 ? "" : "\n", part->request->is_malformed ? "*" : "-", phrase->name,
                      more, phrase->high, 3 - more, phrase->low);
    }
    return part->to->status;
}

/* The main topic of a note; VQ_TOPIC__COUNT: none. */
static enum vq_topic topic_of_note(struct vq_span note)
{
    struct vq_axis_reading reading;
    double mentions[VQ_TOPIC__COUNT];
    vq_topic_mentions(note, mentions);
    double most = 0;
    reading.main = VQ_TOPIC__COUNT;
    for (size_t t = 0; t < VQ_TOPIC__COUNT; t++) {
        if (mentions[t] > most) {
            most = mentions[t];
            reading.main = (enum vq_topic)t;
        }
    }
    return reading.main;
}

enum vq_status vq_part_formalise(const struct vq_part *part)
{
    struct vq_span notes = vq_wanted_section(part->request->text, "notes", true);
    bool used[VQ_TOPIC__COUNT] = {0};
    struct vq_axis_text axes[VQ_TOPIC__COUNT];
    size_t n = 0;
    for (size_t at = 0; at < notes.bytes;) {
        const char *end = memchr(notes.at + at, '\n', notes.bytes - at);
        size_t stop = end == NULL ? notes.bytes : (size_t)(end - notes.at);
        enum vq_topic topic = topic_of_note(vq_span(notes.at + at, stop - at));
        if (topic != VQ_TOPIC__COUNT && !used[topic]) {
            used[topic] = true;
            axes[n++] = text_of(vq_phrase_pick(topic, vq_part_draw(part, topic)));
        }
        at = stop + 1;
    }
    if (n == 0) {
        vq_buf_puts(part->to, VQ_NO_DIFFERENCES);
    } else {
        vq_part_write_axes(part, axes, n, VQ_FORM_HIGH_FIRST);
    }
    return part->to->status;
}

enum vq_status vq_part_generate(const struct vq_part *part)
{
    struct vq_span count = vq_wanted_section(part->request->text, "count", false);
    size_t wanted = 0;
    for (size_t i = 0; i < count.bytes && wanted < VQ_TOPIC__COUNT; i++) {
        if (count.at[i] >= '0' && count.at[i] <= '9') {
            wanted = wanted * 10 + (size_t)(count.at[i] - '0');
        }
    }
    struct vq_axis_text axes[VQ_TOPIC__COUNT];
    struct vq_axis_reading taken[VQ_TOPIC__COUNT];
    size_t n = 0;
    for (size_t t = 0; t < VQ_TOPIC__COUNT && n < wanted; t++) {
        axes[n] = text_of(vq_phrase_pick((enum vq_topic)t, vq_part_draw(part, t)));
        vq_axis_understand(part->request->kind, axes[n].name, axes[n].low, axes[n].high, &taken[n]);
        bool is_new = true;
        for (size_t i = 0; i < n; i++) {
            is_new = is_new && !vq_axis_same(&taken[i], &taken[n]);
        }
        n += is_new;
    }
    vq_part_write_axes(part, axes, n, VQ_FORM_HIGH_FIRST);
    return part->to->status;
}

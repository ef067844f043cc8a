/* results.json of each method as a sentence. Invariant: a file of another form, or of a later
 * version, gives no sentence, never a wrong one. Not its job: the meaning of the numbers
 * (docs/method/). */
#include "cli/ui/headline.h"

#include "common/text/fmt.h"
#include "common/text/json.h"
#include "common/text/json_load.h"
#include "common/text/utf8.h"

#include <jansson.h>

/* Puts a foreign name on one line, cut at the end of a character. */
static void put_name(struct vq_buf *out, const json_t *name)
{
    const char *text = json_is_string(name) ? json_string_value(name) : "?";
    vq_fmt_plain(out, vq_utf8_cut(vq_span_str(text), VQ_UI_HEADLINE_NAME_BYTES));
    vq_buf_puts(out, strlen(text) > VQ_UI_HEADLINE_NAME_BYTES ? "..." : "");
}

/* ", and 4 more" */
static void put_more(struct vq_buf *out, size_t count)
{
    if (count > VQ_UI_HEADLINE_NAMES) {
        vq_buf_printf(out, " and %zu more", count - VQ_UI_HEADLINE_NAMES);
    }
}

static void put_accuracy(struct vq_buf *out, const char *what, const json_t *fit)
{
    const json_t *accuracy = json_object_get(fit, "accuracy_test");
    if (json_is_number(accuracy)) {
        vq_buf_printf(out, "; %s %.1f %%", what, 100 * json_number_value(accuracy));
    }
}

static void put_vibes(struct vq_buf *out, const json_t *root, const json_t *vibes)
{
    size_t kept = 0;
    size_t i;
    const json_t *vibe;
    json_array_foreach(vibes, i, vibe)
    {
        kept += json_is_true(json_object_get(vibe, "kept")) ? 1 : 0;
    }
    vq_buf_printf(out, "%zu of %zu vibes kept", kept, json_array_size(vibes));
    size_t named = 0;
    json_array_foreach(vibes, i, vibe)
    {
        if (json_is_true(json_object_get(vibe, "kept")) && named < VQ_UI_HEADLINE_NAMES) {
            vq_buf_puts(out, named++ == 0 ? ": " : ", ");
            put_name(out, json_object_get(vibe, "name"));
        }
    }
    put_more(out, kept);
    put_accuracy(out, "model matching", json_object_get(root, "mm"));
    put_accuracy(out, "preference prediction", json_object_get(root, "pp"));
}

static void put_criterion(struct vq_buf *out, const json_t *criterion)
{
    static const struct {
        const char *key, *words;
        double factor;
        const char *unit;
    } values[] = {
        {"win_rate", "wins", 100, " %"}, {"rate", "yes", 100, " %"}, {"mean", "mean", 1, ""}};
    put_name(out, json_object_get(criterion, "name"));
    const json_t *outputs = json_object_get(criterion, "outputs");
    for (size_t i = 0; i < json_array_size(outputs) && i < VQ_UI_HEADLINE_NAMES; i++) {
        const json_t *output = json_array_get(outputs, i);
        for (size_t k = 0; k < VQ_COUNT(values); k++) {
            const json_t *value = json_object_get(output, values[k].key);
            if (json_is_number(value)) {
                vq_buf_puts(out, i == 0 ? ": " : ", ");
                put_name(out, json_object_get(output, "model"));
                vq_buf_printf(out, " %s %.*f%s", values[k].words, values[k].unit[0] == '\0' ? 2 : 1,
                              values[k].factor * json_number_value(value), values[k].unit);
            }
        }
    }
}

static void put_criteria(struct vq_buf *out, const json_t *criteria)
{
    size_t count = json_array_size(criteria);
    for (size_t i = 0; i < count && i < VQ_UI_HEADLINE_NAMES; i++) {
        vq_buf_puts(out, i == 0 ? "" : "; ");
        put_criterion(out, json_array_get(criteria, i));
    }
    put_more(out, count);
}

/* "style 5.00, then 3.55" over the rounds of the first kind of dialogue. */
static void put_measure(struct vq_buf *out, const json_t *measure)
{
    const json_t *curves = json_object_get(measure, "curves");
    const json_t *curve = json_object_get(json_object_get(curves, "directed"), "persona");
    if (json_array_size(curve) == 0) {
        curve = json_object_get(json_object_get(curves, "goal"), "persona");
    }
    put_name(out, json_object_get(measure, "name"));
    size_t points = json_array_size(curve);
    const json_t *first = json_object_get(json_array_get(curve, 0), "mean");
    const json_t *last =
        points == 0 ? NULL : json_object_get(json_array_get(curve, points - 1), "mean");
    if (json_is_number(first) && json_is_number(last)) {
        vq_buf_printf(out, " %.2f at the start, %.2f at the end", json_number_value(first),
                      json_number_value(last));
    }
}

static void put_measures(struct vq_buf *out, const json_t *root, const json_t *measures)
{
    size_t personas = json_array_size(json_object_get(root, "personas"));
    size_t count = json_array_size(measures);
    vq_buf_printf(out, "%zu persona%s", personas, vq_fmt_plural(personas));
    for (size_t i = 0; i < count && i < VQ_UI_HEADLINE_NAMES; i++) {
        vq_buf_puts(out, i == 0 ? ": " : "; ");
        put_measure(out, json_array_get(measures, i));
    }
    put_more(out, count);
}

enum vq_status vq_ui_headline(struct vq_span results, struct vq_buf *out)
{
    json_t *root = NULL;
    if (vq_json_exceeds(results, VQ_UI_RESULTS_DEPTH_MAX, VQ_UI_RESULTS_VALUES_MAX)) {
        return VQ_OK;
    }
    enum vq_status status = vq_json_load(results, 0, &root, NULL);
    if (status != VQ_OK) {
        return status == VQ_NOMEM ? status : VQ_OK;
    }
    const json_t *vibes = json_object_get(root, "vibes");
    const json_t *criteria = json_object_get(root, "criteria");
    const json_t *measures = json_object_get(root, "measures");
    if (json_integer_value(json_object_get(root, "format")) != 1) {
        /* a form of a later version */
    } else if (json_is_array(vibes)) {
        put_vibes(out, root, vibes);
    } else if (json_array_size(criteria) > 0) {
        put_criteria(out, criteria);
    } else if (json_array_size(measures) > 0) {
        put_measures(out, root, measures);
    }
    json_decref(root);
    return out->status;
}

/* incidents.json: the last incidents, so that they outlive the process. Invariants: no error of the
 * file stops the run; an incident that was open when the process ended is over. */
#include "coordinator/run/parts.h"

#include "common/base/clock.h"
#include "common/text/json_load.h"
#include "common/text/log.h"

#include <jansson.h>

#define INCIDENTS_BYTES_MAX (1u << 20)
#define DEPTH_MAX           4u
#define VALUES_MAX          4096u

static int64_t time_of(const json_t *incident, const char *key)
{
    return json_integer_value(json_object_get(incident, key));
}

static void restore(struct vq_troubles *t, const json_t *incident, int64_t now_unix_ms)
{
    const char *kind = json_string_value(json_object_get(incident, "kind"));
    const char *text = json_string_value(json_object_get(incident, "text"));
    const char *subject = json_string_value(json_object_get(incident, "subject"));
    const char *advice = json_string_value(json_object_get(incident, "advice"));
    struct vq_trouble trouble = {.subject = subject, .text = text, .advice = advice};
    if (kind == NULL || text == NULL || subject == NULL || advice == NULL ||
        !vq_trouble_kind_of(kind, &trouble.kind)) {
        return;
    }
    json_int_t count = json_integer_value(json_object_get(incident, "count"));
    int64_t over_unix_ms = time_of(incident, "over_unix_ms");
    vq_troubles_restore(t, &trouble, time_of(incident, "since_unix_ms"),
                        over_unix_ms > 0 ? over_unix_ms : now_unix_ms,
                        count > 0 ? (uint64_t)count : 1);
}

void vq_incidents_load(struct vq_run *run)
{
    struct vq_buf *text = &run->control.incidents;
    struct vq_error err = {0};
    json_t *root = NULL;
    vq_buf_init(text, INCIDENTS_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(run->dir, VQ_INCIDENTS_FILE, text, &err);
    if (status == VQ_OK && vq_json_exceeds(vq_buf_span(text), DEPTH_MAX, VALUES_MAX)) {
        status = VQ_CORRUPT;
    }
    if (status == VQ_OK) {
        status = vq_json_load(vq_buf_span(text), JSON_REJECT_DUPLICATES, &root, NULL);
    }
    const json_t *list = json_object_get(root, "incidents");
    for (size_t i = json_array_size(list); i > 0; i--) { /* the newest is first */
        restore(run->control.troubles, json_array_get(list, i - 1), vq_clock_unix_ms());
    }
    if (status != VQ_OK && status != VQ_NOT_FOUND) {
        vq_log(VQ_LOG_WARN, "incidents.unread", "why=%s",
               err.text[0] != '\0' ? err.text : "incidents.json is damaged");
    }
    json_decref(root);
}

void vq_incidents_write(struct vq_run *run)
{
    struct vq_buf out, *kept = &run->control.incidents;
    struct vq_error err = {0};
    if (run->control.troubles == NULL) {
        return;
    }
    vq_buf_init(&out, INCIDENTS_BYTES_MAX);
    vq_troubles_json(run->control.troubles, &out);
    bool changed = out.status == VQ_OK && !vq_span_eq(vq_buf_span(&out), vq_buf_span(kept));
    enum vq_status status =
        !changed ? VQ_OK
                 : vq_run_dir_write(run->dir, VQ_INCIDENTS_FILE, vq_buf_span(&out), false, &err);
    if (status != VQ_OK) {
        vq_log(VQ_LOG_WARN, "incidents.unwritten", "why=%s", err.text);
    }
    if (changed && status == VQ_OK) {
        vq_buf_free(kept);
        *kept = out;
    } else {
        vq_buf_free(&out);
    }
}

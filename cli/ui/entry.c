/* Makes a row of the list from status.json. Invariant: a value of a wrong kind counts as missing,
 * so any status.json gives a row of the documented form. */
#include "cli/ui/entry.h"

#include "common/text/fmt.h"
#include "common/text/json_load.h"
#include "common/text/utf8.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

enum vq_status vq_ui_status_load(struct vq_span text, json_t **ret_status)
{
    json_t *root = NULL;
    if (vq_json_exceeds(text, VQ_UI_STATUS_DEPTH_MAX, VQ_UI_STATUS_VALUES_MAX)) {
        return VQ_INVALID;
    }
    VQ_TRY(vq_json_load(text, 0, &root, NULL));
    if (json_integer_value(json_object_get(root, "format")) != 1) {
        json_decref(root);
        return VQ_INVALID;
    }
    *ret_status = root;
    return VQ_OK;
}

/* ---- values of any kind ---- */

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static uint64_t whole(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value == NULL ? "" : value;
}

/* ---- the state ---- */

static const char *state_written(const json_t *status)
{
    static const char *const known[] = {"starting", "running",  "waiting",  "paused",  "held",
                                        "stalled",  "draining", "finished", "stopped", "done"};
    const char *written = text(status, "state");
    for (size_t i = 0; i < VQ_COUNT(known); i++) {
        if (strcmp(written, known[i]) == 0) {
            return known[i];
        }
    }
    return "starting";
}

/* "finished", "stopped", "unreadable", or the state that the active run wrote. */
static const char *state_of(const struct vq_ui_facts *f)
{
    if (!f->is_readable) {
        return "unreadable";
    }
    if (f->is_active) {
        return state_written(f->status);
    }
    bool finished =
        f->status != NULL ? strcmp(text(f->status, "state"), "finished") == 0 : f->has_results;
    return finished ? "finished" : "stopped";
}

/* ---- problems ---- */

static void put_problem(struct vq_json *j, uint32_t *count, const char *what)
{
    if (what[0] == '\0' || *count == VQ_UI_PROBLEMS_MAX) {
        return;
    }
    vq_json_span(j, vq_utf8_cut(vq_span_str(what), VQ_UI_PROBLEM_BYTES));
    *count += 1;
}

static void put_alarm(struct vq_json *j, uint32_t *count, const json_t *alarm)
{
    char line[VQ_UI_PROBLEM_BYTES];
    if (!json_is_object(alarm)) {
        return;
    }
    if (strcmp(text(alarm, "kind"), "idle") == 0) {
        (void)snprintf(line, sizeof(line), "no answer for %llu s",
                       (unsigned long long)whole(alarm, "idle_s"));
        put_problem(j, count, line);
    } else {
        put_problem(j, count, text(alarm, "text"));
    }
}

static void put_pools(struct vq_json *j, uint32_t *count, const json_t *pools)
{
    size_t i;
    const json_t *pool;
    json_array_foreach(pools, i, pool)
    {
        char line[VQ_UI_PROBLEM_BYTES];
        const char *state = text(pool, "state");
        if (strcmp(state, "parked") == 0 || strcmp(state, "closed") == 0 ||
            strcmp(state, "unserved") == 0) {
            const char *why = text(pool, "text");
            (void)snprintf(line, sizeof(line), "pool %.100s is %s%s%.150s", text(pool, "name"),
                           state, why[0] == '\0' ? "" : ": ", why);
            put_problem(j, count, line);
        }
    }
}

static void put_failed(struct vq_json *j, uint32_t *count, const json_t *status)
{
    uint64_t failed = whole(json_object_get(status, "tasks"), "failed");
    char n[VQ_FMT_BYTES], line[VQ_UI_PROBLEM_BYTES];
    if (failed > 0) {
        (void)snprintf(line, sizeof(line), "%s task%s failed", vq_fmt_count(failed, n),
                       vq_fmt_plural(failed));
        put_problem(j, count, line);
    }
}

static void put_silence(struct vq_json *j, uint32_t *count, const struct vq_ui_facts *f)
{
    int64_t silent_ms = f->now_unix_ms - f->changed_unix_ms;
    char line[VQ_UI_PROBLEM_BYTES], since[VQ_FMT_BYTES];
    if (f->is_active && f->status != NULL && silent_ms > VQ_UI_SILENT_MS) {
        (void)snprintf(line, sizeof(line), "the run has not written its status for %s",
                       vq_fmt_duration(silent_ms * 1000000, since));
        put_problem(j, count, line);
    }
}

static void put_problems(struct vq_json *j, const struct vq_ui_facts *f)
{
    uint32_t count = 0;
    char line[VQ_UI_PROBLEM_BYTES];
    vq_json_put_array(j, "problems");
    if (!f->is_readable) {
        (void)snprintf(line, sizeof(line), "you may not read this folder%s%.64s",
                       f->owner == NULL ? "" : "; it belongs to ",
                       f->owner == NULL ? "" : f->owner);
        put_problem(j, &count, line);
    } else if (f->status == NULL && !f->is_active) {
        put_problem(j, &count, "the run has no status that can be read");
    }
    put_silence(j, &count, f);
    put_problem(j, &count, text(f->status, "note"));
    put_alarm(j, &count, json_object_get(f->status, "alarm"));
    put_failed(j, &count, f->status);
    if (f->is_active) {
        put_pools(j, &count, json_object_get(f->status, "pools"));
    }
    vq_json_array_end(j);
}

/* ---- the row ---- */

static void put_time(struct vq_json *j, const char *key, const json_t *status, const char *of)
{
    uint64_t unix_ms = whole(status, of);
    vq_json_put_known(j, key, unix_ms > 0, (int64_t)unix_ms);
}

static void put_progress(struct vq_json *j, const struct vq_ui_facts *f)
{
    static const char *const settled_states[] = {"answered", "not_needed", "failed", "blocked"};
    const json_t *tasks = json_object_get(f->status, "tasks");
    const json_t *stage = json_object_get(f->status, "stage");
    uint64_t settled = 0;
    for (size_t i = 0; i < VQ_COUNT(settled_states); i++) {
        uint64_t of = whole(tasks, settled_states[i]);
        settled = settled > UINT32_MAX || of > UINT32_MAX ? UINT32_MAX : settled + of;
    }
    vq_json_put_str(j, "stage", json_string_value(stage));
    vq_json_put_u64(j, "tasks_settled", settled);
    vq_json_put_u64(j, "tasks_total", whole(f->status, "tasks_total"));
}

static void put_rates(struct vq_json *j, const struct vq_ui_facts *f)
{
    const json_t *money = json_object_get(f->status, "money");
    bool active = f->is_active;
    vq_json_put_real(j, "calls_per_s", active ? number(f->status, "calls_per_s") : NAN, 4);
    vq_json_put_real(j, "eta_s", active ? number(f->status, "eta_s") : NAN, 4);
    vq_json_put_real(j, "eta_low_s", active ? number(f->status, "eta_low_s") : NAN, 4);
    vq_json_put_real(j, "eta_high_s", active ? number(f->status, "eta_high_s") : NAN, 4);
    vq_json_put_real(j, "spent_usd", number(money, "spent_usd"), 9);
    vq_json_put_real(j, "budget_usd", number(money, "budget_usd"), 9);
}

void vq_ui_entry(const struct vq_ui_facts *f, struct vq_json *j)
{
    vq_json_object(j);
    vq_json_put_str(j, "name", f->name);
    vq_json_put_str(j, "state", state_of(f));
    vq_json_put_bool(j, "active", f->is_active);
    vq_json_put_str(j, "owner", f->owner);
    put_time(j, "started_unix_ms", f->status, "started_unix_ms");
    vq_json_put_i64(j, "changed_unix_ms", f->changed_unix_ms);
    put_progress(j, f);
    put_rates(j, f);
    put_problems(j, f);
    vq_json_put_str(j, "headline", f->headline);
    vq_json_put_bool(j, "has_results", f->has_results);
    vq_json_put_str(j, "report_path", f->report_path);
    vq_json_object_end(j);
}

enum vq_status vq_ui_status_over(const struct vq_ui_facts *f, struct vq_buf *out)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)f->status); /* the members are shared */
    json_t *state = json_string(state_of(f));
    if (copy == NULL || json_object_set_new(copy, "state", state) != 0) {
        json_decref(copy);
        return VQ_NOMEM;
    }
    enum vq_status status = vq_json_dump(copy, out);
    json_decref(copy);
    return status;
}

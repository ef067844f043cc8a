/* Reads names, ends and `kept` of the vibes out of results.json, so that verbs show and compare the
 * same texts as the report. */
#include "cli/results_reader.h"

#include "common/conf/config.h"
#include "common/text/json_load.h"
#include "coordinator/store/rundir/run_dir.h"

#include <jansson.h>

#define RESULT_BYTES_MAX ((size_t)1 << 32)

static enum vq_status take_text(struct vq_arena *memory, const json_t *vibe, const char *key,
                                const char **ret_text)
{
    const char *text = json_string_value(json_object_get(vibe, key));
    if (text == NULL) {
        return VQ_CORRUPT;
    }
    *ret_text = vq_arena_text(memory, vq_span_str(text));
    return *ret_text == NULL ? VQ_NOMEM : VQ_OK;
}

static enum vq_status take(const json_t *vibes, struct vq_results_reader *found)
{
    size_t n = json_array_size(vibes);
    if (!json_is_array(vibes) || n > VQ_VIBES_MAX) {
        return VQ_CORRUPT;
    }
    if (n == 0) {
        return VQ_NOT_FOUND;
    }
    struct vq_arena *memory = &found->list.memory;
    VQ_TRY(VQ_ARENA_ALLOC(memory, found->list.axes, n));
    found->list.count = (uint32_t)n;
    for (uint32_t i = 0; i < n; i++) {
        const json_t *vibe = json_array_get(vibes, i);
        VQ_TRY(take_text(memory, vibe, "name", &found->list.axes[i].name));
        VQ_TRY(take_text(memory, vibe, "low", &found->list.axes[i].low));
        VQ_TRY(take_text(memory, vibe, "high", &found->list.axes[i].high));
        if (json_is_true(json_object_get(vibe, "kept"))) {
            found->kept_count++;
        }
    }
    return VQ_OK;
}

enum vq_status vq_results_reader_read(const char *runs_dir, const char *run,
                                      struct vq_results_reader *ret_found, struct vq_error *err)
{
    struct vq_results_reader found = {.kept_count = 0};
    struct vq_run_info info;
    struct vq_buf text;
    VQ_TRY(vq_run_info_read(runs_dir, run, &info, err));
    vq_buf_init(&text, RESULT_BYTES_MAX);
    enum vq_status status = vq_run_file_read(runs_dir, run, "results/results.json", &text, err);
    if (status == VQ_NOT_FOUND) {
        vq_buf_free(&text);
        return vq_fail(err, status, "%s has no results yet; vibeq resume %s continues it", run,
                       run);
    }
    json_t *root = NULL;
    if (status == VQ_OK) {
        status = vq_json_load(vq_buf_span(&text), 0, &root, NULL);
        /* it has no vibes, which is reported below */
        status = status == VQ_INVALID ? VQ_OK : status;
    }
    vq_buf_free(&text);
    VQ_TRY(status);
    const char *kind = json_string_value(json_object_get(root, "kind"));
    bool rates = kind != NULL && strcmp(kind, "judge") == 0;
    status = rates ? VQ_INVALID : take(json_object_get(root, "vibes"), &found);
    json_decref(root);
    if (rates) {
        return vq_fail(err, status,
                       "%s is a run of method: judge, which rates outputs by criteria and has no "
                       "vibes; vibeq export %s ratings shows what it has",
                       run, run);
    }
    if (status != VQ_OK) {
        vq_results_reader_free(&found);
        return status == VQ_NOT_FOUND
                   ? vq_fail(err, status, "%s has ranked no vibe", run)
                   : vq_fail(err, status,
                             "results.json of %s cannot be read; vibeq report %s "
                             "writes it again",
                             run, run);
    }
    *ret_found = found;
    return VQ_OK;
}

void vq_results_reader_free(struct vq_results_reader *found)
{
    vq_axes_file_free(&found->list);
    found->kept_count = 0;
}

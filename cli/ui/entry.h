/* One run in the list of runs, as JSON. Pure. */
#pragma once

#include "common/text/json.h"

#define VQ_UI_STATUS_DEPTH_MAX  32
#define VQ_UI_STATUS_VALUES_MAX (1u << 20)
#define VQ_UI_PROBLEMS_MAX      8     /* of one run */
#define VQ_UI_PROBLEM_BYTES     300   /* of one problem */
#define VQ_UI_SILENT_MS         30000 /* a run writes status.json each 5 s */

struct json_t;

/* The data from the folder of a run. Borrowed; missing texts may be NULL. */
struct vq_ui_facts {
    const char *name;
    const char *owner; /* of the folder, if it is another user */
    bool is_readable;
    bool is_active; /* a process holds the run's lock */
    bool has_results;
    int64_t changed_unix_ms;
    int64_t now_unix_ms;
    const struct json_t *status; /* status.json; NULL: there is none, or it cannot be read */
    const char *headline;
    const char *report_path;
};

/* Reads status.json, which may be any bytes. VQ_INVALID: this version does not know its form. The
 * caller owns *ret_status (json_decref). */
enum vq_status vq_ui_status_load(struct vq_span text, struct json_t **ret_status) VQ_WARN_UNUSED;

void vq_ui_entry(const struct vq_ui_facts *facts, struct vq_json *json);

/* The status of a run that is over, as its own server would send it: a run that was killed had
 * written another state. Appends JSON. */
enum vq_status vq_ui_status_over(const struct vq_ui_facts *facts,
                                 struct vq_buf *out) VQ_WARN_UNUSED;

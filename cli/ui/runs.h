/* The runs of a folder, for the page of runs. A scan reads every run's small files, and the results
 * of runs whose results have changed since the last scan. Blocks; one thread at a time. */
#pragma once

#include "common/base/hash.h"
#include "coordinator/store/rundir/run_dir.h"

#define VQ_UI_STATUS_BYTES_MAX  (16u << 20)
#define VQ_UI_RESULTS_BYTES_MAX (64u << 20) /* results.json, report.html */
#define VQ_UI_REPORT_FILE       "report.html"
#define VQ_UI_TICKET_BYTES      VQ_HEX_BYTES(VQ_HASH_BYTES)

struct vq_ui_runs;

/* `runs_dir` is borrowed for life. */
enum vq_status vq_ui_runs_create(const char *runs_dir, struct vq_ui_runs **ret_runs) VQ_WARN_UNUSED;
void vq_ui_runs_destroy(struct vq_ui_runs **runs);

/* Reads the folder. VQ_NOT_FOUND, VQ_DENIED, VQ_IO, VQ_LIMIT, VQ_NOMEM: the rows of the last scan
 * remain. */
enum vq_status vq_ui_runs_scan(struct vq_ui_runs *runs, struct vq_error *err) VQ_WARN_UNUSED;

/* {"format", "folder", "runs": [...]}: the result of the last scan. */
void vq_ui_runs_json(const struct vq_ui_runs *runs, struct vq_buf *out);
/* One run of them; false: the run does not exist. */
bool vq_ui_runs_json_of(const struct vq_ui_runs *runs, const char *name, struct vq_buf *out);

/* A browser that opens a report sends no token. So the report's address has a ticket, which only
 * this process can make and which is valid for the report of one run. */
bool vq_ui_ticket_is_of(const struct vq_ui_runs *runs, const char *name, const char *ticket);

/* status.json of a run that is over, with its state corrected. VQ_NOT_FOUND, VQ_DENIED, VQ_CORRUPT
 * with a sentence. */
enum vq_status vq_ui_run_status(const char *runs_dir, const char *name, struct vq_buf *out,
                                struct vq_error *err) VQ_WARN_UNUSED;
/* The samples of the run's history.bin as JSON. VQ_NOT_FOUND, VQ_DENIED, VQ_CORRUPT with a
 * sentence. */
enum vq_status vq_ui_run_history(const char *runs_dir, const char *name, uint64_t after_unix_ms,
                                 struct vq_buf *out, struct vq_error *err) VQ_WARN_UNUSED;
struct vq_ui_file {
    const char *folder; /* a subfolder of the run's folder; NULL: the run's folder */
    const char *name;
    const char *what; /* its contents, for a sentence */
};
/* A file of the run. VQ_NOT_FOUND, VQ_DENIED with a sentence. */
enum vq_status vq_ui_run_file(const char *runs_dir, const char *name, const struct vq_ui_file *file,
                              struct vq_buf *out, struct vq_error *err) VQ_WARN_UNUSED;
/* Whether the run is active. VQ_NOT_FOUND, VQ_DENIED with a sentence. */
enum vq_status vq_ui_run_is_active(const char *runs_dir, const char *name, bool *ret_active,
                                   struct vq_error *err) VQ_WARN_UNUSED;

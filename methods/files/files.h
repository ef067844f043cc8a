/* Private to the results: writes the files of a results folder, or compares them with the existing
 * ones. */
#pragma once

#include "methods/files/results.h"
#include "methods/report/report.h"

#define VQ_RESULT_PAGE "report.html"

/* `of` is the data that the caller's writers expect. */
struct vq_result_file {
    const char *name;
    /* the whole file at once; or else row by row: */
    void (*whole)(const void *of, struct vq_buf *out);
    void (*rows)(const void *of, uint32_t from, uint32_t until, struct vq_buf *out);
};

void vq_result_path(const struct vq_results *to, const char *name,
                    char ret_path[VQ_RUN_PATH_BYTES_MAX]);
/* Writes all files, or compares them (to->differs). With to->json the last file also goes to
 * standard output. `rows`: the number of rows of the files that have rows. */
enum vq_status vq_result_files(const struct vq_results *to, const struct vq_result_file *files,
                               size_t count, const void *of, uint32_t rows,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* Writes the page and frees `html`. Returns the status of `html` if the page could not be made. */
enum vq_status vq_result_page(const struct vq_results *to, struct vq_buf *html,
                              struct vq_error *err) VQ_WARN_UNUSED;
/* Appends the paths of the files to `out`, and prints `out`. */
enum vq_status vq_result_files_print(const struct vq_results *to,
                                     const struct vq_result_file *files, size_t count,
                                     struct vq_buf *out, struct vq_error *err) VQ_WARN_UNUSED;

/* calls.c: reads accounting.json. False: there is none, and the report omits the calls. */
bool vq_result_calls(const struct vq_results *of, struct vq_report_calls *ret_calls);
/* The calls and dollars of the stages whose names end with `ending`, and of the stages before them,
 * whose names are the same without `ending`. False: there is no such stage, or it has no price. */
struct vq_result_pair {
    uint64_t sent_before, sent;
    double usd_before, usd;
};
bool vq_result_pair(const struct vq_results *of, const char *ending,
                    struct vq_result_pair *ret_pair);

/* The judges, without the names that providers returned. */
enum vq_status vq_result_judges(const struct vq_role_models *cast, struct vq_arena *memory,
                                struct vq_report_judge **ret_judges) VQ_WARN_UNUSED;
/* Records the model name that a provider returned for a judge. Without memory the name is left
 * out. */
void vq_result_returned(struct vq_report_judge *judge, struct vq_span model,
                        struct vq_arena *memory);

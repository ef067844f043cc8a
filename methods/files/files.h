/* Private to the results: the files of a folder of results, written or compared with what is
 * there. */
#pragma once

#include "methods/files/results.h"
#include "methods/report/report.h"

#define VQ_RESULT_PAGE "report.html"

/* `of` is what the files are about, as the caller's writers know it. */
struct vq_result_file {
    const char *name;
    void (*whole)(const void *of, struct vq_buf *out); /* or: */
    void (*rows)(const void *of, uint32_t from, uint32_t until, struct vq_buf *out);
};

void vq_result_path(const struct vq_results *to, const char *name,
                    char ret_path[VQ_RUN_PATH_BYTES_MAX]);
/* Writes them one by one, or compares each (to->differs); the last one also goes to standard output
 * under to->json. `rows`: how many the files with rows have. */
enum vq_status vq_result_files(const struct vq_results *to, const struct vq_result_file *files,
                               size_t count, const void *of, uint32_t rows,
                               struct vq_error *err) VQ_WARN_UNUSED;
/* Writes the page and frees it; the status of making it. */
enum vq_status vq_result_page(const struct vq_results *to, struct vq_buf *html,
                              struct vq_error *err) VQ_WARN_UNUSED;
/* Appends where they are to what is shown, and prints it. */
enum vq_status vq_result_files_say(const struct vq_results *to, const struct vq_result_file *files,
                                   size_t count, struct vq_buf *out,
                                   struct vq_error *err) VQ_WARN_UNUSED;

/* calls.c: of accounting.json; false: there is none, and a report says less. */
bool vq_result_calls(const struct vq_results *of, struct vq_report_calls *ret_calls);
/* The calls and dollars of the stages whose names end as `ending`, and of those before them, whose
 * names are the same without it. False: there is no such stage, or it has no price. */
struct vq_result_pair {
    uint64_t sent_before, sent;
    double usd_before, usd;
};
bool vq_result_pair(const struct vq_results *of, const char *ending,
                    struct vq_result_pair *ret_pair);

/* Notes what a provider called a judge; for want of memory a name less. */
void vq_result_returned(struct vq_report_judge *judge, struct vq_span model);
void vq_result_returned_free(struct vq_report_judge *judges, uint32_t count); /* NULL is fine */

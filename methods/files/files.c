/* Writes files of results, or compares them byte by byte with the existing ones. A file is made
 * whole in memory, or in pieces of rows. Invariant: a file exists whole or not at all. Not its job:
 * the contents of the files. */
#include "methods/files/files.h"

#include "common/base/alloc.h"
#include "common/base/crash.h"
#include "common/text/file.h"
#include "common/text/fmt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (1u << 20) /* of a file with rows, in memory at a time */

struct writing {
    const void *of;
    uint32_t rows;
};

/* Prints on standard output. It is no failure if the reader has closed the pipe or the terminal is
 * closed. */
static enum vq_status print(const struct vq_buf *out, struct vq_error *err)
{
    errno = 0;
    bool whole = fwrite(out->at, 1, out->bytes, stdout) == out->bytes && fflush(stdout) == 0;
    int why = errno;
    if (whole || why == EPIPE || vq_terminal_is_gone(STDOUT_FILENO)) {
        return VQ_OK;
    }
    errno = why;
    return vq_fail(err, errno == ENOSPC ? VQ_FULL : VQ_IO, "standard output: %s", strerror(errno));
}

void vq_result_path(const struct vq_results *of, const char *name,
                    char ret_path[VQ_RUN_PATH_BYTES_MAX])
{
    (void)snprintf(ret_path, VQ_RUN_PATH_BYTES_MAX, "%s/%s", of->folder, name);
}

static enum vq_status write_rows(const struct writing *r, const struct vq_result_file *file,
                                 struct vq_file_new *to, struct vq_buf *out, struct vq_error *err)
{
    uint32_t samples = r->rows;
    for (uint32_t i = 0; i < samples; i++) {
        file->rows(r->of, i, i + 1, out);
        VQ_TRY(out->status);
        if (out->bytes >= PIECE_BYTES || i + 1 == samples) {
            VQ_TRY(vq_file_new_add(to, vq_buf_span(out), err));
            vq_buf_clear(out);
        }
    }
    return VQ_OK;
}

enum vq_status vq_result_page(const struct vq_results *to, struct vq_buf *html,
                              struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    enum vq_status status = html->status;
    if (status == VQ_OK) {
        vq_result_path(to, VQ_RESULT_PAGE, path);
        status = vq_run_dir_write(to->dir, path, vq_buf_span(html), true, err);
    }
    vq_buf_free(html);
    return status;
}

/* ---- compare ---- */

struct comparison {
    struct vq_buf was;
    size_t at; /* all bytes before this are the same */
    bool differs;
};

static void compare_piece(struct comparison *c, struct vq_buf *out)
{
    struct vq_span is = vq_buf_span(out);
    size_t left = c->was.bytes - c->at;
    size_t most = left < is.bytes ? left : is.bytes, same = 0;
    while (!c->differs && same < most && c->was.at[c->at + same] == is.at[same]) {
        same++;
    }
    c->at += same;
    c->differs = c->differs || same < is.bytes;
    vq_buf_clear(out);
}

static enum vq_status compare_pieces(const struct writing *r, const struct vq_result_file *file,
                                     struct comparison *c, struct vq_buf *out)
{
    uint32_t pieces = file->whole != NULL ? 1 : r->rows;
    for (uint32_t i = 0; i < pieces; i++) {
        if (file->whole != NULL) {
            file->whole(r->of, out);
        } else {
            file->rows(r->of, i, i + 1, out);
        }
        VQ_TRY(out->status);
        compare_piece(c, out);
    }
    return VQ_OK;
}

static enum vq_status compare_file(const struct vq_results *of, const struct writing *r,
                                   const struct vq_result_file *file, struct vq_buf *out,
                                   struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX], how[64];
    struct comparison c = {.at = 0};
    vq_buf_init(&c.was, VQ_REPORT_BYTES_MAX);
    vq_result_path(of, file->name, path);
    enum vq_status status = vq_run_dir_read(of->dir, path, &c.was, err);
    if (status == VQ_NOT_FOUND) {
        of->differs(of->differs_ctx, file->name, "is missing");
        status = VQ_OK;
    } else if (status == VQ_OK) {
        status = compare_pieces(r, file, &c, out);
    }
    if (status == VQ_OK && (c.differs || c.at < c.was.bytes)) {
        size_t line = 1;
        for (size_t i = 0; i < c.at; i++) {
            line += c.was.at[i] == '\n';
        }
        (void)snprintf(how, sizeof(how), "is another than the answers make it, from line %zu on",
                       line);
        of->differs(of->differs_ctx, file->name, how);
    }
    vq_buf_free(&c.was);
    return status;
}

/* ---- each file ---- */

/* Leaves the contents of a file without rows in `out`. */
static enum vq_status write_file(const struct vq_results *of, const struct writing *r,
                                 const struct vq_result_file *file, struct vq_buf *out,
                                 struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    vq_result_path(of, file->name, path);
    if (file->whole != NULL) {
        file->whole(r->of, out);
        VQ_TRY(out->status);
        return vq_run_dir_write(of->dir, path, vq_buf_span(out), true, err);
    }
    struct vq_file_new *to = NULL;
    VQ_TRY(vq_run_dir_begin(of->dir, path, &to, err));
    enum vq_status status = write_rows(r, file, to, out, err);
    if (status != VQ_OK) {
        vq_file_new_abandon(&to);
        return status;
    }
    return vq_file_new_commit(&to, err);
}

enum vq_status vq_result_files(const struct vq_results *to, const struct vq_result_file *files,
                               size_t count, const void *of, uint32_t rows, struct vq_error *err)
{
    struct writing r = {of, rows};
    for (size_t i = 0; i < count; i++) {
        struct vq_buf out;
        vq_buf_init(&out, VQ_REPORT_BYTES_MAX);
        enum vq_status status = to->differs != NULL ? compare_file(to, &r, &files[i], &out, err)
                                                    : write_file(to, &r, &files[i], &out, err);
        if (status == VQ_OK && to->json && i + 1 == count) {
            status = print(&out, err);
        }
        vq_buf_free(&out);
        VQ_TRY(status);
        VQ_CRASH_POINT(results_file_written);
    }
    return VQ_OK;
}

enum vq_status vq_result_files_print(const struct vq_results *to,
                                     const struct vq_result_file *files, size_t count,
                                     struct vq_buf *out, struct vq_error *err)
{
    for (size_t i = count; i > 0; i--) {
        vq_buf_printf(out, "%s/%s/%s\n", vq_run_dir_path(to->dir), to->folder, files[i - 1].name);
    }
    vq_buf_printf(out, "\nThe report, for a browser:\n%s/%s/" VQ_RESULT_PAGE "\n",
                  vq_run_dir_path(to->dir), to->folder);
    return out->status == VQ_OK ? print(out, err) : out->status;
}

/* ---- model names that the providers returned ---- */

enum vq_status vq_result_judges(const struct vq_role_models *cast, struct vq_arena *memory,
                                struct vq_report_judge **ret_judges)
{
    struct vq_report_judge *judges;
    VQ_TRY(VQ_ARENA_ALLOC(memory, judges, cast->count));
    for (uint32_t i = 0; i < cast->count; i++) {
        judges[i].name = cast->judges[i].name;
        judges[i].model = cast->judges[i].model;
        judges[i].identity = cast->identities[i];
    }
    *ret_judges = judges;
    return VQ_OK;
}

void vq_result_returned(struct vq_report_judge *judge, struct vq_span model,
                        struct vq_arena *memory)
{
    if (model.bytes == 0) {
        return;
    }
    uint32_t at = 0;
    while (at < judge->returned_count) {
        int order = strncmp(judge->returned[at], model.at, model.bytes);
        if (order == 0 && judge->returned[at][model.bytes] == '\0') {
            return;
        }
        if (order >= 0) {
            break;
        }
        at++;
    }
    if (judge->returned_count == VQ_RETURNED_MODELS_MAX) {
        return;
    }
    char *name = vq_arena_text(memory, model);
    if (name == NULL) {
        return; /* without memory the name is left out */
    }
    memmove(judge->returned + at + 1, judge->returned + at,
            (judge->returned_count - at) * sizeof(*judge->returned));
    judge->returned[at] = name;
    judge->returned_count++;
}

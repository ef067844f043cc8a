/* Makes rows from folders. Invariants: no file of a run is written, and its lock is probed only for
 * a moment; a file that cannot be read makes its run "unreadable" and affects no other run; a row
 * is made as a whole or not at all. Owns the rows and, by name, the sentences about results that
 * have not changed. */
#include "cli/ui/runs.h"

#include "cli/ui/entry.h"
#include "cli/ui/files.h"
#include "cli/ui/headline.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/secret.h"
#include "coordinator/run/history_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROW_BYTES_MAX      (64u << 10)
#define HEADLINE_BYTES_MAX 4096
#define HISTORY_BYTES_MAX                                                                          \
    (VQ_HISTORY_HEAD_BYTES + (VQ_HISTORY_SAMPLES + 1) * VQ_HISTORY_RECORD_BYTES)
#define OWNER_BYTES      128
#define PASSWD_BYTES_MAX 4096

/* The version of results.json from which a sentence was made. */
struct origin {
    struct timespec changed;
    off_t bytes;
    ino_t inode;
};

struct row {
    char name[VQ_RUN_NAME_BYTES_MAX + 1];
    struct origin origin;
    char *headline; /* NULL: none */
    char *json;
};

struct rows {
    struct row *at; /* by name */
    size_t count, cap;
};

struct vq_ui_runs {
    const char *runs_dir;
    uint8_t secret[VQ_HASH_BYTES]; /* of the tickets */
    struct rows rows;
};

enum vq_status vq_ui_runs_create(const char *runs_dir, struct vq_ui_runs **ret_runs)
{
    struct vq_ui_runs *runs;
    VQ_TRY(VQ_ALLOC(runs, 1));
    runs->runs_dir = runs_dir;
    vq_random_bytes(runs->secret, sizeof(runs->secret));
    *ret_runs = runs;
    return VQ_OK;
}

static void free_rows(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        vq_free(rows->at[i].headline);
        vq_free(rows->at[i].json);
    }
    vq_free(rows->at);
    *rows = (struct rows){NULL, 0, 0};
}

void vq_ui_runs_destroy(struct vq_ui_runs **runs)
{
    if (*runs != NULL) {
        free_rows(&(*runs)->rows);
        vq_wipe((*runs)->secret, sizeof((*runs)->secret));
        vq_free(*runs);
        *runs = NULL;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    return strcmp(x->name, y->name);
}

static const struct row *find(const struct rows *rows, const char *name)
{
    struct row key = {.origin = {.bytes = 0}};
    (void)snprintf(key.name, sizeof(key.name), "%s", name);
    return rows->count == 0 ? NULL
                            : bsearch(&key, rows->at, rows->count, sizeof(*rows->at), by_name);
}

/* ---- tickets ---- */

static void write_ticket(const struct vq_ui_runs *runs, const char *name,
                         char ret_ticket[VQ_UI_TICKET_BYTES])
{
    struct vq_hasher hasher;
    struct vq_hash hash;
    vq_hasher_init(&hasher, "ui-report");
    vq_hasher_field(&hasher, vq_span((const char *)runs->secret, sizeof(runs->secret)));
    vq_hasher_field(&hasher, vq_span_str(name));
    vq_hasher_final(&hasher, &hash);
    vq_hex(hash.b, sizeof(hash.b), ret_ticket);
}

bool vq_ui_ticket_is_of(const struct vq_ui_runs *runs, const char *name, const char *ticket)
{
    char good[VQ_UI_TICKET_BYTES];
    write_ticket(runs, name, good);
    size_t n = strlen(ticket);
    unsigned differs = n != strlen(good);
    /* constant time: independent of the first difference */
    for (size_t i = 0; good[i] != '\0'; i++) {
        differs |= (unsigned)(good[i] ^ (i < n ? ticket[i] : 0));
    }
    return differs == 0;
}

/* ---- one run ---- */

static int64_t unix_ms(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* The name of another user, "" for this one. */
static void owner_of(const struct stat *st, char ret_owner[OWNER_BYTES])
{
    ret_owner[0] = '\0';
    if (st->st_uid == geteuid()) {
        return;
    }
    char room[PASSWD_BYTES_MAX];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(st->st_uid, &entry, room, sizeof(room), &found) == 0 && found != NULL) {
        (void)snprintf(ret_owner, OWNER_BYTES, "%s", found->pw_name);
    } else {
        (void)snprintf(ret_owner, OWNER_BYTES, "user %lu", (unsigned long)st->st_uid);
    }
}

static enum vq_status load_status(int fd, json_t **ret_status, struct stat *ret_stat)
{
    struct vq_buf text;
    vq_buf_init(&text, VQ_UI_STATUS_BYTES_MAX);
    enum vq_status status = vq_ui_file_read(fd, "status.json", &text, ret_stat);
    if (status == VQ_OK) {
        status = vq_ui_status_load(vq_buf_span(&text), ret_status);
    }
    vq_buf_free(&text);
    return status;
}

static bool same_origin(const struct origin *a, const struct origin *b)
{
    return a->bytes == b->bytes && a->inode == b->inode && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* The sentence about the results: the one of the last scan if the file has not changed. */
static enum vq_status headline(int fd, const struct row *before, struct row *row)
{
    struct vq_buf text, made;
    if (before != NULL && same_origin(&before->origin, &row->origin)) {
        row->headline = before->headline == NULL ? NULL : vq_strdup(before->headline);
        return before->headline != NULL && row->headline == NULL ? VQ_NOMEM : VQ_OK;
    }
    vq_buf_init(&text, VQ_UI_RESULTS_BYTES_MAX);
    vq_buf_init(&made, HEADLINE_BYTES_MAX);
    enum vq_status status = vq_ui_file_read_in(fd, "results", "results.json", &text, NULL);
    if (status == VQ_OK) {
        status = vq_ui_headline(vq_buf_span(&text), &made);
    }
    if (status == VQ_OK && made.bytes > 0) {
        status = vq_copy(made.at, &row->headline);
    }
    vq_buf_free(&made);
    vq_buf_free(&text);
    return status == VQ_NOMEM ? status : VQ_OK; /* the run is listed without a sentence */
}

static enum vq_status put_row(const struct vq_ui_facts *facts, struct row *row)
{
    struct vq_buf out;
    struct vq_json j;
    vq_buf_init(&out, ROW_BYTES_MAX);
    vq_json_init(&j, &out, 0);
    vq_ui_entry(facts, &j);
    enum vq_status status = out.status;
    if (status == VQ_OK) {
        status = vq_copy(out.at, &row->json);
    }
    vq_buf_free(&out);
    return status;
}

/* A run that cannot be read; only its name is known. */
static enum vq_status unreadable(int runs_fd, const char *name, struct row *row)
{
    struct stat st;
    char owner[OWNER_BYTES];
    if (fstatat(runs_fd, name, &st, 0) != 0 || !S_ISDIR(st.st_mode)) {
        return VQ_NOT_FOUND;
    }
    owner_of(&st, owner);
    struct vq_ui_facts facts = {
        .name = name, .owner = owner[0] == '\0' ? NULL : owner, .changed_unix_ms = unix_ms(&st)};
    return put_row(&facts, row);
}

static bool is_run(int fd)
{
    struct stat st;
    return fstatat(fd, "lock", &st, AT_SYMLINK_NOFOLLOW) == 0 ||
           fstatat(fd, "uid", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* VQ_NOT_FOUND: the folder is not a run. VQ_DENIED: it cannot be read. */
static enum vq_status read_run(const struct vq_ui_runs *runs, int fd, struct row *row)
{
    struct stat st, results = {.st_size = 0}, report;
    char owner[OWNER_BYTES];
    char path[sizeof("/reports/") + VQ_RUN_NAME_BYTES_MAX + 1 + VQ_UI_TICKET_BYTES];
    char ticket[VQ_UI_TICKET_BYTES];
    struct vq_ui_facts facts = {
        .name = row->name, .is_readable = true, .now_unix_ms = vq_clock_unix_ms()};
    if (!is_run(fd)) {
        return errno == EACCES ? VQ_DENIED : VQ_NOT_FOUND;
    }
    VQ_TRY(vq_ui_lock_is_held(fd, "lock", &facts.is_active));
    if (fstat(fd, &st) != 0) {
        return VQ_IO;
    }
    owner_of(&st, owner);
    facts.owner = owner[0] == '\0' ? NULL : owner;
    json_t *written = NULL;
    enum vq_status status = load_status(fd, &written, &st);
    if (status == VQ_DENIED || status == VQ_NOMEM) {
        return status;
    }
    facts.status = written;
    facts.changed_unix_ms = unix_ms(&st);
    facts.has_results = vq_ui_file_stat_in(fd, "results", "results.json", &results);
    row->origin = (struct origin){results.st_mtim, results.st_size, results.st_ino};
    status = facts.has_results ? headline(fd, find(&runs->rows, row->name), row) : VQ_OK;
    facts.headline = row->headline;
    if (vq_ui_file_stat_in(fd, "results", VQ_UI_REPORT_FILE, &report)) {
        write_ticket(runs, row->name, ticket);
        (void)snprintf(path, sizeof(path), "/reports/%s/%s", row->name, ticket);
        facts.report_path = path;
    }
    if (status == VQ_OK) {
        status = put_row(&facts, row);
    }
    json_decref(written);
    return status;
}

/* ---- all runs ---- */

static enum vq_status add(const struct vq_ui_runs *runs, int runs_fd, const char *name,
                          struct rows *rows)
{
    struct row row = {.headline = NULL};
    int fd = -1;
    (void)snprintf(row.name, sizeof(row.name), "%s", name);
    enum vq_status status = vq_ui_folder_open(runs_fd, name, &fd);
    if (status == VQ_OK) {
        status = read_run(runs, fd, &row);
        (void)close(fd);
    }
    if (status == VQ_DENIED || status == VQ_IO) {
        status = unreadable(runs_fd, name, &row);
    }
    void *grown = rows->at;
    if (status == VQ_OK) {
        status =
            vq_grow(&grown, &rows->cap, rows->count + 1, sizeof(*rows->at), VQ_RUNS_LISTED_MAX);
        rows->at = grown;
    }
    if (status == VQ_OK) {
        rows->at[rows->count++] = row;
    } else {
        vq_free(row.headline);
        vq_free(row.json);
    }
    return status == VQ_NOMEM || status == VQ_LIMIT ? status : VQ_OK;
}

enum vq_status vq_ui_runs_scan(struct vq_ui_runs *runs, struct vq_error *err)
{
    DIR *dir = opendir(runs->runs_dir);
    if (dir == NULL) {
        enum vq_status why = errno == ENOENT ? VQ_NOT_FOUND : errno == EACCES ? VQ_DENIED : VQ_IO;
        return vq_fail(err, why, "%s cannot be read: %s", runs->runs_dir, strerror(errno));
    }
    struct rows rows = {NULL, 0, 0};
    enum vq_status status = VQ_OK;
    for (struct dirent *entry; status == VQ_OK && (entry = readdir(dir)) != NULL;) {
        if (vq_run_name_check(entry->d_name, NULL) == VQ_OK) {
            status = add(runs, dirfd(dir), entry->d_name, &rows);
        }
    }
    (void)closedir(dir);
    if (status != VQ_OK) {
        free_rows(&rows);
        return status == VQ_LIMIT ? vq_fail(err, status, "%s has more than %d runs", runs->runs_dir,
                                            VQ_RUNS_LISTED_MAX)
                                  : vq_fail(err, status, "no memory to read %s", runs->runs_dir);
    }
    if (rows.count > 0) {
        qsort(rows.at, rows.count, sizeof(*rows.at), by_name);
    }
    free_rows(&runs->rows);
    runs->rows = rows;
    return VQ_OK;
}

void vq_ui_runs_json(const struct vq_ui_runs *runs, struct vq_buf *out)
{
    struct vq_json j;
    vq_json_init(&j, out, 0);
    vq_json_object(&j);
    vq_json_put_u64(&j, "format", 1);
    vq_json_put_str(&j, "folder", runs->runs_dir);
    vq_json_put_array(&j, "runs");
    for (size_t i = 0; i < runs->rows.count; i++) {
        vq_json_raw(&j, vq_span_str(runs->rows.at[i].json));
    }
    vq_json_array_end(&j);
    vq_json_object_end(&j);
    vq_buf_putc(out, '\n');
}

bool vq_ui_runs_json_of(const struct vq_ui_runs *runs, const char *name, struct vq_buf *out)
{
    const struct row *row = find(&runs->rows, name);
    if (row != NULL) {
        vq_buf_puts(out, row->json);
        vq_buf_putc(out, '\n');
    }
    return row != NULL;
}

/* ---- files of one run ---- */

static enum vq_status open_run(const char *runs_dir, const char *name, int *ret_fd,
                               struct vq_error *err)
{
    int runs_fd = open(runs_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (runs_fd < 0) {
        return vq_fail(err, VQ_NOT_FOUND, "%s cannot be read: %s", runs_dir, strerror(errno));
    }
    int fd = -1;
    enum vq_status status = vq_ui_folder_open(runs_fd, name, &fd);
    (void)close(runs_fd);
    if (status == VQ_OK && !is_run(fd)) {
        status = errno == EACCES ? VQ_DENIED : VQ_NOT_FOUND;
        (void)close(fd);
    }
    if (status != VQ_OK) {
        return status == VQ_DENIED ? vq_fail(err, status, "you may not read the run %s", name)
                                   : vq_fail(err, status, "there is no run %s", name);
    }
    *ret_fd = fd;
    return VQ_OK;
}

static enum vq_status missing(enum vq_status status, const char *name, const char *what,
                              struct vq_error *err)
{
    if (status == VQ_OK) {
        return VQ_OK;
    }
    return status == VQ_NOT_FOUND ? vq_fail(err, status, "%s has no %s", name, what)
           : status == VQ_DENIED ? vq_fail(err, status, "you may not read the %s of %s", what, name)
                                 : vq_fail(err, status, "the %s of %s cannot be read", what, name);
}

enum vq_status vq_ui_run_status(const char *runs_dir, const char *name, struct vq_buf *out,
                                struct vq_error *err)
{
    int fd;
    struct stat st;
    json_t *written = NULL;
    VQ_TRY(open_run(runs_dir, name, &fd, err));
    enum vq_status status = load_status(fd, &written, &st);
    status = missing(status == VQ_INVALID ? VQ_CORRUPT : status, name, "status", err);
    if (status == VQ_OK) {
        struct vq_ui_facts facts = {.name = name, .is_readable = true, .status = written};
        status = vq_ui_status_over(&facts, out);
        json_decref(written);
    }
    (void)close(fd);
    return status;
}

enum vq_status vq_ui_run_history(const char *runs_dir, const char *name, uint64_t after_unix_ms,
                                 struct vq_buf *out, struct vq_error *err)
{
    int fd;
    struct vq_buf file;
    VQ_TRY(open_run(runs_dir, name, &fd, err));
    vq_buf_init(&file, HISTORY_BYTES_MAX);
    enum vq_status status = vq_ui_file_read(fd, VQ_HISTORY_FILE, &file, NULL);
    struct vq_history *history = vq_history_create();
    if (history == NULL) {
        status = VQ_NOMEM;
    } else if (status == VQ_OK && !vq_history_load(history, vq_buf_span(&file))) {
        status = VQ_CORRUPT;
    }
    if (status == VQ_OK || status == VQ_NOT_FOUND) { /* a run of an older version has no history */
        vq_history_json(history, after_unix_ms, out);
        status = VQ_OK;
    }
    if (history != NULL) {
        vq_history_destroy(&history);
    }
    vq_buf_free(&file);
    (void)close(fd);
    return missing(status, name, "history", err);
}

enum vq_status vq_ui_run_file(const char *runs_dir, const char *name, const struct vq_ui_file *file,
                              struct vq_buf *out, struct vq_error *err)
{
    int fd;
    VQ_TRY(open_run(runs_dir, name, &fd, err));
    enum vq_status status = file->folder == NULL
                                ? vq_ui_file_read(fd, file->name, out, NULL)
                                : vq_ui_file_read_in(fd, file->folder, file->name, out, NULL);
    (void)close(fd);
    return missing(status, name, file->what, err);
}

enum vq_status vq_ui_run_is_active(const char *runs_dir, const char *name, bool *ret_active,
                                   struct vq_error *err)
{
    int fd;
    VQ_TRY(open_run(runs_dir, name, &fd, err));
    enum vq_status status = vq_ui_lock_is_held(fd, "lock", ret_active);
    (void)close(fd);
    return missing(status, name, "lock", err);
}

/* Certificate files and the list of allowed keys.
 *
 * Invariant: a change of the list is a new file, written under the folder's lock: two processes
 * lose no entry, and a reader sees the old list or the new one. A key is on the list only after its
 * certificate was written. coordinator.cert is written last: without it the folder is not complete.
 * Not its job: watching the list (gate.c). */
#include "coordinator/run/cert_folder.h"

#include "common/base/alloc.h"
#include "common/text/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_BYTES_MAX                                                                             \
    (VQ_ALLOWED_MAX * (VQ_ALLOWED_NAME_BYTES_MAX + VQ_CURVE_KEY_CHARS + 2) + 4096)

void vq_allowed_free(struct vq_allowed_list *list)
{
    vq_free(list->items);
    *list = (struct vq_allowed_list){0};
}

bool vq_allowed_has(const struct vq_allowed_list *list, const char *key)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

static struct vq_allowed *find(const struct vq_allowed_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

static enum vq_status name_check(const char *name, struct vq_error *err)
{
    static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t bytes = strlen(name);
    bool is_name = bytes > 0 && bytes <= VQ_ALLOWED_NAME_BYTES_MAX && strspn(name, fine) == bytes &&
                   strchr("-_.", name[0]) == NULL && strcmp(name, "coordinator") != 0;
    return is_name ? VQ_OK
                   : vq_fail(err, VQ_INVALID,
                             "'%.80s' cannot be the name of a certificate: 1 to %u letters, "
                             "digits, '-', '_' or '.', beginning with a letter or digit, and not "
                             "coordinator",
                             name, VQ_ALLOWED_NAME_BYTES_MAX);
}

enum vq_status vq_cert_path(const char *folder, const char *name,
                            char ret_path[VQ_CERT_PATH_BYTES_MAX], struct vq_error *err)
{
    int n = snprintf(ret_path, VQ_CERT_PATH_BYTES_MAX, "%s/%s.cert", folder, name);
    return n > 0 && (size_t)n < VQ_CERT_PATH_BYTES_MAX
               ? VQ_OK
               : vq_fail(err, VQ_LIMIT, "the path of the certificate is too long: %.200s", folder);
}

/* ---- the list ---- */

static enum vq_status add(struct vq_allowed_list *list, struct vq_span name, struct vq_span key)
{
    VQ_TRY(VQ_GROW(list->items, &list->cap, list->count + 1, VQ_ALLOWED_MAX));
    struct vq_allowed *made = &list->items[list->count++];
    memcpy(made->name, name.at, name.bytes);
    made->name[name.bytes] = '\0';
    memcpy(made->key, key.at, key.bytes);
    made->key[key.bytes] = '\0';
    return VQ_OK;
}

static enum vq_status parse_line(struct vq_allowed_list *list, struct vq_span line, unsigned no,
                                 struct vq_error *err)
{
    char text[VQ_ALLOWED_NAME_BYTES_MAX + 1];
    const char *blank = memchr(line.at, ' ', line.bytes);
    struct vq_span name = vq_span(line.at, blank == NULL ? 0 : (size_t)(blank - line.at));
    struct vq_span key =
        blank == NULL ? name : vq_span_trim(vq_span(blank, line.bytes - name.bytes));
    bool is_entry = name.bytes > 0 && name.bytes < sizeof(text) && vq_curve_key_is(key);
    if (is_entry) {
        (void)snprintf(text, sizeof(text), "%.*s", (int)name.bytes, name.at);
        is_entry = name_check(text, NULL) == VQ_OK;
    }
    if (!is_entry) {
        return vq_fail(err, VQ_INVALID, "line %u is not NAME KEY", no);
    }
    if (find(list, text) != NULL) {
        return vq_fail(err, VQ_INVALID, "line %u: %s is there twice", no, text);
    }
    enum vq_status status = add(list, name, key);
    return status == VQ_LIMIT ? vq_fail(err, status, "more than %u keys", VQ_ALLOWED_MAX) : status;
}

enum vq_status vq_allowed_parse(struct vq_span text, struct vq_allowed_list *ret_list,
                                struct vq_error *err)
{
    struct vq_allowed_list list = {0};
    enum vq_status status = VQ_OK;
    unsigned no = 1;
    for (size_t at = 0; at < text.bytes && status == VQ_OK; no++) {
        const char *end = memchr(text.at + at, '\n', text.bytes - at);
        size_t bytes = end == NULL ? text.bytes - at : (size_t)(end - text.at) - at;
        struct vq_span line = vq_span_trim(vq_span(text.at + at, bytes));
        if (line.bytes > 0 && line.at[0] != '#') {
            status = parse_line(&list, line, no, err);
        }
        at += bytes + 1;
    }
    if (status != VQ_OK) {
        vq_allowed_free(&list);
        return status;
    }
    *ret_list = list;
    return VQ_OK;
}

static enum vq_status list_path(const char *folder, char ret_path[VQ_CERT_PATH_BYTES_MAX],
                                struct vq_error *err)
{
    int n = snprintf(ret_path, VQ_CERT_PATH_BYTES_MAX, "%s/" VQ_ALLOWED_FILE, folder);
    return n > 0 && (size_t)n < VQ_CERT_PATH_BYTES_MAX
               ? VQ_OK
               : vq_fail(err, VQ_LIMIT, "the path of the folder is too long: %.200s", folder);
}

enum vq_status vq_allowed_read(const char *folder, struct vq_allowed_list *ret_list,
                               struct vq_error *err)
{
    char path[VQ_CERT_PATH_BYTES_MAX];
    struct vq_buf text;
    VQ_TRY(list_path(folder, path, err));
    VQ_TRY(vq_file_read(path, LIST_BYTES_MAX, &text, err));
    enum vq_status status = vq_allowed_parse(vq_buf_span(&text), ret_list, err);
    vq_buf_free(&text);
    if (status != VQ_OK) {
        vq_error_prefix(err, "%s", path);
    }
    return status;
}

static enum vq_status write_list(const char *folder, const struct vq_allowed_list *list,
                                 const char *without, struct vq_error *err)
{
    char path[VQ_CERT_PATH_BYTES_MAX];
    struct vq_buf text;
    VQ_TRY(list_path(folder, path, err));
    vq_buf_init(&text, LIST_BYTES_MAX);
    vq_buf_puts(&text, "# Workers that the coordinator lets in: name and public key. A line that "
                       "is removed takes\n# effect within a second; vibeq cert revoke NAME removes "
                       "one.\n");
    for (size_t i = 0; i < list->count; i++) {
        if (without == NULL || strcmp(list->items[i].name, without) != 0) {
            vq_buf_printf(&text, "%s %s\n", list->items[i].name, list->items[i].key);
        }
    }
    enum vq_status status = text.status;
    if (status == VQ_OK) {
        status = vq_file_replace(path, vq_buf_span(&text), 0600, err);
    }
    vq_buf_free(&text);
    return status;
}

/* ---- the folder ---- */

/* The lock is held until the descriptor is closed. */
static enum vq_status lock(const char *folder, int *ret_fd, struct vq_error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return vq_fail(err, errno == ENOENT ? VQ_NOT_FOUND : VQ_DENIED, "%s: %s", folder,
                       strerror(errno));
    }
    while (flock(fd, LOCK_EX) != 0) {
        if (errno != EINTR) {
            int why = errno;
            (void)close(fd);
            return vq_fail(err, VQ_IO, "%s cannot be locked: %s", folder, strerror(why));
        }
    }
    *ret_fd = fd;
    return VQ_OK;
}

/* The coordinator's keys: those of the folder, or new ones (*ret_new). */
static enum vq_status own_keys(const char *folder, struct vq_cert *ret_own, bool *ret_new,
                               struct vq_error *err)
{
    char path[VQ_CERT_PATH_BYTES_MAX];
    struct vq_cert own = {0};
    VQ_TRY(vq_cert_path(folder, "coordinator", path, err));
    enum vq_status status = vq_cert_read(path, &own, err);
    *ret_new = status == VQ_NOT_FOUND;
    if (*ret_new) {
        own = (struct vq_cert){0};
        status = vq_keypair_create(&own.keys);
    }
    if (status == VQ_OK) {
        *ret_own = own;
    }
    return status;
}

static enum vq_status make_one(const char *folder, const char *name, const char *server_key,
                               const char *endpoint, struct vq_allowed_list *list,
                               struct vq_error *err)
{
    char path[VQ_CERT_PATH_BYTES_MAX];
    struct vq_cert cert = {0};
    VQ_TRY(vq_cert_path(folder, name, path, err));
    VQ_TRY(vq_keypair_create(&cert.keys));
    (void)snprintf(cert.server_key, sizeof(cert.server_key), "%s", server_key);
    (void)snprintf(cert.endpoint, sizeof(cert.endpoint), "%s", endpoint);
    enum vq_status status = vq_cert_write(path, &cert, err);
    if (status == VQ_OK) {
        status = add(list, vq_span_str(name), vq_span_str(cert.keys.public_key));
    }
    vq_cert_destroy(&cert);
    return status == VQ_LIMIT
               ? vq_fail(err, status, "%s: more than %u workers", folder, VQ_ALLOWED_MAX)
               : status;
}

static enum vq_status names_are_free(const char *folder, const struct vq_allowed_list *list,
                                     const char *const *names, size_t count, struct vq_error *err)
{
    for (size_t i = 0; i < count; i++) {
        VQ_TRY(name_check(names[i], err));
        if (find(list, names[i]) != NULL) {
            return vq_fail(err, VQ_EXISTS,
                           "%s has a worker %s already; revoke it first, or take another name",
                           folder, names[i]);
        }
    }
    return VQ_OK;
}

/* Called under the lock. */
static enum vq_status make_all(const char *folder, const char *const *names, size_t count,
                               const char *endpoint, struct vq_error *err)
{
    char path[VQ_CERT_PATH_BYTES_MAX];
    struct vq_allowed_list list = {0};
    struct vq_cert own = {0};
    bool is_new;
    enum vq_status status = vq_allowed_read(folder, &list, err);
    VQ_TRY(status == VQ_NOT_FOUND ? VQ_OK : status);
    status = names_are_free(folder, &list, names, count, err);
    if (status == VQ_OK) {
        status = own_keys(folder, &own, &is_new, err);
    }
    for (size_t i = 0; i < count && status == VQ_OK; i++) {
        status = make_one(folder, names[i], own.keys.public_key, endpoint, &list, err);
    }
    if (status == VQ_OK) {
        status = write_list(folder, &list, NULL, err);
    }
    if (status == VQ_OK && is_new) {
        status = vq_cert_path(folder, "coordinator", path, err);
        status = status == VQ_OK ? vq_cert_write(path, &own, err) : status;
    }
    vq_cert_destroy(&own);
    vq_allowed_free(&list);
    return status;
}

enum vq_status vq_cert_folder_add(const char *folder, const char *const *names, size_t count,
                                  const char *endpoint, struct vq_error *err)
{
    int fd;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return vq_fail(err, VQ_DENIED, "%s cannot be made: %s", folder, strerror(errno));
    }
    VQ_TRY(lock(folder, &fd, err));
    enum vq_status status = make_all(folder, names, count, endpoint, err);
    (void)close(fd);
    return status;
}

enum vq_status vq_cert_folder_ensure(const char *folder, struct vq_error *err)
{
    char path[VQ_CERT_PATH_BYTES_MAX];
    int fd;
    VQ_TRY(vq_cert_path(folder, "coordinator", path, err));
    if (access(path, F_OK) == 0) {
        return VQ_OK;
    }
    VQ_TRY(lock(folder, &fd, err));
    const char *group = VQ_JOIN_GROUP;
    enum vq_status status = VQ_OK;
    /* a process was killed while it made the folder: make it again */
    if (access(path, F_OK) != 0) {
        char list[VQ_CERT_PATH_BYTES_MAX];
        status = list_path(folder, list, err);
        if (status == VQ_OK) {
            (void)unlink(list);
            status = make_all(folder, &group, 1, "", err);
        }
    }
    (void)close(fd);
    return status;
}

enum vq_status vq_cert_folder_check(const char *folder, struct vq_error *err)
{
    char path[VQ_CERT_PATH_BYTES_MAX];
    VQ_TRY(vq_cert_path(folder, "coordinator", path, err));
    return access(path, F_OK) == 0
               ? VQ_OK
               : vq_fail(err, VQ_NOT_FOUND, "--cert %s: %s is missing; vibeq cert new %s makes it",
                         folder, VQ_COORDINATOR_CERT, folder);
}

enum vq_status vq_cert_folder_revoke(const char *folder, const char *name, struct vq_error *err)
{
    char path[VQ_CERT_PATH_BYTES_MAX];
    struct vq_allowed_list list;
    int fd;
    VQ_TRY(name_check(name, err));
    VQ_TRY(vq_cert_path(folder, name, path, err));
    VQ_TRY(lock(folder, &fd, err));
    enum vq_status status = vq_allowed_read(folder, &list, err);
    if (status == VQ_OK) {
        status =
            find(&list, name) != NULL
                ? write_list(folder, &list, name, err)
                : vq_fail(err, VQ_NOT_FOUND, "%s has no worker %s; vibeq cert list shows the names",
                          folder, name);
        vq_allowed_free(&list);
    }
    if (status == VQ_OK && unlink(path) != 0 && errno != ENOENT) {
        status = vq_fail(err, VQ_IO, "%s is revoked, but %s cannot be removed: %s", name, path,
                         strerror(errno));
    }
    (void)close(fd);
    return status;
}

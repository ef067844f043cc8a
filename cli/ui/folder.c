/* The folder .ui. Invariants: endpoint.json is valid only while the lock is held, so a killed
 * server leaves nothing misleading; the files are 0600, because they contain the token. */
#include "cli/ui/folder.h"

#include "cli/ui/files.h"
#include "common/base/secret.h"
#include "common/text/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDPOINT_FILE      "endpoint.json"
#define ENDPOINT_BYTES_MAX 4096
#define LOCK_FILE          "lock"
#define DOOR_FILE          "open.html"

static enum vq_status join(const char *folder, const char *file,
                           char ret_path[VQ_RUN_PATH_BYTES_MAX])
{
    int n = snprintf(ret_path, VQ_RUN_PATH_BYTES_MAX, "%s/%s", folder, file);
    return n < 0 || n >= VQ_RUN_PATH_BYTES_MAX ? VQ_LIMIT : VQ_OK;
}

enum vq_status vq_ui_folder_take(const char *runs_dir, struct vq_ui_folder *ret_folder,
                                 struct vq_error *err)
{
    struct vq_ui_folder folder = {.lock_fd = -1};
    char path[VQ_RUN_PATH_BYTES_MAX];
    if (join(runs_dir, VQ_UI_FOLDER, folder.path) != VQ_OK ||
        join(folder.path, LOCK_FILE, path) != VQ_OK) {
        return vq_fail(err, VQ_LIMIT, "%s: the path is too long", runs_dir);
    }
    if (mkdir(folder.path, 0700) != 0 && errno != EEXIST) {
        return vq_fail(err, VQ_DENIED, "%s cannot be made: %s", folder.path, strerror(errno));
    }
    folder.lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (folder.lock_fd < 0) {
        return vq_fail(err, VQ_DENIED, "%s: %s", path, strerror(errno));
    }
    if (flock(folder.lock_fd, LOCK_EX | LOCK_NB) != 0) {
        (void)close(folder.lock_fd);
        return vq_fail(err, VQ_LOCKED, "another vibeq ui serves %s", runs_dir);
    }
    if (join(folder.path, ENDPOINT_FILE, path) == VQ_OK) {
        (void)unlink(path); /* left by a server that was killed */
    }
    *ret_folder = folder;
    return VQ_OK;
}

enum vq_status vq_ui_folder_publish(const struct vq_ui_folder *folder,
                                    const struct vq_endpoint *endpoint, struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_buf text;
    vq_buf_init(&text, ENDPOINT_BYTES_MAX);
    vq_endpoint_put(endpoint, &text);
    enum vq_status status = text.status;
    if (status == VQ_OK) {
        status = join(folder->path, ENDPOINT_FILE, path);
    }
    if (status == VQ_OK) {
        status = vq_file_replace(path, vq_buf_span(&text), 0600, err);
    }
    vq_wipe(text.at, text.bytes);
    vq_buf_free(&text);
    return status;
}

enum vq_status vq_ui_folder_write_door(const struct vq_ui_folder *folder, const char *url,
                                       char ret_path[VQ_RUN_PATH_BYTES_MAX], struct vq_error *err)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_buf page;
    VQ_TRY(join(folder->path, DOOR_FILE, path));
    vq_buf_init(&page, ENDPOINT_BYTES_MAX);
    vq_buf_printf(&page,
                  "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" "
                  "content=\"no-referrer\">\n<meta http-equiv=\"refresh\" content=\"0; "
                  "url=%s\">\n<title>vibeq</title>\n<a href=\"%s\">the page of runs</a>\n",
                  url, url);
    enum vq_status status = page.status;
    if (status == VQ_OK) {
        status = vq_file_replace(path, vq_buf_span(&page), 0600, err);
    }
    vq_wipe(page.at, page.bytes);
    vq_buf_free(&page);
    if (status == VQ_OK) {
        memcpy(ret_path, path, sizeof(path));
    }
    return status;
}

void vq_ui_folder_release(struct vq_ui_folder *folder)
{
    static const char *const files[] = {ENDPOINT_FILE, DOOR_FILE};
    char path[VQ_RUN_PATH_BYTES_MAX];
    for (size_t i = 0; folder->lock_fd >= 0 && i < VQ_COUNT(files); i++) {
        if (join(folder->path, files[i], path) == VQ_OK) {
            (void)unlink(path);
        }
    }
    if (folder->lock_fd >= 0) {
        (void)close(folder->lock_fd);
        folder->lock_fd = -1;
    }
}

enum vq_status vq_ui_folder_find(const char *runs_dir, struct vq_endpoint *ret_endpoint)
{
    char path[VQ_RUN_PATH_BYTES_MAX];
    struct vq_buf text;
    bool held = false;
    if (join(runs_dir, VQ_UI_FOLDER, path) != VQ_OK) {
        return VQ_NOT_FOUND;
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return VQ_NOT_FOUND;
    }
    vq_buf_init(&text, ENDPOINT_BYTES_MAX);
    enum vq_status status = vq_ui_lock_is_held(fd, LOCK_FILE, &held);
    status = status == VQ_OK && !held ? VQ_NOT_FOUND : status;
    if (status == VQ_OK) {
        status = vq_ui_file_read(fd, ENDPOINT_FILE, &text, NULL);
    }
    if (status == VQ_OK) {
        status = vq_endpoint_parse(vq_buf_span(&text), ret_endpoint);
    }
    (void)close(fd);
    if (text.at != NULL) {
        vq_wipe(text.at, text.bytes);
    }
    vq_buf_free(&text);
    return status == VQ_OK || status == VQ_NOMEM ? status : VQ_NOT_FOUND;
}

/* Binary, folders, socket path and configuration of a run's private Redis server.
 *
 * The socket's name is a hash of the run's uid and folder. Otherwise the server of a copied run
 * folder would silently take over the original's socket. Not its job: processes. */
#include "coordinator/store/state/redis_paths.h"

#include "common/text/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONF_BYTES_MAX (64u << 10)
#define HOME_BYTES     4096

/* ---- the binary ---- */

static bool find_program(const char *name, char ret_path[VQ_REDIS_PATH_BYTES])
{
    const char *path = getenv("PATH");
    path = path != NULL && *path != '\0' ? path : "/usr/local/bin:/usr/bin:/bin";
    while (*path != '\0') {
        size_t bytes = strcspn(path, ":");
        int n = snprintf(ret_path, VQ_REDIS_PATH_BYTES, "%.*s/%s", (int)bytes, path, name);
        if (bytes > 0 && n > 0 && n < VQ_REDIS_PATH_BYTES && access(ret_path, X_OK) == 0) {
            return true;
        }
        path += bytes;
        path += *path == ':' ? 1 : 0;
    }
    return false;
}

/* In Debian's redis-tools the server is part of redis-check-rdb: one binary, which checks its
 * argv[0]. */
static enum vq_status find_binary(char ret_path[VQ_REDIS_PATH_BYTES], struct vq_error *err)
{
    if (find_program("redis-server", ret_path) || find_program("redis-check-rdb", ret_path)) {
        return VQ_OK;
    }
    static const char fallback[] = "/usr/bin/redis-check-rdb";
    if (access(fallback, X_OK) == 0) {
        memcpy(ret_path, fallback, sizeof(fallback));
        return VQ_OK;
    }
    return vq_fail(
        err, VQ_NOT_FOUND,
        "no redis-server in PATH; install it (Debian: apt install redis-tools), or name a "
        "running one with redis.url");
}

/* ---- folders ---- */

static enum vq_status make_private(const char *path, struct vq_error *err)
{
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return vq_fail(err, VQ_IO, "%s cannot be made: %s", path, strerror(errno));
    }
    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 077) != 0) {
        return vq_fail(err, VQ_DENIED,
                       "%s must be a folder of yours that no other user may enter (mode 700)",
                       path);
    }
    return VQ_OK;
}

static bool fits(const char *home, const char *folder, const char *name)
{
    return *home == '/' && strlen(home) + strlen(folder) + strlen(name) + 2 < VQ_REDIS_SOCKET_BYTES;
}

static enum vq_status socket_path(const char *name, char ret_path[VQ_REDIS_SOCKET_BYTES],
                                  struct vq_error *err)
{
    char own[64];
    (void)snprintf(own, sizeof(own), "/vibeq-%lu", (unsigned long)geteuid());
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *temp = getenv("TMPDIR");
    const struct {
        const char *home;
        const char *folder;
    } places[] = {{runtime, "/vibeq"}, {temp, own}, {"/tmp", own}};
    enum vq_status status = VQ_LIMIT;
    for (size_t i = 0; i < VQ_COUNT(places); i++) {
        struct stat st;
        const char *home = places[i].home;
        if (home == NULL || stat(home, &st) != 0 || !S_ISDIR(st.st_mode) ||
            access(home, W_OK | X_OK) != 0) {
            continue;
        }
        if (!fits(home, places[i].folder, name)) {
            status =
                vq_fail(err, VQ_LIMIT,
                        "a socket in %s would have a path over %d bytes; set XDG_RUNTIME_DIR or "
                        "TMPDIR to a shorter folder",
                        home, VQ_REDIS_SOCKET_BYTES - 1);
            continue;
        }
        char folder[HOME_BYTES];
        (void)snprintf(folder, sizeof(folder), "%s%s", home, places[i].folder);
        status = make_private(folder, err);
        if (status == VQ_OK) {
            (void)snprintf(ret_path, VQ_REDIS_SOCKET_BYTES, "%s/%s", folder, name);
            return VQ_OK;
        }
    }
    return status;
}

static enum vq_status join(const char *dir, const char *file, char ret_path[VQ_REDIS_PATH_BYTES],
                           struct vq_error *err)
{
    int n = snprintf(ret_path, VQ_REDIS_PATH_BYTES, "%s/%s", dir, file);
    return n > 0 && n < VQ_REDIS_PATH_BYTES
               ? VQ_OK
               : vq_fail(err, VQ_LIMIT, "%s: the path is too long", dir);
}

/* ---- redis.conf ---- */

static void put_quoted(struct vq_buf *out, const char *key, const char *value)
{
    vq_buf_printf(out, "%s \"", key);
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            vq_buf_printf(out, "\\%c", *c);
        } else if ((unsigned char)*c < ' ' || (unsigned char)*c >= 127) {
            vq_buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*c);
        } else {
            vq_buf_putc(out, *c);
        }
    }
    vq_buf_puts(out, "\"\n");
}

static enum vq_status write_conf(const struct vq_redis_paths *p, struct vq_error *err)
{
    struct vq_buf text;
    vq_buf_init(&text, CONF_BYTES_MAX);
    vq_buf_puts(&text, "# Written at each start by vibeq.\nport 0\nunixsocketperm 700\n");
    put_quoted(&text, "unixsocket", p->socket);
    put_quoted(&text, "dir", p->dir);
    put_quoted(&text, "logfile", p->log);
    put_quoted(&text, "pidfile", p->pid);
    vq_buf_puts(&text, "daemonize no\ndatabases 1\nappendonly yes\nappendfsync everysec\n"
                       "save \"\"\nmaxmemory-policy noeviction\n");
    enum vq_status status = text.status;
    if (status == VQ_OK) {
        status = vq_file_replace(p->conf, vq_buf_span(&text), 0600, err);
    }
    vq_buf_free(&text);
    return status;
}

enum vq_status vq_redis_paths_make(const char *run_dir, const struct vq_id *uid,
                                   struct vq_redis_paths *ret_paths, struct vq_error *err)
{
    struct vq_redis_paths *p = ret_paths;
    struct vq_hasher hasher;
    struct vq_hash hash;
    char hex[VQ_HEX_BYTES(8)];
    char name[sizeof(hex) + 8];
    VQ_TRY(find_binary(p->binary, err));
    VQ_TRY(join(run_dir, "redis", p->dir, err));
    VQ_TRY(make_private(p->dir, err));
    VQ_TRY(join(p->dir, "redis.conf", p->conf, err));
    VQ_TRY(join(p->dir, "log", p->log, err));
    VQ_TRY(join(p->dir, "lock", p->lock, err));
    VQ_TRY(join(p->dir, "pid", p->pid, err));
    vq_hasher_init(&hasher, "redis socket");
    vq_hasher_field(&hasher, vq_span((const char *)uid->b, VQ_ID_BYTES));
    vq_hasher_field(&hasher, vq_span_str(run_dir));
    vq_hasher_final(&hasher, &hash);
    vq_hex(hash.b, 8, hex);
    (void)snprintf(name, sizeof(name), "%s.sock", hex);
    VQ_TRY(socket_path(name, p->socket, err));
    return write_conf(p, err);
}

bool vq_redis_paths_gone(const struct vq_redis_paths *paths)
{
    struct stat st;
    return lstat(paths->socket, &st) != 0 && errno == ENOENT;
}

enum vq_status vq_redis_paths_again(struct vq_redis_paths *paths, struct vq_error *err)
{
    const char *name = strrchr(paths->socket, '/') + 1;
    char folder[VQ_REDIS_SOCKET_BYTES], socket[VQ_REDIS_SOCKET_BYTES];
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(name - 1 - paths->socket), paths->socket);
    struct stat st;
    if (stat(folder, &st) == 0) {
        return VQ_OK;
    }
    if (make_private(folder, err) == VQ_OK) {
        return VQ_OK; /* at the same path */
    }
    VQ_TRY(socket_path(name, socket, err));
    (void)snprintf(paths->socket, sizeof(paths->socket), "%s", socket);
    return write_conf(paths, err);
}

/* ---- the server of another coordinator ---- */

static bool has_open(pid_t pid, const struct stat *file)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return false;
    }
    bool found = false;
    for (struct dirent *entry; !found && (entry = readdir(dir)) != NULL;) {
        struct stat st;
        found = fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && st.st_dev == file->st_dev &&
                st.st_ino == file->st_ino;
    }
    (void)closedir(dir);
    return found;
}

pid_t vq_redis_paths_holder(const struct vq_redis_paths *paths)
{
    struct stat lock;
    FILE *file = fopen(paths->pid, "re");
    long pid = 0;
    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%ld", &pid) != 1 || pid <= 1) {
        pid = 0;
    }
    (void)fclose(file);
    return pid != 0 && stat(paths->lock, &lock) == 0 && has_open((pid_t)pid, &lock) ? (pid_t)pid
                                                                                    : 0;
}

/* The files of one key under RUNS/pools.
 *
 * Invariants: the run that has a file has its flock. Files are taken only under the gate, so that
 * no run is counted twice or missed. The shares of living runs, and of dead ones whose term is not
 * over, are together at most the whole; a run that has the whole is alone. A holder touches its
 * file, so that after its death the modification time shows the time of death. An orderly end
 * empties the file or removes it. NAME and NAME.gate are never removed: a file that others may wait
 * for must not be replaced. Not its job: retries, Redis, the pools of a key (pool_lock.c). */
#include "coordinator/run/pool_file.h"

#include "common/base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES     4096
#define NOTE_BYTES     1024
#define WORD_BYTES     80
#define TOUCH_SLACK_MS 3000 /* age of the last touch when its process dies, at most */
#define HOLDERS_SAID   3u
#define HOLDERS_BYTES  192u
#define UID_TEXT_BYTES VQ_HEX_BYTES(VQ_ID_BYTES)
#define SHARE_SUFFIX   ".share"

struct vq_pool_file {
    int main_fd, own_fd; /* own_fd: file of a share; -1: the whole */
    char own_path[PATH_BYTES];
};

struct note { /* contents of a file; run empty: none */
    char run[WORD_BYTES], uid[WORD_BYTES], pid[WORD_BYTES], host[WORD_BYTES], since[WORD_BYTES];
    char term_ms[WORD_BYTES], share[WORD_BYTES];
    int64_t touched_unix_ms;
};

struct others { /* the other runs' shares */
    uint64_t sum;
    uint32_t count;
    char text[HOLDERS_BYTES];
};

/* ---- notes ---- */

static void since_text(int64_t unix_ms, char *ret_text, size_t bytes)
{
    time_t at = (time_t)(unix_ms / 1000);
    struct tm tm;
    ret_text[0] = '\0';
    if (gmtime_r(&at, &tm) != NULL) {
        (void)strftime(ret_text, bytes, "%Y-%m-%d %H:%M UTC", &tm);
    }
}

static void host_text(char *ret_text, size_t bytes)
{
    if (gethostname(ret_text, bytes) != 0) {
        (void)snprintf(ret_text, bytes, "?");
    }
    ret_text[bytes - 1] = '\0';
}

void vq_pool_owner_text(const struct vq_pool_owner *owner, int64_t unix_ms, char *ret_text,
                        size_t bytes)
{
    char host[WORD_BYTES], since[WORD_BYTES];
    host_text(host, sizeof(host));
    since_text(unix_ms, since, sizeof(since));
    (void)snprintf(ret_text, bytes, "run \"%.64s\" (pid %ld on %s, since %s)", owner->run,
                   (long)getpid(), host, since);
}

static enum vq_status note_write(int fd, const struct vq_pool_owner *me, int64_t unix_ms)
{
    char text[NOTE_BYTES], host[WORD_BYTES], since[WORD_BYTES], uid[UID_TEXT_BYTES];
    host_text(host, sizeof(host));
    since_text(unix_ms, since, sizeof(since));
    vq_hex(me->uid.b, VQ_ID_BYTES, uid);
    int n = snprintf(text, sizeof(text),
                     "run: %.64s\nuid: %s\npid: %ld\nhost: %s\nsince: %s\nterm_ms: %u\nshare: %u\n",
                     me->run, uid, (long)getpid(), host, since, me->term_ms, me->share);
    bool done = ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) == n;
    return done ? VQ_OK : VQ_IO;
}

static void note_line(struct note *note, struct vq_span line)
{
    struct {
        const char *key;
        char *to;
    } const words[] = {{"run: ", note->run},     {"uid: ", note->uid},
                       {"pid: ", note->pid},     {"host: ", note->host},
                       {"since: ", note->since}, {"term_ms: ", note->term_ms},
                       {"share: ", note->share}};
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        size_t bytes = strlen(words[i].key);
        if (line.bytes > bytes && memcmp(line.at, words[i].key, bytes) == 0) {
            (void)snprintf(words[i].to, WORD_BYTES, "%.*s", (int)(line.bytes - bytes),
                           line.at + bytes);
        }
    }
}

static void note_read(int fd, struct note *ret_note)
{
    char text[NOTE_BYTES];
    struct stat st;
    *ret_note = (struct note){.run = ""};
    ssize_t n = pread(fd, text, sizeof(text), 0);
    if (n <= 0 || fstat(fd, &st) != 0) {
        return;
    }
    ret_note->touched_unix_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    for (size_t at = 0; at < (size_t)n;) {
        const char *end = memchr(text + at, '\n', (size_t)n - at);
        size_t bytes = end == NULL ? (size_t)n - at : (size_t)(end - text) - at;
        note_line(ret_note, vq_span(text + at, bytes));
        at += bytes + 1;
    }
}

/* How long the workers of a holder that has died may continue; 0: it gave the file back, or the
 * time is over. */
static int64_t note_left_ms(const struct note *note, const struct vq_pool_owner *me,
                            int64_t unix_ms)
{
    char uid[UID_TEXT_BYTES];
    vq_hex(me->uid.b, VQ_ID_BYTES, uid);
    if (note->run[0] == '\0' || strcmp(note->uid, uid) == 0) {
        return 0;
    }
    int64_t most_ms = (int64_t)strtoul(note->term_ms, NULL, 10) + TOUCH_SLACK_MS;
    int64_t left_ms = note->touched_unix_ms + most_ms - unix_ms;
    left_ms = left_ms > most_ms ? most_ms : left_ms; /* the clock went back */
    return left_ms > 0 ? left_ms : 0;
}

static enum vq_status held_by(const struct note *note, struct vq_error *err)
{
    if (note->run[0] == '\0') {
        return vq_fail(err, VQ_LOCKED, "another run is just taking or leaving its key");
    }
    return vq_fail(err, VQ_LOCKED, "run \"%s\" (pid %s on %s, since %s) has its key", note->run,
                   note->pid, note->host, note->since);
}

static enum vq_status held_by_the_dead(const struct note *note, struct vq_error *err)
{
    return vq_fail(err, VQ_LOCKED,
                   "run \"%s\" (pid %s on %s) had its key and ended without giving it back; its "
                   "workers may continue until their term of %s ms is over",
                   note->run, note->pid, note->host, note->term_ms);
}

/* ---- files ---- */

static enum vq_status open_file(const char *path, int *ret_fd, struct vq_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return vq_fail(err, VQ_IO, "%s: %s", path, strerror(errno));
    }
    *ret_fd = fd;
    return VQ_OK;
}

static enum vq_status lock_file(int fd, int how, const char *path, struct vq_error *err)
{
    if (flock(fd, how | LOCK_NB) == 0) {
        return VQ_OK;
    }
    return errno == EWOULDBLOCK ? VQ_LOCKED : vq_fail(err, VQ_IO, "%s: %s", path, strerror(errno));
}

static enum vq_status path_of(const char *dir, const char *name, const char *suffix,
                              char ret_path[PATH_BYTES], struct vq_error *err)
{
    int n = snprintf(ret_path, PATH_BYTES, "%s/%s%s", dir, name, suffix);
    return n > 0 && n < PATH_BYTES ? VQ_OK
                                   : vq_fail(err, VQ_LIMIT, "%s: the path is too long", dir);
}

/* Under the gate. Handles one other share: it counts while its holder lives or its workers may
 * continue; otherwise its file is removed. */
static void see_share(const char *path, const struct vq_pool_owner *me, int64_t unix_ms,
                      struct others *others)
{
    struct note note;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return;
    }
    note_read(fd, &note);
    bool dead = flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (dead && note_left_ms(&note, me, unix_ms) == 0) {
        (void)unlink(path);
    } else {
        unsigned long share = strtoul(note.share, NULL, 10);
        others->sum += share > VQ_POOL_WHOLE ? VQ_POOL_WHOLE : share;
        size_t used = strlen(others->text);
        if (others->count++ < HOLDERS_SAID) {
            (void)snprintf(others->text + used, sizeof(others->text) - used,
                           "%srun \"%s\" (pid %s%s) %.6g", used == 0 ? "" : ", ", note.run,
                           note.pid, dead ? ", ended" : "", (double)share / VQ_POOL_WHOLE);
        }
    }
    (void)close(fd);
}

static enum vq_status see_shares(const char *dir, const char *name, const char *own,
                                 const struct vq_pool_owner *me, int64_t unix_ms,
                                 struct others *ret_others, struct vq_error *err)
{
    *ret_others = (struct others){.sum = 0};
    DIR *folder = opendir(dir);
    if (folder == NULL) {
        return vq_fail(err, VQ_IO, "%s: %s", dir, strerror(errno));
    }
    size_t name_bytes = strlen(name), suffix_bytes = strlen(SHARE_SUFFIX);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[PATH_BYTES];
        size_t bytes = strlen(entry->d_name);
        if (bytes > name_bytes + suffix_bytes && strncmp(entry->d_name, name, name_bytes) == 0 &&
            entry->d_name[name_bytes] == '.' &&
            strcmp(entry->d_name + bytes - suffix_bytes, SHARE_SUFFIX) == 0 &&
            path_of(dir, entry->d_name, "", path, NULL) == VQ_OK && strcmp(path, own) != 0) {
            see_share(path, me, unix_ms, ret_others);
        }
    }
    (void)closedir(folder);
    return VQ_OK;
}

/* ---- taking ---- */

struct taking {
    const char *dir, *name;
    const struct vq_pool_owner *me;
    int64_t unix_ms;
    char path[PATH_BYTES]; /* path of NAME */
};

/* This process has its flock, shared or not: checks whether the term of the last exclusive holder
 * is over. */
static enum vq_status check_main(const struct taking *t, const struct vq_pool_file *file,
                                 struct vq_error *err)
{
    struct note note;
    note_read(file->main_fd, &note);
    return note_left_ms(&note, t->me, t->unix_ms) > 0 ? held_by_the_dead(&note, err) : VQ_OK;
}

static enum vq_status shares_held(const struct others *others, uint32_t share, struct vq_error *err)
{
    return vq_fail(err, VQ_LOCKED,
                   "its key is shared: %s%s; a share of %.6g does not fit beside them",
                   others->text, others->count > HOLDERS_SAID ? ", and others" : "",
                   (double)share / VQ_POOL_WHOLE);
}

static enum vq_status take_whole(const struct taking *t, struct vq_pool_file *file,
                                 struct vq_error *err)
{
    struct others others;
    enum vq_status status = lock_file(file->main_fd, LOCK_EX, t->path, err);
    if (status != VQ_OK && status != VQ_LOCKED) {
        return status;
    }
    VQ_TRY(see_shares(t->dir, t->name, file->own_path, t->me, t->unix_ms, &others, err));
    if (others.count > 0) {
        return shares_held(&others, t->me->share, err);
    }
    if (status == VQ_LOCKED) {
        struct note note;
        note_read(file->main_fd, &note);
        return held_by(&note, err);
    }
    VQ_TRY(check_main(t, file, err));
    if (note_write(file->main_fd, t->me, t->unix_ms) != VQ_OK) {
        return vq_fail(err, VQ_IO, "%s: %s", t->path, strerror(errno));
    }
    (void)unlink(file->own_path); /* the file of an earlier start of this run, with a share */
    return VQ_OK;
}

static enum vq_status take_share(const struct taking *t, struct vq_pool_file *file,
                                 struct vq_error *err)
{
    struct others others;
    enum vq_status status = lock_file(file->main_fd, LOCK_SH, t->path, err);
    if (status == VQ_LOCKED) {
        struct note note;
        note_read(file->main_fd, &note);
        return held_by(&note, err);
    }
    VQ_TRY(status);
    VQ_TRY(check_main(t, file, err));
    VQ_TRY(see_shares(t->dir, t->name, file->own_path, t->me, t->unix_ms, &others, err));
    if (others.sum + t->me->share > VQ_POOL_WHOLE) {
        return shares_held(&others, t->me->share, err);
    }
    VQ_TRY(open_file(file->own_path, &file->own_fd, err));
    status = lock_file(file->own_fd, LOCK_EX, file->own_path, err);
    if (status == VQ_LOCKED) {
        return vq_fail(err, status, "another process of this run has its key");
    }
    VQ_TRY(status);
    if (ftruncate(file->main_fd, 0) != 0 || note_write(file->own_fd, t->me, t->unix_ms) != VQ_OK) {
        return vq_fail(err, VQ_IO, "%s: %s", file->own_path, strerror(errno));
    }
    return VQ_OK;
}

static void close_fds(struct vq_pool_file *file)
{
    if (file->own_fd >= 0) {
        (void)close(file->own_fd);
    }
    if (file->main_fd >= 0) {
        (void)close(file->main_fd);
    }
}

static enum vq_status take(struct taking *t, struct vq_pool_file *file, struct vq_error *err)
{
    char gate_path[PATH_BYTES], uid[UID_TEXT_BYTES], suffix[UID_TEXT_BYTES + 16];
    int gate_fd = -1;
    vq_hex(t->me->uid.b, VQ_ID_BYTES, uid);
    (void)snprintf(suffix, sizeof(suffix), ".%s%s", uid, SHARE_SUFFIX);
    VQ_TRY(path_of(t->dir, t->name, "", t->path, err));
    VQ_TRY(path_of(t->dir, t->name, ".gate", gate_path, err));
    VQ_TRY(path_of(t->dir, t->name, suffix, file->own_path, err));
    if (mkdir(t->dir, 0700) != 0 && errno != EEXIST) {
        return vq_fail(err, VQ_IO, "%s: %s", t->dir, strerror(errno));
    }
    VQ_TRY(open_file(gate_path, &gate_fd, err));
    enum vq_status status = lock_file(gate_fd, LOCK_EX, gate_path, err);
    if (status == VQ_LOCKED) {
        (void)vq_fail(err, status, "another run is just looking at its key");
    }
    if (status == VQ_OK) {
        status = open_file(t->path, &file->main_fd, err);
    }
    if (status == VQ_OK) {
        status = t->me->share < VQ_POOL_WHOLE ? take_share(t, file, err) : take_whole(t, file, err);
    }
    if (status != VQ_OK) { /* before the gate opens */
        close_fds(file);
    }
    (void)close(gate_fd);
    return status;
}

enum vq_status vq_pool_file_take(const char *dir, const char *name, const struct vq_pool_owner *me,
                                 int64_t unix_ms, struct vq_pool_file **ret_file,
                                 struct vq_error *err)
{
    struct taking t = {.dir = dir, .name = name, .me = me, .unix_ms = unix_ms};
    struct vq_pool_file *file;
    VQ_TRY(VQ_ALLOC(file, 1));
    file->main_fd = file->own_fd = -1;
    enum vq_status status = take(&t, file, err);
    if (status != VQ_OK) {
        vq_free(file);
        return status;
    }
    *ret_file = file;
    return VQ_OK;
}

void vq_pool_file_touch(struct vq_pool_file *file)
{
    (void)futimens(file->own_fd >= 0 ? file->own_fd : file->main_fd, NULL);
}

void vq_pool_file_abandon(struct vq_pool_file **file)
{
    if (*file != NULL) {
        close_fds(*file);
        vq_free(*file);
        *file = NULL;
    }
}

void vq_pool_file_release(struct vq_pool_file **file)
{
    if (*file == NULL) {
        return;
    }
    if ((*file)->own_fd >= 0) {
        (void)unlink((*file)->own_path);
    } else if (ftruncate((*file)->main_fd, 0) != 0) {
        (void)0; /* then others wait for the term */
    }
    vq_pool_file_abandon(file);
}

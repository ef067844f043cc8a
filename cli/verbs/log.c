/* `vibeq log RUN`: the run's log for people, line by line, so a log of any size needs bounded
 * memory. With --follow it continues while the run is active, even if the file is renamed
 * (SIGUSR1). Not its job: the form of a line (log_line.h). */
#include "cli/log_line.h"

#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "coordinator/store/rundir/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLLOW_MS  200
#define READ_BYTES 65536
/* a byte that is not UTF-8 becomes three; a control for text direction becomes more */
#define LINE_OUT_FACTOR 8

struct log_words {
    const char *runs, *level;
    bool follow;
};

#define AT(field) offsetof(struct log_words, field)

const struct vq_opt vq_log_opts[] = {
    {"runs", VQ_OPT_TEXT, AT(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {"follow", VQ_OPT_FLAG, AT(follow), NULL, "print new lines as they come, until the run ends"},
    {"level", VQ_OPT_TEXT, AT(level), "LEVEL",
     "only lines of this level or more severe: error, warn, info, debug"},
    {0},
};

struct reader {
    const char *runs_dir, *name;
    char path[VQ_RUN_PATH_BYTES_MAX];
    int fd;
    enum vq_log_level level;
    struct vq_terminal terminal;
    struct vq_buf out;
    char line[VQ_LOG_LINE_SHOWN_BYTES_MAX];
    size_t bytes; /* of the current line */
};

static enum vq_status open_log(struct reader *r, struct vq_error *err)
{
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (r->fd >= 0 && fstat(r->fd, &st) == 0 && S_ISREG(st.st_mode)) {
        return VQ_OK;
    }
    if (r->fd >= 0) {
        return vq_fail(err, VQ_INVALID, "%s is not a regular file", r->path);
    }
    return errno == ENOENT ? vq_fail(err, VQ_NOT_FOUND, "%s has no log: it never started", r->name)
                           : vq_fail(err, VQ_IO, "cannot open %s: %s", r->path, strerror(errno));
}

static enum vq_status put_line(struct reader *r, struct vq_error *err)
{
    vq_log_line_put(vq_span(r->line, r->bytes), r->level, &r->terminal, &r->out);
    r->bytes = 0;
    enum vq_status status =
        r->out.status != VQ_OK ? r->out.status : vq_cli_write(vq_buf_span(&r->out), err);
    vq_buf_clear(&r->out);
    return status;
}

/* Collects lines. A line longer than the log writes is shown in pieces. */
static enum vq_status take(struct reader *r, struct vq_span bytes, struct vq_error *err)
{
    for (size_t i = 0; i < bytes.bytes; i++) {
        if (bytes.at[i] != '\n') {
            r->line[r->bytes++] = bytes.at[i];
        }
        if (bytes.at[i] == '\n' || r->bytes == sizeof(r->line)) {
            VQ_TRY(put_line(r, err));
        }
    }
    return VQ_OK;
}

static enum vq_status read_all(struct reader *r, struct vq_error *err)
{
    char bytes[READ_BYTES];
    for (;;) {
        ssize_t n = read(r->fd, bytes, sizeof(bytes));
        if (n < 0 && errno != EINTR) {
            return vq_fail(err, VQ_IO, "cannot read %s: %s", r->path, strerror(errno));
        }
        if (n == 0) {
            return VQ_OK;
        }
        VQ_TRY(take(r, vq_span(bytes, n < 0 ? 0 : (size_t)n), err));
    }
}

/* If the log was renamed or emptied, reads the rest of it, then the new file. */
static enum vq_status look_again(struct reader *r, struct vq_error *err)
{
    struct stat ours, named;
    if (fstat(r->fd, &ours) != 0 || stat(r->path, &named) != 0) {
        return VQ_OK; /* it was renamed, and the new file does not exist yet */
    }
    if (ours.st_ino == named.st_ino && ours.st_dev == named.st_dev) {
        off_t at = lseek(r->fd, 0, SEEK_CUR);
        return at <= ours.st_size || lseek(r->fd, 0, SEEK_SET) == 0 ? VQ_OK : VQ_IO;
    }
    VQ_TRY(read_all(r, err));
    VQ_TRY(put_line(r, err));
    (void)close(r->fd);
    VQ_TRY(open_log(r, err));
    return read_all(r, err);
}

static enum vq_status follow(struct reader *r, struct vq_error *err)
{
    bool active = true;
    while (active && fflush(stdout) == 0 && !vq_terminal_is_gone(STDOUT_FILENO)) {
        struct vq_run_info info;
        VQ_TRY(vq_run_info_read(r->runs_dir, r->name, &info, err));
        active = info.running; /* read first, so that the last lines of the run are read below */
        VQ_TRY(read_all(r, err));
        VQ_TRY(look_again(r, err));
        if (active) {
            (void)usleep(FOLLOW_MS * 1000);
        }
    }
    return VQ_OK;
}

static enum vq_status show(struct reader *r, bool follows, struct vq_error *err)
{
    struct vq_run_info info;
    VQ_TRY(vq_run_info_read(r->runs_dir, r->name, &info, err));
    int n = snprintf(r->path, sizeof(r->path), "%s/%s/log", r->runs_dir, r->name);
    if (n < 0 || (size_t)n >= sizeof(r->path)) {
        return vq_fail(err, VQ_LIMIT, "the path of the log is too long");
    }
    VQ_TRY(open_log(r, err));
    VQ_TRY(read_all(r, err));
    if (follows) {
        VQ_TRY(follow(r, err));
    }
    return put_line(r, err); /* a partial line: a process was killed or is still writing it */
}

int vq_verb_log(int argc, char **argv)
{
    struct log_words w = {0};
    struct vq_error err = {0};
    enum vq_log_level level = VQ_LOG_DEBUG;
    if (!vq_opts_parse_run("log", vq_log_opts, argc, argv, &w)) {
        return VQ_EXIT_USAGE;
    }
    if (w.level != NULL && vq_log_level_of(w.level, &level) != VQ_OK) {
        return vq_cli_usage("log", "there is no level '%.60s'; known are error, warn, info, debug",
                            w.level);
    }
    char *runs_dir = NULL;
    enum vq_status status = vq_runs_dir_find(w.runs, &runs_dir, &err);
    struct reader *r = status == VQ_OK ? vq_alloc(1, sizeof(*r)) : NULL;
    if (status == VQ_OK && r == NULL) {
        status = vq_fail(&err, VQ_NOMEM, "out of memory");
    }
    if (r != NULL) {
        r->runs_dir = runs_dir;
        r->name = argv[0];
        r->fd = -1;
        r->level = level;
        vq_terminal_of(STDOUT_FILENO, &r->terminal);
        vq_buf_init(&r->out, (size_t)LINE_OUT_FACTOR * VQ_LOG_LINE_SHOWN_BYTES_MAX);
        status = show(r, w.follow, &err);
        vq_buf_free(&r->out);
        if (r->fd >= 0) {
            (void)close(r->fd);
        }
    }
    vq_free(r);
    vq_free(runs_dir);
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}

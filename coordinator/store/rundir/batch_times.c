/* The file is text, for people and spreadsheets. A line is appended with one write, so that runs of
 * one folder do not disturb each other. A line that cannot be read is skipped. Not its job: which
 * batches ended, and when (batch_watch.c). */
#include "coordinator/store/rundir/batch_times.h"

#include "common/base/alloc.h"
#include "common/text/file.h"
#include "common/text/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER     "ended_unix_s,dialect,model,calls,seconds,end\n"
#define LINE_BYTES 512u

static enum vq_status put(struct vq_batch_times *times, const struct vq_batch_time *time)
{
    if (times->count >= VQ_BATCH_TIMES_MAX) { /* the oldest one does not count any more */
        times->count--;
        memmove(times->list, times->list + 1, times->count * sizeof(*times->list));
    }
    VQ_TRY(vq_grow((void **)&times->list, &times->cap, times->count + 1, sizeof(*times->list),
                   VQ_BATCH_TIMES_MAX));
    times->list[times->count++] = *time;
    return VQ_OK;
}

static const char ends[] = "ecx";

static const char *word_of(char end)
{
    return end == 'e' ? "ended" : end == 'c' ? "cancelled" : "expired";
}

static enum vq_status take_line(void *ctx, struct vq_span line, struct vq_error *err)
{
    struct vq_batch_time time = {.end = 'e'};
    char text[LINE_BYTES], end[16];
    (void)err;
    (void)snprintf(text, sizeof(text), "%.*s", (int)line.bytes, line.at);
    int fields = sscanf(text, "%*d,%15[^,],%127[^,],%*u,%lf,%15s", time.dialect, time.model,
                        &time.seconds, end);
    if (fields != 4 || !isfinite(time.seconds) || time.seconds < 0) {
        return VQ_OK; /* the header, or a line that was cut */
    }
    for (size_t i = 0; i < sizeof(ends) - 1; i++) {
        if (strcmp(end, word_of(ends[i])) == 0) {
            time.end = ends[i];
            return put(ctx, &time);
        }
    }
    return VQ_OK;
}

static void path_of(const char *runs_dir, char ret_path[4096])
{
    (void)snprintf(ret_path, 4096, "%s/%s", runs_dir, VQ_BATCH_TIMES_FILE);
}

enum vq_status vq_batch_times_load(const char *runs_dir, struct vq_batch_times *ret_times)
{
    struct vq_batch_times times = {.count = 0};
    struct vq_error err = {.text = ""};
    char path[4096];
    path_of(runs_dir, path);
    enum vq_status status = vq_file_lines(path, VQ_BATCH_TIMES_BYTES_MAX, take_line, &times, &err);
    if (status == VQ_NOMEM) {
        vq_batch_times_free(&times);
        return status;
    }
    if (status != VQ_OK && status != VQ_NOT_FOUND) {
        vq_log(VQ_LOG_WARN, "batches.unread", "why=%s", err.text);
    }
    *ret_times = times;
    return VQ_OK;
}

void vq_batch_times_free(struct vq_batch_times *times)
{
    vq_free(times->list);
    *times = (struct vq_batch_times){.count = 0};
}

/* Replaces characters that would end the field: a comma, a quote or a blank. */
static void plain(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text <= ' ' || *text == ',' || *text == '"' || *text == 0x7f) {
            *text = '_';
        }
    }
}

static enum vq_status append(const char *path, const char *line, struct vq_error *err)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    bool good = fd >= 0 && fstat(fd, &st) == 0;
    if (good && st.st_size == 0) {
        good = write(fd, HEADER, strlen(HEADER)) == (ssize_t)strlen(HEADER);
    }
    good = good && write(fd, line, strlen(line)) == (ssize_t)strlen(line);
    int why = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return good ? VQ_OK : vq_fail(err, VQ_IO, "cannot write %s: %s", path, strerror(why));
}

enum vq_status vq_batch_times_add(struct vq_batch_times *times, const char *runs_dir,
                                  const struct vq_batch_time *time, uint32_t calls, int64_t unix_ms,
                                  struct vq_error *err)
{
    struct vq_batch_time kept = *time;
    char path[4096], line[LINE_BYTES];
    plain(kept.dialect);
    plain(kept.model);
    VQ_TRY(put(times, &kept));
    path_of(runs_dir, path);
    (void)snprintf(line, sizeof(line), "%lld,%s,%s,%u,%.1f,%s\n", (long long)(unix_ms / 1000),
                   kept.dialect, kept.model, calls, kept.seconds, word_of(kept.end));
    return append(path, line, err);
}

static int ascending(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

enum vq_status vq_batch_times_of(const struct vq_batch_times *times, const struct vq_conf_use *use,
                                 double speed, struct vq_durations *ret_durations,
                                 double **ret_memory)
{
    double *memory = vq_alloc(2 * times->count + 1, sizeof(*memory));
    if (memory == NULL) {
        return VQ_NOMEM;
    }
    struct vq_durations d = {.ended = memory, .cancelled = memory + times->count};
    struct vq_batch_time key = {.end = 'e'};
    (void)snprintf(key.dialect, sizeof(key.dialect), "%s", use->dialect);
    (void)snprintf(key.model, sizeof(key.model), "%s", use->sent);
    plain(key.dialect);
    plain(key.model);
    for (size_t i = 0; i < times->count; i++) {
        const struct vq_batch_time *t = &times->list[i];
        if (strcmp(t->dialect, key.dialect) != 0 || strcmp(t->model, key.model) != 0) {
            continue;
        }
        if (t->end == 'e') {
            memory[d.count++] = t->seconds * speed;
        } else if (t->end == 'c') {
            memory[times->count + d.cancelled_count++] = t->seconds * speed;
        } else {
            d.expired++;
        }
    }
    qsort(memory, d.count, sizeof(*memory), ascending);
    qsort(memory + times->count, d.cancelled_count, sizeof(*memory), ascending);
    *ret_durations = d;
    *ret_memory = memory;
    return VQ_OK;
}

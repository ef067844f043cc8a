/* process_* like those of the client libraries of Prometheus, from /proc/self. */
#include "coordinator/run/metrics_run.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void put(struct vq_buf *out, const char *name, const char *type, const char *help,
                double value)
{
    vq_buf_printf(out, "# HELP process_%s %s\n# TYPE process_%s %s\nprocess_%s %.15g\n", name, help,
                  name, type, name, value);
}

static bool read_text(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "re");
    size_t n = file == NULL ? 0 : fread(text, 1, bytes - 1, file);
    text[n] = '\0';
    if (file != NULL) {
        (void)fclose(file);
    }
    return n > 0;
}

/* The machine's start time; 0: unknown. */
static double boot_unix_s(void)
{
    char text[65536];
    unsigned long long at = 0;
    const char *line =
        read_text("/proc/stat", text, sizeof(text)) ? strstr(text, "\nbtime ") : NULL;
    return line != NULL && sscanf(line, "\nbtime %llu", &at) == 1 ? (double)at : 0;
}

static void put_stat(struct vq_buf *out)
{
    char text[4096];
    unsigned long long user, system, start, memory;
    long long resident;
    const char *after =
        read_text("/proc/self/stat", text, sizeof(text)) ? strrchr(text, ')') : NULL;
    double ticks = (double)sysconf(_SC_CLK_TCK), page = (double)sysconf(_SC_PAGESIZE);
    if (after == NULL ||
        sscanf(after,
               ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d "
               "%llu %llu %lld",
               &user, &system, &start, &memory, &resident) != 5) {
        return;
    }
    put(out, "cpu_seconds_total", "counter", "CPU time of the coordinator.",
        (double)(user + system) / ticks);
    put(out, "virtual_memory_bytes", "gauge", "Virtual memory.", (double)memory);
    put(out, "resident_memory_bytes", "gauge", "Resident memory.", (double)resident * page);
    double boot = boot_unix_s();
    if (boot > 0) {
        put(out, "start_time_seconds", "gauge", "Start of the process, in seconds since 1970.",
            boot + (double)start / ticks);
    }
}

void vq_process_metrics(struct vq_buf *out)
{
    put_stat(out);
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_cur != RLIM_INFINITY) {
        put(out, "max_fds", "gauge", "The most file descriptors that it may open.",
            (double)most.rlim_cur);
    }
    DIR *dir = opendir("/proc/self/fd");
    if (dir != NULL) {
        int open_fds = -3; /* without ., .., and the descriptor of this folder */
        while (readdir(dir) != NULL) {
            open_fds++;
        }
        (void)closedir(dir);
        put(out, "open_fds", "gauge", "Open file descriptors.", open_fds);
    }
}

/* RUNS/batches.csv: what is added is read again, by dialect and model, and a damaged line costs
 * that line alone. */
#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "coordinator/store/rundir/batch_times.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64], path[128];

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/vq-times-XXXXXX");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/%s", dir, VQ_BATCH_TIMES_FILE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(dir);
}

static void add(struct vq_batch_times *times, const char *model, double seconds, char end)
{
    struct vq_batch_time time = {.seconds = seconds, .end = end};
    (void)snprintf(time.dialect, sizeof(time.dialect), "openai");
    (void)snprintf(time.model, sizeof(time.model), "%s", model);
    assert_int_equal(vq_batch_times_add(times, dir, &time, 50, 1000, NULL), VQ_OK);
}

static struct vq_durations of(const struct vq_batch_times *times, const char *model, double speed,
                              double **ret_memory)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%s", model);
    struct vq_conf_use use = {.dialect = "openai", .sent = name};
    struct vq_durations d;
    assert_int_equal(vq_batch_times_of(times, &use, speed, &d, ret_memory), VQ_OK);
    return d;
}

TEST_WITH(what_one_run_adds_the_next_one_reads, setup, teardown)
{
    struct vq_batch_times times, again;
    double *memory;
    assert_int_equal(vq_batch_times_load(dir, &times), VQ_OK); /* there is no file */
    assert_int_equal(times.count, 0);
    add(&times, "small, \"new\"", 30, 'e');
    add(&times, "small, \"new\"", 10, 'e');
    add(&times, "small, \"new\"", 99, 'c');
    add(&times, "small, \"new\"", 86400, 'x');
    add(&times, "large", 7, 'e');
    assert_int_equal(vq_batch_times_load(dir, &again), VQ_OK);
    assert_int_equal(again.count, 5);
    struct vq_durations d = of(&again, "small, \"new\"", 2, &memory);
    assert_int_equal(d.count, 2);
    assert_true(d.ended[0] == 20 && d.ended[1] == 60); /* ascending, and twice as fast */
    assert_true(d.cancelled_count == 1 && d.cancelled[0] == 198);
    assert_int_equal(d.expired, 1);
    vq_free(memory);
    d = of(&again, "none", 1, &memory);
    assert_int_equal(d.count + d.cancelled_count + d.expired, 0);
    vq_free(memory);
    vq_batch_times_free(&times);
    vq_batch_times_free(&again);
}

TEST_WITH(a_line_that_cannot_be_read_is_left_out, setup, teardown)
{
    static const char text[] = "ended_unix_s,dialect,model,calls,seconds,end\n"
                               "1,openai,small,50,1.5,ended\n"
                               "1,openai,small,50,-1,ended\n"
                               "1,openai,small,50,nan,ended\n"
                               "1,openai,small,50,3,gone\n"
                               "words\n"
                               "1,openai,small,50,2.5,expired\n"
                               "1,openai,small,5";
    struct vq_batch_times times;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
    assert_int_equal(vq_batch_times_load(dir, &times), VQ_OK);
    assert_int_equal(times.count, 2);
    assert_true(times.list[0].end == 'e' && times.list[1].end == 'x');
    vq_batch_times_free(&times);
}

TEST_WITH(the_latest_ones_count, setup, teardown)
{
    struct vq_batch_times times;
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    for (unsigned i = 0; i < VQ_BATCH_TIMES_MAX + 7; i++) {
        fprintf(file, "1,openai,small,50,%u,ended\n", i);
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(vq_batch_times_load(dir, &times), VQ_OK);
    assert_int_equal(times.count, VQ_BATCH_TIMES_MAX);
    assert_true(times.list[0].seconds == 7);
    vq_batch_times_free(&times);
}

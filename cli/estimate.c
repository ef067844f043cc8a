/* The lines before a run: the most calls by what they are for, then tokens and dollars as expected.
 * `vibeq plan` prints more of the same forecast. Not its job: the numbers
 * (methods/plan/files/forecast.c), and what a method says of its calls. */
#include "cli/estimate.h"

#include "methods/files/method_type.h"

#include <stdio.h>

#define LINES_BYTES_MAX (1u << 20)

static void put(struct vq_buf *lines)
{
    (void)fwrite(lines->at, 1, lines->bytes, stderr);
    vq_buf_free(lines);
}

void vq_cli_say_data(const struct vq_job *job)
{
    struct vq_buf lines;
    vq_buf_init(&lines, LINES_BYTES_MAX);
    if (job->method->show_data != NULL) {
        job->method->show_data(job, &lines);
    }
    put(&lines);
}

void vq_cli_say_estimate(const struct vq_job *job, const struct vq_forecast *f)
{
    struct vq_buf lines;
    vq_buf_init(&lines, LINES_BYTES_MAX);
    if (job->method->show_calls != NULL) {
        job->method->show_calls(job, f, &lines);
    } else {
        vq_forecast_show_total(f, &lines);
    }
    put(&lines);
}

/* The messages of a run: a line for the person, the log, and the one reason why it cannot continue.
 * The first reason counts; it ends the loop. Not its job: the progress line, or deciding what is
 * fatal. */
#include "common/base/clock.h"
#include "common/text/log.h"
#include "coordinator/run/parts.h"

#include <stdio.h>

int64_t vq_run_now(void)
{
    return vq_clock_mono_ns();
}

void vq_run_fatal(struct vq_run *run, enum vq_status status, const char *fmt, ...)
{
    if (run->fatal != VQ_OK) {
        return; /* the first reason counts */
    }
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(run->err.text, sizeof(run->err.text), fmt, args);
    va_end(args);
    run->fatal = status;
    vq_log(VQ_LOG_ERROR, "run.fatal", "status=%s why=%s", vq_status_name(status), run->err.text);
    if (run->loop != NULL) {
        vq_loop_stop(run->loop);
    }
}

void vq_run_check_core(struct vq_run *run, enum vq_status status)
{
    if (status != VQ_OK) {
        vq_run_fatal(run, status, "the coordinator's core gave up: %s", vq_status_text(status));
    }
}

void vq_run_message(struct vq_run *run, const char *fmt, ...)
{
    char text[VQ_ERROR_BYTES_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    vq_log(VQ_LOG_INFO, "said", "text=%s", text);
    vq_progress_clear(&run->screen);
    if (!run->options->quiet) {
        fprintf(stderr, "%s\n", text);
    }
}

VQ_PRINTF(4, 0)
static void add_trouble(struct vq_run *run,
                        void (*how)(struct vq_troubles *, const struct vq_trouble *, int64_t),
                        struct vq_trouble trouble, const char *fmt, va_list args)
{
    char text[VQ_ERROR_BYTES_MAX];
    (void)vsnprintf(text, sizeof(text), fmt, args);
    trouble.text = text;
    if (run->control.troubles != NULL) { /* NULL while it is starting or ending */
        how(run->control.troubles, &trouble, vq_clock_unix_ms());
    }
}

void vq_run_trouble(struct vq_run *run, enum vq_trouble_kind kind, const char *subject,
                    const char *advice, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_trouble(run, vq_troubles_begin, (struct vq_trouble){kind, subject, NULL, advice}, fmt,
                args);
    va_end(args);
}

void vq_run_trouble_over(struct vq_run *run, enum vq_trouble_kind kind, const char *subject)
{
    if (run->control.troubles != NULL) {
        vq_troubles_end(run->control.troubles, kind, subject, vq_clock_unix_ms());
    }
}

void vq_run_moment(struct vq_run *run, enum vq_trouble_kind kind, const char *subject,
                   const char *advice, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_trouble(run, vq_troubles_moment, (struct vq_trouble){kind, subject, NULL, advice}, fmt,
                args);
    va_end(args);
}

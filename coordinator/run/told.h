/* What a person set with `vibeq ctl`, kept so that it survives a crash: a list of commands that
 * lead to what is in force now. A later command takes the place of earlier ones about the same
 * thing. Pure; told_run.c keeps the list in the run's folder and applies it. */
#ifndef VQ_COORDINATOR_RUN_TOLD_H
#define VQ_COORDINATOR_RUN_TOLD_H

#include "coordinator/run/ctl.h"

#define VQ_TOLD_FILE      "told.json"
#define VQ_TOLD_MAX       2048u /* commands: six for each pool, and a few */
#define VQ_TOLD_BYTES_MAX (4u << 20)
#define VQ_TOLD_WORDS_MAX 4u

struct vq_told_command {
    char *words[VQ_TOLD_WORDS_MAX]; /* owned; "pool", "team", "--rpm", "600" */
    uint32_t words_count;
    int64_t at_unix_ms;
};

/* All zero: no command is in force. */
struct vq_told {
    struct vq_told_command *commands; /* in the order in which they were given */
    size_t count, cap;
};

/* Notes a command that was carried out. One that sets nothing (requeue, drain) is left out.
 * VQ_NOMEM, VQ_LIMIT: the list is as before, but for commands that the new one replaces. */
enum vq_status vq_told_add(struct vq_told *told, const struct vq_ctl_asked *asked,
                           int64_t unix_ms) VQ_WARN_UNUSED;
void vq_told_remove(struct vq_told *told, size_t index);
void vq_told_free(struct vq_told *told);

void vq_told_write(const struct vq_told *told, struct vq_buf *out);
/* VQ_NOMEM; VQ_CORRUPT with what is wrong in err: *ret_told is empty. */
enum vq_status vq_told_read(struct vq_span text, struct vq_told *ret_told,
                            struct vq_error *err) VQ_WARN_UNUSED;

/* Whether `vibeq resume --set KEY=VALUE` speaks of what `command` set; `is_own`: its pool is a
 * judge's own endpoint, else it is an account with the number `account` in the configuration. */
bool vq_told_is_overridden(const struct vq_told_command *command, const char *assignment,
                           bool is_own, uint32_t account);

#endif

/* The settings that a person made with `vibeq ctl`, as the list of commands that make them again
 * after a crash. A later command replaces earlier ones about the same thing. Pure;
 * ctl_settings_run.c stores the list in the run's folder and applies it. */
#pragma once

#include "coordinator/run/ctl.h"

#define VQ_CTL_SETTINGS_FILE      "told.json"
#define VQ_CTL_SETTINGS_KEY       "told" /* the list in this file */
#define VQ_CTL_SETTINGS_MAX       2048u  /* commands: six per pool, and a few more */
#define VQ_CTL_SETTINGS_BYTES_MAX (4u << 20)
#define VQ_CTL_SETTINGS_WORDS_MAX 4u

struct vq_ctl_setting {
    char *words[VQ_CTL_SETTINGS_WORDS_MAX]; /* owned; "pool", "team", "--rpm", "600" */
    uint32_t words_count;
    int64_t at_unix_ms;
};

/* All zero: no settings. */
struct vq_ctl_settings {
    struct vq_ctl_setting *list; /* in the order of the commands */
    size_t count, cap;
};

/* Adds a command that was carried out. Commands without a setting (requeue, drain, distrust) are
 * left out. VQ_NOMEM, VQ_LIMIT: the list is unchanged, but without the commands that the new one
 * replaces. */
enum vq_status vq_ctl_settings_add(struct vq_ctl_settings *settings,
                                   const struct vq_ctl_asked *asked,
                                   int64_t unix_ms) VQ_WARN_UNUSED;
void vq_ctl_settings_remove(struct vq_ctl_settings *settings, size_t index);
void vq_ctl_settings_free(struct vq_ctl_settings *settings);

void vq_ctl_settings_write(const struct vq_ctl_settings *settings, struct vq_buf *out);
/* VQ_NOMEM; VQ_CORRUPT with the reason in err: *ret_settings is empty. */
enum vq_status vq_ctl_settings_read(struct vq_span text, struct vq_ctl_settings *ret_settings,
                                    struct vq_error *err) VQ_WARN_UNUSED;

/* Whether `vibeq resume --set KEY=VALUE` changes what `command` set. If `is_own`, its pool is a
 * judge's own endpoint; otherwise it is the account with the number `account` in the
 * configuration. */
bool vq_ctl_settings_is_overridden(const struct vq_ctl_setting *command, const char *assignment,
                                   bool is_own, uint32_t account);

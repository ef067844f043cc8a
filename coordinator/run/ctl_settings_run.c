/* The settings of `vibeq ctl` survive this process: the file is written before `vibeq ctl` gets its
 * reply, and applied when the run is resumed. --set of that resume overrides them, because it is
 * later. A setting that cannot be stored or applied is reported at once. */
#include "coordinator/run/parts.h"

#include "common/base/clock.h"
#include "common/text/log.h"

#include <stdio.h>

static enum vq_status write_settings(struct vq_run *run, struct vq_error *err)
{
    struct vq_buf out;
    vq_buf_init(&out, VQ_CTL_SETTINGS_BYTES_MAX);
    vq_ctl_settings_write(&run->control.settings, &out);
    return vq_run_dir_write_buf(run->dir, VQ_CTL_SETTINGS_FILE, &out, true, err);
}

void vq_ctl_settings_keep(struct vq_run *run, const struct vq_ctl_asked *asked, struct vq_buf *said)
{
    struct vq_error err = {0};
    const char *command = asked->command->name;
    if (run->work->write == NULL || strcmp(command, "requeue") == 0 ||
        strcmp(command, "drain") == 0 || strcmp(command, "distrust") == 0) {
        return;
    }
    enum vq_status status = vq_ctl_settings_add(&run->control.settings, asked, vq_clock_unix_ms());
    if (status == VQ_OK) {
        status = write_settings(run, &err);
    }
    if (status != VQ_OK) {
        vq_log(VQ_LOG_WARN, "ctl.unwritten", "status=%s why=%s", vq_status_name(status), err.text);
        vq_buf_printf(said,
                      ". It is lost if this process ends, because " VQ_CTL_SETTINGS_FILE
                      " cannot be written: %.200s",
                      err.text[0] != '\0' ? err.text : vq_status_text(status));
    }
}

static bool is_overridden(const struct vq_run *run, const struct vq_ctl_setting *c)
{
    const struct vq_conf_uses *uses = &run->source.pools->uses;
    uint32_t p =
        c->words_count < 2 ? UINT32_MAX : vq_conf_uses_find(uses, vq_span_str(c->words[1]));
    const struct vq_conf_pool *account = p != UINT32_MAX ? uses->uses[p].account : NULL;
    uint32_t no = account == NULL ? 0 : (uint32_t)(account - run->source.config->pools);
    for (uint32_t i = 0; i < run->options->set_count; i++) {
        if (vq_ctl_settings_is_overridden(c, run->options->set[i], account == NULL, no)) {
            return true;
        }
    }
    return false;
}

static void name(const struct vq_ctl_setting *c, struct vq_buf *out)
{
    for (uint32_t i = 0; i < c->words_count; i++) {
        vq_buf_printf(out, "%s%s", i == 0 ? "" : " ", c->words[i]);
    }
}

/* A run that an earlier command paused must not look broken: also printed with --quiet. */
static void say_pause(struct vq_run *run, int64_t at_unix_ms)
{
    char when[VQ_RUN_WHEN_BYTES];
    run->control.held_since_unix_ms = at_unix_ms;
    vq_watch_when(at_unix_ms, when);
    if (run->options->quiet) {
        fprintf(stderr, "vibeq: %s is paused by vibeq ctl since %s; vibeq ctl %s resume\n",
                vq_run_dir_name(run->dir), when, vq_run_dir_name(run->dir));
    }
}

/* Returns false if the setting is not in force; it is then dropped. */
static bool apply(struct vq_run *run, const struct vq_ctl_setting *c)
{
    struct vq_ctl_asked asked;
    struct vq_error err = {0};
    struct vq_buf words, said;
    vq_buf_init(&words, VQ_ERROR_BYTES_MAX);
    vq_buf_init(&said, VQ_ERROR_BYTES_MAX);
    name(c, &words);
    const char *text = words.status == VQ_OK ? words.at : c->words[0];
    bool kept = false;
    if (is_overridden(run, c)) {
        vq_run_message(run, "vibeq ctl %s of an earlier process is not applied: --set wins.", text);
    } else if (vq_ctl_parse((const char *const *)c->words, c->words_count, &asked, &err) != VQ_OK ||
               asked.command->carry_out(run, asked.values, &said, &err) != VQ_OK) {
        vq_run_message(run, "vibeq ctl %s of an earlier process cannot be applied: %s", text,
                       err.text);
    } else {
        kept = true;
        vq_run_message(run, "vibeq ctl %s of an earlier process is in force: %s.", text,
                       said.status == VQ_OK ? said.at : "applied");
        if (strcmp(c->words[0], "pause") == 0) {
            say_pause(run, c->at_unix_ms);
        }
    }
    vq_buf_free(&words);
    vq_buf_free(&said);
    return kept;
}

void vq_ctl_settings_apply(struct vq_run *run)
{
    struct vq_buf text;
    struct vq_error err = {0};
    if (!run->options->resumed || run->work->write == NULL) {
        return;
    }
    vq_buf_init(&text, VQ_CTL_SETTINGS_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(run->dir, VQ_CTL_SETTINGS_FILE, &text, &err);
    if (status == VQ_OK) {
        status = vq_ctl_settings_read(vq_buf_span(&text), &run->control.settings, &err);
    }
    vq_buf_free(&text);
    if (status != VQ_OK && status != VQ_NOT_FOUND) {
        vq_run_message(run,
                       "What vibeq ctl set earlier is not in force: " VQ_CTL_SETTINGS_FILE ": %s",
                       err.text[0] != '\0' ? err.text : vq_status_text(status));
        return;
    }
    size_t before = run->control.settings.count;
    for (size_t i = 0; i < run->control.settings.count && run->fatal == VQ_OK;) {
        if (apply(run, &run->control.settings.list[i])) {
            i++;
        } else {
            vq_ctl_settings_remove(&run->control.settings, i);
        }
    }
    if (run->control.settings.count != before && write_settings(run, &err) != VQ_OK) {
        vq_run_message(run, VQ_CTL_SETTINGS_FILE " cannot be written: %s", err.text);
    }
}

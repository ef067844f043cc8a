/* The table of commands, how their words are parsed, and their effects on a run. Invariant: every
 * command that was carried out or refused is a line of the run's log. Not its job: access (the HTTP
 * server's token), and decisions of the core. */
#include "coordinator/run/ctl.h"

#include "common/base/clock.h"
#include "common/text/fmt.h"
#include "common/text/json.h"
#include "common/text/log.h"
#include "coordinator/run/ctl_batches.h"
#include "coordinator/run/ctl_pools.h"
#include "coordinator/run/distrust.h"
#include "coordinator/run/parts.h"

#include <stdio.h>
#include <string.h>

/* ---- actions ---- */

enum vq_status vq_ctl_going(const struct vq_run *run, struct vq_error *err)
{
    if (run->coord == NULL || run->distrust.again || run->fatal != VQ_OK || run->stop.finished ||
        run->stop.stopped || run->stop.interrupts > 0) {
        return vq_fail(err, VQ_DENIED, "the run is ending");
    }
    return VQ_OK;
}

static enum vq_status hold(struct vq_run *run, bool held)
{
    VQ_TRY(vq_coord_hold(run->coord, held, vq_run_now()));
    run->control.held = held;
    run->control.held_since_unix_ms = held ? vq_clock_unix_ms() : 0;
    vq_loop_again(run->loop);
    vq_control_write_status(run);
    return VQ_OK;
}

static enum vq_status do_pause(struct vq_run *run, const char *const *values, struct vq_buf *said,
                               struct vq_error *err)
{
    (void)values;
    VQ_TRY(vq_ctl_going(run, err));
    if (run->control.held) {
        char since[VQ_RUN_WHEN_BYTES];
        vq_watch_when(run->control.held_since_unix_ms, since);
        vq_buf_printf(said, "paused by vibeq ctl already, since %s", since);
        return VQ_OK;
    }
    VQ_TRY(hold(run, true));
    vq_buf_puts(said, "paused: no call starts; calls in flight end and count");
    return VQ_OK;
}

static enum vq_status do_resume(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                struct vq_error *err)
{
    (void)values;
    VQ_TRY(vq_ctl_going(run, err));
    if (!run->control.held) {
        vq_buf_puts(said, "the run is not paused");
        return VQ_OK;
    }
    VQ_TRY(hold(run, false));
    vq_buf_puts(said, "resumed");
    return VQ_OK;
}

/* ---- drain ---- */

/* A local worker that was ordered to leave is not started again. */
static void leave_ended(struct vq_run *run, const char *name)
{
    struct vq_coord_worker_status w;
    for (uint32_t i = 0; vq_coord_worker_fill(run->coord, i, &w); i++) {
        if (strcmp(w.name, name) == 0 && w.local >= 0 &&
            (uint64_t)w.local < run->children.workers_count) {
            run->children.workers[w.local].leaves = true;
        }
    }
}

static void name_workers(const struct vq_run *run, struct vq_buf *list)
{
    struct vq_coord_worker_status w;
    for (uint32_t i = 0; vq_coord_worker_fill(run->coord, i, &w); i++) {
        vq_buf_printf(list, "%s%s", i == 0 ? "" : ", ", w.name);
    }
}

static enum vq_status do_drain(struct vq_run *run, const char *const *values, struct vq_buf *said,
                               struct vq_error *err)
{
    uint32_t drained = 0, stay = 0;
    VQ_TRY(vq_ctl_going(run, err));
    VQ_TRY(vq_coord_drain_worker(run->coord, values[0], vq_run_now(), &drained, &stay));
    if (drained == 0) {
        struct vq_buf list;
        vq_buf_init(&list, VQ_ERROR_BYTES_MAX / 2);
        name_workers(run, &list);
        enum vq_status status =
            vq_fail(err, VQ_DENIED, "there is no worker '%.60s'; this run has %s", values[0],
                    list.bytes == 0        ? "none"
                    : list.status == VQ_OK ? list.at
                                           : "those that vibeq status shows");
        vq_buf_free(&list);
        return status;
    }
    if (stay == 0) {
        return vq_fail(err, VQ_DENIED,
                       "no other worker would stay; pause the run, or let another worker join "
                       "first");
    }
    leave_ended(run, values[0]);
    vq_loop_again(run->loop);
    vq_buf_printf(said, "%s gets no more work; it ends its calls, returns the rest and leaves",
                  values[0]);
    return VQ_OK;
}

/* ---- requeue ---- */

enum requeue_value {
    REQUEUE_CLASS,
    REQUEUE_STAGE
};

uint32_t vq_ctl_failures(const char *name)
{
    for (int o = VQ_OUTCOME_ERROR; o <= VQ_OUTCOME_WORKER_LOST; o++) {
        if (strcmp(name, vq_outcome_name((enum vq_outcome)o)) == 0) {
            return vq_outcome_failure_bit((enum vq_outcome)o);
        }
    }
    return 0;
}

enum vq_status vq_ctl_failures_check(const char *name, struct vq_error *err)
{
    return name == NULL || vq_ctl_failures(name) != 0
               ? VQ_OK
               : vq_fail(err, VQ_INVALID, "--class is one of %s, not '%.40s'", VQ_CTL_CLASSES,
                         name);
}

static enum vq_status check_requeue(const char *const *values, struct vq_error *err)
{
    return vq_ctl_failures_check(values[REQUEUE_CLASS], err);
}

static enum vq_status check_stage(const struct vq_run *run, const char *stage, struct vq_error *err)
{
    if (stage != NULL && strcmp(stage, run->stages.asking->name) != 0) {
        return vq_fail(err, VQ_DENIED,
                       "the current stage is %s, not %.60s; vibeq resume %s --retry-failed retries "
                       "the failed tasks of other stages after the run has ended",
                       run->stages.asking->name, stage, vq_run_dir_name(run->dir));
    }
    if (run->stages.is_over) {
        return vq_fail(err, VQ_DENIED, "stage %s is over; try again when the next one has begun",
                       run->stages.asking->name);
    }
    return VQ_OK;
}

static enum vq_status do_requeue(struct vq_run *run, const char *const *values, struct vq_buf *said,
                                 struct vq_error *err)
{
    VQ_TRY(vq_ctl_going(run, err));
    VQ_TRY(check_stage(run, values[REQUEUE_STAGE], err));
    const char *name = values[REQUEUE_CLASS];
    uint32_t failures = name == NULL ? VQ_FAILURES_ALL : vq_ctl_failures(name);
    struct vq_coord_status s;
    uint64_t tasks;
    vq_coord_status_fill(run->coord, vq_run_now(), &s);
    VQ_TRY(vq_coord_requeue(run->coord, failures, vq_run_now(), &tasks));
    vq_loop_again(run->loop);
    if (tasks == 0) {
        vq_buf_printf(said, "nothing to retry: no task of stage %s failed%s%s",
                      run->stages.asking->name, name == NULL ? "" : " as ",
                      name == NULL ? "" : name);
        return VQ_OK;
    }
    vq_buf_printf(said, "%llu failed task%s of stage %s %s retried:", (unsigned long long)tasks,
                  vq_fmt_plural(tasks), run->stages.asking->name, tasks == 1 ? "is" : "are");
    const char *comma = "";
    for (int o = VQ_OUTCOME_ERROR; o <= VQ_OUTCOME_WORKER_LOST; o++) {
        if ((vq_outcome_failure_bit((enum vq_outcome)o) & failures) != 0 && s.all.outcome[o] > 0) {
            vq_buf_printf(said, "%s %llu %s", comma, (unsigned long long)s.all.outcome[o],
                          vq_outcome_name((enum vq_outcome)o));
            comma = ",";
        }
    }
    return VQ_OK;
}

const struct vq_ctl_command vq_ctl_commands[] = {
    {.name = "pause",
     .help = "Starts no more calls until `resume`; calls in flight end and count, workers stay",
     .carry_out = do_pause,
     .otherwise = "resume RUN"},
    {.name = "resume",
     .help = "Ends a pause at once",
     .carry_out = do_resume,
     .otherwise = "resume RUN, and then vibeq ctl RUN resume"},
    {.name = "pool",
     .args = {{.name = "NAME",
               .help = "The pool's name in the configuration and in `vibeq status`"},
              {.name = "rpm", .value = "N", .help = "Requests per minute"},
              {.name = "itpm", .value = "N", .help = "Input tokens per minute"},
              {.name = "otpm", .value = "N", .help = "Output tokens per minute"},
              {.name = "tpm", .value = "N", .help = "Input and output tokens per minute"},
              {.name = "concurrency", .value = "N", .help = "Calls in flight"}},
     .help = "Changes the limits of a pool at once; other pools keep their limits",
     .check = vq_ctl_check_pool,
     .carry_out = vq_ctl_do_pool,
     .otherwise = "resume RUN --set pools[0].models[0].requests_per_minute=N"},
    {.name = "park",
     .args = {{.name = "NAME", .help = "The pool's name"}},
     .help = "Sends no more calls to a pool until `unpark`; other pools continue",
     .carry_out = vq_ctl_do_park,
     .otherwise = "resume RUN"},
    {.name = "unpark",
     .args = {{.name = "NAME", .help = "The pool's name"}},
     .help = "Sends calls to a parked pool again",
     .carry_out = vq_ctl_do_unpark,
     .otherwise = "resume RUN"},
    {.name = "budget",
     .args = {{.name = "USD", .help = "Dollars for the whole run, including its cost so far"}},
     .help = "Changes the budget of the run, up or down",
     .check = vq_ctl_check_budget,
     .carry_out = vq_ctl_do_budget,
     .otherwise = "resume RUN --set budget.usd=USD"},
    {.name = "concurrency",
     .args = {{.name = "N", .help = "Calls in flight"},
              {.name = "pool", .value = "NAME", .help = "Only of this pool"}},
     .help = "Changes the largest number of calls in flight, of every pool or of one",
     .check = vq_ctl_check_concurrency,
     .carry_out = vq_ctl_do_concurrency,
     .otherwise = "resume RUN --set judges[0].concurrency=N"},
    {.name = "requeue",
     .args = {[REQUEUE_CLASS] = {"class", "CLASS", "only tasks that failed as " VQ_CTL_CLASSES},
              [REQUEUE_STAGE] = {"stage", "STAGE", "only if this is the current stage"}},
     .help = "Retries the failed tasks of the current stage (`vibeq dead` lists them)",
     .check = check_requeue,
     .carry_out = do_requeue,
     .otherwise = "resume RUN --retry-failed"},
    {.name = "batches",
     .help = "Lists the batches at providers in which calls wait",
     .carry_out = vq_ctl_do_batches,
     .otherwise = "resume RUN"},
    {.name = "cancel",
     .args = {{.name = "BATCH", .help = "A name that `batches` lists, or all"}},
     .help = "Cancels a batch at its provider; its answers count, the other calls are asked again",
     .carry_out = vq_ctl_do_cancel,
     .otherwise = "resume RUN"},
    {.name = "drain",
     .args = {{.name = "WORKER", .help = "The worker's name in `vibeq status`"}},
     .help =
         "Orders a worker to leave: it gets no more work, finishes its calls and returns the rest",
     .carry_out = do_drain,
     .otherwise = "resume RUN --workers N"},
    {.name = "distrust",
     .args = {{.name = "WORKER",
               .help = "The name of its certificate, or its name in `vibeq status`"}},
     .help = "Refuses a worker, throws away what it delivered, and asks that again",
     .check = vq_distrust_check,
     .carry_out = vq_distrust_do,
     .carry_out_stopped = vq_distrust_do_stopped,
     .otherwise = "resume RUN"},
    {.name = NULL},
};

/* ---- parsing ---- */

static const struct vq_ctl_command *find(const char *name)
{
    for (const struct vq_ctl_command *c = vq_ctl_commands; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0) {
            return c;
        }
    }
    return NULL;
}

static enum vq_status unknown(const char *name, struct vq_error *err)
{
    struct vq_buf list;
    vq_buf_init(&list, VQ_ERROR_BYTES_MAX);
    for (const struct vq_ctl_command *c = vq_ctl_commands; c->name != NULL; c++) {
        vq_buf_printf(&list, "%s%s", c == vq_ctl_commands ? "" : ", ", c->name);
    }
    const char *all = list.status == VQ_OK ? list.at : "what `vibeq help ctl` lists";
    enum vq_status status =
        name == NULL ? vq_fail(err, VQ_INVALID, "no command is given; use one of %s", all)
                     : vq_fail(err, VQ_INVALID, "'%.60s' is no command; use one of %s", name, all);
    vq_buf_free(&list);
    return status;
}

static size_t args_count(const struct vq_ctl_command *command)
{
    size_t n = 0;
    while (n < VQ_CTL_ARGS_MAX && command->args[n].name != NULL) {
        n++;
    }
    return n;
}

/* The index of the option that `word` names, up to its end or "="; args_count: none. */
static size_t option_of(const struct vq_ctl_command *command, const char *word)
{
    size_t bytes = strcspn(word, "=");
    size_t n = args_count(command);
    for (size_t i = 0; i < n; i++) {
        const struct vq_ctl_arg *a = &command->args[i];
        if (a->value != NULL && strlen(a->name) == bytes && memcmp(a->name, word, bytes) == 0) {
            return i;
        }
    }
    return n;
}

static size_t next_word(const struct vq_ctl_asked *asked)
{
    size_t n = args_count(asked->command);
    for (size_t i = 0; i < n; i++) {
        if (asked->command->args[i].value == NULL && asked->values[i] == NULL) {
            return i;
        }
    }
    return n;
}

static enum vq_status take_word(struct vq_ctl_asked *asked, const char *const *words, size_t count,
                                size_t *at, struct vq_error *err)
{
    const struct vq_ctl_command *c = asked->command;
    const char *word = words[*at];
    bool option = strncmp(word, "--", 2) == 0;
    size_t i = option ? option_of(c, word + 2) : next_word(asked);
    if (i == args_count(c)) {
        return vq_fail(err, VQ_INVALID,
                       "%s does not take '%.60s'; `vibeq help ctl` shows its words", c->name, word);
    }
    const char *value = word;
    if (option) {
        const char *equals = strchr(word, '=');
        if (equals == NULL && *at + 1 == count) {
            return vq_fail(err, VQ_INVALID, "--%s needs a value: --%s %s", c->args[i].name,
                           c->args[i].name, c->args[i].value);
        }
        value = equals != NULL ? equals + 1 : words[++*at];
    }
    if (asked->values[i] != NULL) {
        return vq_fail(err, VQ_INVALID, "--%s is given twice", c->args[i].name);
    }
    asked->values[i] = value;
    return VQ_OK;
}

enum vq_status vq_ctl_parse(const char *const *words, size_t count, struct vq_ctl_asked *ret_asked,
                            struct vq_error *err)
{
    struct vq_ctl_asked asked = {.command = count == 0 ? NULL : find(words[0])};
    if (asked.command == NULL) {
        return unknown(count == 0 ? NULL : words[0], err);
    }
    if (count > VQ_CTL_WORDS_MAX) {
        return vq_fail(err, VQ_INVALID, "a command has at most %u words", VQ_CTL_WORDS_MAX);
    }
    for (size_t i = 1; i < count; i++) {
        VQ_TRY(take_word(&asked, words, count, &i, err));
    }
    size_t missing = next_word(&asked);
    if (missing < args_count(asked.command)) {
        return vq_fail(err, VQ_INVALID, "%s needs %s", asked.command->name,
                       asked.command->args[missing].name);
    }
    if (asked.command->check != NULL) {
        VQ_TRY(asked.command->check(asked.values, err));
    }
    *ret_asked = asked;
    return VQ_OK;
}

void vq_ctl_usage(const struct vq_ctl_command *command, struct vq_buf *out)
{
    vq_buf_puts(out, command->name);
    for (size_t i = 0; i < args_count(command); i++) {
        const struct vq_ctl_arg *a = &command->args[i];
        if (a->value == NULL) {
            vq_buf_printf(out, " %s", a->name);
        } else {
            vq_buf_printf(out, " [--%s %s]", a->name, a->value);
        }
    }
}

/* ---- HTTP ---- */

/* Cuts a copy of the body into its lines. */
static enum vq_status cut(struct vq_span body, char text[VQ_CTL_BYTES_MAX + 1],
                          const char *words[VQ_CTL_WORDS_MAX], size_t *ret_count,
                          struct vq_error *err)
{
    if (body.bytes > VQ_CTL_BYTES_MAX ||
        (body.bytes > 0 && memchr(body.at, '\0', body.bytes) != NULL)) {
        return vq_fail(err, VQ_INVALID, "a command is a few short words, one per line");
    }
    if (body.bytes > 0) {
        memcpy(text, body.at, body.bytes);
    }
    text[body.bytes] = '\0';
    size_t count = 0;
    for (char *at = text; *at != '\0';) {
        char *end = at + strcspn(at, "\n");
        bool last = *end == '\0';
        *end = '\0';
        if (count == VQ_CTL_WORDS_MAX) {
            return vq_fail(err, VQ_INVALID, "a command has at most %u words", VQ_CTL_WORDS_MAX);
        }
        words[count++] = at;
        at = last ? end : end + 1;
    }
    *ret_count = count;
    return VQ_OK;
}

static void answer_json(bool ok, const char *text, struct vq_buf *answer)
{
    struct vq_json j;
    vq_json_open(&j, answer, 0);
    vq_json_put_bool(&j, "ok", ok);
    vq_json_put_str(&j, "text", text);
    vq_json_close(&j);
}

/* A command that arrived too late: `vibeq ctl` has already reported to the person that its outcome
 * is unknown. */
static int late(int64_t late_ms, const char *name, struct vq_buf *answer)
{
    char text[VQ_ERROR_BYTES_MAX];
    (void)snprintf(text, sizeof(text),
                   "not carried out: %s reached the run %.1f s after its deadline", name,
                   (double)late_ms / 1000);
    vq_log(VQ_LOG_WARN, "ctl.late", "command=%s late_ms=%lld what=dropped", name,
           (long long)late_ms);
    answer_json(false, text, answer);
    return 409;
}

static int serve(struct vq_run *run, struct vq_span body, const struct vq_ctl_stamp *stamp,
                 struct vq_buf *answer)
{
    char text[VQ_CTL_BYTES_MAX + 1];
    const char *words[VQ_CTL_WORDS_MAX];
    size_t count = 0;
    struct vq_ctl_asked asked = {.command = NULL};
    struct vq_error err = {0};
    struct vq_buf said;
    vq_buf_init(&said, VQ_CTL_REPLY_BYTES_MAX);
    enum vq_status status = cut(body, text, words, &count, &err);
    if (status == VQ_OK) {
        status = vq_ctl_parse(words, count, &asked, &err);
    }
    int http = status == VQ_OK ? 200 : 400;
    int64_t late_ms = vq_clock_unix_ms() - stamp->deadline_unix_ms;
    if (status == VQ_OK && stamp->id[0] != '\0' && late_ms > 0) {
        vq_buf_free(&said);
        return late(late_ms, asked.command->name, answer);
    }
    if (status == VQ_OK) {
        status = asked.command->carry_out(run, asked.values, &said, &err);
        http = status == VQ_OK ? 200 : 409;
        if (status == VQ_OK) {
            vq_ctl_settings_keep(run, &asked, &said);
        }
    }
    const char *name = asked.command == NULL ? "?" : asked.command->name;
    if (http == 409 && status != VQ_DENIED) {
        vq_run_fatal(run, status, "the coordinator's core gave up: %s", vq_status_text(status));
        (void)vq_fail(&err, status, "the run cannot continue: %s", vq_status_text(status));
    }
    const char *done = said.status == VQ_OK ? said.at : "done; there is no memory for the reply";
    const char *what = http == 200 ? done : err.text;
    vq_log(http == 200 ? VQ_LOG_INFO : VQ_LOG_WARN, "ctl", "command=%s status=%d said=%s", name,
           http, what);
    if (http == 200) {
        vq_run_message(run, "%s, by vibeq ctl: %s", name, what);
    }
    answer_json(http == 200, what, answer);
    vq_ctl_once_keep(&run->control.ctl_once, stamp->id, http, what);
    vq_buf_free(&said);
    return http;
}

int vq_ctl_serve(struct vq_run *run, struct vq_span body, struct vq_buf *answer)
{
    struct vq_ctl_stamp stamp = {.id = ""};
    struct vq_error err = {0};
    if (vq_ctl_stamp_take(&body, &stamp, &err) != VQ_OK) {
        answer_json(false, err.text, answer);
        return 400;
    }
    const struct vq_ctl_reply *reply = vq_ctl_once_find(&run->control.ctl_once, stamp.id);
    if (reply != NULL) {
        answer_json(reply->http == 200, reply->text, answer);
        return reply->http;
    }
    return serve(run, body, &stamp, answer);
}

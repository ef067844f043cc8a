/* `vibeq dead RUN`: the tasks that failed for good, with their reasons, counts first. Reads the
 * store; for an active run it shows the committed state. Not its job: repeating them (`vibeq ctl
 * RUN requeue`, `vibeq resume RUN --retry-failed`). */
#include "methods/files/dead.h"

#include "cli/open_run.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/text/fmt.h"
#include "common/text/json.h"
#include "methods/grid/stage_grid.h"

#include <stdio.h>
#include <stdlib.h>

#define SHOWN_MAX      50u /* failed tasks in the table for people */
#define JSON_BYTES_MAX ((size_t)1 << 32)

struct dead_words {
    struct vq_open_run_words kept;
    bool json, all;
};

const struct vq_opt vq_dead_opts[] = {
    {"runs", VQ_OPT_TEXT, offsetof(struct dead_words, kept.runs), "DIR",
     "runs folder; default VIBEQ_RUNS, then ./runs"},
    {"json", VQ_OPT_FLAG, offsetof(struct dead_words, json), NULL, "all failed tasks as JSON"},
    {"all", VQ_OPT_FLAG, offsetof(struct dead_words, all), NULL,
     "print all, not only the first 50"},
    {0},
};

/* ---- groups: failed tasks of one stage, judge and reason ---- */

struct group {
    uint32_t stage, judge;
    enum vq_outcome reason;
    uint64_t count;
};

struct dead {
    const struct vq_open_run *kept;
    const struct vq_replay *replay;
    struct vq_dead_list list;
    struct group *groups;
    size_t groups_count, groups_cap;
};

static struct vq_cell cell_of(const struct dead *d, const struct vq_dead_letter *letter)
{
    return vq_grid_cell(&d->replay->stages[letter->stage]->plan.grid, letter->task);
}

static int by_size(const void *a, const void *b)
{
    const struct group *x = a;
    const struct group *y = b;
    int stage = (x->stage > y->stage) - (x->stage < y->stage);
    int count = (x->count < y->count) - (x->count > y->count);
    int judge = (x->judge > y->judge) - (x->judge < y->judge);
    return stage != 0   ? stage
           : count != 0 ? count
           : judge != 0 ? judge
                        : (int)x->reason - (int)y->reason;
}

static enum vq_status count_letter(struct dead *d, const struct vq_dead_letter *letter)
{
    uint32_t judge = cell_of(d, letter).judge;
    for (size_t i = d->groups_count; i > 0; i--) { /* few: judges x reasons of the last stage */
        struct group *g = &d->groups[i - 1];
        if (g->stage == letter->stage && g->judge == judge && g->reason == letter->reason) {
            g->count++;
            return VQ_OK;
        }
    }
    void *groups = d->groups;
    VQ_TRY(vq_grow(&groups, &d->groups_cap, d->groups_count + 1, sizeof(*d->groups), 1u << 24));
    d->groups = groups;
    d->groups[d->groups_count++] = (struct group){letter->stage, judge, letter->reason, 1};
    return VQ_OK;
}

static enum vq_status group(struct dead *d)
{
    for (size_t i = 0; i < d->list.count; i++) {
        VQ_TRY(count_letter(d, &d->list.letters[i]));
    }
    if (d->groups_count > 0) {
        qsort(d->groups, d->groups_count, sizeof(*d->groups), by_size);
    }
    return VQ_OK;
}

static const char *stage_name(const struct dead *d, uint32_t stage)
{
    return d->replay->stages[stage]->name;
}

static const char *judge_name(const struct dead *d, uint32_t stage, uint32_t judge)
{
    return d->replay->stages[stage]->cast->judges[judge].name;
}

/* The record of the task; negative: a prompt of the method's own. */
static int64_t record_of(const struct dead *d, const struct vq_dead_letter *letter)
{
    const struct vq_stage_grid *a = d->replay->stages[letter->stage];
    uint32_t sample = cell_of(d, letter).sample;
    return vq_job_record(d->kept->job, a, sample);
}

/* The output that was rated; NULL: the task is not about one output. */
static const char *output_of(const struct dead *d, const struct vq_dead_letter *letter)
{
    return vq_job_output(d->kept->job, d->replay->stages[letter->stage], cell_of(d, letter).sample);
}

/* "" for a task without a vibe. */
static const char *vibe_of(const struct dead *d, const struct vq_dead_letter *letter)
{
    const struct vq_stage_grid *a = d->replay->stages[letter->stage];
    return record_of(d, letter) < 0 ? "" : a->axes[cell_of(d, letter).vibe].name;
}

/* ---- for people ---- */

static void print_letter(const struct dead *d, const struct vq_dead_letter *letter)
{
    struct vq_cell cell = cell_of(d, letter);
    int64_t record = record_of(d, letter);
    printf("  %-12s %-16s ", stage_name(d, letter->stage),
           judge_name(d, letter->stage, cell.judge));
    if (record >= 0) {
        const char *output = output_of(d, letter);
        printf("record %-6lld %-24.24s ", (long long)record, vibe_of(d, letter));
        if (output != NULL) {
            printf("%-16s ", output);
        } else {
            printf("order %u  ", cell.order);
        }
    } else {
        printf("prompt %-6u ", cell.sample);
    }
    printf("%-12s sent %u times", vq_outcome_name(letter->reason), letter->sends);
    if (letter->sends > 0) {
        printf(", last: %s", vq_call_end_word(letter->end));
    }
    if (letter->http_status != 0) {
        printf(" (HTTP %u)", letter->http_status);
    }
    if (letter->error.bytes > 0) {
        printf(": ");
        vq_cli_put_plain(letter->error);
    }
    printf("\n");
}

static void print_people(const struct dead *d, const char *run, bool all)
{
    char n[VQ_FMT_BYTES];
    if (d->list.count == 0) {
        printf("%s: no dead letters\n", run);
        return;
    }
    printf("%s: %s dead letter%s\n", run, vq_fmt_count(d->list.count, n),
           vq_fmt_plural(d->list.count));
    for (size_t i = 0; i < d->groups_count; i++) {
        const struct group *g = &d->groups[i];
        printf("  %-12s %-16s %-12s %s\n", stage_name(d, g->stage),
               judge_name(d, g->stage, g->judge), vq_outcome_name(g->reason),
               vq_fmt_count(g->count, n));
    }
    printf("\n");
    size_t shown = all || d->list.count < SHOWN_MAX ? d->list.count : SHOWN_MAX;
    for (size_t i = 0; i < shown; i++) {
        print_letter(d, &d->list.letters[i]);
    }
    if (shown < d->list.count) {
        printf("  and %s more; --all lists them\n", vq_fmt_count(d->list.count - shown, n));
    }
    printf(
        "\nTo retry them: vibeq ctl %s requeue while their stage is active; else vibeq resume %s "
        "--retry-failed\n",
        run, run);
}

/* ---- for programs ---- */

static void json_groups(const struct dead *d, struct vq_json *j)
{
    vq_json_put_array(j, "groups");
    for (size_t i = 0; i < d->groups_count; i++) {
        const struct group *g = &d->groups[i];
        vq_json_object(j);
        vq_json_put_str(j, "stage", stage_name(d, g->stage));
        vq_json_put_str(j, "judge", judge_name(d, g->stage, g->judge));
        vq_json_put_str(j, "class", vq_outcome_name(g->reason));
        vq_json_put_u64(j, "count", g->count);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void json_letter(const struct dead *d, const struct vq_dead_letter *letter,
                        struct vq_json *j)
{
    struct vq_cell cell = cell_of(d, letter);
    int64_t record = record_of(d, letter);
    vq_json_object(j);
    vq_json_put_str(j, "stage", stage_name(d, letter->stage));
    vq_json_put_u64(j, "task", letter->task);
    vq_json_put_str(j, "judge", judge_name(d, letter->stage, cell.judge));
    vq_json_put_u64(j, "sample", cell.sample);
    vq_json_put_known(j, "record", record >= 0, record);
    vq_json_put_str(j, "vibe", record < 0 ? NULL : vibe_of(d, letter));
    vq_json_put_str(j, "output", output_of(d, letter));
    vq_json_put_u64(j, "order", cell.order);
    vq_json_put_str(j, "class", vq_outcome_name(letter->reason));
    vq_json_put_u64(j, "sends", letter->sends);
    vq_json_put_str(j, "last_end", letter->sends == 0 ? NULL : vq_call_end_word(letter->end));
    vq_json_put_u64(j, "http_status", letter->http_status);
    vq_json_put_span(j, "error", letter->error);
    vq_json_object_end(j);
}

static enum vq_status print_json(const struct dead *d, const char *run, struct vq_error *err)
{
    struct vq_buf out;
    struct vq_json j;
    vq_buf_init(&out, JSON_BYTES_MAX);
    vq_json_init(&j, &out, 2);
    vq_json_object(&j);
    vq_json_put_u64(&j, "format", 1);
    vq_json_put_str(&j, "run", run);
    vq_json_put_u64(&j, "count", d->list.count);
    json_groups(d, &j);
    vq_json_put_array(&j, "dead");
    for (size_t i = 0; i < d->list.count; i++) {
        json_letter(d, &d->list.letters[i], &j);
    }
    vq_json_array_end(&j);
    vq_json_object_end(&j);
    vq_buf_putc(&out, '\n');
    return vq_cli_print(&out, err);
}

/* ---- the verb ---- */

/* The view stays open until everything is printed: texts point into it. */
static enum vq_status show(const struct dead_words *w, struct dead *d, struct vq_replay *replay,
                           struct vq_view *view, struct vq_error *err)
{
    const struct vq_id *uid = vq_run_dir_uid(d->kept->run);
    const char *name = vq_run_dir_name(d->kept->run);
    VQ_TRY(vq_dead_find(replay, view, uid, &d->list, err));
    enum vq_status status = group(d);
    if (status == VQ_OK && w->json) {
        status = print_json(d, name, err);
    } else if (status == VQ_OK) {
        print_people(d, name, w->all);
    }
    vq_dead_free(&d->list);
    vq_free(d->groups);
    return status;
}

static enum vq_status look(const struct dead_words *w, const struct vq_open_run *kept,
                           struct vq_error *err)
{
    const struct vq_id *uid = vq_run_dir_uid(kept->run);
    struct vq_replay replay = {.whole = false};
    struct dead d = {.kept = kept, .replay = &replay};
    struct vq_view *view;
    bool any;
    VQ_TRY(vq_view_begin(kept->calls, &view, err));
    enum vq_status status = vq_dead_any(view, uid, &any, err);
    vq_view_end(&view);
    VQ_TRY(status);
    if (any) { /* the walk opens its own views */
        VQ_TRY(vq_replay_walk(kept->job, kept->calls, uid, NULL, &replay, err));
    }
    status = vq_view_begin(kept->calls, &view, err);
    if (status == VQ_OK) {
        status = show(w, &d, &replay, view, err);
        vq_view_end(&view);
    }
    if (any) {
        vq_replay_free(&replay);
    }
    return status;
}

int vq_verb_dead(int argc, char **argv)
{
    struct dead_words w = {.json = false};
    struct vq_error err = {0};
    if (!vq_opts_parse_run("dead", vq_dead_opts, argc, argv, &w)) {
        return VQ_EXIT_USAGE;
    }
    struct vq_open_run kept;
    enum vq_status status = vq_open_run_look(&w.kept, argv[0], &kept, &err);
    if (status == VQ_OK) {
        status = look(&w, &kept, &err);
        vq_open_run_close(&kept);
    }
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}

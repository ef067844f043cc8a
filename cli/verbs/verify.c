/* `vibeq verify RUN`: prints each problem, then one line of figures. Not its job: the comparison
 * (methods/verify/verify.h). */
#include "methods/verify/verify.h"

#include "cli/open_run.h"
#include "cli/verbs.h"
#include "common/text/fmt.h"
#include "common/text/json.h"

#include <stdio.h>

#define SHOWN_MAX      40u
#define JSON_BYTES_MAX (64u << 20)
#define NANO           1e9

struct verify_words {
    struct vq_open_run_words kept;
    bool json;
};

const struct vq_opt vq_verify_opts[] = {
    {"runs", VQ_OPT_TEXT, offsetof(struct verify_words, kept.runs), "DIR",
     "runs folder; default VIBEQ_RUNS, then ./runs"},
    {"json", VQ_OPT_FLAG, offsetof(struct verify_words, json), NULL, "the whole result as JSON"},
    {0},
};

static bool is_right(const struct vq_verify *v)
{
    return v->wrong.all == 0;
}

/* ---- for people ---- */

static void print_list(const char *before, const struct vq_verify_list *list)
{
    char n[VQ_FMT_BYTES];
    for (size_t i = 0; i < list->count && i < SHOWN_MAX; i++) {
        printf("%s", before);
        vq_cli_put_plain(vq_span_str(list->said[i]));
        printf("\n");
    }
    if (list->all > SHOWN_MAX) {
        printf("%sand %s more\n", before, vq_fmt_count(list->all - SHOWN_MAX, n));
    }
}

static bool has_prices(const struct vq_job *job)
{
    const struct vq_conf_uses *uses = &job->pools.uses;
    for (uint32_t i = 0; i < uses->count; i++) {
        if (uses->uses[i].base_url != NULL && uses->uses[i].limits.price_input_usd >= 0) {
            return true;
        }
    }
    return false;
}

static void print_money(const struct vq_verify *v, const struct vq_job *job)
{
    char a[VQ_FMT_BYTES], b[VQ_FMT_BYTES], c[VQ_FMT_BYTES];
    if (v->store.paid_nano + v->store.paid_unused_nano + v->store.unknown_nano == 0 &&
        !has_prices(job)) {
        printf(" · no prices set");
        return;
    }
    printf(" · paid %s, paid but unused %s, unknown %s",
           vq_fmt_dollars((double)v->store.paid_nano / NANO, a),
           vq_fmt_dollars((double)v->store.paid_unused_nano / NANO, b),
           vq_fmt_dollars((double)v->store.unknown_nano / NANO, c));
}

static void print_people(const struct vq_verify *v, const struct vq_job *job, const char *run)
{
    char a[VQ_FMT_BYTES], b[VQ_FMT_BYTES], c[VQ_FMT_BYTES], d[VQ_FMT_BYTES], e[VQ_FMT_BYTES];
    print_list("", &v->wrong);
    print_list("note: ", &v->notes);
    printf("%s: %s task%s: %s answered, %s not needed, %s failed, %s open", run,
           vq_fmt_count(v->planned, a), vq_fmt_plural(v->planned), vq_fmt_count(v->answered, b),
           vq_fmt_count(v->not_needed, c), vq_fmt_count(v->failed, d), vq_fmt_count(v->open, e));
    printf(" · %s call%s: %s answered, %s paid but unused, %s unknown",
           vq_fmt_count(v->store.calls, a), vq_fmt_plural(v->store.calls),
           vq_fmt_count(v->store.answered, b), vq_fmt_count(v->store.paid_unused, c),
           vq_fmt_count(v->store.unknown, d));
    if (v->spooled > 0) {
        printf(", %s in spools", vq_fmt_count(v->spooled, e));
    }
    print_money(v, job);
    if (is_right(v)) {
        printf(" · verified\n");
    } else {
        printf(" · %s wrong\n", vq_fmt_count(v->wrong.all, a));
    }
}

/* ---- for programs ---- */

static void dollars(struct vq_json *j, const char *key, uint64_t nano)
{
    vq_json_put_real(j, key, (double)nano / NANO, 9);
}

static void sentences(struct vq_json *j, const char *key, const struct vq_verify_list *list)
{
    vq_json_put_array(j, key);
    for (size_t i = 0; i < list->count; i++) {
        vq_json_str(j, list->said[i]);
    }
    vq_json_array_end(j);
}

static enum vq_status print_json(const struct vq_verify *v, const char *run, bool running,
                                 struct vq_error *err)
{
    struct vq_buf out;
    struct vq_json j;
    vq_buf_init(&out, JSON_BYTES_MAX);
    vq_json_init(&j, &out, 2);
    vq_json_object(&j);
    vq_json_put_u64(&j, "format", 1);
    vq_json_put_str(&j, "run", run);
    vq_json_put_bool(&j, "verified", is_right(v));
    vq_json_put_bool(&j, "running", running);
    vq_json_put_bool(&j, "finished", v->finished);
    vq_json_put_bool(&j, "redis_compared", v->redis);
    vq_json_put_u64(&j, "planned", v->planned);
    vq_json_put_u64(&j, "answered", v->answered);
    vq_json_put_u64(&j, "not_needed", v->not_needed);
    vq_json_put_u64(&j, "failed", v->failed);
    vq_json_put_u64(&j, "open", v->open);
    vq_json_put_u64(&j, "rows", v->store.rows);
    vq_json_put_u64(&j, "rows_damaged", v->store.damaged);
    vq_json_put_u64(&j, "calls", v->store.calls);
    vq_json_put_u64(&j, "calls_answered", v->store.answered);
    vq_json_put_u64(&j, "calls_paid_unused", v->store.paid_unused);
    vq_json_put_u64(&j, "calls_unknown", v->store.unknown);
    vq_json_put_u64(&j, "calls_spooled", v->spooled);
    vq_json_put_u64(&j, "calls_spooled_unknown", v->spooled_unknown);
    dollars(&j, "paid_usd", v->store.paid_nano);
    dollars(&j, "paid_unused_usd", v->store.paid_unused_nano);
    dollars(&j, "unknown_usd", v->store.unknown_nano);
    vq_json_put_u64(&j, "wrong_count", v->wrong.all);
    sentences(&j, "wrong", &v->wrong);
    sentences(&j, "notes", &v->notes);
    vq_json_object_end(&j);
    vq_buf_putc(&out, '\n');
    return vq_cli_print(&out, err);
}

/* ---- the verb ---- */

static enum vq_status verify(const struct verify_words *w, const struct vq_open_run *kept,
                             bool *ret_right, struct vq_error *err)
{
    const char *name = vq_run_dir_name(kept->run);
    struct vq_run_info info;
    struct vq_verify found;
    VQ_TRY(vq_run_info_read(kept->runs_dir, name, &info, err));
    struct vq_verify_input in = {kept->job, kept->calls, kept->run, info.running};
    VQ_TRY(vq_verify_run(&in, &found, err));
    enum vq_status status = VQ_OK;
    if (w->json) {
        status = print_json(&found, name, info.running, err);
    } else {
        print_people(&found, kept->job, name);
    }
    *ret_right = is_right(&found);
    vq_verify_free(&found);
    return status;
}

int vq_verb_verify(int argc, char **argv)
{
    struct verify_words w = {.json = false};
    struct vq_error err = {0};
    if (!vq_opts_parse_run("verify", vq_verify_opts, argc, argv, &w)) {
        return VQ_EXIT_USAGE;
    }
    struct vq_open_run kept;
    bool right = false;
    enum vq_status status = vq_open_run_look(&w.kept, argv[0], &kept, &err);
    if (status == VQ_OK) {
        status = verify(&w, &kept, &right, &err);
        vq_open_run_close(&kept);
    }
    if (status != VQ_OK) {
        return vq_cli_fail(status, &err);
    }
    return right ? VQ_EXIT_DONE : VQ_EXIT_INTERNAL;
}

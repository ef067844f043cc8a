/* `vibeq vibes generate | show RUN | presets`: lists of vibes as YAML, ready for `vibes:` of a
 * configuration. Generating is one call outside of any run: nothing of it is stored. */
#include "cli/generate.h"
#include "cli/results_reader.h"
#include "cli/verbs.h"
#include "common/base/alloc.h"
#include "common/judge/axes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT_DEFAULT  10u
#define COUNT_MAX      100u
#define TEXT_BYTES_MAX ((size_t)16 << 20)

struct vibes_words {
    struct vq_opt_count count;
    struct vq_generate_words who;
    const char *out, *runs;
    bool all;
};

#define AT(field) offsetof(struct vibes_words, field)

const struct vq_opt vq_vibes_opts[] = {
    {"count", VQ_OPT_COUNT, AT(count), "N", "generate: the number of vibes, 1 to 100; default 10"},
    VQ_GENERATE_OPTS(struct vibes_words, who, "generate: "),
    {"out", VQ_OPT_TEXT, AT(out), "FILE", "a new file instead of standard output"},
    {"all", VQ_OPT_FLAG, AT(all), NULL, "show: also the vibes that were dropped"},
    {"runs", VQ_OPT_TEXT, AT(runs), "DIR", "runs folder; default VIBEQ_RUNS, then ./runs"},
    {0},
};

/* ---- a list as it is printed ---- */

static enum vq_status put(const struct vibes_words *w, const char *head,
                          const struct vq_conf_axis *axes, uint32_t count, struct vq_error *err)
{
    struct vq_buf out;
    vq_buf_init(&out, TEXT_BYTES_MAX);
    vq_buf_printf(&out, "# %s\n", head);
    enum vq_status status = vq_axes_file_write(axes, count, &out);
    if (status == VQ_OK) {
        status = vq_generate_put(w->out, &out, err);
    }
    vq_buf_free(&out);
    return status;
}

static enum vq_status put_axes(const struct vibes_words *w, const char *head,
                               const struct vq_axis *axes, size_t count, struct vq_error *err)
{
    struct vq_conf_axis *texts = vq_alloc(count, sizeof(*texts));
    if (texts == NULL) {
        return VQ_NOMEM;
    }
    for (size_t i = 0; i < count; i++) { /* only read */
        texts[i] = (struct vq_conf_axis){.name = (char *)(uintptr_t)axes[i].name,
                                         .low = (char *)(uintptr_t)axes[i].low,
                                         .high = (char *)(uintptr_t)axes[i].high};
    }
    enum vq_status status = put(w, head, texts, (uint32_t)count, err);
    vq_free(texts);
    return status;
}

static enum vq_status presets(const struct vibes_words *w, struct vq_error *err)
{
    size_t n;
    const struct vq_axis *axes = vq_preset_axes(&n);
    return put_axes(w, "the preset vibes of vibeq", axes, n, err);
}

static enum vq_status show(const struct vibes_words *w, const char *run, struct vq_error *err)
{
    char *runs_dir = NULL;
    struct vq_results_reader found = {.kept_count = 0};
    enum vq_status status = vq_runs_dir_find(w->runs, &runs_dir, err);
    if (status == VQ_OK) {
        status = vq_results_reader_read(runs_dir, run, &found, err);
    }
    uint32_t count = w->all ? found.list.count : found.kept_count;
    if (status == VQ_OK && count == 0) {
        status = vq_fail(err, VQ_NOT_FOUND, "%s kept no vibe; --all shows the %u that were ranked",
                         run, found.list.count);
    }
    if (status == VQ_OK) {
        char head[VQ_ERROR_BYTES_MAX];
        (void)snprintf(head, sizeof(head), "%s of the run %s",
                       w->all ? "all vibes" : "the kept vibes", run);
        status = put(w, head, found.list.axes, count, err);
    }
    vq_results_reader_free(&found);
    vq_free(runs_dir);
    return status;
}

/* ---- generate ---- */

/* Names that a configuration would refuse as the same: the first one stays. */
static size_t distinct(struct vq_axes *axes)
{
    size_t n = 0;
    for (size_t i = 0; i < axes->count; i++) {
        bool said = false;
        for (size_t k = 0; k < n; k++) {
            said |= strcasecmp(axes->items[k].name, axes->items[i].name) == 0;
        }
        if (!said) {
            struct vq_axis axis = axes->items[i]; /* exchanged: both stay owned by the list */
            axes->items[i] = axes->items[n];
            axes->items[n++] = axis;
        }
    }
    return n;
}

/* VQ_UNAVAILABLE: there is no answer that holds a vibe. */
static enum vq_status read_answer(const struct vibes_words *w, const struct vq_job *job,
                                  uint32_t count, const struct vq_once *once, struct vq_error *err)
{
    const char *answer = once->answer == NULL ? "" : once->answer;
    struct vq_axes axes;
    VQ_TRY(vq_axes_parse(vq_span_str(answer), &axes));
    size_t n = distinct(&axes);
    n = n < count ? n : count;
    if (n == 0) {
        vq_axes_free(&axes);
        return vq_generate_unread(job, "vibe", once, err);
    }
    if (n < count) {
        fprintf(stderr, "vibeq: %u vibes were asked for, %zu different ones came%s\n", count, n,
                once->finish_reason != NULL && strcmp(once->finish_reason, "length") == 0
                    ? "; the answer was cut, raise max_tokens"
                    : "");
    }
    char head[VQ_ERROR_BYTES_MAX];
    (void)snprintf(head, sizeof(head), "%zu general vibes, generated by %s", n,
                   job->cast[VQ_ROLE_PROPOSER].conf[0].model);
    enum vq_status status = put_axes(w, head, axes.items, n, err);
    vq_axes_free(&axes);
    return status;
}

static enum vq_status generate(const struct vibes_words *w, struct vq_error *err)
{
    uint32_t count = w->count.given ? w->count.value : COUNT_DEFAULT;
    struct vq_job *job;
    VQ_TRY(vq_generate_job(&w->who, &job, err));
    struct vq_once once = {.wanted = false};
    enum vq_status status = vq_generate_ask(job, VQ_TEMPLATE_GENERATE, count, &once, err);
    if (status == VQ_OK) {
        status = read_answer(w, job, count, &once, err);
    }
    vq_once_free(&once, 1);
    vq_job_destroy(&job);
    return status;
}

/* ---- the verb ---- */

static int check_generate(const struct vibes_words *w)
{
    int code = vq_generate_check("vibes", &w->who);
    if (code != VQ_EXIT_DONE) {
        return code;
    }
    if (w->count.given && (w->count.value == 0 || w->count.value > COUNT_MAX)) {
        return vq_cli_usage("vibes", "--count is 1 to %u", COUNT_MAX);
    }
    return VQ_EXIT_DONE;
}

int vq_verb_vibes(int argc, char **argv)
{
    struct vibes_words w = {.all = false};
    struct vq_error err = {0};
    int words;
    if (vq_opts_parse(vq_vibes_opts, argc, argv, &w, &words, &err) != VQ_OK) {
        return vq_cli_usage("vibes", "%s", err.text);
    }
    static const char *const known[] = {"generate", "show", "presets", NULL};
    bool generates = words == 1 && strcmp(argv[0], "generate") == 0;
    bool shows = words == 2 && strcmp(argv[0], "show") == 0;
    bool lists = words == 1 && strcmp(argv[0], "presets") == 0;
    if (words > 0 && strcmp(argv[0], "show") == 0 && !shows) {
        return vq_cli_usage("vibes", "name one run: vibeq vibes show RUN");
    }
    if (!generates && !shows && !lists) {
        return vq_cli_unknown_word("vibes", words > 0 ? argv[0] : NULL, known);
    }
    int code = generates ? check_generate(&w) : VQ_EXIT_DONE;
    if (code != VQ_EXIT_DONE) {
        return code;
    }
    enum vq_status status = vq_generate_check_out(w.out, &err);
    if (status == VQ_OK) {
        status = generates ? generate(&w, &err)
                 : shows   ? show(&w, argv[1], &err)
                           : presets(&w, &err);
    }
    if (status == VQ_UNAVAILABLE) {
        (void)vq_cli_fail(status, &err);
        return VQ_EXIT_STOPPED; /* the model did not do its part, as in check */
    }
    return status == VQ_OK ? VQ_EXIT_DONE : vq_cli_fail(status, &err);
}

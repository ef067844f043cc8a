/* A method machine driven from a test: a world of rows, an oracle for each kind of stage, and a
 * transcript of all that was asked. The oracle's judge knows axes by name: "Feature 3" by the
 * world's table, and any other name by a coin. */
#pragma once

#include "tests/unit/test.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "common/judge/ending.h"
#include "methods/vibecheck/method.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WALK_STAGES_MAX 256
#define WALK_DIMS       16
#define WALK_FEATURES   10

struct walk_stage {
    char name[64];
    enum vq_stage_kind kind;
    enum vq_role role;
    uint32_t calls; /* texts of an EMBED stage, tasks of the others */
    uint32_t rows, axes;
};

struct walk {
    struct vq_config config;
    struct vq_sample *samples;
    struct vq_row *rows; /* alternately train and test */
    uint32_t *train;
    uint8_t *first;
    struct vq_template *templates[VQ_TEMPLATE__COUNT];
    struct vq_vibecheck_method_input in;
    struct vq_vibecheck_method *m;
    /* Called before the oracle; true: it has answered. For texts, `to` left empty by a true answer
     * is no answer. */
    bool (*text)(struct walk *w, const struct vq_stage *stage, uint32_t prompt, struct vq_buf *to);
    bool (*judge)(struct walk *w, const char *axis, uint32_t row, uint32_t judge, uint8_t both[2]);
    /* how sure a vote is, where a stage wants to know */
    float (*margin)(struct walk *w, const char *axis, uint32_t row, uint32_t order);
    bool (*cut)(struct walk *w, const struct vq_stage *stage,
                uint32_t prompt); /* NULL: no text is */
    enum vq_ending ending;        /* of all texts that are not cut */
    bool fails_embedding;
    uint32_t model;                          /* which judge the text is asked of */
    const char *nan_vectors, *short_vectors; /* names of stages; NULL: none */
    bool fails_judging;
    double share[WALK_FEATURES]; /* of rows where A is higher less those where B is */
    double plain[WALK_FEATURES]; /* share of rows where neither is */
    double error;                /* the oracle judge names the other one */
    const char *proposes[64];    /* axis lines, of every batch */
    const char *proposes_again[64];
    void *world; /* of a test's own */
    struct walk_stage stages[WALK_STAGES_MAX];
    uint32_t stages_count;
    struct vq_buf transcript; /* names, rows, axes, prompts and texts of all stages */
};

static inline void walk_texts(struct walk *w, uint32_t i)
{
    char text[64];
    struct vq_span *to[3] = {&w->samples[i].prompt, &w->samples[i].a, &w->samples[i].b};
    static const char *const what[3] = {"question", "first answer", "second answer"};
    for (int k = 0; k < 3; k++) {
        (void)snprintf(text, sizeof(text), "%s %u", what[k], i);
        char *copy = vq_strdup(text);
        assert_non_null(copy);
        *to[k] = vq_span_str(copy);
    }
}

static inline struct walk *walk_create(uint32_t rows, uint32_t judges, uint64_t seed)
{
    struct walk *w = vq_alloc(1, sizeof(*w));
    assert_non_null(w);
    w->config.seed = seed;
    w->config.gates.separability_min = 0.05;
    w->config.gates.kappa = true;
    w->config.gates.kappa_min = 0.2;
    w->config.gates.overlap = VQ_CONF_OVERLAP_OFF;
    w->config.gates.overlap_max = 0.8;
    w->config.judging.early_stop_rows = 50;
    w->config.vibecheck = (struct vq_conf_vibecheck){.d = 20,
                                                     .batch = 5,
                                                     .iterations = 1,
                                                     .num_eval_vibes = 10,
                                                     .num_final_vibes = 10,
                                                     .k = 20,
                                                     .clusters = 3,
                                                     .cluster_threshold = 100,
                                                     .discovery_calls = 1,
                                                     .dedup = true,
                                                     .list_rejected = true};
    w->samples = vq_alloc(rows, sizeof(*w->samples));
    w->rows = vq_alloc(rows, sizeof(*w->rows));
    w->train = vq_alloc(rows, sizeof(*w->train));
    w->first = vq_alloc((size_t)rows * judges, 1);
    assert_true(w->samples != NULL && w->rows != NULL && w->train != NULL && w->first != NULL);
    uint32_t train = 0;
    for (uint32_t i = 0; i < rows; i++) {
        walk_texts(w, i);
        w->rows[i] = (struct vq_row){.group = i, .test = i % 2 == 1};
        if (i % 2 == 0) {
            w->train[train++] = i;
        }
    }
    struct vq_rng rng;
    vq_rng_seed(&rng, seed);
    vq_rng_shuffle_u32(&rng, w->train, train);
    for (unsigned k = 0; k < VQ_TEMPLATE_FILES; k++) {
        enum vq_template_kind kind = (enum vq_template_kind)k;
        assert_int_equal(vq_template_parse(kind, vq_template_builtin(kind), vq_template_file(kind),
                                           &w->templates[k], NULL),
                         VQ_OK);
    }
    w->in = (struct vq_vibecheck_method_input){.config = &w->config,
                                               .samples = w->samples,
                                               .rows = w->rows,
                                               .rows_count = rows,
                                               .train = w->train,
                                               .train_count = train,
                                               .judges_count = judges,
                                               .preference_judges_count = judges,
                                               .first_order = w->first,
                                               .templates =
                                                   (const struct vq_template *const *)w->templates};
    vq_buf_init(&w->transcript, (size_t)1 << 28);
    return w;
}

static inline void walk_destroy(struct walk *w)
{
    vq_vibecheck_method_destroy(&w->m);
    for (uint32_t i = 0; i < w->in.rows_count; i++) {
        vq_free((void *)(uintptr_t)w->samples[i].prompt.at);
        vq_free((void *)(uintptr_t)w->samples[i].a.at);
        vq_free((void *)(uintptr_t)w->samples[i].b.at);
    }
    for (unsigned k = 0; k < VQ_TEMPLATE_FILES; k++) {
        vq_template_destroy(&w->templates[k]);
    }
    vq_buf_free(&w->transcript);
    vq_free(w->samples);
    vq_free(w->rows);
    vq_free(w->train);
    vq_free(w->first);
    vq_free(w);
}

/* ---- the oracle ---- */

/* A number in [0, 1) that depends on what it is asked of and on nothing else. */
static inline double walk_draw(const struct walk *w, const char *what, uint32_t row, uint32_t judge)
{
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "walk");
    vq_hasher_u64(&h, w->config.seed);
    vq_hasher_field(&h, vq_span_str(what));
    vq_hasher_u64(&h, row);
    vq_hasher_u64(&h, judge);
    vq_hasher_final(&h, &hash);
    return (double)(vq_hash_u64(&hash) >> 11) * 0x1.0p-53;
}

static inline int walk_truth(const struct walk *w, unsigned feature, uint32_t row)
{
    char what[32];
    (void)snprintf(what, sizeof(what), "truth %u", feature);
    double u = walk_draw(w, what, row, 0);
    if (u < w->plain[feature]) {
        return 0;
    }
    double up = (1 + w->share[feature]) / 2;
    return (u - w->plain[feature]) / (1 - w->plain[feature]) < up ? 1 : -1;
}

static inline void walk_say(int score, uint8_t both[2])
{
    for (uint32_t order = 0; order < 2; order++) {
        both[order] = score == 0                    ? VQ_OUTCOME_EQUAL
                      : (score > 0) == (order == 0) ? VQ_OUTCOME_FIRST
                                                    : VQ_OUTCOME_SECOND;
    }
}

static inline void walk_cell(struct walk *w, const char *axis, uint32_t row, uint32_t judge,
                             uint8_t both[2])
{
    if (w->fails_judging) {
        both[0] = both[1] = VQ_OUTCOME_UNAVAILABLE;
        return;
    }
    if (w->judge != NULL && w->judge(w, axis, row, judge, both)) {
        return;
    }
    unsigned feature;
    int score = walk_draw(w, axis, row, judge) < 0.5 ? -1 : 1;
    if (sscanf(axis, "Feature %u", &feature) == 1 && feature < WALK_FEATURES) {
        int truth = walk_truth(w, feature, row);
        bool errs = walk_draw(w, "error", row * WALK_FEATURES + feature, judge) < w->error;
        score = !errs ? truth : truth != 0 ? -truth : score;
    }
    walk_say(score, both);
}

static inline struct vq_span walk_section(struct vq_span text, const char *tag)
{
    char open[64], shut[64];
    (void)snprintf(open, sizeof(open), "<%s>\n", tag);
    (void)snprintf(shut, sizeof(shut), "\n</%s>", tag);
    const char *from = strstr(text.at, open);
    if (from == NULL) {
        return (struct vq_span){NULL, 0};
    }
    from += strlen(open);
    const char *to = strstr(from, shut);
    return to == NULL ? (struct vq_span){NULL, 0} : vq_span(from, (size_t)(to - from));
}

static inline bool walk_wants(const struct vq_stage *stage, uint32_t prompt, const char *what)
{
    char line[64];
    (void)snprintf(line, sizeof(line), "<wanted>%s</wanted>", what);
    return strstr(stage->prompts[prompt].user.at, line) != NULL;
}

static inline void walk_put(struct vq_buf *to, struct vq_span text)
{
    vq_buf_append(to, text.at, text.bytes);
}

static inline void walk_put_lines(struct vq_buf *to, const char *const *lines)
{
    for (size_t i = 0; lines[i] != NULL; i++) {
        vq_buf_printf(to, "- %s\n", lines[i]);
    }
    if (lines[0] == NULL) {
        vq_buf_puts(to, "No differences found.");
    }
}

/* The first lines of a list, without what stands before the name; names alone where asked. */
static inline void walk_put_some(struct vq_buf *to, struct vq_span list, uint32_t most, bool names)
{
    const char *at = list.at;
    const char *end = list.at + list.bytes;
    for (uint32_t n = 0; at < end && n < most; n++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end == NULL ? end : line_end;
        const char *colon = names ? memchr(at, ':', (size_t)(line_end - at)) : line_end;
        assert_non_null(colon);
        walk_put(to, vq_span(at, (size_t)(colon - at)));
        vq_buf_putc(to, '\n');
        at = line_end + 1;
    }
}

static inline void walk_text(struct walk *w, const struct vq_stage *stage, uint32_t p,
                             struct vq_buf *to)
{
    struct vq_span user = stage->prompts[p].user;
    assert_non_null(user.at);
    assert_true(stage->prompts[p].system.bytes > 0);
    if (w->text != NULL && w->text(w, stage, p, to)) {
        return;
    }
    if (walk_wants(stage, p, "axes") || walk_wants(stage, p, "differences")) {
        walk_put_lines(to, w->proposes);
    } else if (walk_wants(stage, p, "new axes")) {
        walk_put_lines(to, w->proposes_again);
    } else if (walk_wants(stage, p, "formalised axes")) {
        walk_put(to, walk_section(user, "notes"));
    } else if (walk_wants(stage, p, "summary") || walk_wants(stage, p, "simplified axes")) {
        walk_put(to, walk_section(user, "axes"));
    } else if (walk_wants(stage, p, "reduced axes")) {
        walk_put_some(to, walk_section(user, "axes"),
                      (uint32_t)strtoul(walk_section(user, "count").at, NULL, 10), false);
    } else if (walk_wants(stage, p, "names to keep")) {
        walk_put_some(to, walk_section(user, "new_axes"), UINT32_MAX, true);
    } else {
        assert_true(walk_wants(stage, p, "question types"));
        vq_buf_puts(to, "- asks for a list\n- asks for advice\n");
    }
}

/* Axes of one name point one way. */
static inline void walk_vector(struct vq_span text, float to[WALK_DIMS])
{
    const char *colon = memchr(text.at, ':', text.bytes);
    assert_non_null(colon);
    struct vq_hash hash;
    vq_hash_of("walk", vq_span(text.at, (size_t)(colon - text.at)), &hash);
    for (size_t i = 0; i < WALK_DIMS; i++) {
        to[i] = (float)hash.b[i] / 255.0F - 0.5F;
    }
}

/* ---- driving ---- */

static inline void walk_record(struct walk *w, const struct vq_stage *s, uint32_t calls)
{
    assert_true(w->stages_count < WALK_STAGES_MAX);
    assert_int_equal(s->no, w->stages_count);
    struct walk_stage *r = &w->stages[w->stages_count++];
    (void)snprintf(r->name, sizeof(r->name), "%s", s->name);
    r->kind = s->kind;
    r->role = s->role;
    r->calls = calls;
    r->rows = s->rows_count;
    r->axes = s->axes_count;
    struct vq_buf *t = &w->transcript;
    vq_buf_printf(t, "== %u %s %d %d\n", s->no, s->name, s->kind, s->role);
    for (uint32_t i = 0; i < s->rows_count; i++) {
        assert_true(i == 0 || s->rows[i] > s->rows[i - 1]);
        vq_buf_printf(t, "row %u\n", s->rows[i]);
    }
    for (uint32_t i = 0; i < s->axes_count; i++) {
        vq_buf_printf(t, "axis %s|%s|%s\n", s->axes[i].name, s->axes[i].low, s->axes[i].high);
    }
    for (uint32_t i = 0; i < s->prompts_count; i++) {
        vq_buf_printf(t, "prompt %u\n", s->prompts[i].again);
        walk_put(t, s->prompts[i].system);
        walk_put(t, s->prompts[i].user);
    }
    for (uint32_t i = 0; i < s->texts_count; i++) {
        walk_put(t, s->texts[i]);
        vq_buf_putc(t, '\n');
    }
    assert_int_equal(t->status, VQ_OK);
}

/* Of every task, asked or not. */
static inline enum vq_status walk_margins(struct walk *w, const struct vq_stage *s, size_t n,
                                          struct vq_error *err)
{
    float *margins = calloc(n, sizeof(*margins));
    assert_true(margins != NULL && w->margin != NULL);
    for (size_t t = 0; t < n; t++) {
        size_t v = t / 2 % s->axes_count, row = t / 2 / s->axes_count / w->in.judges_count;
        margins[t] = w->margin(w, s->axes[v].name, s->rows[row], (uint32_t)(t % 2));
    }
    enum vq_status status = vq_vibecheck_method_take_margins(w->m, margins, n, err);
    free(margins);
    return status;
}

static inline enum vq_status walk_answer_verdicts(struct walk *w, const struct vq_stage *s,
                                                  struct vq_error *err)
{
    bool rank = s->kind == VQ_STAGE_RANK;
    uint32_t judges = rank ? w->in.judges_count : w->in.preference_judges_count;
    uint32_t axes = rank ? s->axes_count : 1;
    size_t n = (size_t)s->rows_count * judges * axes * 2;
    walk_record(w, s, (uint32_t)n);
    uint8_t *outcomes = calloc(n, 1); /* never fails on purpose */
    assert_non_null(outcomes);
    uint8_t *to = outcomes;
    for (uint32_t i = 0; i < s->rows_count; i++) {
        for (uint32_t j = 0; j < judges; j++) {
            for (uint32_t v = 0; v < axes; v++, to += 2) {
                walk_cell(w, rank ? s->axes[v].name : "preference", s->rows[i], j, to);
                bool asked = s->cells == NULL || s->cells[(to - outcomes) / 2] != VQ_CELL_UNASKED;
                if (!asked) {
                    to[0] = to[1] = VQ_OUTCOME_NOT_NEEDED;
                }
            }
        }
    }
    enum vq_status status = s->margins ? walk_margins(w, s, n, err) : VQ_OK;
    if (status == VQ_OK) {
        status = vq_vibecheck_method_take_outcomes(w->m, outcomes, n, err);
    }
    free(outcomes);
    return status;
}

static inline enum vq_status walk_answer_texts(struct walk *w, const struct vq_stage *s,
                                               struct vq_error *err)
{
    uint32_t models = s->role == VQ_ROLE_JUDGE ? w->in.judges_count : 1;
    uint32_t n = s->prompts_count * models;
    walk_record(w, s, n);
    assert_true(n > 0);
    struct vq_buf *answers = calloc(n, sizeof(*answers));
    struct vq_span *texts = calloc(n, sizeof(*texts));
    assert_true(answers != NULL && texts != NULL);
    for (uint32_t p = 0; p < n; p++) {
        w->model = p % models;
        vq_buf_init(&answers[p], (size_t)1 << 24);
        walk_text(w, s, p / models, &answers[p]);
        if (answers[p].status == VQ_NOMEM) { /* a failure that was meant for the method */
            vq_buf_free(&answers[p]);
            vq_buf_clear(&answers[p]);
            walk_text(w, s, p / models, &answers[p]);
        }
        texts[p] = vq_buf_span(&answers[p]);
    }
    uint8_t *endings = calloc(n, 1);
    assert_non_null(endings);
    for (uint32_t p = 0; p < n; p++) {
        bool cut = w->cut != NULL && w->cut(w, s, p / models);
        endings[p] = (uint8_t)(cut ? VQ_ENDING_CUT : w->ending);
    }
    bool plain = w->cut == NULL && w->ending == VQ_ENDING_ORDINARY;
    enum vq_status status = plain ? VQ_OK : vq_vibecheck_method_take_endings(w->m, endings, n, err);
    free(endings);
    if (status == VQ_OK) {
        status = vq_vibecheck_method_take_texts(w->m, texts, n, err);
    }
    for (uint32_t p = 0; p < n; p++) {
        vq_buf_free(&answers[p]);
    }
    free(answers);
    free(texts);
    return status;
}

static inline enum vq_status walk_answer_vectors(struct walk *w, const struct vq_stage *s,
                                                 struct vq_error *err)
{
    walk_record(w, s, s->texts_count);
    if (w->fails_embedding) {
        return vq_vibecheck_method_take_vectors(w->m, NULL, 0, 0, err);
    }
    float *x = calloc((size_t)s->texts_count * WALK_DIMS, sizeof(*x));
    assert_non_null(x);
    for (uint32_t i = 0; i < s->texts_count; i++) {
        walk_vector(s->texts[i], x + (size_t)i * WALK_DIMS);
    }
    if (w->nan_vectors != NULL && strcmp(w->nan_vectors, s->name) == 0) {
        x[WALK_DIMS - 1] = NAN;
    }
    bool cut = w->short_vectors != NULL && strcmp(w->short_vectors, s->name) == 0;
    enum vq_status status = vq_vibecheck_method_take_vectors(w->m, x, s->texts_count,
                                                             cut ? WALK_DIMS / 2 : WALK_DIMS, err);
    free(x);
    return status;
}

static inline enum vq_status walk_step(struct walk *w, bool *ret_more, struct vq_error *err)
{
    const struct vq_stage *stage, *again;
    VQ_TRY(vq_vibecheck_method_next(w->m, &stage, err));
    VQ_TRY(vq_vibecheck_method_next(w->m, &again, err));
    assert_ptr_equal(stage, again);
    *ret_more = stage != NULL;
    if (stage == NULL) {
        return VQ_OK;
    }
    switch (stage->kind) {
    case VQ_STAGE_RANK:
    case VQ_STAGE_PREFER: return walk_answer_verdicts(w, stage, err);
    case VQ_STAGE_TEXT: return walk_answer_texts(w, stage, err);
    case VQ_STAGE_EMBED: return walk_answer_vectors(w, stage, err);
    case VQ_STAGE_LIKERT:
    case VQ_STAGE_BINARY:
    case VQ_STAGE_PAIRWISE:
    case VQ_STAGE_CHAT:
    case VQ_STAGE_PROBE:
    case VQ_STAGE__COUNT: break;
    }
    return VQ_BUG;
}

/* From the start to the end, or to what fails. */
static inline enum vq_status walk_try(struct walk *w, struct vq_error *err)
{
    vq_vibecheck_method_destroy(&w->m);
    w->stages_count = 0;
    vq_buf_clear(&w->transcript);
    VQ_TRY(vq_vibecheck_method_create(&w->in, &w->m, err));
    bool more = true;
    while (more) {
        VQ_TRY(walk_step(w, &more, err));
    }
    return VQ_OK;
}

static inline const struct vq_vibecheck_method_result *walk_run(struct walk *w)
{
    struct vq_error err = {0};
    enum vq_status status = walk_try(w, &err);
    if (status != VQ_OK) {
        print_error("%s: %s\n", vq_status_name(status), err.text);
    }
    assert_int_equal(status, VQ_OK);
    return vq_vibecheck_method_result(w->m);
}

/* ---- a world of two features and one more in each round ---- */

#define WALK_F(n)    "Feature " #n ": Low: little of " #n "; High: much of " #n
#define WALK_COIN(n) "Coin " #n ": Low: tails " #n "; High: heads " #n

/* Iteration 1 finds two features, iteration t another one: "discover 2" the feature 2. */
static inline bool walk_one_more(struct walk *w, const struct vq_stage *stage, uint32_t prompt,
                                 struct vq_buf *to)
{
    (void)w;
    unsigned number;
    if (!walk_wants(stage, prompt, "new axes") ||
        sscanf(stage->name, "discover %u", &number) != 1) {
        return false;
    }
    vq_buf_printf(to, "New Axes:\n- Feature %u: Low: little of it; High: much of it\n", number);
    return true;
}

static inline struct walk *walk_discovery(uint32_t rows, uint32_t judges)
{
    struct walk *w = walk_create(rows, judges, 11);
    w->config.method = VQ_METHOD_DISCOVER;
    w->config.vibecheck.min_misclassified = 1;
    w->proposes[0] = WALK_F(0);
    w->proposes[1] = WALK_F(1);
    for (unsigned f = 0; f < WALK_FEATURES; f++) {
        w->share[f] = f % 2 == 0 ? 0.4 : -0.4;
        w->plain[f] = 0.5;
    }
    w->text = walk_one_more;
    return w;
}

/* ---- what tests look at ---- */

static inline const struct walk_stage *walk_find(const struct walk *w, const char *name)
{
    for (uint32_t i = 0; i < w->stages_count; i++) {
        if (strcmp(w->stages[i].name, name) == 0) {
            return &w->stages[i];
        }
    }
    return NULL;
}

/* Calls of the stages whose name begins so. */
static inline uint32_t walk_calls(const struct walk *w, const char *prefix)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->stages_count; i++) {
        n += strncmp(w->stages[i].name, prefix, strlen(prefix)) == 0 ? w->stages[i].calls : 0;
    }
    return n;
}

static inline bool walk_noted(const struct vq_vibecheck_method_result *r, const char *words)
{
    for (uint32_t i = 0; i < r->notes_count; i++) {
        if (strstr(r->notes[i], words) != NULL) {
            return true;
        }
    }
    return false;
}

static inline uint32_t walk_vibe(const struct vq_vibecheck_method_result *r, const char *name)
{
    for (uint32_t v = 0; v < r->axes_count; v++) {
        if (strcmp(r->axes[v].name, name) == 0) {
            return v;
        }
    }
    fail_msg("no vibe \"%s\"", name);
    return 0;
}

/* What results say of a kept vibe, to the bit. */
static inline void walk_same_numbers(const struct vq_vibe_metrics *a,
                                     const struct vq_vibe_metrics *b)
{
    const double one[] = {a->train.sep,
                          a->test.sep,
                          a->train.p,
                          a->train.q,
                          a->test.p,
                          a->test.q,
                          a->train.pref,
                          a->test.pref,
                          a->train.agreement.kappa,
                          a->test.agreement.kappa,
                          a->train.agreement.alpha,
                          a->train.sep_ci95.lo,
                          a->bounds.lo,
                          a->bounds.hi,
                          a->mm.coef,
                          a->mm.ci95.lo,
                          a->mm.p,
                          a->pp.coef,
                          a->pp.p,
                          a->test.sep_ci95.hi};
    const double two[] = {b->train.sep,
                          b->test.sep,
                          b->train.p,
                          b->train.q,
                          b->test.p,
                          b->test.q,
                          b->train.pref,
                          b->test.pref,
                          b->train.agreement.kappa,
                          b->test.agreement.kappa,
                          b->train.agreement.alpha,
                          b->train.sep_ci95.lo,
                          b->bounds.lo,
                          b->bounds.hi,
                          b->mm.coef,
                          b->mm.ci95.lo,
                          b->mm.p,
                          b->pp.coef,
                          b->pp.p,
                          b->test.sep_ci95.hi};
    for (size_t i = 0; i < VQ_COUNT(one); i++) {
        assert_true(isnan(one[i]) ? isnan(two[i]) : memcmp(&one[i], &two[i], sizeof(one[i])) == 0);
    }
    assert_memory_equal(&a->judges[0].labels, &b->judges[0].labels, sizeof(a->judges[0].labels));
}

/* The numbers of the result, as a report would have them. */
static inline struct vq_vibecheck *walk_numbers(const struct walk *w)
{
    const struct vq_vibecheck_method_result *r = vq_vibecheck_method_result(w->m);
    struct vq_vibecheck_input in = {.config = &w->config,
                                    .grid = {w->in.rows_count, w->in.judges_count, r->axes_count},
                                    .outcomes = r->outcomes,
                                    .rows = r->rows,
                                    .axes = r->axes,
                                    .first_order = w->first,
                                    .stopped_early = r->stopped_early};
    struct vq_vibecheck *numbers;
    struct vq_error err = {0};
    assert_int_equal(vq_vibecheck_compute(&in, &numbers, &err), VQ_OK);
    return numbers;
}

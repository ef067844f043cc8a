/* Chooses the rows that the reader can open, and writes their texts, scores and answers. The order
 * of choice: first examples (the strongest row of every vibe and direction in turn, so that a small
 * budget has some of each), then misclassified rows, then other rows. The run's seed decides
 * between equal rows. Rows and bytes are bounded for any data. */
#include "common/base/arena.h"
#include "common/base/rng.h"
#include "common/text/utf8.h"
#include "methods/vibecheck/report/page_parts.h"

#include <math.h>
#include <stdio.h>

#define DIGITS    4
#define NO_ROW    UINT32_MAX
#define SEED_SALT UINT64_C(0x7265706f7274)

/* Budgets: the share of VQ_PAGE_DATA_BYTES_MAX up to which each kind of row may fill the page. */
static const double share_examples = 0.7, share_wrong = 0.85, share_plain = 1.0;

enum kind {
    KIND_A,        /* A is higher */
    KIND_B,        /* B is higher */
    KIND_DISAGREE, /* judges differ */
    KIND__COUNT
};

struct best { /* rows of one vibe and kind, the strongest first */
    uint32_t *sample;
    double *strength;
    uint32_t count;
    uint32_t shown; /* number of them in the page */
};

struct picker {
    struct vq_arena arena;
    const struct vq_vibes_page *page;
    uint32_t vibes;    /* number of shown vibes */
    uint32_t wanted;   /* number of examples per vibe and kind */
    uint32_t *drawn;   /* samples in seeded order */
    struct best *best; /* [rank * KIND__COUNT + kind] */
    uint32_t *row_of;  /* [sample]: its row in the page, or NO_ROW */
    uint32_t *rows;    /* samples of the page's rows */
    uint32_t rows_count;
    uint8_t *answered; /* [row * vibes + rank] */
    size_t bytes;
    struct vq_buf answers_buf;
    struct vq_json answers;
};

static const struct vq_data_row *data_row(const struct picker *p, uint32_t sample)
{
    return &p->page->r->dataset->samples[sample];
}

/* ---- how strongly a row shows a vibe ---- */

static double disagreement(const struct picker *p, uint32_t sample, uint32_t vibe)
{
    const struct vq_scores *s = p->page->r->result->scores;
    int lo = 2, hi = -2;
    for (uint32_t j = 0; j < s->grid.judges; j++) {
        int8_t score = vq_scores_at(s, sample, vibe, j);
        if (score != VQ_SCORE_MISSING) {
            lo = score < lo ? score : lo;
            hi = score > hi ? score : hi;
        }
    }
    return hi > lo ? hi - lo : 0;
}

static double strength(const struct picker *p, uint32_t sample, uint32_t vibe, enum kind kind)
{
    const struct vq_scores *s = p->page->r->result->scores;
    double x = s->x[(size_t)sample * s->grid.vibes + vibe];
    switch (kind) {
    case KIND_A: return x > 0 ? x : 0;
    case KIND_B: return x < 0 ? -x : 0;
    case KIND_DISAGREE: return disagreement(p, sample, vibe);
    case KIND__COUNT: break;
    }
    return 0;
}

static void offer(struct best *b, uint32_t wanted, uint32_t sample, double strong)
{
    if (strong <= 0 || (b->count == wanted && strong <= b->strength[wanted - 1])) {
        return;
    }
    uint32_t at = b->count < wanted ? b->count++ : wanted - 1;
    while (at > 0 && b->strength[at - 1] < strong) {
        b->strength[at] = b->strength[at - 1];
        b->sample[at] = b->sample[at - 1];
        at--;
    }
    b->strength[at] = strong;
    b->sample[at] = sample;
}

static void find_best(struct picker *p)
{
    uint32_t samples = p->page->r->result->samples;
    for (uint32_t rank = 0; rank < p->vibes; rank++) {
        for (int kind = 0; kind < KIND__COUNT; kind++) {
            struct best *b = &p->best[rank * KIND__COUNT + (uint32_t)kind];
            for (uint32_t i = 0; i < samples; i++) {
                offer(b, p->wanted, p->drawn[i],
                      strength(p, p->drawn[i], p->page->order[rank], (enum kind)kind));
            }
        }
    }
}

/* ---- filling the page ---- */

static size_t shown_bytes(struct vq_span text, size_t bytes_max)
{
    return vq_page_json_bytes(vq_utf8_cut(text, bytes_max));
}

static bool add_row(struct picker *p, uint32_t sample, double share)
{
    if (p->row_of[sample] != NO_ROW) {
        return true;
    }
    const struct vq_data_row *row = data_row(p, sample);
    size_t cells = (size_t)p->vibes * p->page->r->result->judges * 3;
    size_t bytes = 160 + cells + shown_bytes(row->prompt, VQ_PAGE_TEXT_BYTES_MAX) +
                   shown_bytes(row->a, VQ_PAGE_TEXT_BYTES_MAX) +
                   shown_bytes(row->b, VQ_PAGE_TEXT_BYTES_MAX) + vq_page_image_bytes(row->image);
    if (p->rows_count == VQ_PAGE_ROWS_MAX ||
        (double)(p->bytes + bytes) > share * VQ_PAGE_DATA_BYTES_MAX) {
        return false;
    }
    p->bytes += bytes;
    p->row_of[sample] = p->rows_count;
    p->rows[p->rows_count++] = sample;
    return true;
}

static void add_answers(struct picker *p, uint32_t row, uint32_t rank)
{
    const struct vq_report_story *story = p->page->story;
    uint8_t *done = &p->answered[(size_t)row * p->vibes + rank];
    if (story->answer == NULL || *done) {
        return;
    }
    *done = 1;
    char key[32];
    (void)snprintf(key, sizeof(key), "%u:%u", row, rank);
    vq_json_put_array(&p->answers, key);
    for (uint32_t j = 0; j < p->page->r->result->judges; j++) {
        for (uint32_t order = 0; order < 2; order++) {
            struct vq_span text = {0};
            if (story->answer(story->answer_ctx, p->rows[row], p->page->order[rank], j, order,
                              &text)) {
                p->bytes += vq_page_put_answer(&p->answers, text);
            } else {
                vq_json_null(&p->answers);
            }
        }
    }
    vq_json_array_end(&p->answers);
}

static void fill_examples(struct picker *p)
{
    for (uint32_t round = 0; round < p->wanted; round++) {
        for (uint32_t i = 0; i < p->vibes * KIND__COUNT; i++) {
            struct best *b = &p->best[i];
            if (round >= b->count || !add_row(p, b->sample[round], share_examples)) {
                continue;
            }
            add_answers(p, p->row_of[b->sample[round]], i / KIND__COUNT);
            b->shown = round + 1;
        }
    }
}

static bool is_wrong(const struct picker *p, uint32_t sample)
{
    const struct vq_vibecheck *r = p->page->r->result;
    return r->mm.status == VQ_FIT_OK && r->mm_margin[sample] <= VQ_LOGIT_TIE;
}

static void fill_others(struct picker *p)
{
    uint32_t samples = p->page->r->result->samples;
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t sample = p->drawn[i];
        bool split = (data_row(p, sample)->split == VQ_SPLIT_TEST) == p->page->test;
        if (split && is_wrong(p, sample)) {
            (void)add_row(p, sample, share_wrong);
        }
    }
    for (uint32_t i = 0; i < samples; i++) {
        (void)add_row(p, p->drawn[i], share_plain);
    }
}

/* ---- writing ---- */

static void scores_text(const struct picker *p, uint32_t sample, struct vq_buf *out)
{
    const struct vq_scores *s = p->page->r->result->scores;
    vq_buf_clear(out);
    for (uint32_t rank = 0; rank < p->vibes; rank++) {
        for (uint32_t j = 0; j < s->grid.judges; j++) {
            int8_t score = vq_scores_at(s, sample, p->page->order[rank], j);
            vq_buf_putc(out, score == VQ_SCORE_MISSING ? '?'
                             : score > 0               ? '+'
                             : score < 0               ? '-'
                                                       : '0');
        }
    }
}

/* One letter per answer; a and b are the models, in either position. */
static char outcome_letter(enum vq_outcome outcome, uint32_t order)
{
    if (outcome == VQ_OUTCOME_FIRST || outcome == VQ_OUTCOME_SECOND) {
        return (outcome == VQ_OUTCOME_FIRST) == (order == 0) ? 'a' : 'b';
    }
    static const struct {
        uint8_t outcome;
        char letter;
    } letters[] = {
        {VQ_OUTCOME_EQUAL, '='},   {VQ_OUTCOME_NA, 'n'},         {VQ_OUTCOME_UNSURE, 'u'},
        {VQ_OUTCOME_REFUSED, 'r'}, {VQ_OUTCOME_TRUNCATED, 't'},  {VQ_OUTCOME_UNPARSEABLE, 'x'},
        {VQ_OUTCOME_EMPTY, 'x'},   {VQ_OUTCOME_NOT_NEEDED, '.'}, {VQ_OUTCOME_NONE, '.'}};
    for (size_t i = 0; i < VQ_COUNT(letters); i++) {
        if (letters[i].outcome == (uint8_t)outcome) {
            return letters[i].letter;
        }
    }
    return '!';
}

static void outcomes_text(const struct picker *p, uint32_t sample, struct vq_buf *out)
{
    const struct vq_grid *grid = &p->page->r->in->grid;
    vq_buf_clear(out);
    for (uint32_t rank = 0; rank < p->vibes; rank++) {
        for (uint32_t j = 0; j < grid->judges; j++) {
            for (uint32_t order = 0; order < 2; order++) {
                uint64_t task =
                    vq_grid_task(grid, (struct vq_cell){sample, j, p->page->order[rank], order});
                vq_buf_putc(out,
                            outcome_letter((enum vq_outcome)p->page->r->in->outcomes[task], order));
            }
        }
    }
}

static const char *preference_word(const struct picker *p, uint32_t sample)
{
    const struct vq_vibecheck_method_result *method = p->page->story->method;
    bool judged = method != NULL && strcmp(method->preference_source, "judge") == 0;
    int8_t preference = judged ? method->rows[sample].preference : data_row(p, sample)->preference;
    return preference == VQ_PREFER_A     ? "a"
           : preference == VQ_PREFER_B   ? "b"
           : preference == VQ_PREFER_TIE ? "tie"
                                         : "";
}

static void write_row(const struct picker *p, struct vq_json *j, uint32_t sample,
                      struct vq_buf *letters)
{
    const struct vq_data_row *row = data_row(p, sample);
    const struct vq_vibecheck *r = p->page->r->result;
    vq_json_object(j);
    vq_json_put_u64(j, "n", row->record);
    vq_json_put_u64(j, "file", row->file);
    vq_json_put_bool(j, "test", row->split == VQ_SPLIT_TEST);
    vq_json_put_str(j, "pref", preference_word(p, sample));
    vq_json_put_real(j, "mm", r->mm_margin[sample], DIGITS);
    vq_json_put_real(j, "pp", r->pp_margin[sample], DIGITS);
    vq_json_key(j, "s");
    scores_text(p, sample, letters);
    vq_json_span(j, vq_buf_span(letters));
    vq_json_key(j, "o");
    outcomes_text(p, sample, letters);
    vq_json_span(j, vq_buf_span(letters));
    vq_page_put_image(j, row->image);
    vq_json_key(j, "p");
    vq_page_put_text(j, row->prompt, VQ_PAGE_TEXT_BYTES_MAX);
    vq_json_key(j, "a");
    vq_page_put_text(j, row->a, VQ_PAGE_TEXT_BYTES_MAX);
    vq_json_key(j, "b");
    vq_page_put_text(j, row->b, VQ_PAGE_TEXT_BYTES_MAX);
    vq_json_object_end(j);
}

static void write_examples(const struct picker *p, struct vq_json *j)
{
    static const char *const keys[] = {"a", "b", "d"};
    vq_json_put_array(j, "examples");
    for (uint32_t rank = 0; rank < p->vibes; rank++) {
        vq_json_object(j);
        for (uint32_t kind = 0; kind < KIND__COUNT; kind++) {
            const struct best *b = &p->best[rank * KIND__COUNT + kind];
            vq_json_put_array(j, keys[kind]);
            for (uint32_t i = 0; i < b->shown; i++) {
                if (p->row_of[b->sample[i]] != NO_ROW) {
                    vq_json_u64(j, p->row_of[b->sample[i]]);
                }
            }
            vq_json_array_end(j);
        }
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void write_block(struct picker *p, struct vq_json *j)
{
    struct vq_buf letters;
    vq_buf_init(&letters, 1u << 20);
    vq_json_put_u64(j, "samples", p->page->r->result->samples);
    vq_json_put_real(j, "tie", VQ_LOGIT_TIE, DIGITS);
    vq_json_put_array(j, "rows");
    for (uint32_t i = 0; i < p->rows_count; i++) {
        write_row(p, j, p->rows[i], &letters);
    }
    vq_json_array_end(j);
    write_examples(p, j);
    vq_json_key(j, "answers");
    vq_json_raw(j, vq_buf_span(&p->answers_buf));
    vq_vibes_page_failed(j, letters.status);
    vq_buf_free(&letters);
}

static enum vq_status picker_fill(struct picker *p)
{
    const struct vq_vibecheck *r = p->page->r->result;
    p->vibes = r->vibes < VQ_VIBES_PAGE_MAX ? r->vibes : VQ_VIBES_PAGE_MAX;
    p->wanted = p->page->r->config->report.examples;
    uint32_t lists = p->vibes * KIND__COUNT;
    p->drawn = vq_arena_alloc(&p->arena, r->samples, sizeof(*p->drawn));
    p->row_of = vq_arena_alloc(&p->arena, r->samples, sizeof(*p->row_of));
    p->rows = vq_arena_alloc(&p->arena, VQ_PAGE_ROWS_MAX, sizeof(*p->rows));
    p->answered = vq_arena_alloc(&p->arena, VQ_PAGE_ROWS_MAX, p->vibes);
    p->best = vq_arena_alloc(&p->arena, lists, sizeof(*p->best));
    for (uint32_t i = 0; !p->arena.failed && i < lists; i++) {
        p->best[i].sample = vq_arena_alloc(&p->arena, p->wanted, sizeof(uint32_t));
        p->best[i].strength = vq_arena_alloc(&p->arena, p->wanted, sizeof(double));
    }
    VQ_TRY(vq_arena_status(&p->arena));
    struct vq_rng rng;
    vq_rng_seed(&rng, p->page->r->config->seed ^ SEED_SALT);
    for (uint32_t i = 0; i < r->samples; i++) {
        p->drawn[i] = i;
        p->row_of[i] = NO_ROW;
    }
    vq_rng_shuffle_u32(&rng, p->drawn, r->samples);
    return VQ_OK;
}

static void picker_free(struct picker *p)
{
    vq_arena_clear(&p->arena);
    vq_buf_free(&p->answers_buf);
}

void vq_vibes_page_data(const struct vq_vibes_page *page, struct vq_json *j)
{
    struct picker p = {.page = page};
    vq_buf_init(&p.answers_buf, VQ_PAGE_BYTES_MAX);
    vq_json_init(&p.answers, &p.answers_buf, 0);
    enum vq_status status = picker_fill(&p);
    if (status == VQ_OK) {
        find_best(&p);
        vq_json_object(&p.answers);
        fill_examples(&p);
        vq_json_object_end(&p.answers);
        fill_others(&p);
        status = p.answers_buf.status;
    }
    if (status == VQ_OK) {
        write_block(&p, j);
    } else {
        vq_vibes_page_failed(j, status);
    }
    picker_free(&p);
}

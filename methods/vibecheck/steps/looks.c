/* Early stopping: stages ask the training rows in an order of their own, drawn from the seed. Vibes
 * that are settled at the end of a stage (numbers/settle.h) are not asked in the next one. Then
 * given vibes are asked on the test rows if they are kept. The order must differ from that of the
 * rows that the proposer saw; otherwise the first rows would be those that a vibe was made from.
 * Invariant: every decision follows from seed and answers, so a resumed run makes the same ones. */
#include "common/base/alloc.h"
#include "methods/vibecheck/forecast.h"
#include "methods/vibecheck/steps/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void vq_early_text(const struct vq_early *early, const struct vq_conf_judging *judging,
                   struct vq_buf *out)
{
    uint64_t least = early->questions;
    uint64_t most = judging->pair_rule == VQ_PAIR_FORWARD ? least : 2 * least;
    vq_buf_puts(out, "early stopping saved ");
    if (judging->vibes_per_call > 1) {
        vq_buf_printf(out, "%" PRIu64 " questions", most);
    } else if (judging->lazy_swap && least > 0) {
        vq_buf_printf(out, "%" PRIu64 " to %" PRIu64 " calls", least, most);
    } else {
        vq_buf_printf(out, "%" PRIu64 " calls", most);
    }
    vq_buf_printf(out, ": vibes settled exactly: %u", early->exactly);
    if (judging->early_stop_alpha > 0) {
        vq_buf_printf(out, ", with error at most %g: %u", judging->early_stop_alpha, early->alpha);
    }
    if (early->untested > 0) {
        vq_buf_printf(out, "; not asked on test rows: %u", early->untested);
    }
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Settles the asked vibes, over the rows drawn so far, in the order of the draw. */
static enum vq_status settle(const struct vq_vibecheck_method *m, struct vq_settled_vibe *ret)
{
    const struct vq_vibecheck_method_ranking *r = &m->ranking;
    uint32_t judges = m->in.judges_count;
    uint8_t *outcomes = vq_alloc((size_t)r->drawn * judges * r->asked_vibes_count * 2, 1);
    struct vq_row *rows = vq_alloc(r->drawn, sizeof(*rows));
    enum vq_status status = outcomes == NULL || rows == NULL ? VQ_NOMEM : VQ_OK;
    uint8_t *to = outcomes;
    for (uint32_t i = 0; status == VQ_OK && i < r->drawn; i++) {
        rows[i] = m->rows[r->order[i]];
        for (uint32_t j = 0; j < judges; j++) {
            for (uint32_t k = 0; k < r->asked_vibes_count; k++, to += 2) {
                memcpy(to, vq_rank_cell(m, r->asked_vibes[k], r->order[i], j), 2);
            }
        }
    }
    struct vq_settle_input in = {.config = m->in.config,
                                 .grid = {r->drawn, judges, r->asked_vibes_count},
                                 .outcomes = outcomes,
                                 .rows = rows,
                                 .total = m->train_count};
    if (status == VQ_OK) {
        status = vq_settle(&in, ret);
    }
    vq_free(outcomes);
    vq_free(rows);
    return status;
}

/* Counts the training rows x judges that are not asked about a settled vibe, and adds a note. */
static enum vq_status note_settled(struct vq_vibecheck_method *m,
                                   struct vq_vibecheck_method_vibe *vibe,
                                   const struct vq_settled_vibe *s)
{
    const struct vq_vibecheck_method_ranking *r = &m->ranking;
    struct vq_early *early = &m->result.early;
    bool exactly = s->how == VQ_DECIDED_EXACTLY;
    early->exactly += exactly;
    early->alpha += !exactly;
    early->questions += (uint64_t)(m->train_count - r->drawn) * m->in.judges_count;
    vibe->stopped_early = s->as == VQ_SETTLED_DROPPED;
    char how[64];
    (void)snprintf(how, sizeof(how), "with error at most %g",
                   m->in.config->judging.early_stop_alpha);
    return vq_vibecheck_method_note(m,
                                    "%s: \"%s\" was settled after %u of %u training rows: it %s "
                                    "its gates, decided %s",
                                    r->name, vibe->axis.name, r->drawn, m->train_count,
                                    vibe->stopped_early ? "fails" : "passes",
                                    exactly ? "exactly" : how);
}

/* A passing vibe is dropped from the ranking only if it need not be asked in full (early_stop:
 * final). */
static enum vq_status drop_settled(struct vq_vibecheck_method *m)
{
    struct vq_vibecheck_method_ranking *r = &m->ranking;
    struct vq_settled_vibe *settled = vq_alloc(r->asked_vibes_count, sizeof(*settled));
    enum vq_status status = settled == NULL ? VQ_NOMEM : settle(m, settled);
    bool final = m->in.config->judging.early_stop == VQ_EARLY_STOP_FINAL;
    uint32_t left = 0;
    for (uint32_t k = 0; status == VQ_OK && k < r->asked_vibes_count; k++) {
        uint32_t v = r->asked_vibes[k];
        if (settled[k].as == VQ_SETTLED_DROPPED || (settled[k].as == VQ_SETTLED_PASSES && final)) {
            status = note_settled(m, &m->vibes[v], &settled[k]);
        } else {
            r->asked_vibes[left++] = v;
        }
    }
    r->asked_vibes_count = status == VQ_OK ? left : r->asked_vibes_count;
    vq_free(settled);
    return status;
}

/* Adds a note on the savings in all rankings so far. */
static enum vq_status note_saved(struct vq_vibecheck_method *m)
{
    struct vq_buf text;
    vq_buf_init(&text, VQ_ERROR_BYTES_MAX);
    vq_early_text(&m->result.early, &m->in.config->judging, &text);
    enum vq_status status = text.status;
    if (status == VQ_OK && m->result.early.questions > 0) {
        status = vq_vibecheck_method_note(m, "%s: so far %.*s", m->ranking.name, (int)text.bytes,
                                          text.at);
    }
    vq_buf_free(&text);
    return status;
}

/* After the training rows, asks the kept given vibes on the test rows. */
static enum vq_status ask_test(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_ranking *r = &m->ranking;
    if (r->rows_count == m->train_count) {
        m->then = r->then;
        return note_saved(m);
    }
    uint32_t *kept, n;
    struct vq_vibecheck *numbers;
    VQ_TRY(vq_vibecheck_method_final(m, &kept, &n, &numbers, err));
    vq_vibecheck_destroy(&numbers);
    uint32_t test = r->rows_count - m->train_count;
    uint32_t dropped = (uint32_t)m->vibes_count - n;
    m->result.early.questions += (uint64_t)dropped * test * m->in.judges_count;
    m->result.early.untested += dropped;
    VQ_TRY(note_saved(m));
    return vq_rank_some(m, r->name, kept, n, m->test_sorted, m->test_count, r->then, err);
}

static enum vq_status next_look(struct vq_vibecheck_method *m, struct vq_error *err);

static enum vq_status look_read(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_ranking *r = &m->ranking;
    vq_rank_store(m);
    r->drawn += r->asked_rows_count;
    r->look++;
    if (r->drawn < m->train_count) {
        VQ_TRY(drop_settled(m));
    }
    bool done = r->drawn == m->train_count || r->asked_vibes_count == 0;
    return done ? ask_test(m, err) : next_look(m, err);
}

/* Asks the rows until the next look, or all remaining rows. The last stage of a ranking has the
 * ranking's name. */
static enum vq_status next_look(struct vq_vibecheck_method *m, struct vq_error *err)
{
    struct vq_vibecheck_method_ranking *r = &m->ranking;
    uint32_t end = r->look < r->looks ? r->ends[r->look] : m->train_count;
    r->asked_rows_count = end - r->drawn;
    r->asked_rows =
        vq_arena_copy(&m->memory, r->order + r->drawn, r->asked_rows_count, sizeof(*r->asked_rows));
    VQ_TRY(vq_arena_status(&m->memory));
    const char *name = r->name;
    if (end < m->train_count || r->rows_count > m->train_count) {
        name = vq_arena_printf(&m->stage_memory, VQ_LOOK_NAME, r->name, r->look + 1);
    }
    VQ_TRY(vq_arena_status(&m->stage_memory));
    qsort(r->asked_rows, r->asked_rows_count, sizeof(*r->asked_rows), by_number);
    return vq_rank_stage(m, name, look_read, err);
}

enum vq_status vq_looks_begin(struct vq_vibecheck_method *m, const char *name, uint32_t *vibes,
                              uint32_t vibes_count, uint32_t rows_count,
                              enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                     struct vq_error *err),
                              struct vq_error *err)
{
    struct vq_vibecheck_method_ranking *r = &m->ranking;
    *r = (struct vq_vibecheck_method_ranking){.name = name,
                                              .rows_count = rows_count,
                                              .asked_vibes = vibes,
                                              .asked_vibes_count = vibes_count,
                                              .then = then};
    r->looks = vq_settle_looks(m->in.config, m->train_count, r->ends);
    r->order = vq_arena_copy(&m->memory, m->train_sorted, m->train_count, sizeof(*r->order));
    VQ_TRY(vq_arena_status(&m->memory));
    struct vq_rng rng;
    vq_vibecheck_method_rng(m, VQ_VIBECHECK_SEED_LOOKS, &rng);
    vq_rng_shuffle_u32(&rng, r->order, m->train_count);
    return next_look(m, err);
}

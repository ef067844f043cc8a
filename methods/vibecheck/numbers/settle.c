/* A gate tests whether |mean| > min, over the rows with a score. For each row let y = score - min
 * and z = score + min, or 0 if the row has no score. The gate fails if the mean of all y is at most
 * 0 and that of all z is at least 0, so rows without a score need no guess of their number. To
 * fail, both tests must decide, each at alpha; to pass, one of two must decide, each at alpha / 2.
 * Two gates share alpha.
 *
 * Invariant: a vibe that is settled exactly has a p (it belongs to the family of tests) and fails
 * the same gate when all rows are asked. */
#include "methods/vibecheck/numbers/settle.h"

#include "common/base/alloc.h"
#include "methods/vibecheck/numbers/parts.h"

#include <math.h>

#define GROWTH        1.5  /* factor from one look to the next */
#define LAST_LOOK     0.95 /* share of the training rows: later looks save too little */
#define REST_ROWS_MIN 5u   /* rows that an exact look must be able to save */

/* ---- looks ---- */

static uint32_t looks_alpha(uint32_t first, uint32_t train, uint32_t *ret_ends)
{
    double growth = fmax(GROWTH, pow((double)train / first, 1.0 / (VQ_LOOKS_MAX - 1)));
    uint32_t n = 0;
    for (double at = first; at <= LAST_LOOK * train && n < VQ_LOOKS_MAX; at = ceil(at * growth)) {
        ret_ends[n++] = (uint32_t)at;
    }
    return n;
}

/* The looks avoid points where no exact decision is possible: no vibe fails for certain while the
 * share of rows not yet asked is larger than the gate's threshold, and none passes before half of
 * the rows are asked. */
static uint32_t looks_exact(const struct vq_config *c, uint32_t train, uint32_t *ret_ends)
{
    double rest = c->gates.separability_min * train;
    uint32_t n = 0;
    for (uint32_t tenth = 6; c->judging.early_stop == VQ_EARLY_STOP_FINAL && tenth < 10; tenth++) {
        uint32_t end = (uint32_t)((uint64_t)train * tenth / 10);
        if (train - end > rest && train - end >= REST_ROWS_MIN) {
            ret_ends[n++] = end;
        }
    }
    for (uint32_t third = 2; third > 0; third--) {
        uint32_t left = (uint32_t)(rest * third / 3);
        if (left >= REST_ROWS_MIN && left < train) {
            ret_ends[n++] = train - left;
        }
    }
    return n;
}

uint32_t vq_settle_looks(const struct vq_config *config, uint32_t train,
                         uint32_t ret_ends[VQ_LOOKS_MAX])
{
    const struct vq_conf_judging *j = &config->judging;
    if (j->early_stop == VQ_EARLY_STOP_OFF) {
        return 0;
    }
    return j->early_stop_alpha > 0 ? looks_alpha(j->early_stop_rows, train, ret_ends)
                                   : looks_exact(config, train, ret_ends);
}

/* ---- one gate ---- */

struct work {
    const struct vq_settle_input *in;
    struct vq_scores *scores;
    double *y, *z;
};

static struct vq_settled_vibe worse(struct vq_settled_vibe a, struct vq_settled_vibe b)
{
    return (struct vq_settled_vibe){a.as, a.how > b.how ? a.how : b.how};
}

static struct vq_settled_vibe gate(const struct work *w, uint32_t vibe, bool pref, double alpha)
{
    double min = w->in->config->gates.separability_min;
    uint32_t n = w->in->grid.samples;
    for (uint32_t i = 0; i < n; i++) {
        double x = w->scores->x[(size_t)i * w->in->grid.vibes + vibe];
        double label = pref ? w->in->rows[i].preference : 1;
        bool counts = !isnan(x) && fabs(label) > 0;
        w->y[i] = counts ? x * label - min : 0.0;
        w->z[i] = counts ? x * label + min : 0.0;
    }
    struct vq_drawn y = {w->y, n, w->in->total, -1.0 - min, fmax(1.0 - min, 0.0)};
    struct vq_drawn z = {w->z, n, w->in->total, fmin(-1.0 + min, 0.0), 1.0 + min};
    enum vq_decided low = vq_decided_below(&y, alpha), high = vq_decided_above(&z, alpha);
    if (low != VQ_DECIDED_NOT && high != VQ_DECIDED_NOT) {
        return (struct vq_settled_vibe){VQ_SETTLED_DROPPED, low > high ? low : high};
    }
    enum vq_decided more = vq_decided_above(&y, alpha / 2);
    enum vq_decided less = vq_decided_below(&z, alpha / 2);
    enum vq_decided passes = more != VQ_DECIDED_NOT ? more : less;
    return passes == VQ_DECIDED_NOT ? (struct vq_settled_vibe){VQ_SETTLED_NOT, VQ_DECIDED_NOT}
                                    : (struct vq_settled_vibe){VQ_SETTLED_PASSES, passes};
}

/* ---- a vibe ---- */

/* Combines two gates of which one alone decides if its result is `alone`. */
static struct vq_settled_vibe both(struct vq_settled_vibe a, struct vq_settled_vibe b,
                                   enum vq_settled_as alone)
{
    if (a.as == alone && b.as == alone) {
        return a.how < b.how ? a : b;
    }
    if (a.as == alone || b.as == alone) {
        return a.as == alone ? a : b;
    }
    return a.as == b.as ? worse(a, b) : (struct vq_settled_vibe){VQ_SETTLED_NOT, VQ_DECIDED_NOT};
}

static struct vq_settled_vibe gates(const struct work *w, uint32_t vibe)
{
    const struct vq_conf_gates *g = &w->in->config->gates;
    double alpha = w->in->config->judging.early_stop_alpha;
    if (g->preference == VQ_GATE_SEP_ONLY) {
        return gate(w, vibe, false, alpha);
    }
    struct vq_settled_vibe sep = gate(w, vibe, false, alpha / 2);
    struct vq_settled_vibe pref = gate(w, vibe, true, alpha / 2);
    return both(sep, pref,
                g->preference == VQ_GATE_SEP_OR_PREF ? VQ_SETTLED_PASSES : VQ_SETTLED_DROPPED);
}

/* Whether the vibe has a p now: a score on a row that the proposer did not see, and a vote other
 * than N/A. */
static bool has_p(const struct work *w, uint32_t vibe)
{
    const struct vq_grid *g = &w->in->grid;
    bool scored = false, vote = false;
    for (uint32_t i = 0; i < g->samples && !(scored && vote); i++) {
        scored |= !w->in->rows[i].shown && !isnan(w->scores->x[(size_t)i * g->vibes + vibe]);
        for (uint32_t j = 0; j < g->judges; j++) {
            const uint8_t *o = w->in->outcomes + vq_grid_task(g, (struct vq_cell){i, j, vibe, 0});
            vote |= vq_order_has_vote(o[0]) && o[0] != VQ_OUTCOME_NA;
            vote |= vq_order_has_vote(o[1]) && o[1] != VQ_OUTCOME_NA;
        }
    }
    return scored && vote;
}

static struct vq_settled_vibe settle(const struct work *w, uint32_t vibe)
{
    static const struct vq_settled_vibe not_yet = {VQ_SETTLED_NOT, VQ_DECIDED_NOT};
    const struct vq_conf_gates *g = &w->in->config->gates;
    if (!has_p(w, vibe)) {
        return not_yet;
    }
    struct vq_settled_vibe s = gates(w, vibe);
    bool more = g->separability == VQ_GATE_INTERVAL || (g->kappa && w->in->grid.judges > 1);
    return s.as == VQ_SETTLED_PASSES && more ? not_yet : s;
}

enum vq_status vq_settle(const struct vq_settle_input *in, struct vq_settled_vibe *ret)
{
    struct work w = {.in = in};
    w.y = vq_alloc(in->grid.samples, sizeof(*w.y));
    w.z = vq_alloc(in->grid.samples, sizeof(*w.z));
    enum vq_status status = w.y == NULL || w.z == NULL ? VQ_NOMEM : VQ_OK;
    if (status == VQ_OK) {
        status =
            vq_scores_create(&in->grid, in->config->judging.pair_rule, in->outcomes, &w.scores);
    }
    for (uint32_t v = 0; v < in->grid.vibes && status == VQ_OK; v++) {
        ret[v] = settle(&w, v);
    }
    vq_scores_destroy(&w.scores);
    vq_free(w.y);
    vq_free(w.z);
    return status;
}

/* Estimates later calls from earlier ones: tokens per byte, length of answers, latency, the share
 * of first answers that settle a score. The sources are, in this order: answers to the run's own
 * questions, any calls to the model in the ledger, a stated assumption. Not its job: choosing the
 * answers (known.c). */
#include "methods/plan/files/parts.h"

#include "coordinator/pools/second_orders.h"
#include "coordinator/store/calls/ledger.h"

#include <math.h>
#include <string.h>

#define ENOUGH 5.0 /* number of answers or calls that an estimate needs */

static const struct vq_role_models *cast_of(const struct vq_learning *l, struct vq_learn_of of)
{
    return &l->job->cast[of.role];
}

struct vq_learned *vq_learn_at(struct vq_learning *l, struct vq_learn_of of)
{
    return &l->by[of.role][of.model][of.kind];
}

/* ---- the ledger ---- */

/* A model is recognized by the name that it has for judges, and by the names that its pools use. */
static bool is_answer_of(const struct vq_learning *l, const struct vq_role_models *cast,
                         uint32_t model, struct vq_span returned)
{
    bool is = vq_settling_is_called(returned, cast->judges[model].model);
    for (uint32_t i = 0; !is && i < cast->pools_count[model]; i++) {
        is = vq_settling_is_called(returned, l->job->pools.uses.uses[cast->pools[model][i]].sent);
    }
    return is;
}

static void learn_row(struct vq_learned *to, const struct vq_call_row *row)
{
    double out = (double)row->result.tokens_out;
    if (row->result.kind == VQ_CALL_REPAIR) {
        to->repairs++;
        return;
    }
    to->asks++;
    to->calls++;
    to->latency_ms += row->result.latency_ms;
    to->call_out += out;
    to->call_out_sq += out * out;
    to->call_in += (double)row->result.tokens_in;
    to->call_cached += (double)row->result.tokens_cached;
    to->call_written += (double)row->result.tokens_written;
    vq_settling_add(&to->settling, row);
}

/* The ledger has no kind of stage, so it is derived from the answer. An answer without a text was
 * to a question for a verdict or a rating. */
static bool is_of_kind(const struct vq_call_row *row, enum vq_stage_kind kind)
{
    bool text = row->result.outcome == VQ_OUTCOME_TEXT;
    switch (kind) {
    case VQ_STAGE_RANK:
    case VQ_STAGE_PREFER:
    case VQ_STAGE_LIKERT:
    case VQ_STAGE_BINARY:
    case VQ_STAGE_PAIRWISE: return !text;
    case VQ_STAGE_TEXT:
    case VQ_STAGE_CHAT:
    case VQ_STAGE_PROBE: return text && row->result.tokens_out > 0;
    case VQ_STAGE_EMBED: return text && row->result.tokens_out == 0;
    case VQ_STAGE__COUNT: break;
    }
    return false;
}

static enum vq_status ledger_row(void *ctx, const struct vq_call_row *row)
{
    struct vq_learning *l = ctx;
    if (row->result.end != VQ_END_ANSWER) {
        return VQ_OK;
    }
    for (int role = 0; role < VQ_ROLE__COUNT; role++) {
        const struct vq_role_models *cast = &l->job->cast[role];
        for (uint32_t m = 0; m < cast->count; m++) {
            bool is = is_answer_of(l, cast, m, row->result.model);
            for (int kind = 0; is && kind < VQ_STAGE__COUNT; kind++) {
                if (is_of_kind(row, (enum vq_stage_kind)kind)) {
                    learn_row(&l->by[role][m][kind], row);
                }
            }
        }
    }
    return VQ_OK;
}

enum vq_status vq_learn_ledger(struct vq_learning *l, struct vq_calls *calls, struct vq_error *err)
{
    struct vq_view *view;
    VQ_TRY(vq_view_begin(calls, &view, err));
    enum vq_status status = vq_ledger_scan_any(view, VQ_SETTLING_ROWS_MAX, ledger_row, l, err);
    vq_view_end(&view);
    return status;
}

/* ---- numbers about a model ---- */

/* Whether answers of kind `b` may be used to estimate answers of kind `a`. */
static bool is_like(enum vq_stage_kind a, enum vq_stage_kind b)
{
    bool verdict_a = a == VQ_STAGE_RANK || a == VQ_STAGE_PREFER;
    bool verdict_b = b == VQ_STAGE_RANK || b == VQ_STAGE_PREFER;
    return a == b || (verdict_a && verdict_b);
}

static void add_answers(struct vq_learned *to, const struct vq_learned *from)
{
    to->firsts += from->firsts;
    to->settled += from->settled;
    to->looked += from->looked;
    to->unreadable += from->unreadable;
    to->own_repair += from->own_repair;
    to->answers += from->answers;
    to->bytes += from->bytes;
    to->tokens_in += from->tokens_in;
    to->tokens_cached += from->tokens_cached;
    to->out += from->out;
    to->out_sq += from->out_sq;
}

static struct vq_learned sum_of(const struct vq_learning *l, struct vq_learn_of of, bool any_kind)
{
    const struct vq_judge *own = &cast_of(l, of)->judges[of.model];
    struct vq_learned sum = {0};
    for (int role = 0; role < VQ_ROLE__COUNT; role++) {
        const struct vq_role_models *cast = &l->job->cast[role];
        for (uint32_t m = 0; m < cast->count; m++) {
            if (strcmp(cast->judges[m].model, own->model) != 0 ||
                strcmp(cast->judges[m].identity, own->identity) != 0) {
                continue;
            }
            for (int kind = 0; kind < VQ_STAGE__COUNT; kind++) {
                if (any_kind || is_like(of.kind, (enum vq_stage_kind)kind)) {
                    add_answers(&sum, &l->by[role][m][kind]);
                }
            }
        }
    }
    return sum;
}

/* The number of observations of one sort. */
typedef double (*count_fn)(const struct vq_learned *k);

static double count_answers(const struct vq_learned *k)
{
    return k->answers;
}

static double count_firsts(const struct vq_learned *k)
{
    return k->firsts;
}

static double count_looked(const struct vq_learned *k)
{
    return k->looked;
}

/* The numbers of this role and kind. If there are too few, those of the same model in all roles and
 * similar kinds; then, with `any_kind`, in all kinds. */
static struct vq_learned nearest(const struct vq_learning *l, struct vq_learn_of of, count_fn count,
                                 bool any_kind)
{
    struct vq_learned learned = l->by[of.role][of.model][of.kind];
    if (count(&learned) < ENOUGH) {
        learned = sum_of(l, of, false);
    }
    if (any_kind && count(&learned) < ENOUGH) {
        learned = sum_of(l, of, true);
    }
    return learned;
}

struct vq_range vq_learn_tokens_a_byte(struct vq_learning *l, struct vq_learn_of of)
{
    struct vq_learned k = nearest(l, of, count_answers, true);
    if (k.bytes > 0 && k.tokens_in > 0) {
        double ratio = k.tokens_in / k.bytes;
        return (struct vq_range){ratio * 0.98, ratio, ratio * 1.02};
    }
    l->assumed |= VQ_ASSUMED_TOKENS;
    return (struct vq_range){1 / (VQ_ASSUMED_BYTES_A_TOKEN + 1), 1 / VQ_ASSUMED_BYTES_A_TOKEN,
                             1 / (VQ_ASSUMED_BYTES_A_TOKEN - 1)};
}

/* A mean with two standard errors on each side, but at least 3 %. */
static struct vq_range mean_of(double n, double sum, double sum_sq, double most)
{
    double mean = sum / n;
    double deviation = sqrt(fmax(0, sum_sq / n - mean * mean));
    double error = fmax(2 * deviation / sqrt(n), 0.03 * mean);
    return (struct vq_range){fmax(0, mean - error), fmin(mean, most),
                             fmin(fmax(mean, mean + error), fmax(mean, most))};
}

struct vq_range vq_learn_output(struct vq_learning *l, struct vq_learn_of of, double items)
{
    if (of.kind == VQ_STAGE_EMBED) {
        return (struct vq_range){0};
    }
    double most = cast_of(l, of)->judges[of.model].max_tokens;
    struct vq_learned k = nearest(l, of, count_answers, false);
    const struct vq_learned *own = vq_learn_at(l, of);
    if (k.answers >= ENOUGH) {
        return mean_of(k.answers, k.out, k.out_sq, most);
    }
    if (own->calls >= ENOUGH) {
        return mean_of(own->calls, own->call_out, own->call_out_sq, most);
    }
    uint32_t a_call = l->job->config->judging.vibes_per_call;
    const struct vq_learned *joint_of = &l->by[of.role][of.model][VQ_STAGE_TEXT];
    if (of.kind == VQ_STAGE_RANK && a_call > 1 && joint_of->answers >= ENOUGH) {
        struct vq_range all = mean_of(joint_of->answers, joint_of->out, joint_of->out_sq, most);
        return (struct vq_range){all.least / a_call, all.expected / a_call, all.most};
    }
    l->assumed |= VQ_ASSUMED_OUTPUT;
    bool joint = of.kind == VQ_STAGE_TEXT && of.role == VQ_ROLE_JUDGE;
    bool text = vq_stage_talks(of.kind) || (of.kind == VQ_STAGE_TEXT && !joint);
    double guess = text ? VQ_ASSUMED_TEXT_TOKENS : VQ_ASSUMED_VERDICT_TOKENS * items;
    return (struct vq_range){fmin(5, most), fmin(guess, most), most};
}

struct vq_range vq_learn_latency_s(struct vq_learning *l, struct vq_learn_of of,
                                   struct vq_range output)
{
    const struct vq_learned *k = vq_learn_at(l, of);
    if (k->calls >= ENOUGH) {
        double mean = k->latency_ms / k->calls / 1000;
        return (struct vq_range){mean * 0.7, mean, mean * 1.5};
    }
    if (vq_role_models_is_offline(&cast_of(l, of)->conf[of.model])) {
        return (struct vq_range){0.002, 0.01, 0.05};
    }
    l->assumed |= VQ_ASSUMED_LATENCY;
    double expected = 1 + output.expected / 50;
    return (struct vq_range){expected / 3, expected, expected * 3};
}

double vq_learn_settled(struct vq_learning *l, struct vq_learn_of of)
{
    struct vq_learned k = nearest(l, of, count_firsts, false);
    const struct vq_learned *own = vq_learn_at(l, of);
    if (k.firsts >= ENOUGH) {
        return k.settled / k.firsts;
    }
    if ((double)own->settling.verdicts >= ENOUGH) {
        return (double)own->settling.settled / (double)own->settling.verdicts;
    }
    l->assumed |= VQ_ASSUMED_SETTLED;
    return VQ_ASSUMED_SETTLED_SHARE;
}

bool vq_learn_settled_by_run(struct vq_learning *l, struct vq_learn_of of)
{
    return vq_learn_at(l, of)->settling.verdicts >= VQ_SECOND_ORDERS_FIRSTS_MIN;
}

/* A share of n, with three standard errors above it. The upper end is never 0, even if the share
 * is. */
static struct vq_range share_of(double share, double n)
{
    double error = 3 * sqrt(share * (1 - share) / n) + 3 / n;
    return (struct vq_range){0, share, fmin(1, share + error)};
}

/* The expected share of repairs is that of texts which were repaired only once. Equal texts are
 * repaired once, so a known text costs nothing, and the chance that the next text is new is the
 * share of texts that occurred once (Good-Turing). */
struct vq_range vq_learn_repaired(struct vq_learning *l, struct vq_learn_of of)
{
    struct vq_learned k = nearest(l, of, count_looked, false);
    const struct vq_learned *own = vq_learn_at(l, of);
    if (k.looked >= ENOUGH) {
        struct vq_range any = share_of(k.unreadable / k.looked, k.looked);
        return (struct vq_range){0, k.own_repair / k.looked, any.most};
    }
    if (own->asks >= ENOUGH) {
        return share_of(fmin(1, own->repairs / own->asks), own->asks);
    }
    l->assumed |= VQ_ASSUMED_REPAIRS;
    return (struct vq_range){0, VQ_ASSUMED_REPAIR_SHARE, VQ_ASSUMED_REPAIR_SHARE_MOST};
}

/* `part` as a share of the input of all calls of this model and kind in the ledger. */
static double share_of_calls(const struct vq_learned *own, double part)
{
    return own->calls >= ENOUGH && own->call_in > 0 ? fmin(1, part / own->call_in) : 0;
}

double vq_learn_cached(const struct vq_learning *l, struct vq_learn_of of)
{
    struct vq_learned k = nearest(l, of, count_answers, false);
    const struct vq_learned *own = &l->by[of.role][of.model][of.kind];
    return k.tokens_in > 0 ? fmin(1, k.tokens_cached / k.tokens_in)
                           : share_of_calls(own, own->call_cached);
}

double vq_learn_written(const struct vq_learning *l, struct vq_learn_of of)
{
    const struct vq_learned *own = &l->by[of.role][of.model][of.kind];
    return fmin(share_of_calls(own, own->call_written), 1 - vq_learn_cached(l, of));
}

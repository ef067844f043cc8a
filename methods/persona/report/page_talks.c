/* The dialogues of a persona page, turn by turn, with the ratings of each turn and the judges'
 * reasoning. The page holds a limited number: first the dialogue of each persona and kind whose
 * ratings fell most, then the next one of each. dialogues.jsonl and ratings.csv have all
 * dialogues. */
#include "common/base/alloc.h"
#include "methods/persona/report/page_parts.h"

#include <math.h>
#include <stdlib.h>

struct talk {
    uint32_t chain, group; /* group: same model, persona and kind of dialogue */
    uint32_t rank;         /* rank within the group */
    double fall; /* decrease of the mean rating from the first half to the second; NaN: not known */
};

struct index {
    struct vq_persona_index turns; /* the things that rate turns, by chain * rounds + turn */
    struct vq_persona_index probed;
    struct talk *talks;
};

static uint32_t rounds_of(const struct vq_persona_page *p)
{
    return p->r->study->plan->design.rounds;
}

/* The place of a thing: its turn, or SIZE_MAX if it rates no turn. */
static size_t turn_of(const struct vq_persona_page *p, size_t thing)
{
    const struct vq_persona_study *s = p->r->study;
    const struct vq_persona_rated *t = &s->rated[thing];
    if (s->criteria[t->criterion].use != VQ_PERSONA_OF_TURNS) {
        return SIZE_MAX;
    }
    return (size_t)vq_persona_chain_of(s->plan, t->model, t->persona, t->script, t->order) *
               rounds_of(p) +
           t->point;
}

static void index_free(struct vq_persona_index *index)
{
    vq_free(index->from);
    vq_free(index->things);
    *index = (struct vq_persona_index){.from = NULL};
}

enum vq_status vq_persona_index_make(const struct vq_persona_page *p, size_t places,
                                     size_t (*place_of)(const struct vq_persona_page *p,
                                                        size_t thing),
                                     struct vq_persona_index *ret_index)
{
    size_t things = p->r->study->rated_count, sum = 0;
    struct vq_persona_index x = {.from = vq_alloc(places + 1, sizeof(*x.from)),
                                 .things = vq_alloc(things + 1, sizeof(*x.things))};
    if (x.from == NULL || x.things == NULL) {
        index_free(&x);
        return VQ_NOMEM;
    }
    for (size_t i = 0; i < things; i++) {
        size_t place = place_of(p, i);
        if (place != SIZE_MAX) {
            x.from[place]++;
        }
    }
    for (size_t k = 0; k <= places; k++) { /* from[place] is the end of each place */
        sum += x.from[k];
        x.from[k] = sum;
    }
    for (size_t i = things; i > 0; i--) { /* now from[place] becomes its beginning */
        size_t place = place_of(p, i - 1);
        if (place != SIZE_MAX) {
            x.things[--x.from[place]] = i - 1;
        }
    }
    *ret_index = x;
    return VQ_OK;
}

static double mean_between(const struct vq_persona_page *p, const struct vq_persona_index *x,
                           size_t from, size_t until)
{
    const struct vq_persona_study *s = p->r->study;
    double sum = 0;
    size_t present = 0;
    for (size_t i = x->from[from]; i < x->from[until]; i++) {
        for (uint32_t j = 0; j < s->judges; j++) {
            double value = s->values[x->things[i] * s->judges + j];
            sum += isnan(value) ? 0 : value;
            present += isnan(value) ? 0 : 1;
        }
    }
    return present == 0 ? NAN : sum / (double)present;
}

/* ---- choice of dialogues ---- */

static int by_fall(const struct talk *x, const struct talk *y)
{
    if (isnan(x->fall) != isnan(y->fall)) { /* unknown values come last */
        return isnan(x->fall) ? 1 : -1;
    }
    int c = isnan(x->fall) ? 0 : (x->fall < y->fall) - (x->fall > y->fall);
    return c != 0 ? c : (x->chain > y->chain) - (x->chain < y->chain);
}

static int within_groups(const void *a, const void *b)
{
    const struct talk *x = a;
    const struct talk *y = b;
    int c = (x->group > y->group) - (x->group < y->group);
    return c != 0 ? c : by_fall(x, y);
}

static int as_shown(const void *a, const void *b)
{
    const struct talk *x = a;
    const struct talk *y = b;
    int c = (x->rank > y->rank) - (x->rank < y->rank);
    return c != 0 ? c : by_fall(x, y);
}

static void choose(const struct vq_persona_page *p, struct index *x)
{
    const struct vq_persona_plan *plan = p->r->study->plan;
    uint32_t n = plan->chains_count, rounds = rounds_of(p);
    for (uint32_t i = 0; i < n; i++) {
        size_t first = (size_t)i * rounds;
        x->talks[i] = (struct talk){
            .chain = i,
            .group = plan->chains[i].persona * plan->design.scripts_count + plan->chains[i].script,
            .fall = mean_between(p, &x->turns, first, first + rounds / 2) -
                    mean_between(p, &x->turns, first + rounds / 2, first + rounds)};
    }
    qsort(x->talks, n, sizeof(*x->talks), within_groups);
    for (uint32_t i = 1; i < n; i++) {
        bool same = x->talks[i].group == x->talks[i - 1].group;
        x->talks[i].rank = same ? x->talks[i - 1].rank + 1 : 0;
    }
    qsort(x->talks, n, sizeof(*x->talks), as_shown);
}

/* ---- a turn ---- */

void vq_persona_page_rating(const struct vq_persona_page *p, size_t thing, uint32_t judge,
                            bool with_reasoning, struct vq_json *j)
{
    const struct vq_persona_study *s = p->r->study;
    const struct vq_persona_rated *t = &s->rated[thing];
    unsigned status = s->statuses[thing * s->judges + judge];
    struct vq_span text;
    vq_json_object(j);
    vq_json_put_u64(j, "criterion", t->criterion);
    vq_json_put_u64(j, "judge", judge);
    if (t->as != VQ_PERSONA_NONE) {
        vq_json_put_u64(j, "as", t->as);
    }
    if (s->criteria[t->criterion].use == VQ_PERSONA_OF_PAIRS) {
        vq_json_put_str(j, "reference", vq_persona_reference_name(t->reference));
        vq_json_put_u64(j, "position", t->position);
    }
    vq_report_key_real(j, "value", s->values[thing * s->judges + judge]);
    if (status != VQ_RATING_OK) {
        vq_json_put_str(j, "status", vq_persona_status_name(status));
    }
    if (s->human != NULL && !isnan(s->human[thing])) {
        vq_report_key_real(j, "human", s->human[thing]);
    }
    if (with_reasoning && p->of->reasoning != NULL &&
        p->of->reasoning(p->of->ctx, thing, judge, &text)) {
        vq_json_key(j, "said");
        (void)vq_page_put_answer(j, text);
    }
    vq_json_object_end(j);
}

static void put_ratings(const struct vq_persona_page *p, const struct vq_persona_index *x,
                        size_t turn, struct vq_json *j)
{
    uint32_t judges = p->r->study->judges;
    size_t all = (x->from[turn + 1] - x->from[turn]) * judges;
    vq_json_put_u64(j, "ratings_count", all);
    vq_json_put_array(j, "ratings");
    for (size_t i = 0; i < all && i < VQ_PERSONA_PAGE_RATINGS_MAX; i++) {
        vq_persona_page_rating(p, x->things[x->from[turn] + i / judges], (uint32_t)(i % judges),
                               i < VQ_PERSONA_PAGE_REASONS_MAX, j);
    }
    vq_json_array_end(j);
}

/* ---- a dialogue ---- */

/* The head of a dialogue; without "persona" it is the baseline's. */
static void put_head(const struct vq_persona_page *p, const struct talk *talk,
                     const struct vq_persona_dialogue *d, struct vq_json *j)
{
    const struct vq_persona_plan *plan = p->r->study->plan;
    const struct vq_persona_chain *chain = &plan->chains[talk->chain];
    if (!vq_persona_is_baseline(plan, chain->persona)) {
        vq_json_put_u64(j, "persona", chain->persona);
    }
    vq_json_put_u64(j, "model", chain->model);
    vq_json_put_str(j, "kind", vq_persona_kind_name(plan->design.scripts[chain->script].kind));
    vq_json_put_str(j, "order", chain->order == VQ_PERSONA_ORIGINAL ? "original" : "shuffled");
    vq_report_key_real(j, "fall", talk->fall);
    vq_json_put_u64(j, "turns_count", d->turns);
    vq_json_put_str(j, "ended", d->ended);
    vq_json_key(j, "system");
    if (d->system.at != NULL) {
        vq_page_put_text(j, d->system, VQ_PAGE_TEXT_BYTES_MAX);
    } else {
        vq_json_null(j);
    }
}

static void put_probes(const struct vq_persona_page *p, const struct index *x, uint32_t chain,
                       uint32_t rounds, size_t bytes_max, struct vq_json *j)
{
    vq_json_key(j, "probes"); /* questions before this turn */
    vq_json_array(j);
    vq_persona_page_probes(p, &x->probed, chain, rounds, bytes_max, j);
    vq_json_array_end(j);
}

static void put_talk(const struct vq_persona_page *p, const struct index *x,
                     const struct talk *talk, struct vq_json *j)
{
    struct vq_persona_dialogue d = {.chain = talk->chain};
    size_t until = j->out->bytes + VQ_PERSONA_PAGE_TALK_BYTES_MAX;
    uint32_t turn = 0;
    p->of->dialogue(p->of->ctx, talk->chain, &d);
    vq_json_object(j);
    put_head(p, talk, &d, j);
    vq_json_put_array(j, "turns");
    for (; turn < d.turns && turn < rounds_of(p) && j->out->bytes < until; turn++) {
        vq_json_object(j);
        put_probes(p, x, talk->chain, turn, until, j);
        vq_json_key(j, "query");
        vq_page_put_text(j, d.queries[turn], VQ_PAGE_TEXT_BYTES_MAX);
        vq_json_key(j, "answer");
        vq_page_put_text(j, d.answers[turn], VQ_PAGE_TEXT_BYTES_MAX);
        put_ratings(p, &x->turns, (size_t)talk->chain * rounds_of(p) + turn, j);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    if (turn == d.turns) { /* after the last answered turn */
        put_probes(p, x, talk->chain, turn, until, j);
    }
    vq_json_object_end(j);
}

static void put_talks(const struct vq_persona_page *p, const struct index *x, struct vq_json *j)
{
    uint32_t shown = 0, all = p->r->study->plan->chains_count;
    size_t begin = j->out->bytes;
    vq_json_put_u64(j, "talks_count", all);
    vq_json_put_array(j, "talks");
    while (shown < all && shown < VQ_PERSONA_PAGE_TALKS_MAX &&
           j->out->bytes - begin < VQ_PAGE_DATA_BYTES_MAX) {
        put_talk(p, x, &x->talks[shown++], j);
    }
    vq_json_array_end(j);
}

void vq_persona_page_talks(const struct vq_persona_page *p, struct vq_json *j)
{
    const struct vq_persona_plan *plan = p->r->study->plan;
    struct index x = {.talks = NULL};
    if (p->of->dialogue == NULL) {
        return;
    }
    x.talks = vq_alloc(plan->chains_count, sizeof(*x.talks));
    size_t turns = (size_t)plan->chains_count * rounds_of(p);
    if (x.talks != NULL && vq_persona_index_make(p, turns, turn_of, &x.turns) == VQ_OK &&
        vq_persona_probed_make(p, &x.probed) == VQ_OK) {
        choose(p, &x);
        put_talks(p, &x, j);
    } else {
        j->out->status = VQ_NOMEM;
    }
    vq_free(x.talks);
    index_free(&x.turns);
    index_free(&x.probed);
}

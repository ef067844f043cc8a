/* The questions after a beginning of a dialogue, with their answers and ratings: the first
 * questions of each data set. Not its job: turns (page_talks.c). */
#include "methods/persona/report/page_parts.h"

/* ---- ratings by beginning ---- */

/* The prefix before the question of a thing's answer; SIZE_MAX: the thing is a turn. */
static size_t prefix_of(const struct vq_persona_page *p, size_t thing)
{
    const struct vq_persona_study *s = p->r->study;
    const struct vq_persona_rated *t = &s->rated[thing];
    return s->criteria[t->criterion].use == VQ_PERSONA_OF_TURNS
               ? SIZE_MAX
               : vq_persona_prefix_of(s->plan, t->model, t->persona, t->script, t->point);
}

enum vq_status vq_persona_probed_make(const struct vq_persona_page *p,
                                      struct vq_persona_index *ret_probed)
{
    return vq_persona_index_make(p, p->r->study->plan->prefixes_count, prefix_of, ret_probed);
}

/* ---- one question ---- */

struct place {
    const struct vq_persona_index *probed;
    uint32_t prefix, set;
    bool baseline;
    size_t bytes_max;
};

/* Writes every rating of the answer in a column. */
static void put_ratings(const struct vq_persona_page *p, const struct place *at, uint32_t column,
                        struct vq_json *j)
{
    const struct vq_persona_study *s = p->r->study;
    const struct vq_persona_set *set = &s->plan->design.sets[at->set];
    uint32_t all = 0;
    vq_json_put_array(j, "ratings");
    for (size_t i = at->probed->from[at->prefix]; i < at->probed->from[at->prefix + 1]; i++) {
        size_t thing = at->probed->things[i];
        const struct vq_persona_rated *t = &s->rated[thing];
        if (p->of->sets[t->criterion] != at->set ||
            vq_persona_column(set, t->item, at->baseline) != column) {
            continue;
        }
        for (uint32_t judge = 0; judge < s->judges; judge++, all++) {
            if (all < VQ_PERSONA_PAGE_RATINGS_MAX) {
                vq_persona_page_rating(p, thing, judge, all < VQ_PERSONA_PAGE_REASONS_MAX, j);
            }
        }
    }
    vq_json_array_end(j);
    vq_json_put_u64(j, "ratings_count", all);
}

static void put_question(const struct vq_persona_page *p, const struct place *at, uint32_t column,
                         struct vq_json *j)
{
    const char *question = "";
    struct vq_span answer = vq_span(NULL, 0);
    p->of->probe(p->of->ctx, at->set, at->prefix, column, &question, &answer);
    vq_json_object(j);
    vq_json_key(j, "question");
    vq_page_put_text(j, vq_span_str(question), VQ_PAGE_TEXT_BYTES_MAX);
    vq_json_key(j, "answer");
    if (answer.at != NULL) {
        vq_page_put_text(j, answer, VQ_PAGE_TEXT_BYTES_MAX);
    } else {
        vq_json_null(j);
    }
    put_ratings(p, at, column, j);
    vq_json_object_end(j);
}

/* ---- a data set ---- */

static void put_set(const struct vq_persona_page *p, const struct place *at, struct vq_json *j)
{
    const struct vq_persona_plan *plan = p->r->study->plan;
    const struct vq_persona_set *set = &plan->design.sets[at->set];
    uint32_t asked = 0, shown = 0;
    for (uint32_t c = 0; c < vq_persona_columns(set); c++) {
        asked += vq_persona_asks(plan, set, at->prefix, c);
    }
    if (asked == 0) {
        return;
    }
    vq_json_object(j);
    vq_json_put_str(j, "set", p->r->sets[at->set]);
    vq_json_put_u64(j, "asked", asked);
    vq_json_put_array(j, "questions");
    for (uint32_t c = 0;
         shown < asked && shown < VQ_PERSONA_PAGE_PROBES_MAX && j->out->bytes < at->bytes_max;
         c++) {
        if (vq_persona_asks(plan, set, at->prefix, c)) {
            put_question(p, at, c, j);
            shown++;
        }
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

void vq_persona_page_probes(const struct vq_persona_page *p, const struct vq_persona_index *probed,
                            uint32_t chain, uint32_t rounds, size_t bytes_max, struct vq_json *j)
{
    const struct vq_persona_plan *plan = p->r->study->plan;
    const struct vq_persona_chain *of = &plan->chains[chain];
    if (p->of->probe == NULL || of->order != VQ_PERSONA_ORIGINAL) {
        return;
    }
    for (uint32_t i = 0; i < plan->design.checkpoints; i++) {
        if (plan->checkpoints[i] != rounds) {
            continue;
        }
        struct place at = {.probed = probed,
                           .prefix =
                               vq_persona_prefix_of(plan, of->model, of->persona, of->script, i),
                           .baseline = vq_persona_is_baseline(plan, of->persona),
                           .bytes_max = bytes_max};
        for (at.set = 0; at.set < plan->design.sets_count; at.set++) {
            put_set(p, &at, j);
        }
    }
}

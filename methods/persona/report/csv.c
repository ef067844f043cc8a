/* ratings.csv and dialogues.jsonl of a persona evaluation: one line for each rating and for each
 * dialogue. A missing value is an empty cell, never 0. */
#include "common/text/csv.h"
#include "common/text/json.h"
#include "methods/persona/report/report.h"

#include <math.h>

static const char *persona_name(const struct vq_report_persona *r, uint32_t persona)
{
    return persona < r->study->plan->design.personas ? r->names.personas[persona] : "";
}

static const char *order_word(enum vq_persona_order order)
{
    return order == VQ_PERSONA_ORIGINAL ? "original" : "shuffled";
}

static void header(struct vq_csv *csv)
{
    static const char *const names[] = {"criterion", "model", "persona", "as",    "kind",
                                        "order",     "round", "item",    "label", "reference",
                                        "position",  "judge", "value",   "status"};
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        vq_csv_str(csv, names[i]);
    }
    vq_csv_end_row(csv);
}

static void thing(struct vq_csv *csv, const struct vq_report_persona *r,
                  const struct vq_persona_rated *t)
{
    static const char *const labels[] = {"", "safe", "unsafe"};
    const struct vq_persona_plan *plan = r->study->plan;
    const struct vq_persona_criterion *c = &r->study->criteria[t->criterion];
    bool turn = c->use == VQ_PERSONA_OF_TURNS, pairs = c->use == VQ_PERSONA_OF_PAIRS;
    vq_csv_str(csv, c->name);
    vq_csv_str(csv, r->names.models[t->model]);
    vq_csv_str(csv, persona_name(r, t->persona));
    vq_csv_str(csv, t->as == VQ_PERSONA_NONE ? "" : r->names.personas[t->as]);
    vq_csv_str(csv, vq_persona_kind_name(plan->design.scripts[t->script].kind));
    vq_csv_str(csv, order_word(turn ? t->order : VQ_PERSONA_ORIGINAL));
    vq_csv_i64(csv, turn ? t->point : plan->checkpoints[t->point]);
    if (turn) {
        vq_csv_empty(csv);
    } else {
        vq_csv_i64(csv, (int64_t)t->item + 1);
    }
    vq_csv_str(csv, labels[t->label]);
    vq_csv_str(csv, pairs ? vq_persona_reference_name(t->reference) : "");
    if (pairs) {
        vq_csv_i64(csv, (int64_t)t->position + 1);
    } else {
        vq_csv_empty(csv);
    }
}

/* A rating in the words of its kind: 1 to 5, yes or no, A or B. */
static void value_cell(struct vq_csv *csv, enum vq_rating_kind kind, double value)
{
    static const char *const words[2][2] = {{"no", "yes"}, {"A", "B"}};
    if (kind == VQ_RATING_LIKERT || isnan(value)) {
        vq_csv_real(csv, value, VQ_REPORT_DIGITS);
    } else {
        vq_csv_str(csv, words[kind == VQ_RATING_PAIRWISE][value > 0.5]);
    }
}

void vq_report_persona_ratings_csv(const struct vq_report_persona *r, size_t from, size_t until,
                                   struct vq_buf *out)
{
    const struct vq_persona_study *s = r->study;
    struct vq_csv csv;
    vq_csv_init_safe(&csv, out);
    if (from == 0) {
        header(&csv);
    }
    for (size_t i = from; i < until && i < s->rated_count; i++) {
        for (uint32_t j = 0; j < s->judges; j++) {
            thing(&csv, r, &s->rated[i]);
            vq_csv_str(&csv, r->judges[j].name);
            value_cell(&csv, s->criteria[s->rated[i].criterion].kind, s->values[i * s->judges + j]);
            vq_csv_str(&csv, vq_persona_status_name(s->statuses[i * s->judges + j]));
            vq_csv_end_row(&csv);
        }
    }
}

static void message(struct vq_json *j, const char *role, struct vq_span text)
{
    vq_json_object(j);
    vq_json_put_str(j, "role", role);
    vq_json_put_span(j, "content", text);
    vq_json_object_end(j);
}

void vq_report_persona_dialogue(const struct vq_report_persona *r,
                                const struct vq_persona_dialogue *dialogue, struct vq_buf *out)
{
    const struct vq_persona_plan *plan = r->study->plan;
    const struct vq_persona_chain *chain = &plan->chains[dialogue->chain];
    bool baseline = vq_persona_is_baseline(plan, chain->persona);
    struct vq_json json;
    struct vq_json *j = &json;
    vq_json_init(j, out, 0);
    vq_json_object(j);
    vq_json_put_str(j, "model", r->names.models[chain->model]);
    vq_json_put_str(j, "persona", baseline ? NULL : r->names.personas[chain->persona]);
    vq_json_put_str(j, "kind", vq_persona_kind_name(plan->design.scripts[chain->script].kind));
    vq_json_put_str(j, "order", order_word(chain->order));
    vq_json_put_u64(j, "rounds", dialogue->turns);
    vq_json_put_str(j, "ended", dialogue->ended);
    vq_json_key(j, "system");
    if (dialogue->system.at == NULL) {
        vq_json_null(j);
    } else {
        vq_json_span(j, dialogue->system);
    }
    vq_json_put_array(j, "messages");
    for (uint32_t i = 0; i < dialogue->turns; i++) {
        message(j, "user", dialogue->queries[i]);
        message(j, "assistant", dialogue->answers[i]);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
    vq_buf_putc(out, '\n');
}

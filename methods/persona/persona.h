/* A persona evaluation as a script of stages: the dialogues; ratings of every turn; then, for each
 * data set, the questions after the beginnings of dialogues and the ratings of their answers.
 * Ratings are built from earlier answers, so the same answers give the same stages. If a turn or an
 * answer is missing, nothing is asked about it, and its ratings count as blocked.
 *
 * If a stage has a question twice (two kinds of dialogues before their first round, equal answers),
 * the repeat goes into a later stage, which the store answers. So every run sends the same
 * calls. */
#pragma once

#include "common/conf/config.h"
#include "common/conf/queries_file.h"
#include "common/judge/criteria.h"
#include "common/judge/template.h"
#include "common/judge/verdict.h"
#include "methods/persona/items.h"
#include "methods/plan/forecast.h"
#include "methods/script.h"

#define VQ_PERSONA_RUBRICS_MAX 256u

struct vq_persona_rubric {
    struct vq_persona_criterion study; /* the criterion, for results */
    const struct vq_criterion *text;   /* the criterion, for the judge */
};

/* A data set; it has the same number as in the plan. */
struct vq_persona_probe {
    const char *name;
    const struct vq_items_file *file;
    const struct vq_persona_bound *bound;
    /* 0: answers are not rated; VQ_TRAITS: one per trait, chosen by the item's trait */
    uint32_t first_rubric, rubrics;
};

/* Borrowed. The caller must not change it while the persona lives. */
struct vq_persona_input {
    const struct vq_persona_plan *plan;
    const struct vq_conf_subject *subjects; /* one per model of the plan */
    const struct vq_conf_persona *personas;
    const struct vq_queries_file *queries; /* one per script of the plan */
    const struct vq_template *template;    /* that of VQ_TEMPLATE_PERSONA */
    const struct vq_persona_rubric *rubrics;
    uint32_t rubrics_count;
    uint32_t turn_rubrics; /* the first turn_rubrics of them rate turns */
    const struct vq_persona_probe *probes;
    uint32_t judges_count;
    /* how often a question to a judge is asked again after an answer that cannot be read */
    uint32_t retries;
};

struct vq_persona;
/* VQ_OK, VQ_NOMEM. */
enum vq_status vq_persona_create(const struct vq_persona_input *input,
                                 struct vq_persona **ret_persona,
                                 struct vq_error *err) VQ_WARN_UNUSED;
void vq_persona_destroy(struct vq_persona **persona);
struct vq_script vq_persona_script(struct vq_persona *persona);
const struct vq_persona_input *vq_persona_input(const struct vq_persona *persona);

/* ---- the questions so far ---- */

/* The stage of a part of the ratings, valid after the script named it: without its items, but with
 * their ids. It lives as long as the persona. */
uint32_t vq_persona_parts_count(const struct vq_persona *persona);
const struct vq_stage *vq_persona_part(const struct vq_persona *persona, uint32_t part);
/* The enum vq_outcome of each task of the part; NULL before it was answered. */
const uint8_t *vq_persona_outcomes(const struct vq_persona *persona, uint32_t part);

/* The place of everything that is rated, in the order of the parts. */
struct vq_persona_place {
    uint32_t part, item;
    uint16_t axis;
    uint8_t order;
    bool blocked; /* the thing that would be rated is missing */
};
size_t vq_persona_rated_count(const struct vq_persona *persona);
const struct vq_persona_rated *vq_persona_rated(const struct vq_persona *persona);
const struct vq_persona_place *vq_persona_places(const struct vq_persona *persona);

/* A dialogue of the plan, up to the turn where it ended; the spans live as long as the persona. */
struct vq_persona_talk {
    struct vq_span system; /* no bytes: no system message */
    const struct vq_span *queries, *answers;
    uint32_t turns; /* number of answered turns */
    /* NONE: the dialogue is complete; else the outcome of the first turn without an answer */
    enum vq_outcome why;
};
void vq_persona_talk(const struct vq_persona *persona, uint32_t chain,
                     struct vq_persona_talk *ret_talk);

/* The length of a dialogue before each round, in tokens of its model: the prompt of that round's
 * turn minus the first prompt; after the last turn, its prompt and answer minus the first prompt.
 * design.rounds + 1 values; NaN: the provider did not report it, or the dialogue had ended. */
void vq_persona_tokens(const struct vq_persona *persona, uint32_t chain, double *ret_tokens);

/* The beginning of a dialogue, in the form that identifies the questions after it; its messages are
 * packed into `out`, which is cleared first. False: the dialogue ended earlier. Failures stick in
 * out->status. */
bool vq_persona_beginning(const struct vq_persona *persona, uint32_t prefix, struct vq_buf *out,
                          struct vq_sample *ret_sample);
/* The question in a column of a data set. */
const char *vq_persona_question(const struct vq_persona_probe *probe, uint32_t column);
/* The end of the stage that begins at column `from`: the column after its last one. */
uint32_t vq_persona_piece(const struct vq_persona_probe *probe, uint32_t columns, uint32_t from);

/* ---- the questions to come ---- */

/* The stages of the script, from the plan's counts, per model of their role. Prompt sizes come from
 * mean text sizes, and include the answers in a prompt, history and all. `ret_stages` has room for
 * VQ_FORECAST_STAGES_MAX; returns the number of stages. */
uint32_t vq_persona_forecast(const struct vq_persona_input *in,
                             struct vq_forecast_stage *ret_stages);
/* The name of the stage that rates a data set. */
void vq_persona_part_name(const char *set, bool pairwise, enum vq_persona_reference reference,
                          char ret_name[VQ_FORECAST_NAME_BYTES]);
enum vq_stage_kind vq_persona_stage_kind(enum vq_rating_kind kind);

/* ---- texts ---- */

/* Appends the system part of a model's requests; `persona` NULL: the baseline. Failures stick in
 * out->status. */
enum vq_status vq_persona_system(const struct vq_template *template,
                                 const struct vq_conf_subject *subject,
                                 const struct vq_conf_persona *persona,
                                 struct vq_buf *out) VQ_WARN_UNUSED;
/* Appends the question in the form that a judge sees; `persona` NULL: the query alone. */
void vq_persona_judged_question(const struct vq_conf_persona *persona, struct vq_span query,
                                struct vq_buf *out);
/* Appends an answer in the form that is judged: without thinking, without blanks around it, without
 * underscores at its end. */
void vq_persona_judged_answer(struct vq_span answer, struct vq_buf *out);
/* The text of a query, by its number in the plan. */
const char *vq_persona_query(const struct vq_persona_script *script,
                             const struct vq_queries_file *file, uint32_t query);

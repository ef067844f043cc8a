/* What a persona evaluation will ask, before there are answers to ask about: the plan's counts and sizes from mean texts. Named as the
 * script names its stages, so that known ones take the place of these. What the store will answer as shared is in no stage. */
#include "coordinator/pipeline/persona/script.h"

#include <stdio.h>

struct sizes { /* means, in bytes */
    double system, query, description, answer, rubric;
};

static double mean_rubric(const struct vq_persona_input *in, uint32_t from, uint32_t count)
{
    double bytes = 0;
    for (uint32_t i = from; i < from + count; i++) {
        bytes += (double)strlen(in->rubrics[i].text->rubric);
    }
    return count > 0 ? bytes / count : 0;
}

static struct sizes sizes_of(const struct vq_persona_input *in, double answer)
{
    const struct vq_persona_design *d = &in->plan->design;
    struct sizes s = {.answer = answer, .rubric = mean_rubric(in, 0, in->turn_rubrics)};
    double queries = 0;
    for (uint32_t i = 0; i < d->personas; i++) {
        s.description += (double)strlen(in->personas[i].description) / d->personas;
    }
    s.system = s.description + (double)vq_template_text(in->template).bytes;
    for (uint32_t k = 0; k < d->scripts_count; k++) {
        for (uint32_t i = 0; i < d->scripts[k].questions; i++) {
            s.query += (double)strlen(in->queries[k].questions[i]);
            queries++;
        }
    }
    s.query /= queries > 0 ? queries : 1;
    return s;
}

static void add(struct vq_forecast_stage *stages, uint32_t *n, const char *name,
                enum vq_stage_kind kind, const struct vq_persona_calls *calls, double least,
                double models, double bytes)
{
    if (calls->planned == 0 || *n == VQ_FORECAST_STAGES_MAX) {
        return;
    }
    double most = (double)(calls->planned - calls->shared) / models;
    struct vq_forecast_stage *s = &stages[(*n)++];
    *s = (struct vq_forecast_stage){.kind = kind,
                                    .role = vq_stage_talks(kind) ? VQ_ROLE_SUBJECT : VQ_ROLE_JUDGE,
                                    .shape = VQ_SHAPE_BYTES,
                                    .items = bytes,
                                    .cells = {least * most, most, most}};
    (void)snprintf(s->name, sizeof(s->name), "%s", name);
}

/* About as many as are for columns [from, until); of all together, all. */
static uint64_t share(uint64_t of, uint32_t from, uint32_t until, uint32_t columns)
{
    return of * until / columns - of * from / columns;
}

static void add_set(const struct vq_persona_input *in, const struct sizes *s, uint32_t set,
                    const struct vq_persona_set_calls *calls, struct vq_forecast_stage *stages,
                    uint32_t *n)
{
    const struct vq_persona_set *of = &in->plan->design.sets[set];
    const struct vq_persona_probe *probe = &in->probes[set];
    bool pairwise = of->rated && of->rating == VQ_RATING_PAIRWISE;
    double prefix = in->plan->design.rounds / 2.0 * (s->query + s->answer);
    double rated = s->description + s->query + s->answer * (pairwise ? 2 : 1) +
                   mean_rubric(in, probe->first_rubric, probe->rubrics);
    char name[VQ_FORECAST_NAME_BYTES];
    uint32_t columns = vq_persona_columns(of), piece = 0;
    for (uint32_t from = 0, until; from < columns; from = until) {
        until = vq_persona_piece(probe, columns, from);
        const struct vq_persona_calls *all = &calls->asked;
        struct vq_persona_calls part = {share(all->planned, from, until, columns),
                                        share(all->shared, from, until, columns)};
        vq_persona_piece_name(probe->name, piece++, name);
        add(stages, n, name, VQ_STAGE_PROBE, &part, 0, in->plan->design.models,
            s->system + prefix + s->query);
    }
    for (int r = 0; r < VQ_PERSONA_REFERENCES; r++) {
        vq_persona_part_name(probe->name, pairwise, (enum vq_persona_reference)r, name);
        add(stages, n, name, vq_persona_stage_kind(of->rating), &calls->rated[r], 0, 1, rated);
    }
}

uint32_t vq_persona_forecast(const struct vq_persona_input *in, double answer_bytes,
                             struct vq_forecast_stage *ret_stages)
{
    struct sizes s = sizes_of(in, answer_bytes);
    struct vq_persona_counts counts;
    uint32_t n = 0, of_kind[2] = {0, 0}; /* Likert, binary */
    vq_persona_count(in->plan, &counts);
    add(ret_stages, &n, "dialogues", VQ_STAGE_CHAT, &counts.turns, 0, in->plan->design.models,
        s.system + in->plan->design.rounds / 2.0 * (s.query + s.answer));
    for (uint32_t i = 0; i < in->turn_rubrics; i++) {
        of_kind[in->rubrics[i].text->kind == VQ_RATING_BINARY]++;
    }
    for (uint32_t k = 0; k < 2 && in->turn_rubrics > 0; k++) {
        struct vq_persona_calls calls = {counts.turns_rated.planned / in->turn_rubrics * of_kind[k],
                                         counts.turns_rated.shared / in->turn_rubrics * of_kind[k]};
        add(ret_stages, &n, k == 0 ? "turns rated" : "turns rated, yes or no",
            k == 0 ? VQ_STAGE_LIKERT : VQ_STAGE_BINARY, &calls, 0, 1,
            s.description + s.query + s.answer + s.rubric);
    }
    for (uint32_t i = 0; i < in->plan->design.sets_count; i++) {
        add_set(in, &s, i, &counts.sets[i], ret_stages, &n);
    }
    return n;
}

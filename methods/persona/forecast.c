/* The stages of a persona evaluation, before there are answers: numbers from the plan, sizes from
 * mean texts. Invariant: stages have the names that the script gives them, so that a known stage
 * replaces its estimate. Shared calls, which the store will answer, are left out. */
#include "methods/persona/script.h"

#include <stdio.h>

#define TAGS_BYTES 90.0 /* bytes of the tags around a persona, as judges see it */

/* means in bytes; texts that the baseline does not have are averaged over all askers */
struct sizes {
    double system, query, described, rubric;
};

static double mean_rubric(const struct vq_persona_input *in, uint32_t from, uint32_t count)
{
    double bytes = 0;
    for (uint32_t i = from; i < from + count; i++) {
        bytes += (double)strlen(in->rubrics[i].text->rubric);
    }
    return count > 0 ? bytes / count : 0;
}

/* Mean bytes of a persona's description for a judge. */
static double described(const struct vq_persona_input *in)
{
    double bytes = 0;
    uint32_t personas = in->plan->design.personas;
    for (uint32_t i = 0; i < personas; i++) {
        bytes += (double)(strlen(in->personas[i].name) + strlen(in->personas[i].description)) +
                 TAGS_BYTES;
    }
    return bytes / personas;
}

static struct sizes sizes_of(const struct vq_persona_input *in)
{
    const struct vq_persona_design *d = &in->plan->design;
    struct sizes s = {.rubric = mean_rubric(in, 0, in->turn_rubrics), .described = described(in)};
    double queries = 0;
    s.system = (s.described - TAGS_BYTES + (double)vq_template_text(in->template).bytes) *
               d->personas / in->plan->askers;
    for (uint32_t k = 0; k < d->scripts_count; k++) {
        for (uint32_t i = 0; i < d->scripts[k].questions; i++) {
            s.query += (double)strlen(in->queries[k].questions[i]);
            queries++;
        }
    }
    s.query /= queries > 0 ? queries : 1;
    return s;
}

struct list {
    struct vq_forecast_stage *stages;
    uint32_t n;
    double models;
};

/* A prompt consists of `bytes`, and of `answers` answers by subjects. */
static void add(struct list *l, const char *name, enum vq_stage_kind kind,
                const struct vq_persona_calls *calls, double bytes, double answers)
{
    if (calls->planned == 0 || l->n == VQ_FORECAST_STAGES_MAX) {
        return;
    }
    bool talks = vq_stage_talks(kind);
    double most = (double)(calls->planned - calls->shared) / (talks ? l->models : 1);
    struct vq_forecast_stage *s = &l->stages[l->n++];
    *s = (struct vq_forecast_stage){.kind = kind,
                                    .role = talks ? VQ_ROLE_SUBJECT : VQ_ROLE_JUDGE,
                                    .shape = VQ_SHAPE_BYTES,
                                    .items = bytes,
                                    .answers = answers,
                                    .cells = {0, most, most}};
    (void)snprintf(s->name, sizeof(s->name), "%s", name);
}

/* About the part of `of` that belongs to columns [from, until). The parts of all columns together
 * give exactly `of`. */
static uint64_t share(uint64_t of, uint32_t from, uint32_t until, uint32_t columns)
{
    return of * until / columns - of * from / columns;
}

/* Mean rounds before a question; equal questions of several dialogues count once. */
static double mean_rounds(const struct vq_persona_plan *plan)
{
    double rounds = 0, asked = 0;
    for (uint32_t i = 0; i < plan->prefixes_count; i++) {
        bool own = plan->prefixes[i].twin == i;
        rounds += own ? plan->prefixes[i].rounds : 0;
        asked += own ? 1 : 0;
    }
    return asked > 0 ? rounds / asked : 0;
}

struct item_sizes {
    double text, reference;
};

static struct item_sizes item_sizes_of(const struct vq_persona_probe *probe)
{
    struct item_sizes s = {0, 0};
    uint32_t n = probe->bound->count;
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_conf_item *item = &probe->file->items[probe->bound->source[i]];
        s.text += (double)strlen(item->text) / n;
        s.reference += item->reference == NULL ? 0 : (double)strlen(item->reference) / n;
    }
    return s;
}

static void add_set(const struct vq_persona_input *in, const struct sizes *s, uint32_t set,
                    const struct vq_persona_set_calls *calls, struct list *l)
{
    const struct vq_persona_set *of = &in->plan->design.sets[set];
    const struct vq_persona_probe *probe = &in->probes[set];
    struct item_sizes item = item_sizes_of(probe);
    bool pairwise = of->rated && of->rating == VQ_RATING_PAIRWISE;
    double rounds = mean_rounds(in->plan);
    char name[VQ_FORECAST_NAME_BYTES];
    uint32_t columns = vq_persona_columns(of), piece = 0;
    for (uint32_t from = 0, until; from < columns; from = until) {
        until = vq_persona_piece(probe, columns, from);
        const struct vq_persona_calls *all = &calls->asked;
        struct vq_persona_calls part = {share(all->planned, from, until, columns),
                                        share(all->shared, from, until, columns)};
        vq_persona_piece_name(probe->name, piece++, name);
        add(l, name, VQ_STAGE_PROBE, &part, s->system + rounds * s->query + item.text, rounds);
    }
    double persona =
        s->described * (pairwise ? 1 : (double)in->plan->design.personas / in->plan->askers);
    double rubric = mean_rubric(in, probe->first_rubric, probe->rubrics);
    for (int r = 0; r < VQ_PERSONA_REFERENCES; r++) {
        bool own = pairwise && r != VQ_PERSONA_DATASET;
        vq_persona_part_name(probe->name, pairwise, (enum vq_persona_reference)r, name);
        add(l, name, vq_persona_stage_kind(of->rating), &calls->rated[r],
            persona + item.text + rubric + (pairwise && !own ? item.reference : 0), own ? 2 : 1);
    }
}

uint32_t vq_persona_forecast(const struct vq_persona_input *in,
                             struct vq_forecast_stage *ret_stages)
{
    struct sizes s = sizes_of(in);
    struct vq_persona_counts counts;
    double rounds = in->plan->design.rounds;
    uint32_t of_kind[2] = {0, 0}; /* Likert, binary */
    struct list l = {.stages = ret_stages, .models = in->plan->design.models};
    vq_persona_count(in->plan, &counts);
    add(&l, "dialogues", VQ_STAGE_CHAT, &counts.turns, s.system + (rounds + 1) / 2 * s.query,
        (rounds - 1) / 2);
    for (uint32_t i = 0; i < in->turn_rubrics; i++) {
        of_kind[in->rubrics[i].text->kind == VQ_RATING_BINARY]++;
    }
    for (uint32_t k = 0; k < 2 && in->turn_rubrics > 0; k++) {
        struct vq_persona_calls calls = {counts.turns_rated.planned / in->turn_rubrics * of_kind[k],
                                         counts.turns_rated.shared / in->turn_rubrics * of_kind[k]};
        add(&l, k == 0 ? "turns rated" : "turns rated, yes or no",
            k == 0 ? VQ_STAGE_LIKERT : VQ_STAGE_BINARY, &calls, s.described + s.query + s.rubric,
            1);
    }
    for (uint32_t i = 0; i < in->plan->design.sets_count; i++) {
        add_set(in, &s, i, &counts.sets[i], &l);
    }
    return l.n;
}

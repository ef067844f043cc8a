/* The part of results.json about the discovery of the vibes: its settings, each iteration, and for
 * each vibe the proposals that it represents. Runs with given vibes have no such part. */
#include "methods/vibecheck/report/json_method.h"

#include "methods/vibecheck/recall.h"

static const char *model(const struct vq_conf_judge *own, const char *stand_in)
{
    return own != NULL ? own->model : stand_in;
}

static void write_models(struct vq_json *j, const struct vq_config *c)
{
    const char *proposer = model(c->proposer, c->judges[0].model);
    vq_json_put_str(j, "proposer", proposer);
    vq_json_put_str(j, "reducer", model(c->reducer, proposer));
    vq_json_put_str(j, "embedder", model(c->embedder, VQ_EMBEDDER_BUILT_IN));
}

static void write_settings(struct vq_json *j, const struct vq_config *c)
{
    static const char *const clustering[] = {"auto", "always", "never"};
    static const char *const linkage[] = {"ward", "average", "complete"};
    static const char *const orders[] = {"lars", "separability", "p_value"};
    const struct vq_conf_vibecheck *v = &c->vibecheck;
    vq_json_put_object(j, "settings");
    write_models(j, c);
    vq_json_put_u64(j, "d", v->d);
    vq_json_put_u64(j, "batch", v->batch);
    vq_json_put_u64(j, "iterations", v->iterations);
    vq_json_put_u64(j, "num_eval_vibes", v->num_eval_vibes);
    vq_json_put_u64(j, "K", v->k);
    vq_json_put_u64(j, "clusters", v->clusters);
    vq_json_put_u64(j, "cluster_threshold", v->cluster_threshold);
    vq_json_put_str(j, "clustering", clustering[v->clustering]);
    vq_json_put_str(j, "linkage", linkage[v->linkage]);
    vq_json_put_u64(j, "discovery_calls", v->discovery_calls);
    vq_json_put_bool(j, "dedup", v->dedup);
    vq_json_put_bool(j, "list_rejected", v->list_rejected);
    vq_json_put_str(j, "carried", v->carried == VQ_CARRIED_ALL ? "all" : "surviving");
    vq_json_put_str(j, "misclassified",
                    v->misclassified == VQ_MISCLASSIFIED_MM ? "mm" : "mm_or_pp");
    vq_json_put_u64(j, "min_misclassified",
                    v->min_misclassified == 0 ? v->d : v->min_misclassified);
    vq_report_key_real(j, "mm_stop", v->mm_stop);
    vq_json_put_str(j, "final_order", orders[v->final_order]);
    vq_json_put_bool(j, "shuffle_outputs", v->shuffle_outputs);
    vq_json_object_end(j);
}

static void write_iterations(struct vq_json *j, const struct vq_vibecheck_method_result *m)
{
    vq_json_put_array(j, "iterations");
    for (uint32_t i = 0; i < m->iterations_count; i++) {
        const struct vq_iteration *it = &m->iterations[i];
        vq_json_object(j);
        vq_json_put_u64(j, "rows_shown", it->rows_shown);
        vq_json_put_u64(j, "proposed", it->proposed);
        vq_json_put_u64(j, "reduced", it->reduced);
        vq_json_put_u64(j, "deduplicated", it->deduplicated);
        vq_json_put_u64(j, "evaluated", it->evaluated);
        vq_json_put_u64(j, "added", it->added);
        vq_json_put_u64(j, "misclassified", it->misclassified);
        vq_report_key_real(j, "mm_accuracy_train", it->mm_accuracy);
        vq_report_key_real(j, "pp_accuracy_train", it->pp_accuracy);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void write_proposal(struct vq_json *j, const struct vq_report_input *r,
                           const struct vq_proposal *p)
{
    vq_json_object(j);
    vq_json_put_str(j, "name", p->axis.name);
    vq_json_put_str(j, "low", p->axis.low);
    vq_json_put_str(j, "high", p->axis.high);
    vq_json_put_u64(j, "iteration", p->iteration + 1);
    vq_json_put_u64(j, "batch", p->batch + 1);
    vq_json_put_array(j, "records");
    for (uint32_t i = 0; i < p->rows_count; i++) {
        vq_json_u64(j, r->dataset->samples[p->rows[i]].record);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

static void write_provenance(struct vq_json *j, const struct vq_report_input *r)
{
    const struct vq_vibecheck_method_result *m = r->method;
    vq_json_put_array(j, "provenance");
    for (uint32_t v = 0; v < m->axes_count; v++) {
        const struct vq_provenance *p = &m->provenance[v];
        vq_json_object(j);
        vq_json_put_u64(j, "id", v + 1);
        vq_json_put_str(j, "name", m->axes[v].name);
        vq_json_put_u64(j, "iteration", p->iteration + 1);
        vq_json_put_u64(j, "support", p->support);
        if (m->question_types != NULL && m->question_types[v] != NULL) {
            vq_json_put_str(j, "question_types", m->question_types[v]);
        }
        vq_json_put_array(j, "proposals");
        for (uint32_t i = 0; i < p->proposals_count; i++) {
            write_proposal(j, r, &m->proposals[p->proposals[i]]);
        }
        vq_json_array_end(j);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

/* Writes it only if the configuration asks for it. */
static void write_stability(struct vq_json *j, const struct vq_config *c,
                            const struct vq_vibecheck_method_result *m)
{
    const struct vq_stability *s = m->stability;
    if (s == NULL) {
        return;
    }
    vq_json_put_object(j, "stability");
    vq_json_put_u64(j, "repeats", s->repeats);
    vq_report_key_real(j, "threshold", VQ_RECALL_THRESHOLD);
    if (c->repeat_proposers_count > 0) {
        vq_json_put_array(j, "proposers");
        for (uint32_t k = 1; k <= s->repeats; k++) {
            vq_json_str(j, c->repeat_proposers[vq_vibecheck_method_proposer(c, k) - 1].model);
        }
        vq_json_array_end(j);
    }
    vq_json_put_array(j, "axes_found");
    for (uint32_t k = 0; k < s->repeats; k++) {
        vq_json_u64(j, s->axes_count[k]);
    }
    vq_json_array_end(j);
    vq_json_put_array(j, "vibes");
    for (uint32_t v = 0; v < s->vibes_count && s->matched; v++) {
        vq_json_object(j);
        vq_json_put_u64(j, "id", s->vibes[v] + 1);
        vq_json_put_str(j, "name", m->axes[s->vibes[v]].name);
        vq_json_put_u64(j, "found_again", s->found[v]);
        vq_json_put_array(j, "nearest");
        for (uint32_t k = 0; k < s->repeats; k++) {
            vq_json_real(j, s->nearest[v * s->repeats + k], VQ_REPORT_DIGITS);
        }
        vq_json_array_end(j);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

static void write_early_stop(struct vq_json *j, const struct vq_report_input *r)
{
    static const char *const rules[] = {"off", "exact", "final"};
    const struct vq_conf_judging *c = &r->config->judging;
    const struct vq_early *early = &r->method->early;
    vq_json_put_object(j, "early_stop");
    vq_json_put_str(j, "rule", rules[c->early_stop]);
    vq_report_key_real(j, "alpha", c->early_stop_alpha);
    vq_json_put_u64(j, "settled_exactly", early->exactly);
    vq_json_put_u64(j, "settled_with_alpha", early->alpha);
    vq_json_put_u64(j, "not_tested", early->untested);
    vq_json_put_u64(j, "questions_saved", early->questions);
    vq_json_object_end(j);
}

void vq_report_json_method(struct vq_json *j, const struct vq_report_input *r)
{
    const struct vq_vibecheck_method_result *m = r->method;
    if (m != NULL && r->config->judging.early_stop != VQ_EARLY_STOP_OFF) {
        write_early_stop(j, r);
    }
    if (m == NULL || r->config->method != VQ_METHOD_DISCOVER) {
        return;
    }
    vq_json_put_object(j, "discovery");
    write_settings(j, r->config);
    write_iterations(j, m);
    vq_json_put_object(j, "cut_answers");
    vq_json_put_u64(j, "asked_again", m->cut.asked_again);
    vq_json_put_u64(j, "not_used", m->cut.refused);
    vq_json_put_u64(j, "used_in_part", m->cut.shortened);
    vq_json_object_end(j);
    vq_json_put_str(j, "stopped_because", vq_stop_text(m->stop));
    write_stability(j, r->config, m);
    write_provenance(j, r);
    vq_json_object_end(j);
}

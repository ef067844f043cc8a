/* How the vibes were found, and the preset vibes beside them. results.json has the iterations; only
 * this page has the notes and all proposals. */
#include "methods/vibecheck/report/page_parts.h"

#include <math.h>

#define NOTES_MAX     400u
#define PROPOSALS_MAX 200u

/* ---- preset vibes ---- */

static void put_fit(struct vq_json *j, const char *key, const struct vq_vibecheck *r,
                    const struct vq_fit_metrics *m)
{
    static const struct vq_interval none = {NAN, NAN};
    vq_json_put_object(j, key);
    vq_report_key_estimate(j, "accuracy", r->in_sample ? m->accuracy_train : m->accuracy_test,
                           "ci95", r->in_sample ? none : m->accuracy_test_ci95);
    vq_json_object_end(j);
}

static void put_side(struct vq_json *j, const char *key, const struct vq_vibecheck *r)
{
    vq_json_put_object(j, key);
    vq_json_put_u64(j, "kept", r->kept_count);
    vq_json_put_u64(j, "of", r->vibes);
    put_fit(j, "mm", r, &r->mm);
    put_fit(j, "pp", r, &r->pp);
    vq_json_object_end(j);
}

void vq_vibes_page_presets(const struct vq_vibes_page *p, struct vq_json *j)
{
    const struct vq_vibecheck *r = p->story->presets;
    if (r == NULL || p->story->method == NULL) {
        return;
    }
    vq_json_put_object(j, "presets");
    put_side(j, "run", p->r->result);
    put_side(j, "preset", r);
    vq_json_put_array(j, "vibes");
    for (uint32_t v = 0; v < r->vibes && v < VQ_VIBES_PAGE_MAX; v++) {
        const struct vq_vibe_metrics *m = &r->vibe[v];
        vq_json_object(j);
        vq_json_put_str(j, "name", p->story->method->preset_axes[v].name);
        vq_report_key_real(j, "separability", vq_vibe_lead(r, m)->sep);
        vq_report_key_real(j, "kappa", vq_vibe_lead(r, m)->agreement.kappa);
        vq_report_key_real(j, "mm", m->mm.coef);
        vq_report_key_real(j, "pp", m->pp.coef);
        vq_json_put_str(j, "state", m->kept ? "kept" : vq_drop_reason_name(m->reason));
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

/* ---- the story ---- */

static void put_notes(const struct vq_vibecheck_method_result *m, struct vq_json *j)
{
    vq_json_put_u64(j, "notes_count", m->notes_count);
    vq_json_put_array(j, "notes");
    for (uint32_t i = 0; i < m->notes_count && i < NOTES_MAX; i++) {
        vq_page_put_text(j, vq_span_str(m->notes[i]), VQ_PAGE_NAME_BYTES_MAX);
    }
    vq_json_array_end(j);
}

static void put_proposals(const struct vq_vibecheck_method_result *m, struct vq_json *j)
{
    vq_json_put_u64(j, "proposals_count", m->proposals_count);
    vq_json_put_array(j, "proposals");
    for (uint32_t i = 0; i < m->proposals_count && i < PROPOSALS_MAX; i++) {
        const struct vq_proposal *proposal = &m->proposals[i];
        vq_json_object(j);
        vq_json_put_str(j, "name", proposal->axis.name);
        vq_json_put_str(j, "low", proposal->axis.low);
        vq_json_put_str(j, "high", proposal->axis.high);
        vq_json_put_u64(j, "iteration", proposal->iteration + 1);
        vq_json_put_u64(j, "batch", proposal->batch + 1);
        vq_json_put_u64(j, "rows", proposal->rows_count);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

void vq_vibes_page_story(const struct vq_vibes_page *p, struct vq_json *j)
{
    const struct vq_vibecheck_method_result *m = p->story->method;
    if (m == NULL || (m->iterations_count == 0 && m->notes_count == 0)) {
        return;
    }
    vq_json_put_object(j, "story");
    put_notes(m, j);
    put_proposals(m, j);
    vq_json_object_end(j);
}

/* The order of the method's parts: labels, then either the given vibes on all rows, or discovery;
 * then the extra parts. */
#include "methods/vibecheck/steps/parts.h"

enum vq_status vq_walk_start(struct vq_vibecheck_method *m, struct vq_error *err)
{
    bool judged = m->in.config->preference == VQ_PREFERENCE_JUDGE;
    m->result.preference_source = m->in.has_preferences ? "data" : "none";
    if (judged && !m->in.has_preferences) {
        return vq_prefer_begin(m, err);
    }
    m->then = vq_walk_labelled;
    return VQ_OK;
}

static enum vq_status add_given(struct vq_vibecheck_method *m)
{
    const struct vq_config *config = m->in.config;
    static const struct vq_provenance given = {0};
    size_t n = config->vibes_count;
    const struct vq_axis *preset = NULL;
    if (config->method == VQ_METHOD_PRESET) {
        preset = vq_preset_axes(&n);
    }
    for (size_t v = 0; v < n; v++) {
        struct vq_axis axis = preset != NULL
                                  ? preset[v]
                                  : (struct vq_axis){config->vibes[v].name, config->vibes[v].low,
                                                     config->vibes[v].high};
        VQ_TRY(vq_vibecheck_method_add_vibe(m, &axis, &given));
    }
    return VQ_OK;
}

enum vq_status vq_walk_labelled(struct vq_vibecheck_method *m, struct vq_error *err)
{
    if (m->in.config->method == VQ_METHOD_DISCOVER) {
        m->then = vq_discover_begin;
        return m->train_count > 0
                   ? VQ_OK
                   : vq_fail(err, VQ_INVALID,
                             "there are no training rows to discover vibes on; set a smaller "
                             "data.test_share, or name another data.path");
    }
    VQ_TRY(add_given(m));
    return vq_rank_begin(m, "rank", 0, m->all_sorted, m->all_count, vq_walk_final, err);
}

enum vq_status vq_walk_final(struct vq_vibecheck_method *m, struct vq_error *err)
{
    return vq_presets_begin(m, err);
}

enum vq_status vq_walk_end(struct vq_vibecheck_method *m, struct vq_error *err)
{
    return vq_stability_begin(m, err);
}

/* Which model is preferred: how often, with an interval, and by whose labels. */
#include "methods/stats/intervals/proportions.h"
#include "methods/vibecheck/report/page_parts.h"

static bool is_judged(const struct vq_vibes_page *p)
{
    const struct vq_vibecheck_method_result *method = p->story->method;
    return method != NULL && strcmp(method->preference_source, "judge") == 0;
}

void vq_vibes_page_headline(const struct vq_vibes_page *p, struct vq_json *j)
{
    const struct vq_dataset *d = p->r->dataset;
    uint64_t b = (uint64_t)d->preferred[0][0] + d->preferred[1][0];
    uint64_t ties =
        (uint64_t)d->preferred[0][1] + d->preferred[1][1] + d->excluded[VQ_EXCLUDED_TIE];
    uint64_t a = (uint64_t)d->preferred[0][2] + d->preferred[1][2];
    if (is_judged(p)) {
        a = b = ties = 0;
        for (uint32_t i = 0; i < p->r->result->samples; i++) {
            int8_t preference = p->story->method->rows[i].preference;
            *(preference > 0 ? &a : preference < 0 ? &b : &ties) += 1;
        }
    }
    if (a + b == 0) {
        return;
    }
    double n = (double)(a + b);
    vq_json_key(j, "preferred");
    vq_json_object(j);
    vq_json_put_u64(j, "a", a);
    vq_json_put_u64(j, "b", b);
    vq_json_put_u64(j, "ties", ties);
    vq_json_put_bool(j, "judged", is_judged(p));
    vq_report_key_estimate(j, "share", (double)a / n, "ci95",
                           vq_proportion_interval(VQ_PROPORTION_WILSON, (double)a, n, 0.95));
    vq_json_object_end(j);
}

/* The page of VibeCheck: results.json without a change, and the parts that only the page shows:
 * rows with their answers, parts of the result, the story, calls. Not its job: the frame
 * (methods/report/html) and the markup (methods/report/pages). */
#include "common/base/alloc.h"
#include "methods/stats/intervals/proportions.h"
#include "methods/vibecheck/report/page_parts.h"

#include <stdio.h>

static void results_json(const void *report, struct vq_buf *out)
{
    vq_report_json(report, out);
}

/* The questions on which each vibe shows, by the vibe's id. results.json has them only for
 * discovered vibes. */
static void put_question_types(const struct vq_vibes_page *p, struct vq_json *j)
{
    const struct vq_vibecheck_method_result *m = p->story->method;
    if (m == NULL || m->question_types == NULL) {
        return;
    }
    vq_json_put_object(j, "question_types");
    for (uint32_t v = 0; v < p->r->result->vibes; v++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "%u", v + 1);
        if (m->question_types[v] != NULL) {
            vq_json_put_str(j, id, m->question_types[v]);
        }
    }
    vq_json_object_end(j);
}

static bool is_judged(const struct vq_vibes_page *p)
{
    const struct vq_vibecheck_method_result *method = p->story->method;
    return method != NULL && strcmp(method->preference_source, "judge") == 0;
}

/* Which model is preferred: how often, with an interval, and the source of the labels. */
static void put_headline(const struct vq_vibes_page *p, struct vq_json *j)
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
    vq_json_put_object(j, "preferred");
    vq_json_put_u64(j, "a", a);
    vq_json_put_u64(j, "b", b);
    vq_json_put_u64(j, "ties", ties);
    vq_json_put_bool(j, "judged", is_judged(p));
    vq_report_key_estimate(j, "share", (double)a / n, "ci95",
                           vq_proportion_interval(VQ_PROPORTION_WILSON, (double)a, n, 0.95));
    vq_json_object_end(j);
}

static void put_saved(const struct vq_vibes_page *p, struct vq_json *j)
{
    const struct vq_report_saved *s = &p->story->saved;
    if (s->known) {
        vq_json_put_object(j, "cascade_usd");
        vq_report_key_real(j, "spent", s->spent_usd);
        vq_report_key_real(j, "everywhere", s->everywhere_usd);
        vq_json_object_end(j);
    }
}

static void put_json(const struct vq_vibes_page *p, struct vq_page *page)
{
    struct vq_json j;
    vq_page_begin_json(page, &j, results_json, p->r, p->story->calls);
    vq_json_put_str(&j, "split", p->test ? "test" : "train");
    put_question_types(p, &j);
    vq_vibes_page_story(p, &j);
    vq_vibes_page_methods(p, &j);
    if (p->r->result->ranking == NULL) {
        put_headline(p, &j);
        put_saved(p, &j);
        vq_vibes_page_presets(p, &j);
        vq_vibes_page_groups(p, &j);
        vq_vibes_page_overlap(p, &j);
        vq_vibes_page_data(p, &j);
    }
    vq_json_object_end(&j);
}

void vq_report_html(const struct vq_report_input *r, const struct vq_report_story *story,
                    struct vq_buf *out)
{
    static const struct vq_report_story nothing;
    uint32_t *order = vq_alloc(r->result->vibes, sizeof(*order));
    if (order == NULL) {
        out->status = VQ_NOMEM;
        return;
    }
    vq_report_order(r->result, order);
    const struct vq_vibes_page p = {.r = r,
                                    .story = story == NULL ? &nothing : story,
                                    .order = order,
                                    .test = !r->result->in_sample};
    struct vq_page page;
    vq_page_init(&page, &vq_page_vibecheck_js);
    vq_vibes_page_table(&p, &page);
    put_json(&p, &page);
    vq_page_finish(&page, out);
    vq_free(order);
}

/* The page of VibeCheck: results.json as it is, and beside it what only the page shows: rows with
 * their answers, parts of the result, the story, calls. Not its job: the frame
 * (methods/report/html) and the markup (methods/report/pages). */
#include "common/base/alloc.h"
#include "methods/vibecheck/report/page_parts.h"

static void results_json(const void *report, struct vq_buf *out)
{
    vq_report_json(report, out);
}

static void put_json(const struct vq_vibes_page *p, struct vq_page *page)
{
    struct vq_json j;
    vq_page_begin_json(page, &j, results_json, p->r, p->story->calls);
    vq_json_put_str(&j, "split", p->test ? "test" : "train");
    vq_vibes_page_vibes(p, &j);
    vq_vibes_page_story(p, &j);
    vq_vibes_page_methods(p, &j);
    if (p->r->result->ranking == NULL) {
        vq_vibes_page_headline(p, &j);
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

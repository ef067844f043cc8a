/* The page of a rubric run: results.json without a change, and the rubrics, the items with the
 * judges' answers, and the calls. Not its job: the frame (methods/report/html) and the markup
 * (pages/rubric.js). */
#include "methods/rubric/report/page_parts.h"

static void put_criteria(const struct vq_rubric_page *p, struct vq_json *j)
{
    vq_json_put_array(j, "criteria");
    for (uint32_t c = 0; c < p->in->criteria_count; c++) {
        vq_json_object(j);
        vq_json_put_str(j, "about", p->in->criteria[c].about);
        vq_json_put_str(j, "rubric", p->in->criteria[c].rubric);
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
}

static void results_json(const void *report, struct vq_buf *out)
{
    vq_rubric_report_json(report, out);
}

void vq_rubric_report_html(const struct vq_rubric_report *r, struct vq_buf *out)
{
    const struct vq_rubric_page p = {r, vq_rubric_input(r->rubric)};
    struct vq_page page;
    struct vq_json j;
    vq_page_init(&page, &vq_page_rubric_js);
    for (uint32_t o = 0; o < p.in->outputs_count; o++) {
        vq_buf_puts(&page.title, o == 0 ? "" : " and ");
        vq_buf_puts(&page.title, r->config->models[o]);
    }
    vq_buf_puts(&page.title, ": ratings");
    vq_rubric_report_table(r, &vq_page_terminal, &page.plain);
    vq_page_begin_json(&page, &j, results_json, r, r->calls);
    put_criteria(&p, &j);
    vq_rubric_page_items(&p, &j);
    vq_json_object_end(&j);
    vq_page_finish(&page, out);
}

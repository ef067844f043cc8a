/* The page of VibeCheck: results.json as it is, and beside it what only the page shows: rows with
 * their answers, parts of the result, the story, calls. Not its job: the frame
 * (methods/report/pages) and the markup (pages/vibecheck.js). */
#include "common/base/alloc.h"
#include "methods/vibecheck/report/page_parts.h"

#define PLAIN_BYTES_MAX (1u << 24)

static void put_title(const struct vq_config *c, bool ranks, struct vq_buf *out)
{
    for (uint32_t k = 0; k < VQ_MODELS_MAX && c->models[k] != NULL; k++) {
        vq_buf_puts(out, k == 0 ? "" : ranks ? ", " : " and ");
        vq_buf_puts(out, c->models[k]);
    }
    vq_buf_puts(out, ": vibes");
}

static void put_json(const struct vq_vibes_page *p, struct vq_buf *out)
{
    struct vq_json json;
    struct vq_buf results;
    vq_buf_init(&results, VQ_PAGE_BYTES_MAX);
    vq_report_json(p->r, &results);
    if (results.status != VQ_OK) {
        out->status = results.status;
        vq_buf_free(&results);
        return;
    }
    vq_json_init(&json, out, 0);
    vq_json_object(&json);
    vq_json_put_str(&json, "vibeq", VIBEQ_VERSION);
    vq_json_key(&json, "results");
    vq_json_raw(&json, vq_buf_span(&results));
    vq_buf_free(&results);
    vq_json_put_str(&json, "split", p->test ? "test" : "train");
    vq_page_put_calls(&json, p->story->calls);
    vq_vibes_page_story(p, &json);
    vq_vibes_page_methods(p, &json);
    if (p->r->result->ranking == NULL) {
        vq_vibes_page_parts(p, &json);
        vq_vibes_page_rows(p, &json);
    }
    vq_json_object_end(&json);
}

void vq_report_html(const struct vq_report_input *r, const struct vq_report_story *story,
                    struct vq_buf *out)
{
    static const struct vq_report_story nothing;
    uint32_t *order = vq_alloc(r->result->vibes, sizeof(*order));
    struct vq_buf title, plain, json;
    vq_buf_init(&title, 1u << 16);
    vq_buf_init(&plain, PLAIN_BYTES_MAX);
    vq_buf_init(&json, VQ_PAGE_BYTES_MAX);
    if (order == NULL) {
        out->status = VQ_NOMEM;
    } else {
        vq_report_order(r->result, order);
        const struct vq_vibes_page p = {.r = r,
                                        .story = story == NULL ? &nothing : story,
                                        .order = order,
                                        .test = !r->result->in_sample};
        put_title(r->config, r->result->ranking != NULL, &title);
        vq_report_table(r, &vq_page_terminal, &plain);
        put_json(&p, &json);
    }
    const struct vq_buf *parts[] = {&title, &plain, &json};
    for (size_t i = 0; i < VQ_COUNT(parts); i++) {
        out->status = out->status == VQ_OK ? parts[i]->status : out->status;
    }
    if (out->status == VQ_OK) {
        struct vq_page page = {&vq_page_vibecheck_js, vq_buf_span(&title), vq_buf_span(&plain),
                               vq_buf_span(&json)};
        vq_page_write(&page, out);
    }
    vq_buf_free(&title);
    vq_buf_free(&plain);
    vq_buf_free(&json);
    vq_free(order);
}

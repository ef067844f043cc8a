/* Parts of the result: one part per judge, and one per value of a column of the data. A vibe is
 * flagged in a part if its sign is reversed there. */
#include "common/base/alloc.h"
#include "common/text/intern.h"
#include "methods/vibecheck/numbers/slices.h"
#include "methods/vibecheck/report/page_parts.h"

/* ---- one part ---- */

/* Writes a part of the kept vibes, in the order of every output. */
static void put_part(const struct vq_vibes_page *p, struct vq_json *j, struct vq_span name,
                     const struct vq_result_slice *s)
{
    uint32_t kept = p->r->result->kept_count;
    vq_json_object(j);
    vq_json_put_span(j, "name", name);
    vq_json_put_u64(j, "rows", s->rows);
    vq_report_key_estimate(j, "mm_accuracy", s->mm_accuracy, "mm_ci95", s->mm_ci95);
    vq_json_put_array(j, "separability");
    for (uint32_t i = 0; i < kept; i++) {
        vq_json_real(j, s->separability[p->order[i]], VQ_REPORT_DIGITS);
    }
    vq_json_array_end(j);
    vq_json_put_array(j, "turned");
    for (uint32_t i = 0; i < kept; i++) {
        vq_json_bool(j, s->opposite[p->order[i]]);
    }
    vq_json_array_end(j);
    vq_json_object_end(j);
}

static void put_judges(const struct vq_vibes_page *p, struct vq_json *j)
{
    struct vq_slices *s;
    if (p->r->in->cascade != NULL) { /* the judges of a cascade have different cells */
        vq_json_put_array(j, "by_judge");
        vq_json_array_end(j);
        return;
    }
    enum vq_status status =
        vq_slices_create(p->r->in, p->r->result, NULL, p->r->result->judges, p->test, &s);
    if (status != VQ_OK) {
        vq_vibes_page_failed(j, status);
        return;
    }
    vq_json_put_array(j, "by_judge");
    for (uint32_t k = 0; k < s->count; k++) {
        put_part(p, j, vq_span_str(p->r->judges[k].name), &s->slice[k]);
    }
    vq_json_array_end(j);
    vq_slices_destroy(&s);
}

/* ---- values of a column ---- */

struct values {
    struct vq_intern texts;
    uint32_t *of_sample; /* first the number of its text, then its part */
    uint32_t *rows;      /* [number]: rows of the main split */
    uint32_t *order;     /* numbers, most rows first */
    uint32_t shown;
};

static const char *column_name(const struct vq_vibes_page *p)
{
    const struct vq_config *c = p->r->config;
    return c->report.by != NULL ? c->report.by : c->data.group;
}

static bool columns_of(const struct vq_vibes_page *p, uint32_t ret_column[2])
{
    const struct vq_dataset *d = p->r->dataset;
    for (int file = 0; file < 2; file++) {
        ret_column[file] = d->tables[file] == NULL
                               ? 0
                               : vq_table_column(d->tables[file], vq_span_str(column_name(p)));
        if (ret_column[file] == UINT32_MAX) {
            return false;
        }
    }
    return true;
}

/* Most rows first; values with equal counts by their text. */
static void sort_values(struct values *v)
{
    for (uint32_t i = 0; i < v->texts.count; i++) {
        struct vq_span text = v->texts.keys[i];
        uint32_t at = v->shown < VQ_PAGE_GROUPS_MAX ? v->shown : VQ_PAGE_GROUPS_MAX;
        while (at > 0) {
            uint32_t other = v->order[at - 1];
            struct vq_span b = v->texts.keys[other];
            size_t n = text.bytes < b.bytes ? text.bytes : b.bytes;
            int cmp = n == 0 ? 0 : memcmp(text.at, b.at, n);
            bool sooner = cmp < 0 || (cmp == 0 && text.bytes < b.bytes);
            if (v->rows[i] < v->rows[other] || (v->rows[i] == v->rows[other] && !sooner)) {
                break;
            }
            if (at < VQ_PAGE_GROUPS_MAX) {
                v->order[at] = other;
            }
            at--;
        }
        if (at < VQ_PAGE_GROUPS_MAX) {
            v->order[at] = i;
            v->shown += v->shown < VQ_PAGE_GROUPS_MAX;
        }
    }
}

static enum vq_status values_fill(const struct vq_vibes_page *p, const uint32_t column[2],
                                  struct values *v)
{
    const struct vq_dataset *d = p->r->dataset;
    uint32_t n = p->r->result->samples;
    VQ_TRY(VQ_ALLOC(v->of_sample, n));
    VQ_TRY(VQ_ALLOC(v->rows, n));
    VQ_TRY(VQ_ALLOC(v->order, VQ_PAGE_GROUPS_MAX));
    for (uint32_t i = 0; i < n; i++) {
        const struct vq_data_row *row = &d->samples[i];
        struct vq_span text =
            vq_table_cell(d->tables[row->file], vq_sample_row(row), column[row->file]);
        VQ_TRY(vq_intern_add(&v->texts, text, &v->of_sample[i]));
        v->rows[v->of_sample[i]] += (row->split == VQ_SPLIT_TEST) == p->test;
    }
    sort_values(v);
    uint32_t *part_of;
    VQ_TRY(VQ_ALLOC(part_of, v->texts.count));
    for (uint32_t k = 0; k < v->shown; k++) {
        part_of[v->order[k]] = k + 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t part_1 = part_of[v->of_sample[i]];
        v->of_sample[i] = part_1 == 0 ? VQ_SLICE_NONE : part_1 - 1;
    }
    vq_free(part_of);
    return VQ_OK;
}

static void put_values(const struct vq_vibes_page *p, const struct values *v, struct vq_json *j)
{
    struct vq_slices *s;
    enum vq_status status =
        vq_slices_create(p->r->in, p->r->result, v->of_sample, v->shown, p->test, &s);
    if (status != VQ_OK) {
        vq_vibes_page_failed(j, status);
        return;
    }
    vq_json_put_u64(j, "values", v->texts.count);
    vq_json_put_array(j, "parts");
    for (uint32_t k = 0; k < s->count; k++) {
        put_part(p, j, v->texts.keys[v->order[k]], &s->slice[k]);
    }
    vq_json_array_end(j);
    vq_slices_destroy(&s);
}

/* If there is no "parts", the data has no such column. */
static void put_groups(const struct vq_vibes_page *p, struct vq_json *j)
{
    uint32_t column[2];
    if (column_name(p) == NULL) {
        return;
    }
    vq_json_put_object(j, "groups");
    vq_json_put_str(j, "column", column_name(p));
    if (columns_of(p, column)) {
        struct values v = {0};
        enum vq_status status = values_fill(p, column, &v);
        if (status == VQ_OK) {
            put_values(p, &v, j);
        } else {
            vq_vibes_page_failed(j, status);
        }
        vq_intern_free(&v.texts);
        vq_free(v.of_sample);
        vq_free(v.rows);
        vq_free(v.order);
    }
    vq_json_object_end(j);
}

void vq_vibes_page_groups(const struct vq_vibes_page *p, struct vq_json *j)
{
    put_judges(p, j);
    put_groups(p, j);
}

/* The items of a rubric page: rows with their outputs, ratings and the judges' reasoning. The page
 * holds a limited number. The rows where judges or repeats disagree most come first, because a
 * reader looks for them; ratings.csv has all rows. */
#include "common/base/alloc.h"
#include "methods/rubric/report/page_parts.h"

#include <math.h>
#include <stdlib.h>

struct item {
    uint32_t row;
    double spread; /* the highest spread of the ratings of one output on one criterion */
};

static const struct vq_rubric_reading *reading(const struct vq_rubric_page *p,
                                               const struct vq_rubric_place *at)
{
    return &p->r->readings[vq_rubric_slot(p->r->rubric, at)];
}

static double full_range(enum vq_rating_kind kind)
{
    return kind == VQ_RATING_LIKERT ? VQ_RATING_LIKERT_MAX - VQ_RATING_LIKERT_MIN : 1;
}

/* The difference between the highest and the lowest rating of one output, as a share of the
 * range. */
static double spread_of(const struct vq_rubric_page *p, struct vq_rubric_place at)
{
    double lo = INFINITY, hi = -INFINITY;
    enum vq_rating_kind kind = p->in->criteria[at.criterion].kind;
    for (at.judge = 0; at.judge < p->in->judges_count; at.judge++) {
        for (at.repeat = 0; at.repeat < p->in->rating.repeats; at.repeat++) {
            for (at.order = 0; at.order < 2; at.order++) {
                double value = reading(p, &at)->value;
                lo = value < lo ? value : lo;
                hi = value > hi ? value : hi;
            }
        }
    }
    return hi > lo ? (hi - lo) / full_range(kind) : 0;
}

static int by_spread(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    int c = (x->spread < y->spread) - (x->spread > y->spread);
    return c != 0 ? c : (x->row > y->row) - (x->row < y->row);
}

/* The highest spread over a row's outputs, on one criterion. */
static double criterion_spread(const struct vq_rubric_page *p, uint32_t row, uint32_t criterion)
{
    double spread = 0;
    struct vq_rubric_place at = {.row = row, .criterion = criterion};
    for (; at.output < vq_rubric_rated_outputs(p->in, criterion); at.output++) {
        spread = fmax(spread, spread_of(p, at));
    }
    return spread;
}

static struct item *choose(const struct vq_rubric_page *p)
{
    struct item *items = vq_alloc(p->in->rows_count, sizeof(*items));
    for (uint32_t row = 0; items != NULL && row < p->in->rows_count; row++) {
        items[row].row = row;
        for (uint32_t c = 0; c < p->in->criteria_count; c++) {
            items[row].spread = fmax(items[row].spread, criterion_spread(p, row, c));
        }
    }
    if (items != NULL) {
        qsort(items, p->in->rows_count, sizeof(*items), by_spread);
    }
    return items;
}

/* ---- writing ---- */

/* Writes the status only if it is not "ok". */
static void put_rating(const struct vq_rubric_page *p, const struct vq_rubric_place *at,
                       struct vq_json *j)
{
    const struct vq_rubric_reading *r = reading(p, at);
    struct vq_span text;
    if (r->status == VQ_RUBRIC_NOT_ASKED) {
        return;
    }
    vq_json_object(j);
    vq_json_put_u64(j, "criterion", at->criterion);
    vq_json_put_u64(j, "output", at->output);
    vq_json_put_u64(j, "judge", at->judge);
    vq_json_put_u64(j, "repeat", at->repeat);
    vq_json_put_u64(j, "order", at->order);
    vq_json_put_real(j, "value", r->value, VQ_REPORT_DIGITS);
    if (r->status != VQ_RATING_OK) {
        vq_json_put_str(j, "status", vq_rubric_status_name(r->status));
    }
    if (p->r->reasoning != NULL && p->r->reasoning(p->r->reasoning_ctx, at, &text)) {
        vq_json_key(j, "said");
        (void)vq_page_put_answer(j, text);
    }
    vq_json_object_end(j);
}

static void put_ratings(const struct vq_rubric_page *p, uint32_t row, struct vq_json *j)
{
    struct vq_rubric_place at = {.row = row};
    vq_json_put_array(j, "ratings");
    for (at.criterion = 0; at.criterion < p->in->criteria_count; at.criterion++) {
        uint32_t outputs = vq_rubric_rated_outputs(p->in, at.criterion);
        for (at.output = 0; at.output < outputs; at.output++) {
            for (at.judge = 0; at.judge < p->in->judges_count; at.judge++) {
                for (at.repeat = 0; at.repeat < p->in->rating.repeats; at.repeat++) {
                    for (at.order = 0; at.order < 2; at.order++) {
                        put_rating(p, &at, j);
                    }
                }
            }
        }
    }
    vq_json_array_end(j);
}

/* Writes the criteria on which the item's ratings differ. */
static void put_differing(const struct vq_rubric_page *p, const struct item *item,
                          struct vq_json *j)
{
    vq_json_put_array(j, "differ");
    for (uint32_t c = 0; item->spread > 0 && c < p->in->criteria_count; c++) {
        if (criterion_spread(p, item->row, c) > 0) {
            vq_json_u64(j, c);
        }
    }
    vq_json_array_end(j);
}

static void put_item(const struct vq_rubric_page *p, const struct item *item, struct vq_json *j)
{
    const struct vq_rubric_row *row = &p->in->rows[item->row];
    vq_json_object(j);
    vq_json_put_u64(j, "n", row->record);
    put_differing(p, item, j);
    vq_page_put_image(j, row->image);
    vq_json_key(j, "prompt");
    vq_page_put_text(j, row->prompt, VQ_PAGE_TEXT_BYTES_MAX);
    vq_json_put_array(j, "outputs");
    for (uint32_t o = 0; o < p->in->outputs_count; o++) {
        vq_page_put_text(j, row->outputs[o], VQ_PAGE_TEXT_BYTES_MAX);
    }
    vq_json_array_end(j);
    put_ratings(p, item->row, j);
    vq_json_object_end(j);
}

void vq_rubric_page_items(const struct vq_rubric_page *p, struct vq_json *j)
{
    struct item *items = choose(p);
    if (items == NULL) {
        j->out->status = VQ_NOMEM;
        return;
    }
    size_t begin = j->out->bytes;
    vq_json_put_array(j, "items");
    for (uint32_t i = 0; i < p->in->rows_count && i < VQ_PAGE_ROWS_MAX &&
                         j->out->bytes - begin < VQ_PAGE_DATA_BYTES_MAX;
         i++) {
        put_item(p, &items[i], j);
    }
    vq_json_array_end(j);
    vq_free(items);
}

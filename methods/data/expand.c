/* Replaces each record of more than two models by rows: one for each pair that the design compares
 * on the record. They are next to each other, in the order of the records. Train and test each use
 * the list of pairs from its beginning, so that pairs are balanced on both sides. Invariant: the
 * rows depend on the models, the design, the seed and the split, never on a text. */
#include "methods/data/parts.h"

#include "common/base/alloc.h"
#include "common/text/fmt.h"

#define ROWS_MAX UINT64_C(50000000) /* comparisons in a run */

static void put_row(const struct vq_dataset_build *b, const struct vq_data_row *record,
                    struct vq_pair pair, struct vq_data_row *ret_row)
{
    const struct vq_table *table = b->set->tables[record->file];
    const struct vq_dataset_columns *c = &b->set->columns[record->file];
    *ret_row = *record;
    ret_row->model[0] = pair.a;
    ret_row->model[1] = pair.b;
    ret_row->a = vq_table_cell(table, vq_sample_row(record), c->model[pair.a]);
    ret_row->b = vq_table_cell(table, vq_sample_row(record), c->model[pair.b]);
    /* the preferred model is preferred in its own pairs; the other pairs have no preference */
    if (record->preference == VQ_PREFER_A) {
        uint8_t best = record->model[0];
        ret_row->preference = best == pair.a   ? VQ_PREFER_A
                              : best == pair.b ? VQ_PREFER_B
                                               : VQ_PREFER_NONE;
    }
}

/* One pass over the records: counts the rows, and fills `into` if it is not NULL. */
static uint64_t walk(const struct vq_dataset_build *b, struct vq_data_row *into)
{
    const struct vq_pairs *p = b->set->pairs;
    uint32_t seen[2] = {0, 0};
    uint64_t rows = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        uint64_t from, until;
        vq_pairs_of(p, seen[b->rows[i].split]++, &from, &until);
        for (uint64_t k = from; k < until; k++, rows++) {
            if (into != NULL) {
                put_row(b, &b->rows[i], p->pair[k % p->count], &into[rows]);
            }
        }
    }
    return rows;
}

enum vq_status vq_dataset_expand(struct vq_dataset_build *b)
{
    struct vq_dataset *set = b->set;
    VQ_TRY(VQ_ALLOC(set->pairs, 1));
    VQ_TRY(vq_pairs_plan(b->settings->pairs, b->settings->models, set->models_count,
                         b->settings->seed, b->count, b->settings->calls_each, set->pairs, b->err));
    uint64_t rows = walk(b, NULL);
    if (rows > ROWS_MAX) {
        char is[VQ_FMT_BYTES], most[VQ_FMT_BYTES];
        return vq_fail(
            b->err, VQ_LIMIT,
            "%s: %s comparisons of pairs are too many for one run, which has at most %s; "
            "use design: incomplete or baseline (pairs), or fewer records (data.limit)",
            vq_dataset_file_name(b, 0), vq_fmt_count(rows, is), vq_fmt_count(ROWS_MAX, most));
    }
    struct vq_data_row *expanded;
    VQ_TRY(VQ_ALLOC(expanded, rows));
    (void)walk(b, expanded);
    vq_free(b->rows);
    vq_free(b->leaves);
    b->rows = expanded;
    b->count = (uint32_t)rows;
    return VQ_ALLOC(b->leaves, rows);
}

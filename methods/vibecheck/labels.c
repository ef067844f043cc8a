/* A sheet is blind: it names no model, and a draw from the run's seed decides which output is shown
 * first. An item is FILE.RECORD ("0.12", "1.3"), so that several people can sort, cut and fill in a
 * sheet. Invariant: a label is one of the allowed words, or the file is refused with the line. Not
 * its job: files, the comparison with labels. */
#include "methods/vibecheck/labels.h"

#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/text/csv.h"
#include "common/text/utf8.h"
#include "methods/data/human_label.h"
#include "methods/vibecheck/numbers/vibecheck.h"

#include <stdio.h>
#include <stdlib.h>

#define FLIP_STREAM 11u /* random stream of the seed */
#define ROWS_STREAM 12u
#define LINE_STREAM 13u
#define SHOWN_BYTES 60

static void rng_of(const struct vq_label_frame *f, uint64_t stream, struct vq_rng *ret)
{
    vq_rng_seed(ret, f->seed * UINT64_C(1000003) + stream);
}

/* Whether the sheet shows B's output first. The draw depends on record and name, not on numbers, so
 * a vibe keeps its draw when other vibes are found. */
static bool is_flipped(const struct vq_label_frame *f, uint32_t sample, uint32_t axis)
{
    const struct vq_data_row *row = &f->dataset->samples[sample];
    struct vq_rng rng;
    uint64_t name = 0;
    for (const char *c = f->axes[axis].name; *c != '\0'; c++) {
        name = name * 31 + (unsigned char)*c;
    }
    vq_rng_seed(&rng, (f->seed * UINT64_C(1000003) + FLIP_STREAM) ^
                          ((uint64_t)row->record << 1 | row->file) * UINT64_C(0x9E3779B97F4A7C15) ^
                          name);
    return vq_rng_below(&rng, 2) == 1;
}

/* ---- writing ---- */

static void put_line(const struct vq_label_frame *f, uint32_t sample, uint32_t axis,
                     struct vq_csv *csv)
{
    const struct vq_data_row *row = &f->dataset->samples[sample];
    bool flipped = is_flipped(f, sample, axis);
    char item[32];
    (void)snprintf(item, sizeof(item), "%u.%u", row->file, row->record);
    vq_csv_str(csv, item);
    vq_csv_span(csv, row->prompt);
    vq_csv_span(csv, flipped ? row->b : row->a);
    vq_csv_span(csv, flipped ? row->a : row->b);
    vq_csv_str(csv, f->axes[axis].name);
    vq_csv_str(csv, f->axes[axis].low);
    vq_csv_str(csv, f->axes[axis].high);
    vq_csv_str(csv, "");
    vq_csv_end_row(csv);
}

/* Puts the wanted samples first, in random order; returns their number. */
static uint32_t draw(const struct vq_label_frame *f, const bool *wanted, uint32_t *samples)
{
    uint32_t n = 0;
    struct vq_rng rng;
    for (uint32_t i = 0; i < vq_dataset_count(f->dataset); i++) {
        if (wanted == NULL || wanted[i]) {
            samples[n++] = i;
        }
    }
    rng_of(f, ROWS_STREAM, &rng);
    vq_rng_shuffle_u32(&rng, samples, n);
    return n;
}

enum vq_status vq_label_sheet(const struct vq_label_frame *f, const bool *wanted, uint32_t rows,
                              const uint32_t *axes, uint32_t axes_count, struct vq_buf *out)
{
    uint32_t *samples;
    VQ_TRY(VQ_ALLOC(samples, vq_dataset_count(f->dataset)));
    uint32_t n = draw(f, wanted, samples);
    n = rows < n ? rows : n;
    uint32_t *lines = vq_alloc((size_t)n * axes_count, sizeof(*lines));
    if (lines == NULL) {
        vq_free(samples);
        return VQ_NOMEM;
    }
    struct vq_rng rng;
    for (uint32_t i = 0; i < n * axes_count; i++) {
        lines[i] = i;
    }
    rng_of(f, LINE_STREAM, &rng);
    vq_rng_shuffle_u32(&rng, lines, (size_t)n * axes_count);
    struct vq_csv csv;
    vq_buf_puts(out, "item,prompt,output_1,output_2,vibe,low,high,label\n");
    vq_csv_init_safe(&csv, out);
    for (uint32_t i = 0; i < n * axes_count; i++) {
        put_line(f, samples[lines[i] / axes_count], axes[lines[i] % axes_count], &csv);
    }
    vq_free(lines);
    vq_free(samples);
    return out->status;
}

void vq_labels_write(const struct vq_label_frame *f, const int8_t *people, struct vq_buf *out)
{
    static const char *const words[] = {"B", "equal", "A"};
    struct vq_csv csv;
    vq_buf_puts(out, "file,record,vibe,label\n");
    vq_csv_init(&csv, out);
    for (uint32_t i = 0; i < vq_dataset_count(f->dataset); i++) {
        for (uint32_t v = 0; v < f->axes_count; v++) {
            int8_t label = people[(size_t)i * f->axes_count + v];
            if (label == VQ_LABEL_NONE) {
                continue;
            }
            vq_csv_str(&csv, f->dataset->samples[i].file == 1 ? "test" : "");
            vq_csv_i64(&csv, f->dataset->samples[i].record);
            vq_csv_str(&csv, f->axes[v].name);
            vq_csv_str(&csv, words[label + 1]);
            vq_csv_end_row(&csv);
        }
    }
}

/* ---- reading ---- */

struct reading {
    const struct vq_label_frame *f;
    const struct vq_table *table;
    const char *name;
    uint32_t item, record, file, vibe, label; /* column numbers, or VQ_COLUMN_NONE */
    uint32_t *by_record[2];                   /* sample + 1 by record; 0: none */
    /* [sample * axes_count + axis]: this table has a label for it */
    bool *seen;
    struct vq_error *err;
};

static enum vq_status refuse(const struct reading *r, uint32_t row, const char *column,
                             struct vq_span cell, const char *why)
{
    struct vq_span shown = vq_utf8_cut(cell, SHOWN_BYTES);
    return vq_fail(r->err, VQ_INVALID, "%s, line %llu, column \"%s\": \"%.*s\" %s", r->name,
                   (unsigned long long)r->table->lines[row], column, (int)shown.bytes, shown.at,
                   why);
}

static enum vq_status find_columns(struct reading *r)
{
    r->item = vq_table_column(r->table, vq_span_str("item"));
    r->record = vq_table_column(r->table, vq_span_str("record"));
    r->file = vq_table_column(r->table, vq_span_str("file"));
    r->vibe = vq_table_column(r->table, vq_span_str("vibe"));
    r->label = vq_table_column(r->table, vq_span_str("label"));
    if (r->vibe == VQ_COLUMN_NONE || r->label == VQ_COLUMN_NONE ||
        (r->item == VQ_COLUMN_NONE && r->record == VQ_COLUMN_NONE)) {
        return vq_fail(r->err, VQ_INVALID,
                       "%s needs the columns item (of a sheet of vibeq label) or record, vibe, and "
                       "label",
                       r->name);
    }
    return VQ_OK;
}

static enum vq_status index_records(struct reading *r)
{
    const struct vq_dataset *d = r->f->dataset;
    for (int file = 0; file < 2; file++) {
        uint32_t records = d->tables[file] == NULL ? 0 : d->tables[file]->rows_count;
        VQ_TRY(VQ_ALLOC(r->by_record[file], (size_t)records + 1));
    }
    for (uint32_t i = 0; i < vq_dataset_count(d); i++) {
        r->by_record[d->samples[i].file][d->samples[i].record] = i + 1;
    }
    return VQ_OK;
}

static bool whole_number(struct vq_span text, uint32_t *ret_n)
{
    uint64_t n = 0;
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || n > UINT32_MAX) {
            return false;
        }
        n = n * 10 + (uint64_t)(text.at[i] - '0');
    }
    *ret_n = (uint32_t)n;
    return text.bytes > 0 && n <= UINT32_MAX;
}

/* The sample of a line's file and record. */
static enum vq_status place_of(const struct reading *r, uint32_t row, uint32_t *ret_sample)
{
    bool sheet = r->item != VQ_COLUMN_NONE;
    struct vq_span cell = vq_span_trim(vq_table_cell(r->table, row, sheet ? r->item : r->record)),
                   number = cell;
    unsigned file = 0;
    if (sheet) {
        bool known =
            cell.bytes > 2 && (cell.at[0] == '0' || cell.at[0] == '1') && cell.at[1] == '.';
        if (!known) {
            return refuse(r, row, "item", cell, "is no item of a sheet");
        }
        file = cell.at[0] == '1';
        number = vq_span(cell.at + 2, cell.bytes - 2);
    } else if (r->file != VQ_COLUMN_NONE) {
        struct vq_span word = vq_span_trim(vq_table_cell(r->table, row, r->file));
        file = vq_span_eq(word, vq_span_str("test"));
        if (file == 0 && word.bytes > 0) {
            return refuse(r, row, "file", word, "is neither empty nor test");
        }
    }
    uint32_t record = 0;
    const struct vq_table *data = r->f->dataset->tables[file];
    if (!whole_number(number, &record) || record == 0 || data == NULL ||
        record > data->rows_count) {
        return refuse(r, row, sheet ? "item" : "record", cell, "is no record of the data");
    }
    *ret_sample = r->by_record[file][record];
    return VQ_OK;
}

static enum vq_status axis_of(const struct reading *r, uint32_t row, uint32_t *ret_axis)
{
    struct vq_span name = vq_csv_unsafe(vq_span_trim(vq_table_cell(r->table, row, r->vibe)));
    for (uint32_t v = 0; v < r->f->axes_count; v++) {
        if (vq_span_eq(name, vq_span_str(r->f->axes[v].name))) {
            *ret_axis = v;
            return VQ_OK;
        }
    }
    return refuse(r, row, "vibe", name, "is no vibe of the run; vibeq export RUN vibes lists them");
}

static enum vq_status label_of(const struct reading *r, uint32_t row, uint32_t sample,
                               uint32_t axis, struct vq_span cell, int8_t *ret_label)
{
    bool sheet = r->item != VQ_COLUMN_NONE;
    double value = 0;
    bool first = vq_span_eq(cell, vq_span_str("1")) || vq_span_eq(cell, vq_span_str("1.0"));
    bool second = vq_span_eq(cell, vq_span_str("2")) || vq_span_eq(cell, vq_span_str("2.0"));
    if (sheet && (first || second)) {
        *ret_label = first == is_flipped(r->f, sample, axis) ? -1 : 1;
        return VQ_OK;
    }
    if (!vq_human_label_read(VQ_RATING_PAIRWISE, sheet ? NULL : r->f->models, cell, &value) ||
        (sheet && value > 0) || (sheet && value < 0)) {
        return refuse(
            r, row, "label", cell,
            sheet ? "is not a label; write 1 (the first output is higher), 2 (the second), or equal"
                  : "is not a label; write A, B, equal, or the name of a model");
    }
    *ret_label = (int8_t)value;
    return VQ_OK;
}

/* Two different labels are refused, because vibeq cannot know which person is right. */
static enum vq_status put_label(const struct reading *r, uint32_t row, size_t cell, int8_t label,
                                int8_t *people)
{
    if (r->seen[cell] && people[cell] != label) {
        return refuse(r, row, "label", vq_table_cell(r->table, row, r->label),
                      "differs from an earlier line about the same record and vibe; leave one line "
                      "for each");
    }
    r->seen[cell] = true;
    people[cell] = label;
    return VQ_OK;
}

static enum vq_status read_line(const struct reading *r, uint32_t row, int8_t *people,
                                struct vq_label_counts_read *counts)
{
    struct vq_span cell = vq_span_trim(vq_table_cell(r->table, row, r->label));
    uint32_t place = 0, axis = 0;
    if (cell.bytes == 0) {
        counts->empty++;
        return VQ_OK;
    }
    VQ_TRY(place_of(r, row, &place));
    enum vq_status status = axis_of(r, row, &axis);
    bool other = status != VQ_OK && r->f->other_vibes;
    if (status != VQ_OK && !other) {
        return status;
    }
    /* a label of an unknown vibe is checked too, because the vibe may be found later */
    int8_t label = 0;
    VQ_TRY(label_of(r, row, place == 0 ? 0 : place - 1, axis, cell, &label));
    *(other ? &counts->others : &counts->labels) += 1;
    return place == 0 || other /* a record that the run left out */
               ? VQ_OK
               : put_label(r, row, (size_t)(place - 1) * r->f->axes_count + axis, label, people);
}

enum vq_status vq_labels_read(const struct vq_label_frame *frame, const struct vq_table *table,
                              const char *name, int8_t *people,
                              struct vq_label_counts_read *ret_counts, struct vq_error *err)
{
    struct reading r = {.f = frame, .table = table, .name = name, .err = err};
    *ret_counts = (struct vq_label_counts_read){0};
    VQ_TRY(find_columns(&r));
    r.seen = vq_alloc((size_t)vq_dataset_count(frame->dataset) * frame->axes_count, sizeof(bool));
    enum vq_status status = r.seen == NULL ? VQ_NOMEM : index_records(&r);
    for (uint32_t row = 0; status == VQ_OK && row < table->rows_count; row++) {
        status = read_line(&r, row, people, ret_counts);
    }
    vq_free(r.by_record[0]);
    vq_free(r.by_record[1]);
    vq_free(r.seen);
    return status;
}

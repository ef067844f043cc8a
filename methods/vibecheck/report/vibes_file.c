/* The only place that decides which number of a vibe is shown, so that a table for a paper and a
 * picture agree with the page. Pure. */
#include "methods/vibecheck/report/vibes_file.h"

#include "common/text/csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES 64u
#define COLUMN_BYTES 24u

struct vq_span vq_vibes_text(const struct vq_table *table, uint32_t row, const char *column)
{
    uint32_t at = vq_table_column(table, vq_span_str(column));
    return at == UINT32_MAX ? vq_span("", 0) : vq_csv_unsafe(vq_table_cell(table, row, at));
}

static double number(const struct vq_table *table, uint32_t row, const char *column)
{
    struct vq_span text = vq_vibes_text(table, row, column);
    char copy[NUMBER_BYTES];
    if (text.bytes == 0 || text.bytes >= sizeof(copy)) {
        return NAN;
    }
    memcpy(copy, text.at, text.bytes);
    copy[text.bytes] = '\0';
    char *last;
    double value = strtod(copy, &last);
    return *last == '\0' && isfinite(value) ? value : NAN;
}

double vq_vibes_number(const struct vq_table *table, uint32_t row, const char *column)
{
    static const char *const of_fits[][2] = {{"_coefficient", ""}, {"_lo", "_lo"}, {"_hi", "_hi"}};
    if (column == NULL) {
        return NAN;
    }
    bool fit = strncmp(column, "mm_", 3) == 0 || strncmp(column, "pp_", 3) == 0;
    for (size_t i = 0; fit && i < VQ_COUNT(of_fits); i++) {
        if (strcmp(column + 2, of_fits[i][0]) == 0) {
            char firth[COLUMN_BYTES];
            (void)snprintf(firth, sizeof(firth), "%.2s_firth%s", column, of_fits[i][1]);
            double value = number(table, row, firth);
            return isnan(value) ? number(table, row, column) : value;
        }
    }
    return number(table, row, column);
}

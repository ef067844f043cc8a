/* Cells of a vibes.csv that was read, in the form for papers and pictures. */
#pragma once

#include "common/text/table.h"

/* The text in the named column, without the apostrophe that stops spreadsheets from running it as a
 * formula; empty if there is no such column. */
struct vq_span vq_vibes_text(const struct vq_table *table, uint32_t row, const char *column);

/* The number in the named column; NaN if there is none, or if `column` is NULL. For mm_coefficient,
 * mm_lo, mm_hi and the same of pp: Firth's estimate and its interval if the row has them, because
 * then the fit is degenerate (docs/method/method.md). */
double vq_vibes_number(const struct vq_table *table, uint32_t row, const char *column);

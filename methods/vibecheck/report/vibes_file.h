/* Cells of a vibes.csv that was read back, as tables for papers and pictures show them. */
#pragma once

#include "common/text/table.h"

/* The text of the named column without the apostrophe that keeps spreadsheets from running it;
 * empty if there is no such column. */
struct vq_span vq_vibes_text(const struct vq_table *table, uint32_t row, const char *column);

/* The number of the named column; NaN if there is none, and for NULL. For mm_coefficient, mm_lo,
 * mm_hi and the same of pp: Firth's estimate and its interval where the row has them, since then
 * the fit is degenerate (docs/method/method.md). */
double vq_vibes_number(const struct vq_table *table, uint32_t row, const char *column);

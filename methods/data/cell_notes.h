/* What is odd about the cells of a data file, counted, and the sentences about it: of the warnings
 * before a run and in its results. */
#pragma once

#include "common/text/table.h"

#define VQ_CELL_NOTE_BYTES_MAX 320
#define VQ_CELL_NOTES_MAX      8 /* for one file */

/* Of the cells that are sent. All-zero is ready for use. */
struct vq_cell_notes {
    uint32_t words, lists; /* words for a missing value as an output; lists of one text */
    uint64_t words_line, lists_line;
    struct vq_span word; /* the first */
};

void vq_cell_notes_prompt(struct vq_cell_notes *notes, struct vq_span cell, uint64_t line);
void vq_cell_notes_output(struct vq_cell_notes *notes, struct vq_span cell, uint64_t line);

/* The sentences, about these cells and about how the table was read; returns how many. `file` names
 * it; `done`: what happens to the outputs, such as "judged". */
uint32_t vq_cell_notes_say(const struct vq_cell_notes *notes, const struct vq_table_mended *mended,
                           const char *file, const char *done,
                           char ret_texts[VQ_CELL_NOTES_MAX][VQ_CELL_NOTE_BYTES_MAX]);

/* What to do about a column that has a JSON object or array, in the line that vq_table_nested_line
 * gives. */
const char *vq_cell_nested_advice(const struct vq_table *table, uint32_t column);

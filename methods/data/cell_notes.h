/* Counts unusual cells of a data file, and writes sentences about them: for the warnings before a
 * run and for its results. */
#pragma once

#include "common/text/table.h"

#define VQ_CELL_NOTE_BYTES_MAX 320
#define VQ_CELL_NOTES_MAX      8 /* for one file */

/* About the cells that are sent. All-zero is ready for use. */
struct vq_cell_notes {
    /* outputs that are a word for a missing value; cells that are a list of one text */
    uint32_t words, lists;
    uint64_t words_line, lists_line;
    struct vq_span word; /* the first such word */
};

void vq_cell_notes_prompt(struct vq_cell_notes *notes, struct vq_span cell, uint64_t line);
void vq_cell_notes_output(struct vq_cell_notes *notes, struct vq_span cell, uint64_t line);

/* Writes sentences about these cells and about how the table was read; returns their number. `file`
 * is the file's name; `done` is what happens to the outputs, such as "judged". */
uint32_t vq_cell_notes_list(const struct vq_cell_notes *notes, const struct vq_table_mended *mended,
                            const char *file, const char *done,
                            char ret_texts[VQ_CELL_NOTES_MAX][VQ_CELL_NOTE_BYTES_MAX]);

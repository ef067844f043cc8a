/* Counts while the rows are read, words afterwards. Pure; owns nothing. Not its job: refusing a file (the readers of columns). */
#include "coordinator/pipeline/cell_notes.h"

#include "common/text/cell.h"
#include "common/text/fmt.h"
#include "common/text/utf8.h"

#include <stdio.h>

#define SHOWN_BYTES 20

void vq_cell_notes_prompt(struct vq_cell_notes *notes, struct vq_span cell, uint64_t line)
{
    if (vq_cell_is_list_of_one(cell, NULL)) {
        notes->lists_line = notes->lists == 0 ? line : notes->lists_line;
        notes->lists++;
    }
}

void vq_cell_notes_output(struct vq_cell_notes *notes, struct vq_span cell, uint64_t line)
{
    vq_cell_notes_prompt(notes, cell, line);
    if (vq_cell_is_missing_word(cell)) {
        if (notes->words == 0) {
            notes->words_line = line;
            notes->word = vq_utf8_cut(vq_span_trim(cell), SHOWN_BYTES);
        }
        notes->words++;
    }
}

uint32_t vq_cell_notes_say(const struct vq_cell_notes *notes, const struct vq_table_mended *mended,
                           const char *file, const char *done,
                           char ret_texts[VQ_CELL_NOTES_MAX][VQ_CELL_NOTE_BYTES_MAX])
{
    uint32_t n = 0;
    char count[VQ_FMT_BYTES];
    if (notes->words > 0) {
        (void)snprintf(ret_texts[n++], VQ_CELL_NOTE_BYTES_MAX,
                       "%.120s: %s outputs are a word for a missing value (\"%.*s\" first, in line "
                       "%llu); they are %s as they are. Leave such records out of the file",
                       file, vq_fmt_count(notes->words, count), (int)notes->word.bytes,
                       notes->word.at, (unsigned long long)notes->words_line, done);
    }
    if (notes->lists > 0) {
        (void)snprintf(ret_texts[n++], VQ_CELL_NOTE_BYTES_MAX,
                       "%.120s: %s cells are lists of one text (the first in line %llu); they are "
                       "sent with brackets and quotes. data.unwrap_lists: true takes the text",
                       file, vq_fmt_count(notes->lists, count),
                       (unsigned long long)notes->lists_line);
    }
    if (mended->unwrapped > 0) {
        (void)snprintf(ret_texts[n++], VQ_CELL_NOTE_BYTES_MAX,
                       "%.120s: of %s cells that are lists of one text, the text is taken "
                       "(data.unwrap_lists)",
                       file, vq_fmt_count(mended->unwrapped, count));
    }
    if (mended->not_numbers > 0) {
        (void)snprintf(ret_texts[n++], VQ_CELL_NOTE_BYTES_MAX,
                       "%.120s: %s values are NaN or Infinity, which JSON does not have (the first "
                       "in line %llu); they are read as empty",
                       file, vq_fmt_count(mended->not_numbers, count),
                       (unsigned long long)mended->not_numbers_line);
    }
    if (mended->surrogates > 0) {
        (void)snprintf(ret_texts[n++], VQ_CELL_NOTE_BYTES_MAX,
                       "%.120s: %s characters are half of a surrogate pair (the first in line "
                       "%llu); they are read as U+FFFD",
                       file, vq_fmt_count(mended->surrogates, count),
                       (unsigned long long)mended->surrogates_line);
    }
    return n;
}

const char *vq_cell_nested_advice(const struct vq_table *table, uint32_t column)
{
    uint64_t line = vq_table_nested_line(table, column);
    for (uint32_t row = 0; row < table->rows_count; row++) {
        if (table->lines[row] == line &&
            vq_cell_is_list_of_one(vq_table_cell(table, row, column), NULL)) {
            return "set data.unwrap_lists: true, which takes the text out of a list of one, or "
                   "name another column";
        }
    }
    return "write its text there (a list of messages as one string), or name another column";
}

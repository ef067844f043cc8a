/* Counts cells while the rows are read, and writes the sentences afterwards. Pure; owns nothing.
 * Not its job: refusing a file (the readers of columns). */
#include "methods/data/cell_notes.h"

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

static const char *are(uint64_t n)
{
    return vq_fmt_form(n, " is", "s are");
}

static const char *they(uint64_t n)
{
    return vq_fmt_form(n, "it is", "they are");
}

uint32_t vq_cell_notes_list(const struct vq_cell_notes *notes, const struct vq_table_mended *mended,
                            const char *file, const char *done,
                            char ret_texts[VQ_CELL_NOTES_MAX][VQ_CELL_NOTE_BYTES_MAX])
{
    uint32_t n = 0;
    char count[VQ_FMT_BYTES];
    if (notes->words > 0) {
        (void)snprintf(ret_texts[n++], VQ_CELL_NOTE_BYTES_MAX,
                       "%.120s: %s output%s a word for a missing value (\"%.*s\" first, in line "
                       "%llu); %s %s as %s. Leave such records out of the file",
                       file, vq_fmt_count(notes->words, count), are(notes->words),
                       (int)notes->word.bytes, notes->word.at,
                       (unsigned long long)notes->words_line, they(notes->words), done,
                       they(notes->words));
    }
    if (notes->lists > 0) {
        (void)snprintf(ret_texts[n++], VQ_CELL_NOTE_BYTES_MAX,
                       "%.120s: %s cell%s of one text (the first in line %llu); %s "
                       "sent with brackets and quotes. data.unwrap_lists: true takes the text",
                       file, vq_fmt_count(notes->lists, count),
                       vq_fmt_form(notes->lists, " is a list", "s are lists"),
                       (unsigned long long)notes->lists_line, they(notes->lists));
    }
    if (mended->unwrapped > 0) {
        (void)snprintf(ret_texts[n++], VQ_CELL_NOTE_BYTES_MAX,
                       "%.120s: of %s cell%s of one text, the text is taken "
                       "(data.unwrap_lists)",
                       file, vq_fmt_count(mended->unwrapped, count),
                       vq_fmt_form(mended->unwrapped, " that is a list", "s that are lists"));
    }
    if (mended->not_numbers > 0) {
        (void)snprintf(ret_texts[n++], VQ_CELL_NOTE_BYTES_MAX,
                       "%.120s: %s value%s NaN or Infinity, which JSON does not have (the first "
                       "in line %llu); %s read as empty",
                       file, vq_fmt_count(mended->not_numbers, count), are(mended->not_numbers),
                       (unsigned long long)mended->not_numbers_line, they(mended->not_numbers));
    }
    if (mended->surrogates > 0) {
        (void)snprintf(ret_texts[n++], VQ_CELL_NOTE_BYTES_MAX,
                       "%.120s: %s character%s half of a surrogate pair (the first in line "
                       "%llu); %s read as U+FFFD",
                       file, vq_fmt_count(mended->surrogates, count), are(mended->surrogates),
                       (unsigned long long)mended->surrogates_line, they(mended->surrogates));
    }
    return n;
}

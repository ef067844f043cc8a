/* Reads lines by column names. Not its job: the things that a line describes (items.c, human.c). */
#include "methods/persona/lines.h"

#include "common/text/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

static bool is_jsonl(const char *name)
{
    return vq_name_ends_with(name, ".jsonl") || vq_name_ends_with(name, ".ndjson");
}

enum vq_status vq_persona_lines_open(struct vq_persona_lines *l, struct vq_span text,
                                     const char *name,
                                     const struct vq_persona_lines_column *columns, uint32_t count,
                                     uint32_t *ret_columns)
{
    struct vq_table *table;
    enum vq_table_format format = is_jsonl(name) ? VQ_TABLE_JSONL : VQ_TABLE_CSV;
    VQ_TRY(vq_table_parse(text, format, name, &table, l->err));
    for (uint32_t c = 0; c < count; c++) {
        const char *const *words = columns[c].names;
        ret_columns[c] = UINT32_MAX;
        for (int i = 0; i < VQ_PERSONA_LINES_WORDS_MAX && words[i] != NULL; i++) {
            if (ret_columns[c] == UINT32_MAX) {
                ret_columns[c] = vq_table_column(table, vq_span_str(words[i]));
            }
        }
        if (ret_columns[c] == UINT32_MAX && !columns[c].optional) {
            vq_table_destroy(&table);
            return vq_fail(l->err, VQ_INVALID, "%s has no column \"%s\"", name, words[0]);
        }
    }
    l->table = table;
    l->name = name;
    l->columns = ret_columns;
    return VQ_OK;
}

const char *vq_persona_lines_word(const struct vq_persona_lines *l, uint32_t row, uint32_t column,
                                  char text[VQ_PERSONA_LINES_WORD_BYTES])
{
    struct vq_span cell = vq_span("", 0);
    if (l->columns[column] != UINT32_MAX) {
        cell = vq_span_trim(vq_table_cell(l->table, row, l->columns[column]));
        cell = vq_utf8_cut(cell, VQ_PERSONA_LINES_WORD_BYTES - 1);
    }
    if (cell.bytes > 0) {
        memcpy(text, cell.at, cell.bytes);
    }
    text[cell.bytes] = '\0';
    return text;
}

enum vq_status vq_persona_lines_number(const struct vq_persona_lines *l, uint32_t row,
                                       uint32_t column, const char *what, double *ret_value)
{
    char text[VQ_PERSONA_LINES_WORD_BYTES], *end;
    double value = strtod(vq_persona_lines_word(l, row, column, text), &end);
    if (end == text || *end != '\0' || !(value >= 0) || value > 1e9) {
        return vq_fail(l->err, VQ_INVALID, "%s, line %llu, %s: \"%.40s\" is not a count", l->name,
                       (unsigned long long)l->table->lines[row], what, text);
    }
    *ret_value = value;
    return VQ_OK;
}

uint32_t vq_persona_lines_find(const char *name, const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return VQ_PERSONA_NONE;
}

uint32_t vq_persona_lines_model(const struct vq_persona_lines *l, uint32_t row, uint32_t column)
{
    char text[VQ_PERSONA_LINES_WORD_BYTES];
    return vq_persona_lines_find(vq_persona_lines_word(l, row, column, text), l->names->models,
                                 l->plan->design.models);
}

uint32_t vq_persona_lines_persona(const struct vq_persona_lines *l, uint32_t row, uint32_t column)
{
    char text[VQ_PERSONA_LINES_WORD_BYTES];
    const char *name = vq_persona_lines_word(l, row, column, text);
    const struct vq_persona_design *d = &l->plan->design;
    uint32_t persona = vq_persona_lines_find(name, l->names->personas, d->personas);
    bool bare = name[0] == '\0' || strcmp(name, "baseline") == 0 || strcmp(name, "empty") == 0;
    return persona == VQ_PERSONA_NONE && bare && d->baseline ? d->personas : persona;
}

uint32_t vq_persona_lines_script(const struct vq_persona_lines *l, uint32_t row, uint32_t column)
{
    static const struct {
        const char *name;
        enum vq_persona_kind kind;
    } words[] = {{"directed", VQ_PERSONA_DIRECTED},
                 {"interview", VQ_PERSONA_DIRECTED},
                 {"goal", VQ_PERSONA_GOAL},
                 {"instructions", VQ_PERSONA_GOAL}};
    char text[VQ_PERSONA_LINES_WORD_BYTES];
    const char *name = vq_persona_lines_word(l, row, column, text);
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        for (uint32_t s = 0; s < l->plan->design.scripts_count; s++) {
            if (strcasecmp(words[i].name, name) == 0 &&
                l->plan->design.scripts[s].kind == words[i].kind) {
                return s;
            }
        }
    }
    return VQ_PERSONA_NONE;
}

uint32_t vq_persona_lines_checkpoint(const struct vq_persona_lines *l, double round)
{
    for (uint32_t i = 0; i < l->plan->design.checkpoints; i++) {
        if (fabs(l->plan->checkpoints[i] - round) < 0.5) {
            return i;
        }
    }
    return VQ_PERSONA_NONE;
}

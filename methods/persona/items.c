/* Gives numbers to names: items and their questions, lines of measured results and their places.
 * Not its job: reading items (items_file.c), computing with results (panel.c). */
#include "methods/persona/items.h"

#include "common/base/alloc.h"
#include "common/text/intern.h"
#include "methods/persona/lines.h"

/* ---- items ---- */

void vq_persona_bare_question(const char *question, const char *persona, struct vq_buf *out)
{
    size_t named = strlen(persona);
    question += strspn(question, " \t\r\n");
    bool begins = strncmp(question, persona, named) == 0 && question[named] == ',';
    if (begins) {
        question += named + 1;
        question += strspn(question, " \t\r\n");
    }
    bool small = begins && question[0] >= 'a' && question[0] <= 'z';
    if (small) {
        vq_buf_putc(out, (char)(question[0] - 'a' + 'A'));
    }
    vq_buf_puts(out, question + small);
}

struct binding {
    struct vq_persona_bound bound;
    struct vq_intern questions; /* texts are owned by `bound` */
};

static enum vq_status add_question(struct binding *b, const char *text, const char *persona,
                                   uint32_t *ret_question)
{
    struct vq_buf bare;
    vq_buf_init(&bare, VQ_ITEM_BYTES_MAX + 1);
    vq_buf_puts(&bare, "");
    vq_persona_bare_question(text, persona, &bare);
    struct vq_span copy;
    VQ_TRY(vq_arena_take(&b->bound.memory, &bare, &copy));
    VQ_TRY(vq_intern_add(&b->questions, copy, ret_question));
    if (*ret_question == b->bound.questions_count) { /* else the text is there already */
        b->bound.questions[b->bound.questions_count++] = copy.at;
    }
    return VQ_OK;
}

static enum vq_status bind_all(const struct vq_items_file *file,
                               const struct vq_persona_names *names, uint32_t personas,
                               struct binding *b)
{
    struct vq_persona_bound *to = &b->bound;
    VQ_TRY(VQ_ARENA_ALLOC(&to->memory, to->items, file->count));
    VQ_TRY(VQ_ARENA_ALLOC(&to->memory, to->source, file->count));
    VQ_TRY(VQ_ARENA_ALLOC(&to->memory, to->questions, file->count));
    for (uint32_t i = 0; i < file->count; i++) {
        const struct vq_conf_item *item = &file->items[i];
        struct vq_persona_item made = {.persona = VQ_PERSONA_ALL};
        if (item->persona != NULL) {
            made.persona = vq_persona_lines_find(item->persona, names->personas, personas);
            if (made.persona == VQ_PERSONA_NONE) {
                to->passed_over++;
                continue;
            }
            VQ_TRY(add_question(b, item->text, item->persona, &made.question));
        }
        to->source[to->count] = i;
        to->items[to->count++] = made;
    }
    return VQ_OK;
}

enum vq_status vq_persona_bind(const struct vq_items_file *file, const char *name,
                               const struct vq_persona_names *names, uint32_t personas_count,
                               struct vq_persona_bound *ret_bound, struct vq_error *err)
{
    struct binding b = {.bound = {.count = 0}};
    vq_intern_init(&b.questions);
    enum vq_status status = bind_all(file, names, personas_count, &b);
    vq_intern_free(&b.questions);
    if (status == VQ_OK && b.bound.count == 0) {
        status = vq_fail(err, VQ_NOT_FOUND,
                         "%s has no item for the personas of this run; it speaks of \"%.64s\"",
                         name, file->items[0].persona);
    }
    if (status != VQ_OK) {
        vq_persona_bound_free(&b.bound);
        return status;
    }
    *ret_bound = b.bound;
    return VQ_OK;
}

void vq_persona_bound_free(struct vq_persona_bound *bound)
{
    vq_arena_clear(&bound->memory);
    *bound = (struct vq_persona_bound){.count = 0};
}

/* ---- measured results ---- */

enum {
    COLUMN_MODEL,
    COLUMN_PERSONA,
    COLUMN_KIND,
    COLUMN_ROUND,
    COLUMN_CORRECT,
    COLUMN_TOTAL,
    COLUMNS
};
static const struct vq_persona_lines_column columns_of_results[COLUMNS] = {
    {.names = {"model"}},
    {.names = {"persona", "role"}},
    {.names = {"kind", "dialogue", "base_conversation"}},
    {.names = {"round"}},
    {.names = {"correct"}},
    {.names = {"total"}, .optional = true}};

/* *ret_known: whether the line belongs to this plan. */
static enum vq_status take(const struct vq_persona_lines *l, uint32_t row,
                           struct vq_persona_measured *m, bool *ret_known)
{
    double round, correct, total = 1;
    VQ_TRY(vq_persona_lines_number(l, row, COLUMN_ROUND, "round", &round));
    VQ_TRY(vq_persona_lines_number(l, row, COLUMN_CORRECT, "correct", &correct));
    if (l->columns[COLUMN_TOTAL] != UINT32_MAX) {
        VQ_TRY(vq_persona_lines_number(l, row, COLUMN_TOTAL, "total", &total));
    }
    if (correct > total || total <= 0) {
        return vq_fail(l->err, VQ_INVALID, "%s, line %llu, correct: %g of %g", l->name,
                       (unsigned long long)l->table->lines[row], correct, total);
    }
    *m = (struct vq_persona_measured){.model = vq_persona_lines_model(l, row, COLUMN_MODEL),
                                      .persona = vq_persona_lines_persona(l, row, COLUMN_PERSONA),
                                      .script = vq_persona_lines_script(l, row, COLUMN_KIND),
                                      .checkpoint = vq_persona_lines_checkpoint(l, round),
                                      .correct = correct,
                                      .total = total};
    *ret_known = m->model != VQ_PERSONA_NONE && m->persona != VQ_PERSONA_NONE &&
                 m->script != VQ_PERSONA_NONE && m->checkpoint != VQ_PERSONA_NONE;
    return VQ_OK;
}

static enum vq_status take_all(const struct vq_persona_lines *l, struct vq_persona_measured *made,
                               size_t *ret_count)
{
    size_t count = 0;
    for (uint32_t row = 0; row < l->table->rows_count; row++) {
        bool known = false;
        VQ_TRY(take(l, row, &made[count], &known));
        count += known;
    }
    *ret_count = count;
    return count > 0 ? VQ_OK
                     : vq_fail(l->err, VQ_NOT_FOUND,
                               "%s has no line of this run's models, personas, kinds and rounds",
                               l->name);
}

enum vq_status vq_persona_measured_parse(struct vq_span text, const char *name,
                                         const struct vq_persona_plan *plan,
                                         const struct vq_persona_names *names,
                                         struct vq_persona_measured **ret_measured,
                                         size_t *ret_count, size_t *ret_passed_over,
                                         struct vq_error *err)
{
    struct vq_persona_lines l = {.plan = plan, .names = names, .err = err};
    uint32_t columns[COLUMNS];
    VQ_TRY(vq_persona_lines_open(&l, text, name, columns_of_results, COLUMNS, columns));
    struct vq_persona_measured *made = vq_alloc(l.table->rows_count, sizeof(*made));
    size_t count = 0;
    enum vq_status status = made == NULL ? VQ_NOMEM : take_all(&l, made, &count);
    if (status == VQ_OK) {
        *ret_measured = made;
        *ret_count = count;
        *ret_passed_over = l.table->rows_count - count;
    } else {
        vq_free(made);
    }
    vq_table_destroy(&l.table);
    return status;
}

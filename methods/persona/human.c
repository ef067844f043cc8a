/* Reads people's labels from a file, sorts them, and looks them up by the thing that they rate.
 * Invariant: there is one label per thing. Not its job: the use of labels (numbers.c), the words of
 * a label (human_label.c). */
#include "methods/persona/human.h"

#include "common/base/alloc.h"
#include "methods/data/human_label.h"
#include "methods/persona/lines.h"

#include <math.h>
#include <stdlib.h>

enum {
    COLUMN_CRITERION,
    COLUMN_MODEL,
    COLUMN_PERSONA,
    COLUMN_KIND,
    COLUMN_ROUND,
    COLUMN_HUMAN,
    COLUMN_AS,
    COLUMN_ORDER,
    COLUMN_ITEM,
    COLUMN_REFERENCE,
    COLUMN_POSITION,
    COLUMNS
};
static const struct vq_persona_lines_column columns_of_labels[COLUMNS] = {
    {.names = {"criterion"}},
    {.names = {"model"}},
    {.names = {"persona", "role"}},
    {.names = {"kind", "dialogue"}},
    {.names = {"round"}},
    {.names = {"human", "value"}},
    {.names = {"as"}, .optional = true},
    {.names = {"order"}, .optional = true},
    {.names = {"item"}, .optional = true},
    {.names = {"reference"}, .optional = true},
    {.names = {"position"}, .optional = true}};

struct reading {
    struct vq_persona_lines lines;
    const struct vq_persona_criterion *criteria;
    uint32_t criteria_count;
};

static uint32_t criterion_named(const struct vq_persona_criterion *criteria, uint32_t count,
                                const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(criteria[i].name, name) == 0) {
            return i;
        }
    }
    return VQ_PERSONA_NONE;
}

/* ---- order of things ---- */

static int difference(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_things(const struct vq_persona_rated *a, const struct vq_persona_rated *b)
{
    const uint32_t of_a[] = {a->criterion,
                             a->model,
                             a->persona,
                             a->script,
                             a->as,
                             a->point,
                             a->item,
                             (uint32_t)a->order,
                             (uint32_t)a->reference,
                             a->position};
    const uint32_t of_b[] = {b->criterion,
                             b->model,
                             b->persona,
                             b->script,
                             b->as,
                             b->point,
                             b->item,
                             (uint32_t)b->order,
                             (uint32_t)b->reference,
                             b->position};
    int order = 0;
    for (size_t i = 0; order == 0 && i < VQ_COUNT(of_a); i++) {
        order = difference(of_a[i], of_b[i]);
    }
    return order;
}

static int compare(const void *a, const void *b)
{
    const struct vq_persona_human *x = a, *y = b;
    return compare_things(&x->of, &y->of);
}

/* ---- a line ---- */

static enum vq_status bad(const struct reading *r, uint32_t row, const char *what, const char *text,
                          const char *wanted)
{
    return vq_fail(r->lines.err, VQ_INVALID, "%s, line %llu, %s: \"%.40s\" is not %s",
                   r->lines.name, (unsigned long long)r->lines.table->lines[row], what, text,
                   wanted);
}

static enum vq_status take_value(const struct reading *r, uint32_t row, enum vq_rating_kind kind,
                                 double *ret_value)
{
    static const char *const wanted[] = {[VQ_RATING_LIKERT] = "a whole number from 1 to 5",
                                         [VQ_RATING_BINARY] = "yes or no",
                                         [VQ_RATING_PAIRWISE] = "A or B, as they were shown"};
    char text[VQ_PERSONA_LINES_WORD_BYTES];
    double value;
    struct vq_span label = vq_span_str(vq_persona_lines_word(&r->lines, row, COLUMN_HUMAN, text));
    bool good = vq_human_label_read(kind, NULL, label, &value);
    if (!good || (kind == VQ_RATING_PAIRWISE && value == 0)) {
        return bad(r, row, "human", text, wanted[kind]);
    }
    *ret_value = kind == VQ_RATING_PAIRWISE ? (1 - value) / 2 : value;
    return VQ_OK;
}

/* The file counts from 1; an empty cell means `otherwise`. */
static enum vq_status take_number(const struct reading *r, uint32_t row, uint32_t column,
                                  const char *what, uint32_t otherwise, uint32_t *ret_number)
{
    char text[VQ_PERSONA_LINES_WORD_BYTES];
    double number;
    *ret_number = otherwise;
    if (vq_persona_lines_word(&r->lines, row, column, text)[0] == '\0') {
        return VQ_OK;
    }
    VQ_TRY(vq_persona_lines_number(&r->lines, row, column, what, &number));
    if (number < 1 || number != floor(number)) {
        return bad(r, row, what, text, "a number from 1");
    }
    *ret_number = (uint32_t)number - 1;
    return VQ_OK;
}

/* For turns, reads the order of the dialogue; for pairs, the reference. */
static enum vq_status take_words(const struct reading *r, uint32_t row, struct vq_persona_rated *of)
{
    char text[VQ_PERSONA_LINES_WORD_BYTES];
    const char *order = vq_persona_lines_word(&r->lines, row, COLUMN_ORDER, text);
    if (strcmp(order, "shuffled") == 0) {
        of->order = VQ_PERSONA_SHUFFLED;
    } else if (order[0] != '\0' && strcmp(order, "original") != 0) {
        return bad(r, row, "order", order, "original or shuffled");
    }
    const char *reference = vq_persona_lines_word(&r->lines, row, COLUMN_REFERENCE, text);
    bool found = reference[0] == '\0';
    for (int k = 0; !found && k < VQ_PERSONA_REFERENCES; k++) {
        of->reference = (enum vq_persona_reference)k;
        found = strcmp(reference, vq_persona_reference_name(of->reference)) == 0;
    }
    return found ? VQ_OK : bad(r, row, "reference", reference, "dataset, zero or previous");
}

/* The value of `as` in results: VQ_PERSONA_NONE for an answer of the baseline that is rated without
 * a persona. */
static uint32_t as_of(const struct reading *r, uint32_t row, uint32_t persona)
{
    char text[VQ_PERSONA_LINES_WORD_BYTES];
    const struct vq_persona_lines *l = &r->lines;
    const char *as = vq_persona_lines_word(l, row, COLUMN_AS, text);
    uint32_t personas = l->plan->design.personas;
    return as[0] != '\0' ? vq_persona_lines_find(as, l->names->personas, personas)
                         : (persona < personas ? persona : VQ_PERSONA_NONE);
}

/* *ret_known: whether the line belongs to this plan and has a label. */
static enum vq_status take(const struct reading *r, uint32_t row, struct vq_persona_human *h,
                           bool *ret_known)
{
    const struct vq_persona_lines *l = &r->lines;
    char text[VQ_PERSONA_LINES_WORD_BYTES];
    double round;
    uint32_t c = criterion_named(r->criteria, r->criteria_count,
                                 vq_persona_lines_word(l, row, COLUMN_CRITERION, text));
    *ret_known = false;
    if (c == VQ_PERSONA_NONE || vq_persona_lines_word(l, row, COLUMN_HUMAN, text)[0] == '\0') {
        return VQ_OK;
    }
    const struct vq_persona_criterion *criterion = &r->criteria[c];
    bool turns = criterion->use == VQ_PERSONA_OF_TURNS;
    VQ_TRY(vq_persona_lines_number(l, row, COLUMN_ROUND, "round", &round));
    if (round != floor(round)) {
        return bad(r, row, "round", vq_persona_lines_word(l, row, COLUMN_ROUND, text),
                   "a whole number");
    }
    *h = (struct vq_persona_human){
        .of = {.criterion = c,
               .model = vq_persona_lines_model(l, row, COLUMN_MODEL),
               .persona = vq_persona_lines_persona(l, row, COLUMN_PERSONA),
               .script = vq_persona_lines_script(l, row, COLUMN_KIND),
               .point = turns ? (uint32_t)round : vq_persona_lines_checkpoint(l, round)}};
    h->of.as = as_of(r, row, h->of.persona);
    VQ_TRY(take_number(r, row, COLUMN_ITEM, "item", VQ_PERSONA_NONE, &h->of.item));
    VQ_TRY(take_number(r, row, COLUMN_POSITION, "position", 0, &h->of.position));
    VQ_TRY(take_words(r, row, &h->of));
    VQ_TRY(take_value(r, row, criterion->kind, &h->value));
    *ret_known = h->of.model != VQ_PERSONA_NONE && h->of.persona != VQ_PERSONA_NONE &&
                 h->of.script != VQ_PERSONA_NONE &&
                 h->of.point < (turns ? l->plan->design.rounds : l->plan->design.checkpoints);
    return VQ_OK;
}

/* ---- all lines ---- */

/* Removes all but the first of equal labels; two labels of one thing that differ are an error. */
static enum vq_status leave_one(const struct reading *r, struct vq_persona_human *human,
                                size_t *count)
{
    size_t kept = 0;
    if (*count > 0) {
        qsort(human, *count, sizeof(*human), compare);
    }
    for (size_t i = 0; i < *count; i++) {
        if (i == 0 || compare(&human[kept - 1], &human[i]) != 0) {
            human[kept++] = human[i];
        } else if (fabs(human[kept - 1].value - human[i].value) > 0) {
            return vq_fail(r->lines.err, VQ_INVALID,
                           "%s has two labels by \"%.80s\" for one answer (round %u) that "
                           "differ; keep one, or separate them by the columns of ratings.csv",
                           r->lines.name, r->criteria[human[i].of.criterion].name,
                           human[i].of.point);
        }
    }
    *count = kept;
    return VQ_OK;
}

/* *ret_known: number of lines with a label that belongs to this plan; equal labels of one thing
 * become one. */
static enum vq_status take_all(const struct reading *r, struct vq_persona_human *made,
                               size_t *ret_count, size_t *ret_known)
{
    size_t count = 0;
    for (uint32_t row = 0; row < r->lines.table->rows_count; row++) {
        bool known;
        VQ_TRY(take(r, row, &made[count], &known));
        count += known;
    }
    *ret_known = count;
    VQ_TRY(leave_one(r, made, &count));
    *ret_count = count;
    return count > 0 ? VQ_OK
                     : vq_fail(r->lines.err, VQ_NOT_FOUND,
                               "%s has no label of this run's criteria, models, personas, kinds "
                               "and rounds",
                               r->lines.name);
}

enum vq_status vq_persona_human_parse(struct vq_span text, const char *name,
                                      const struct vq_persona_plan *plan,
                                      const struct vq_persona_names *names,
                                      const struct vq_persona_criterion *criteria,
                                      uint32_t criteria_count, struct vq_persona_human **ret_human,
                                      size_t *ret_count, size_t *ret_passed_over,
                                      struct vq_error *err)
{
    struct reading r = {.lines = {.plan = plan, .names = names, .err = err},
                        .criteria = criteria,
                        .criteria_count = criteria_count};
    uint32_t columns[COLUMNS];
    VQ_TRY(vq_persona_lines_open(&r.lines, text, name, columns_of_labels, COLUMNS, columns));
    struct vq_persona_human *made = vq_alloc(r.lines.table->rows_count, sizeof(*made));
    size_t count = 0, known = 0;
    enum vq_status status = made == NULL ? VQ_NOMEM : take_all(&r, made, &count, &known);
    if (status == VQ_OK) {
        *ret_human = made;
        *ret_count = count;
        *ret_passed_over = r.lines.table->rows_count - known;
    } else {
        vq_free(made);
    }
    vq_table_destroy(&r.lines.table);
    return status;
}

/* ---- look-up ---- */

size_t vq_persona_human_place(struct vq_persona_human *human, size_t count,
                              const struct vq_persona_criterion *criteria,
                              const struct vq_persona_rated *rated, size_t rated_count,
                              double *ret_values)
{
    size_t unplaced = count;
    for (size_t i = 0; i < rated_count; i++) {
        uint32_t own = rated[i].criterion;
        struct vq_persona_human key = {.of = rated[i]};
        key.of.criterion = criterion_named(criteria, own + 1, criteria[own].name);
        struct vq_persona_human *found =
            count == 0 ? NULL : bsearch(&key, human, count, sizeof(*human), compare);
        ret_values[i] = found == NULL ? (double)NAN : found->value;
        if (found != NULL && !found->placed) {
            found->placed = true;
            unplaced--;
        }
    }
    return unplaced;
}

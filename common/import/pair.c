/* Joins the answers of two models on their keys. Invariants: rows are in A's order; of several
 * answers with the same key the first is used, and all unused answers are counted. Pure; keeps no
 * memory between calls. Not its job: reading (set.c). */
#include "common/import/import.h"

#include "common/base/alloc.h"
#include "common/text/csv.h"
#include "common/text/intern.h"
#include "common/text/utf8.h"

#include <stdio.h>

#define NONE         SIZE_MAX
#define MODELS_SHOWN 8u
#define NAME_SHOWN   60u

/* The answers of one model in one file. */
struct group {
    struct vq_span model; /* the file's stem if the file names no model */
    uint32_t file;
    uint64_t rows;
};

struct pair {
    const struct vq_import_set *set;
    struct group groups[VQ_IMPORT_MODELS_MAX];
    uint32_t groups_count;
    uint8_t side_of[VQ_IMPORT_MODELS_MAX]; /* by group: 0 A, 1 B, 2 neither */
    struct vq_intern keys;
    size_t *rows[2];   /* by key: A's row, B's row, or NONE */
    size_t *questions; /* by key */
    uint32_t *order;   /* keys of A in order of appearance */
    bool has_ids;
    struct vq_import_pairing *pairing;
    struct vq_error *err;
};

static struct vq_span part(const struct pair *p, const struct vq_import_row *row,
                           enum vq_import_part which)
{
    return vq_import_part(p->set, row, which);
}

/* "dir/alpha.jsonl.gz" gives "alpha". */
static struct vq_span stem(const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *from = slash == NULL ? file : slash + 1;
    static const char *const endings[] = {".gz", ".zst", ".jsonl", ".json", ".csv", ".ndjson"};
    struct vq_span name = vq_span_str(from);
    for (size_t i = 0; i < VQ_COUNT(endings); i++) {
        if (name.bytes > strlen(endings[i]) && vq_span_ends_with(name, endings[i])) {
            name.bytes -= strlen(endings[i]);
        }
    }
    return name;
}

static struct vq_span model_of(const struct pair *p, const struct vq_import_row *row)
{
    struct vq_span model = vq_span_trim(part(p, row, VQ_IMPORT_MODEL));
    return vq_utf8_cut(model.bytes > 0 ? model : stem(p->set->files[row->file]),
                       VQ_IMPORT_NAME_BYTES);
}

static uint32_t group_of(const struct pair *p, const struct vq_import_row *row)
{
    struct vq_span model = model_of(p, row);
    for (uint32_t g = 0; g < p->groups_count; g++) {
        if (p->groups[g].file == row->file && vq_span_eq(p->groups[g].model, model)) {
            return g;
        }
    }
    return UINT32_MAX;
}

static enum vq_status find_groups(struct pair *p)
{
    for (size_t i = 0; i < p->set->rows_count; i++) {
        const struct vq_import_row *row = &p->set->rows[i];
        if (row->question) {
            continue;
        }
        uint32_t g = group_of(p, row);
        if (g == UINT32_MAX) {
            if (p->groups_count == VQ_IMPORT_MODELS_MAX) {
                return vq_fail(p->err, VQ_LIMIT, "%s: more than %u different models",
                               p->set->files[row->file], VQ_IMPORT_MODELS_MAX);
            }
            g = p->groups_count++;
            p->groups[g] = (struct group){model_of(p, row), row->file, 0};
        }
        p->groups[g].rows++;
        p->has_ids = p->has_ids || row->bytes[VQ_IMPORT_KEY] > 0;
    }
    return VQ_OK;
}

/* ---- the choice of two models ---- */

static enum vq_status not_two(const struct pair *p, const char *what, const char *name)
{
    struct vq_buf list;
    vq_buf_init(&list, VQ_ERROR_BYTES_MAX);
    for (uint32_t g = 0; g < p->groups_count && g < MODELS_SHOWN; g++) {
        struct vq_span s = vq_utf8_cut(p->groups[g].model, NAME_SHOWN);
        vq_buf_printf(&list, "%s%.*s (%llu in %.60s)", g == 0 ? "" : ", ", (int)s.bytes, s.at,
                      (unsigned long long)p->groups[g].rows, p->set->files[p->groups[g].file]);
    }
    enum vq_status status =
        vq_fail(p->err, VQ_INVALID, "%s%.60s; the models in these files are %s%s", what, name,
                list.at == NULL ? "none" : list.at, p->groups_count > MODELS_SHOWN ? ", ..." : "");
    vq_buf_free(&list);
    return status;
}

/* The first group whose name differs from the first group's; 0 unless the groups have exactly two
 * names. */
static uint32_t second_name(const struct pair *p)
{
    uint32_t second = 0;
    for (uint32_t g = 1; g < p->groups_count; g++) {
        if (vq_span_eq(p->groups[g].model, p->groups[0].model)) {
            continue;
        }
        if (second != 0 && !vq_span_eq(p->groups[g].model, p->groups[second].model)) {
            return 0;
        }
        second = second == 0 ? g : second;
    }
    return second;
}

static bool any_is(const struct pair *p, const char *name)
{
    for (uint32_t g = 0; g < p->groups_count; g++) {
        if (vq_span_eq(p->groups[g].model, vq_span_str(name))) {
            return true;
        }
    }
    return false;
}

static void choose_by_name(struct pair *p, struct vq_span a, struct vq_span b)
{
    for (uint32_t g = 0; g < p->groups_count; g++) {
        p->side_of[g] = vq_span_eq(p->groups[g].model, a)   ? 0
                        : vq_span_eq(p->groups[g].model, b) ? 1
                                                            : 2;
    }
}

static void set_name(struct pair *p, int side, struct vq_span name)
{
    (void)snprintf(p->pairing->names[side], sizeof(p->pairing->names[side]), "%.*s",
                   (int)name.bytes, name.at);
}

static enum vq_status choose(struct pair *p, const char *const names[2])
{
    uint32_t second = p->groups_count == 2 ? 1 : second_name(p);
    bool both = names[0] != NULL && names[1] != NULL;
    if (both && any_is(p, names[0]) && any_is(p, names[1]) && strcmp(names[0], names[1]) != 0) {
        choose_by_name(p, vq_span_str(names[0]), vq_span_str(names[1]));
    } else if (second == 0) {
        const char *absent = names[0] != NULL && !any_is(p, names[0])   ? names[0]
                             : names[1] != NULL && !any_is(p, names[1]) ? names[1]
                                                                        : NULL;
        return absent != NULL ? not_two(p, "there is no model ", absent)
               : p->groups_count < 2
                   ? not_two(p, "two models are needed: name a second file", "")
                   : not_two(p, "two models are needed: choose them with --a NAME --b NAME", "");
    } else if (p->groups_count == 2) {
        p->side_of[0] = 0;
        p->side_of[1] = 1;
    } else {
        choose_by_name(p, p->groups[0].model, p->groups[second].model);
    }
    for (int side = 0; side < 2; side++) {
        set_name(p, side,
                 names[side] != NULL ? vq_span_str(names[side])
                                     : p->groups[side == 0 ? 0 : second].model);
    }
    if (strcmp(p->pairing->names[0], p->pairing->names[1]) == 0) {
        return not_two(p, "both columns would have the same name; give others with --a and --b: ",
                       p->pairing->names[0]);
    }
    static const char *const taken[] = {"id", "question", "preference", ""};
    for (size_t i = 0; i < 2 * VQ_COUNT(taken); i++) {
        if (strcmp(p->pairing->names[i % 2], taken[i / 2]) == 0) {
            return not_two(
                p, "a column of outputs cannot have this name; give another with --a or --b: ",
                p->pairing->names[i % 2]);
        }
    }
    return VQ_OK;
}

/* ---- the join ---- */

static enum vq_status add_keys(struct pair *p)
{
    size_t n = p->set->rows_count;
    for (int side = 0; side < 2; side++) {
        p->rows[side] = vq_alloc(n, sizeof(size_t));
    }
    p->questions = vq_alloc(n, sizeof(size_t));
    p->order = vq_alloc(n, sizeof(uint32_t));
    if (p->rows[0] == NULL || p->rows[1] == NULL || p->questions == NULL || p->order == NULL) {
        return VQ_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        p->rows[0][i] = p->rows[1][i] = p->questions[i] = NONE;
    }
    return VQ_OK;
}

static enum vq_status join(struct pair *p)
{
    uint32_t keys_of_a = 0;
    VQ_TRY(add_keys(p));
    for (size_t i = 0; i < p->set->rows_count; i++) {
        const struct vq_import_row *row = &p->set->rows[i];
        struct vq_span key = part(p, row, VQ_IMPORT_KEY);
        key = key.bytes > 0 ? key : part(p, row, VQ_IMPORT_PROMPT);
        int side = row->question ? 2 : p->side_of[group_of(p, row)];
        uint32_t id;
        VQ_TRY(vq_intern_add(&p->keys, key, &id));
        if (row->question) {
            p->questions[id] = i;
        } else if (side < 2 && p->rows[side][id] != NONE) {
            p->pairing->repeated[side]++;
        } else if (side < 2) {
            p->rows[side][id] = i;
            p->pairing->empty[side] += part(p, row, VQ_IMPORT_OUTPUT).bytes == 0;
            p->order[keys_of_a] = id;
            keys_of_a += side == 0;
        }
    }
    for (uint32_t id = 0; id < p->keys.count; id++) {
        bool a = p->rows[0][id] != NONE, b = p->rows[1][id] != NONE;
        p->pairing->rows += a && b;
        p->pairing->only[0] += a && !b;
        p->pairing->only[1] += b && !a;
    }
    return VQ_OK;
}

/* The prompt of the question, else of A's answer, else of B's. */
static struct vq_span prompt_of(const struct pair *p, uint32_t id)
{
    size_t question = p->questions[id];
    struct vq_span a = part(p, &p->set->rows[p->rows[0][id]], VQ_IMPORT_PROMPT);
    struct vq_span b = part(p, &p->set->rows[p->rows[1][id]], VQ_IMPORT_PROMPT);
    p->pairing->other_prompt += a.bytes > 0 && b.bytes > 0 && !vq_span_eq(a, b);
    return question != NONE ? part(p, &p->set->rows[question], VQ_IMPORT_PROMPT)
           : a.bytes > 0    ? a
                            : b;
}

static enum vq_status write(struct pair *p, struct vq_buf *out)
{
    struct vq_csv csv;
    vq_csv_init(&csv, out);
    if (p->has_ids) {
        vq_csv_str(&csv, "id");
    }
    vq_csv_str(&csv, "question");
    vq_csv_str(&csv, p->pairing->names[0]);
    vq_csv_str(&csv, p->pairing->names[1]);
    vq_csv_end_row(&csv);
    for (uint64_t i = 0; i < p->pairing->rows + p->pairing->only[0]; i++) {
        uint32_t id = p->order[i];
        if (p->rows[1][id] == NONE) {
            continue;
        }
        struct vq_span prompt = prompt_of(p, id);
        p->pairing->without_prompt += prompt.bytes == 0;
        if (p->has_ids) {
            vq_csv_span(&csv, p->keys.keys[id]);
        }
        vq_csv_span(&csv, prompt);
        for (int side = 0; side < 2; side++) {
            vq_csv_span(&csv, part(p, &p->set->rows[p->rows[side][id]], VQ_IMPORT_OUTPUT));
        }
        vq_csv_end_row(&csv);
    }
    return out->status;
}

static enum vq_status pair(struct pair *p, const char *const names[2], struct vq_buf *out)
{
    VQ_TRY(find_groups(p));
    VQ_TRY(choose(p, names));
    VQ_TRY(join(p));
    if (p->pairing->rows == 0) {
        return vq_fail(p->err, VQ_INVALID,
                       "no prompt has answers of both: %.60s has answers to %llu other prompts, "
                       "%.60s to %llu; do both files have the same prompts?",
                       p->pairing->names[0], (unsigned long long)p->pairing->only[0],
                       p->pairing->names[1], (unsigned long long)p->pairing->only[1]);
    }
    VQ_TRY(write(p, out));
    if (p->pairing->without_prompt == p->pairing->rows) {
        return vq_fail(p->err, VQ_INVALID,
                       "no answer has its prompt: add the file of the questions (question.jsonl), "
                       "or name the column with --prompt");
    }
    return VQ_OK;
}

enum vq_status vq_import_pair(const struct vq_import_set *set, const char *const names[2],
                              struct vq_buf *out, struct vq_import_pairing *ret_pairing,
                              struct vq_error *err)
{
    struct pair *p = vq_alloc(1, sizeof(*p));
    if (p == NULL) {
        return vq_fail(err, VQ_NOMEM, "no memory to pair the answers");
    }
    *ret_pairing = (struct vq_import_pairing){.rows = 0};
    p->set = set;
    p->pairing = ret_pairing;
    p->err = err;
    vq_intern_init(&p->keys);
    enum vq_status status = pair(p, names, out);
    if (status == VQ_NOMEM) {
        (void)vq_fail(err, status, "no memory to pair the answers");
    }
    vq_intern_free(&p->keys);
    vq_free(p->rows[0]);
    vq_free(p->rows[1]);
    vq_free(p->questions);
    vq_free(p->order);
    vq_free(p);
    return status;
}

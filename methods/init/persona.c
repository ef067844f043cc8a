/* The draft of method: persona. The kind of a file is found by parsing it as each kind that its
 * name's ending allows, the strictest first: personas, then items that have more than a question,
 * then queries, then plain items. Invariant: a kind of dialogue has one file, and the draft loads.
 * Not its job: reading files from disk. */
#include "common/conf/items_file.h"
#include "common/conf/personas_file.h"
#include "common/conf/queries_file.h"
#include "common/text/fmt.h"
#include "common/text/table.h"
#include "methods/init/parts.h"

#include <stdio.h>
#include <string.h>

#define CHECKPOINTS 4u

static bool ends_with_any(const char *path, const char *const *endings)
{
    for (; *endings != NULL; endings++) {
        if (vq_name_ends_with(path, *endings)) {
            return true;
        }
    }
    return false;
}

/* ---- finding the role of a file ---- */

static enum vq_status add_personas(struct vq_init_persona *p, const char *path,
                                   const struct vq_personas_file *file, struct vq_error *err)
{
    if (p->personas != NULL) {
        return vq_fail(err, VQ_INVALID,
                       "%s and %s both have personas; a configuration takes one file of personas: "
                       "join the files, or leave one out",
                       p->personas, path);
    }
    p->personas = path;
    p->personas_count = file->count;
    return VQ_OK;
}

static bool speaks_to_role(const char *text)
{
    return strstr(text, VQ_ROLE_MARK) != NULL;
}

/* The remarks that a run will find in the file. */
static uint32_t remarks_of(const struct vq_queries_file *q)
{
    bool first = q->opening == NULL && q->count > 1 && speaks_to_role(q->questions[0]);
    bool last = q->closing == NULL && q->count > (first ? 2u : 1u) &&
                speaks_to_role(q->questions[q->count - 1]);
    return (uint32_t)((q->opening != NULL) + (q->closing != NULL) + first + last);
}

static enum vq_status add_queries(struct vq_init_persona *p, const char *path,
                                  const struct vq_queries_file *q, struct vq_error *err)
{
    uint32_t remarks = remarks_of(q);
    uint32_t apart = (uint32_t)(q->opening != NULL) + (q->closing != NULL);
    struct vq_init_queries is = {.path = path, .remarks = remarks};
    if (remarks > 0 && p->directed.path != NULL && p->directed.remarks == 0 &&
        p->goal.path == NULL) {
        p->goal = p->directed; /* it counted as an interview until this file was added */
        p->directed = (struct vq_init_queries){.path = NULL};
    }
    struct vq_init_queries *to = remarks > 0 || p->directed.path == NULL ? &p->directed : &p->goal;
    if (to->path != NULL) {
        return vq_fail(err, VQ_INVALID,
                       "%s and %s are both %s; dialogues take one list of questions to the persona "
                       "and one of requests of any user: leave one out",
                       to->path, path,
                       to == &p->directed ? "interviews (with remarks to {role})"
                                          : "lists without a remark to {role}");
    }
    is.count = q->count + apart - remarks;
    *to = is;
    return VQ_OK;
}

static bool is_rich(const struct vq_items_file *file)
{
    for (uint32_t i = 0; i < file->count; i++) {
        const struct vq_conf_item *item = &file->items[i];
        if (item->persona != NULL || item->reference != NULL || item->trait != VQ_BIG_FIVE ||
            item->label != VQ_ITEM_UNLABELLED) {
            return true;
        }
    }
    return false;
}

static enum vq_status add_items(struct vq_init_persona *p, const char *path,
                                const struct vq_items_file *file, struct vq_error *err)
{
    if (p->probes_count == VQ_INIT_PROBES_MAX) {
        return vq_fail(err, VQ_INVALID, "at most %u files of items; leave %s out",
                       VQ_INIT_PROBES_MAX, path);
    }
    struct vq_init_probe *probe = &p->probes[p->probes_count++];
    *probe = (struct vq_init_probe){
        .path = path, .items = file->count, .traits = true, .labels = true, .references = true};
    for (uint32_t i = 0; i < file->count; i++) {
        const struct vq_conf_item *item = &file->items[i];
        probe->traits &= item->trait != VQ_BIG_FIVE;
        probe->labels &= item->label != VQ_ITEM_UNLABELLED;
        probe->references &= item->reference != NULL;
        probe->personas |= item->persona != NULL;
    }
    for (uint32_t k = 0; probe->traits && k + 1 < p->probes_count; k++) {
        if (p->probes[k].traits) {
            return vq_fail(err, VQ_INVALID,
                           "%s and %s both have items with traits; a configuration takes one file "
                           "of them: join the files, or leave one out",
                           p->probes[k].path, path);
        }
    }
    return VQ_OK;
}

/* *ret_is false: the file is not of this kind, and *why says what is missing. */
static enum vq_status try_personas(struct vq_init_persona *p, const char *path, struct vq_span text,
                                   bool *ret_is, struct vq_error *why, struct vq_error *err)
{
    struct vq_personas_file file;
    enum vq_status status = vq_personas_file_parse(text, path, &file, why);
    *ret_is = status == VQ_OK;
    if (status == VQ_OK) {
        status = add_personas(p, path, &file, err);
        vq_personas_file_free(&file);
        return status;
    }
    return status == VQ_NOMEM ? status : VQ_OK;
}

static enum vq_status try_items(struct vq_init_persona *p, const char *path, struct vq_span text,
                                bool rich, bool *ret_is, struct vq_error *why, struct vq_error *err)
{
    static const struct vq_items_columns usual;
    struct vq_items_file file;
    enum vq_status status = vq_items_file_parse(text, path, &usual, &file, why);
    *ret_is = false;
    if (status == VQ_OK) {
        *ret_is = !rich || is_rich(&file);
        status = *ret_is ? add_items(p, path, &file, err) : VQ_OK;
        vq_items_file_free(&file);
        return status;
    }
    return status == VQ_NOMEM ? status : VQ_OK;
}

static enum vq_status try_queries(struct vq_init_persona *p, const char *path, struct vq_span text,
                                  bool *ret_is, struct vq_error *why, struct vq_error *err)
{
    struct vq_queries_file file;
    enum vq_status status = vq_queries_file_parse(text, path, &file, why);
    *ret_is = status == VQ_OK;
    if (status == VQ_OK) {
        status = add_queries(p, path, &file, err);
        vq_queries_file_free(&file);
        return status;
    }
    return status == VQ_NOMEM ? status : VQ_OK;
}

enum vq_status vq_init_persona_add(struct vq_init_persona *p, const char *path, struct vq_span text,
                                   struct vq_error *err)
{
    static const char *const trees[] = {".yaml", ".yml", ".json", NULL};
    static const char *const tables[] = {".csv", ".jsonl", ".ndjson", NULL};
    struct vq_error whys[3] = {{.text = ""}};
    bool tree = ends_with_any(path, trees), list = !tree && !ends_with_any(path, tables),
         is = false;
    if (tree) {
        VQ_TRY(try_personas(p, path, text, &is, &whys[0], err));
    }
    if (!is && !list) {
        VQ_TRY(try_items(p, path, text, true, &is, &whys[1], err));
    }
    if (!is) {
        VQ_TRY(try_queries(p, path, text, &is, &whys[2], err));
    }
    if (!is && !list) {
        VQ_TRY(try_items(p, path, text, false, &is, &whys[1], err));
    }
    if (is) {
        return VQ_OK;
    }
    if (list) {
        return vq_fail(err, VQ_INVALID, "%s", whys[2].text);
    }
    return vq_fail(
        err, VQ_INVALID, "%s is no file of a persona evaluation.%s%s As queries: %s. As items: %s",
        path, tree ? " As personas: " : "", tree ? whys[0].text : "", whys[2].text, whys[1].text);
}

enum vq_status vq_init_persona_check(const struct vq_init_persona *p, struct vq_error *err)
{
    if (p->personas == NULL) {
        return vq_fail(
            err, VQ_INVALID,
            "no file has personas: a YAML or JSON list of maps with name and description");
    }
    if (p->directed.path == NULL && p->goal.path == NULL) {
        return vq_fail(
            err, VQ_INVALID,
            "no file has queries: a text file with one per line, or a list of texts as YAML or "
            "JSON; vibeq personas queries --out interview.yaml lets a model write some");
    }
    const struct vq_init_queries *const lists[] = {&p->directed, &p->goal};
    for (size_t i = 0; i < VQ_COUNT(lists); i++) {
        if (lists[i]->path != NULL && vq_init_persona_rounds(p) <= lists[i]->remarks) {
            return vq_fail(err, VQ_INVALID,
                           "a dialogue of %u rounds (the length of the shorter list) has no room "
                           "for a question of %s between its remarks; write more queries",
                           vq_init_persona_rounds(p), lists[i]->path);
        }
    }
    return VQ_OK;
}

uint32_t vq_init_persona_rounds(const struct vq_init_persona *p)
{
    const struct vq_init_queries *const lists[] = {&p->directed, &p->goal};
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < VQ_COUNT(lists); i++) {
        uint32_t rounds = lists[i]->count + lists[i]->remarks;
        least = lists[i]->path != NULL && rounds < least ? rounds : least;
    }
    return least;
}

/* ---- writing ---- */

static void put_dialogues(const struct vq_init_persona *p, struct vq_buf *out)
{
    uint32_t rounds = vq_init_persona_rounds(p);
    vq_buf_puts(out, "dialogues:\n  personas: ");
    vq_init_put_text(out, vq_span_str(p->personas));
    vq_buf_printf(out, "   # %u persona%s\n", p->personas_count, vq_fmt_plural(p->personas_count));
    if (p->directed.path != NULL) {
        vq_buf_puts(out, "  directed: ");
        vq_init_put_text(out, vq_span_str(p->directed.path));
        vq_buf_printf(out, "   # %u question%s to the persona, %s\n", p->directed.count,
                      vq_fmt_plural(p->directed.count),
                      p->directed.remarks == 2   ? "between an opening and a closing remark"
                      : p->directed.remarks == 1 ? "and one remark to {role}"
                                                 : "without a remark to {role} (a guess)");
    } else {
        vq_buf_puts(out, "  # directed: FILE   # questions to the persona; vibeq personas queries "
                         "writes some\n");
    }
    if (p->goal.path != NULL) {
        vq_buf_puts(out, "  goal: ");
        vq_init_put_text(out, vq_span_str(p->goal.path));
        vq_buf_printf(out, "   # %u request%s that any user could make (a guess)\n", p->goal.count,
                      vq_fmt_plural(p->goal.count));
    } else {
        vq_buf_puts(out, "  # goal: FILE   # requests that any user could make\n");
    }
    vq_buf_printf(
        out,
        "  # rounds: %u       # not set: the length of the shorter list\n"
        "  checkpoints: %u   # number of points, from the first round to the last, with probes\n"
        "  orders: both     # each dialogue a second time with its questions shuffled; "
        "original: once\n"
        "  baseline: on     # the same dialogues without a persona, for comparison\n",
        rounds, rounds + 1 < CHECKPOINTS ? rounds + 1 : CHECKPOINTS);
}

/* The file's name without folder and ending: its name in the results. */
static struct vq_span stem_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *begin = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(begin, '.');
    return vq_span(begin, dot == NULL || dot == begin ? strlen(begin) : (size_t)(dot - begin));
}

static bool same_name(struct vq_span a, struct vq_span b)
{
    return a.bytes == b.bytes && strncasecmp(a.at, b.at, a.bytes) == 0;
}

/* Whether another file has the name, or results use it for something else. */
static bool name_is_taken(const struct vq_init_persona *p, uint32_t i)
{
    static const char *const others[] = {"knowledge", "style", "in_character", "fidelity"};
    struct vq_span name = stem_of(p->probes[i].path);
    uint32_t trait;
    bool taken = vq_big_five_find(name, &trait);
    for (size_t k = 0; k < VQ_COUNT(others); k++) {
        taken |= same_name(name, vq_span_str(others[k]));
    }
    for (uint32_t k = 0; k < i; k++) {
        taken |= same_name(name, stem_of(p->probes[k].path));
    }
    return taken;
}

static void put_probe(const struct vq_init_persona *p, uint32_t i, struct vq_buf *out)
{
    const struct vq_init_probe *probe = &p->probes[i];
    vq_buf_puts(out, "- file: ");
    vq_init_put_text(out, vq_span_str(probe->path));
    vq_buf_printf(out, "   # %u item%s\n", probe->items, vq_fmt_plural(probe->items));
    if (name_is_taken(p, i)) {
        vq_buf_printf(out, "  name: probe-%u\n", i + 1);
    }
    if (probe->traits) {
        vq_buf_puts(out, "  criterion: trait   # the trait of the Big Five that the item names\n");
    } else if (probe->labels) {
        vq_buf_puts(out, "  criterion: refusal   # items are labelled safe and unsafe\n");
    } else {
        bool general = !probe->personas || strcasestr(probe->path, "general") != NULL;
        vq_buf_printf(out, "  criterion: %s   # compares two answers (a guess)\n",
                      general ? "general" : "role_specific");
        vq_buf_puts(out,
                    probe->references
                        ? "  references: [dataset, zero]   # the file's answer, and the model's "
                          "own before the dialogue; also: previous\n"
                        : "  references: [zero]   # the model's own answer before the dialogue; "
                          "also: previous\n");
    }
}

static void put_probes(const struct vq_init_persona *p, struct vq_buf *out)
{
    vq_buf_puts(out, "\n# Questions at each checkpoint, each in a branch of its own.\n");
    if (p->probes_count == 0) {
        vq_buf_puts(out, "# probes:\n"
                         "# - {file: safety.csv}   # columns: question, label (safe, unsafe)\n");
        return;
    }
    vq_buf_puts(out, "probes:\n");
    for (uint32_t i = 0; i < p->probes_count; i++) {
        put_probe(p, i, out);
    }
}

void vq_init_persona_config(const struct vq_init_persona *p, struct vq_buf *out)
{
    vq_buf_puts(
        out, "# A first configuration, made from the files. Read it, change it, then: vibeq plan "
             "FILE, and vibeq run FILE\n"
             "# Every key with its default and meaning: docs/use/config.md\n"
             "\n"
             "method: persona   # models play personas in long dialogues and are rated: "
             "docs/use/persona.md\n"
             "\n"
             "# The models that play. offline-subject is built in, costs nothing and fades by "
             "rule: it tests the pipeline.\n"
             "subjects: [offline-subject]\n");
    vq_init_put_model(out, "subjects");
    vq_buf_puts(out, "#   role: system                  # or developer, or none\n\n");
    put_dialogues(p, out);
    put_probes(p, out);
    vq_buf_puts(out, "\n"
                     "# The criteria for turns. Not set: knowledge, style, in_character.\n"
                     "# criteria: [in_character]\n"
                     "\n"
                     "# The judges. offline-a is built in too, and only counts words.\n"
                     "judges: [offline-a]\n");
    vq_init_put_model(out, "judges");
    vq_buf_puts(out, "\n"
                     "rating:\n"
                     "  positions: both    # pairs in both orders; alternate: in one, at half the "
                     "calls\n");
    vq_init_put_end(out);
}

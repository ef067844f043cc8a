/* Prompt templates. A template is parsed once into pieces, literal text or a placeholder, of its
 * two parts; rendering walks the pieces and never parses the inserted values.
 *
 * Invariants: pieces point into `clean`, the template's own copy of the text without a byte order
 * mark and with LF line ends; pieces of the system part come first. The template owns `text`,
 * `clean` and `pieces`. Not its job: the source of a template's text, and answers. */
#include "common/judge/template.h"

#include "common/base/alloc.h"
#include "common/judge/embedded.h"
#include "common/text/utf8.h"

#include <stdio.h>

#define PIECES_MAX (2 * VQ_TEMPLATE_PLACEHOLDERS_MAX + VQ_TEMPLATE_PART__COUNT)

static const char *const placeholder_names[VQ_PLACEHOLDER__COUNT] = {
    [VQ_PLACEHOLDER_PROMPT] = "prompt",
    [VQ_PLACEHOLDER_OUTPUT_A] = "output_a",
    [VQ_PLACEHOLDER_OUTPUT_B] = "output_b",
    [VQ_PLACEHOLDER_VIBE_NAME] = "vibe_name",
    [VQ_PLACEHOLDER_VIBE_LOW] = "vibe_low",
    [VQ_PLACEHOLDER_VIBE_HIGH] = "vibe_high",
    [VQ_PLACEHOLDER_CRITERION] = "criterion",
    [VQ_PLACEHOLDER_RUBRIC] = "rubric",
    [VQ_PLACEHOLDER_ANSWER] = "answer",
    [VQ_PLACEHOLDER_ROWS] = "rows",
    [VQ_PLACEHOLDER_AXES] = "axes",
    [VQ_PLACEHOLDER_AXIS] = "axis",
    [VQ_PLACEHOLDER_NEW_AXES] = "new_axes",
    [VQ_PLACEHOLDER_REJECTED] = "rejected",
    [VQ_PLACEHOLDER_COUNT] = "count",
    [VQ_PLACEHOLDER_NAME] = "name",
    [VQ_PLACEHOLDER_DESCRIPTION] = "description",
    [VQ_PLACEHOLDER_IMAGE] = "image",
};

#define P(name) (1u << VQ_PLACEHOLDER_##name)

/* The template AS_IS: sends the texts that the coordinator rendered. */
static const char as_is_text[] = "@system\n{{output_a}}\n@user\n{{prompt}}\n";
static const struct vq_span as_is = {as_is_text, sizeof(as_is_text) - 1};

static const struct {
    const char *file;
    const struct vq_span *text;
    /* bits of enum vq_placeholder: all of them are required, and no others are allowed, except
     * {{image}} together with {{output_a}} */
    unsigned required;
    bool is_system; /* it has only a system part */
} kinds[VQ_TEMPLATE__COUNT] = {
    [VQ_TEMPLATE_JUDGE] = {"judge.txt", &vq_embedded_judge,
                           P(PROMPT) | P(OUTPUT_A) | P(OUTPUT_B) | P(VIBE_NAME) | P(VIBE_LOW) |
                               P(VIBE_HIGH)},
    [VQ_TEMPLATE_REPAIR] = {"repair.txt", &vq_embedded_repair, P(ANSWER)},
    [VQ_TEMPLATE_PREFERENCE] = {"preference.txt", &vq_embedded_preference,
                                P(PROMPT) | P(OUTPUT_A) | P(OUTPUT_B)},
    [VQ_TEMPLATE_DISCOVER] = {"discover.txt", &vq_embedded_discover, P(ROWS)},
    [VQ_TEMPLATE_DIFFERENCES] = {"differences.txt", &vq_embedded_differences, P(ROWS)},
    [VQ_TEMPLATE_FORMALISE] = {"formalise.txt", &vq_embedded_formalise, P(ANSWER)},
    [VQ_TEMPLATE_DISCOVER_AGAIN] = {"discover-again.txt", &vq_embedded_discover_again,
                                    P(ROWS) | P(AXES) | P(REJECTED)},
    [VQ_TEMPLATE_SUMMARISE] = {"summarise.txt", &vq_embedded_summarise, P(AXES)},
    [VQ_TEMPLATE_SIMPLIFY] = {"simplify.txt", &vq_embedded_simplify, P(AXES)},
    [VQ_TEMPLATE_REDUCE] = {"reduce.txt", &vq_embedded_reduce, P(AXES) | P(COUNT)},
    [VQ_TEMPLATE_DEDUP] = {"dedup.txt", &vq_embedded_dedup, P(AXES) | P(NEW_AXES)},
    [VQ_TEMPLATE_GENERATE] = {"generate.txt", &vq_embedded_generate, P(COUNT)},
    [VQ_TEMPLATE_MATCH] = {"match.txt", &vq_embedded_match, P(AXIS) | P(AXES)},
    [VQ_TEMPLATE_QUESTION_TYPES] = {"question-types.txt", &vq_embedded_question_types,
                                    P(AXIS) | P(ROWS)},
    [VQ_TEMPLATE_JUDGE_MANY] = {"judge-many.txt", &vq_embedded_judge_many,
                                P(PROMPT) | P(OUTPUT_A) | P(OUTPUT_B) | P(AXES)},
    [VQ_TEMPLATE_LIKERT] = {"likert.txt", &vq_embedded_likert,
                            P(PROMPT) | P(OUTPUT_A) | P(CRITERION) | P(RUBRIC)},
    [VQ_TEMPLATE_BINARY] = {"binary.txt", &vq_embedded_binary,
                            P(PROMPT) | P(OUTPUT_A) | P(CRITERION) | P(RUBRIC)},
    [VQ_TEMPLATE_PAIRWISE] = {"pairwise.txt", &vq_embedded_pairwise,
                              P(PROMPT) | P(OUTPUT_A) | P(OUTPUT_B) | P(CRITERION) | P(RUBRIC)},
    [VQ_TEMPLATE_PERSONA] = {"persona.txt", &vq_embedded_persona, P(NAME) | P(DESCRIPTION), true},
    [VQ_TEMPLATE_QUERIES] = {"queries.txt", &vq_embedded_queries, P(COUNT)},
    [VQ_TEMPLATE_AS_IS] = {"(as it is)", &as_is, P(PROMPT) | P(OUTPUT_A)},
};

struct piece {
    struct vq_span literal;
    enum vq_placeholder placeholder; /* VQ_PLACEHOLDER__COUNT: a literal */
};

struct vq_template {
    char *text; /* as given */
    size_t text_bytes;
    char *clean;
    size_t clean_bytes;
    struct piece pieces[PIECES_MAX];
    size_t pieces_end[VQ_TEMPLATE_PART__COUNT]; /* a part's pieces end before this index */
    size_t pieces_count;
    struct vq_hash hash;
};

/* State of one parse: the template, and the data for errors. */
struct parse {
    struct vq_template *template;
    enum vq_template_kind kind;
    const char *file;
    struct vq_error *err;
    unsigned seen; /* bit set of enum vq_placeholder */
    size_t placeholders;
};

const char *vq_template_file(enum vq_template_kind kind)
{
    VQ_ASSERT(kind < VQ_TEMPLATE__COUNT);
    return kinds[kind].file;
}

struct vq_span vq_template_builtin_clear(enum vq_template_kind kind)
{
    return kind == VQ_TEMPLATE_JUDGE        ? vq_embedded_judge_clear
           : kind == VQ_TEMPLATE_JUDGE_MANY ? vq_embedded_judge_many_clear
                                            : vq_template_builtin(kind);
}

struct vq_span vq_template_builtin(enum vq_template_kind kind)
{
    VQ_ASSERT(kind < VQ_TEMPLATE__COUNT);
    return *kinds[kind].text;
}

struct vq_span vq_template_image_words(bool there_is_one)
{
    return vq_span_str(there_is_one ? "(the image at the beginning of this message)"
                                    : "(no image)");
}

static enum vq_status fail_at(const struct parse *p, const char *at, enum vq_status status,
                              const char *what)
{
    size_t line = 1;
    size_t column = 1;
    for (const char *c = p->template->clean; c < at; c++) {
        column++;
        if (*c == '\n') {
            line++;
            column = 1;
        }
    }
    return vq_fail(p->err, status, "%s:%zu:%zu: %s", p->file, line, column, what);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static struct vq_span trimmed(struct vq_span s)
{
    while (s.bytes > 0 && is_blank(s.at[0])) {
        s.at++;
        s.bytes--;
    }
    while (s.bytes > 0 && is_blank(s.at[s.bytes - 1])) {
        s.bytes--;
    }
    return s;
}

/* Makes the copy that the pieces point into: without byte order mark, and with LF for CR LF. */
static void clean_text(struct vq_template *t)
{
    size_t from = t->text_bytes >= 3 && memcmp(t->text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    for (size_t i = from; i < t->text_bytes; i++) {
        if (t->text[i] == '\r' && i + 1 < t->text_bytes && t->text[i + 1] == '\n') {
            continue;
        }
        t->clean[t->clean_bytes++] = t->text[i];
    }
}

static void push_piece(struct parse *p, struct vq_span literal, enum vq_placeholder placeholder)
{
    struct vq_template *t = p->template;
    if (placeholder == VQ_PLACEHOLDER__COUNT && literal.bytes == 0) {
        return;
    }
    VQ_ASSERT(t->pieces_count < PIECES_MAX);
    t->pieces[t->pieces_count++] = (struct piece){literal, placeholder};
}

static unsigned allowed(enum vq_template_kind kind)
{
    unsigned required = kinds[kind].required;
    bool shows = kind != VQ_TEMPLATE_AS_IS && (required & P(OUTPUT_A)) != 0;
    return shows ? required | P(IMAGE) : required;
}

#undef P

/* The placeholder whose name is `name`, if this kind of template has it. */
static enum vq_placeholder placeholder_of(const struct parse *p, struct vq_span name)
{
    for (unsigned i = 0; i < VQ_PLACEHOLDER__COUNT; i++) {
        if ((allowed(p->kind) >> i & 1u) != 0 &&
            vq_span_eq(name, vq_span_str(placeholder_names[i]))) {
            return (enum vq_placeholder)i;
        }
    }
    return VQ_PLACEHOLDER__COUNT;
}

static enum vq_status parse_part(struct parse *p, struct vq_span part)
{
    const char *end = part.at + part.bytes;
    const char *from = part.at;
    while (from < end) {
        const char *open = memmem(from, (size_t)(end - from), "{{", 2);
        if (open == NULL) {
            break;
        }
        const char *name = open + 2;
        const char *close = name;
        while (close < end && *close != '\n' && *close != '{' && *close != '}') {
            close++;
        }
        if (end - close < 2 || close[0] != '}' || close[1] != '}') {
            return fail_at(p, open, VQ_INVALID, "\"{{\" without \"}}\"; write {{name}}");
        }
        enum vq_placeholder which = placeholder_of(p, vq_span(name, (size_t)(close - name)));
        if (which == VQ_PLACEHOLDER__COUNT) {
            return fail_at(p, open, VQ_INVALID,
                           "unknown placeholder; prompts/README.md lists the names. Write them "
                           "without spaces");
        }
        if (p->placeholders++ == VQ_TEMPLATE_PLACEHOLDERS_MAX) {
            return fail_at(p, open, VQ_LIMIT, "too many placeholders");
        }
        push_piece(p, vq_span(from, (size_t)(open - from)), VQ_PLACEHOLDER__COUNT);
        push_piece(p, vq_span(NULL, 0), which);
        p->seen |= 1u << which;
        from = close + 2;
    }
    push_piece(p, vq_span(from, (size_t)(end - from)), VQ_PLACEHOLDER__COUNT);
    return VQ_OK;
}

/* The next line of `rest` that is exactly `marker` (blanks after it are allowed); NULL if there is
 * none. */
static const char *find_marker(struct vq_span rest, const char *marker)
{
    size_t bytes = strlen(marker);
    const char *end = rest.at + rest.bytes;
    const char *line = rest.at;
    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline == NULL ? end : newline;
        struct vq_span text = vq_span(line, (size_t)(line_end - line));
        if (text.bytes >= bytes && memcmp(text.at, marker, bytes) == 0 &&
            trimmed(vq_span(line + bytes, text.bytes - bytes)).bytes == 0) {
            return line;
        }
        line = line_end + 1;
    }
    return NULL;
}

static struct vq_span after_line(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    return newline == NULL ? vq_span(end, 0) : vq_span(newline + 1, (size_t)(end - newline - 1));
}

/* Finds the part of a template that has only a system part. */
static enum vq_status split_system(const struct parse *p, struct vq_span *ret_system,
                                   struct vq_span *ret_user)
{
    const struct vq_template *t = p->template;
    const char *end = t->clean + t->clean_bytes;
    struct vq_span all = vq_span(t->clean, t->clean_bytes);
    const char *system = find_marker(all, "@system");
    const char *user = find_marker(all, "@user");
    if (system == NULL) {
        return fail_at(p, t->clean, VQ_INVALID, "no line \"@system\": the system part is missing");
    }
    if (user != NULL) {
        return fail_at(p, user, VQ_INVALID, "this template has a system part only");
    }
    struct vq_span part = after_line(system, end);
    const char *again = find_marker(part, "@system");
    if (again != NULL) {
        return fail_at(p, again, VQ_INVALID, "a second \"@system\"");
    }
    struct vq_span before = trimmed(vq_span(t->clean, (size_t)(system - t->clean)));
    if (before.bytes > 0) {
        return fail_at(p, before.at, VQ_INVALID, "text before \"@system\"");
    }
    *ret_system = trimmed(part);
    *ret_user = vq_span(end, 0);
    if (ret_system->bytes == 0) {
        return fail_at(p, system, VQ_INVALID, "the system part is empty");
    }
    return VQ_OK;
}

/* Finds the two parts, trimmed; *ret_system is empty if there is no system part. */
static enum vq_status split_parts(const struct parse *p, struct vq_span *ret_system,
                                  struct vq_span *ret_user)
{
    const struct vq_template *t = p->template;
    const char *end = t->clean + t->clean_bytes;
    struct vq_span all = vq_span(t->clean, t->clean_bytes);
    const char *user = find_marker(all, "@user");
    if (user == NULL) {
        return fail_at(p, t->clean, VQ_INVALID, "no line \"@user\": the user part is missing");
    }
    const char *system = find_marker(all, "@system");
    if (system != NULL && system > user) {
        return fail_at(p, system, VQ_INVALID, "\"@system\" must come before \"@user\"");
    }
    struct vq_span system_part = vq_span(t->clean, 0);
    const char *first = user;
    if (system != NULL) {
        first = system;
        system_part = after_line(system, user);
        const char *again = find_marker(system_part, "@system");
        if (again != NULL) {
            return fail_at(p, again, VQ_INVALID, "a second \"@system\"");
        }
    }
    struct vq_span user_part = after_line(user, end);
    const char *again = find_marker(user_part, "@user");
    if (again != NULL) {
        return fail_at(p, again, VQ_INVALID, "a second \"@user\"");
    }
    struct vq_span before = trimmed(vq_span(t->clean, (size_t)(first - t->clean)));
    if (before.bytes > 0) {
        return fail_at(p, before.at, VQ_INVALID, "text before the first \"@system\" or \"@user\"");
    }
    *ret_system = trimmed(system_part);
    *ret_user = trimmed(user_part);
    if (ret_user->bytes == 0) {
        return fail_at(p, user, VQ_INVALID, "the user part is empty");
    }
    return VQ_OK;
}

/* The hashes of stored answers include this number, so a kind keeps its number when kinds are
 * added. */
static uint64_t hashed_number(enum vq_template_kind kind)
{
    switch ((int)kind) {
    case VQ_TEMPLATE_AS_IS: return 14;
    case VQ_TEMPLATE_JUDGE_MANY: return 15;
    case VQ_TEMPLATE_LIKERT: return 16;
    case VQ_TEMPLATE_BINARY: return 17;
    case VQ_TEMPLATE_PAIRWISE: return 18;
    case VQ_TEMPLATE_PERSONA: return 19;
    case VQ_TEMPLATE_QUERIES: return 20;
    default: return (uint64_t)kind;
    }
}

static enum vq_status parse_text(struct parse *p)
{
    struct vq_template *t = p->template;
    struct vq_span parts[VQ_TEMPLATE_PART__COUNT];
    size_t bad = vq_utf8_valid_bytes(vq_span(t->clean, t->clean_bytes));
    if (bad < t->clean_bytes) {
        return fail_at(p, t->clean + bad, VQ_INVALID, "not UTF-8; save the file as UTF-8");
    }
    bool is_system = kinds[p->kind].is_system;
    VQ_TRY((is_system ? split_system : split_parts)(p, &parts[VQ_TEMPLATE_SYSTEM],
                                                    &parts[VQ_TEMPLATE_USER]));
    struct vq_hasher h;
    vq_hasher_init(&h, "vq.template");
    vq_hasher_u64(&h, hashed_number(p->kind));
    for (unsigned i = 0; i < VQ_TEMPLATE_PART__COUNT; i++) {
        VQ_TRY(parse_part(p, parts[i]));
        t->pieces_end[i] = t->pieces_count;
        vq_hasher_field(&h, parts[i]);
    }
    vq_hasher_final(&h, &t->hash);
    unsigned missing = kinds[p->kind].required & ~p->seen;
    for (unsigned i = 0; i < VQ_PLACEHOLDER__COUNT; i++) {
        if ((missing >> i & 1u) != 0) {
            char what[256];
            (void)snprintf(what, sizeof(what),
                           "{{%s}} is missing; every placeholder of %s must be used (the %s "
                           "part begins here)",
                           placeholder_names[i], kinds[p->kind].file,
                           is_system ? "system" : "user");
            return fail_at(p, parts[is_system ? VQ_TEMPLATE_SYSTEM : VQ_TEMPLATE_USER].at,
                           VQ_INVALID, what);
        }
    }
    return VQ_OK;
}

enum vq_status vq_template_parse(enum vq_template_kind kind, struct vq_span text, const char *file,
                                 struct vq_template **ret_template, struct vq_error *err)
{
    VQ_ASSERT(kind < VQ_TEMPLATE__COUNT);
    if (text.bytes > VQ_TEMPLATE_BYTES_MAX) {
        return vq_fail(err, VQ_LIMIT, "%s: %zu bytes; a template has at most %u", file, text.bytes,
                       VQ_TEMPLATE_BYTES_MAX);
    }
    enum vq_status status = VQ_NOMEM;
    struct vq_template *t = vq_alloc(1, sizeof(*t));
    if (t == NULL) {
        goto cleanup;
    }
    t->text = vq_strndup(text.bytes == 0 ? "" : text.at, text.bytes);
    t->clean = vq_alloc(text.bytes + 1, 1);
    if (t->text == NULL || t->clean == NULL) {
        goto cleanup;
    }
    t->text_bytes = text.bytes;
    clean_text(t);
    struct parse p = {.template = t, .kind = kind, .file = file, .err = err};
    status = parse_text(&p);
    if (status == VQ_OK) {
        *ret_template = t;
        t = NULL;
    }
cleanup:
    if (status == VQ_NOMEM) {
        (void)vq_fail(err, status, "%s: out of memory", file);
    }
    vq_template_destroy(&t);
    return status;
}

void vq_template_destroy(struct vq_template **template)
{
    struct vq_template *t = *template;
    if (t != NULL) {
        vq_free(t->text);
        vq_free(t->clean);
        vq_free(t);
        *template = NULL;
    }
}

bool vq_template_uses(const struct vq_template *template, enum vq_placeholder placeholder)
{
    for (size_t i = 0; i < template->pieces_count; i++) {
        if (template->pieces[i].placeholder == placeholder) {
            return true;
        }
    }
    return false;
}

const struct vq_hash *vq_template_hash(const struct vq_template *template)
{
    return &template->hash;
}

struct vq_span vq_template_text(const struct vq_template *template)
{
    return vq_span(template->text, template->text_bytes);
}

enum vq_status vq_template_render(const struct vq_template *template, enum vq_template_part part,
                                  const struct vq_span values[VQ_PLACEHOLDER__COUNT],
                                  struct vq_buf *buf)
{
    VQ_ASSERT(part < VQ_TEMPLATE_PART__COUNT);
    size_t from = part == VQ_TEMPLATE_SYSTEM ? 0 : template->pieces_end[VQ_TEMPLATE_SYSTEM];
    for (size_t i = from; i < template->pieces_end[part]; i++) {
        const struct piece *piece = &template->pieces[i];
        bool is_literal = piece->placeholder == VQ_PLACEHOLDER__COUNT;
        struct vq_span text = is_literal ? piece->literal : values[piece->placeholder];
        vq_buf_append(buf, text.at, text.bytes);
    }
    return buf->status;
}

/* Bytes of the last literal up to its last line break, or all of it if it has none. */
static size_t whole_lines(struct vq_span literal)
{
    const char *newline = literal.bytes == 0 ? NULL : memrchr(literal.at, '\n', literal.bytes);
    return newline == NULL ? literal.bytes : (size_t)(newline - literal.at) + 1;
}

size_t vq_template_fixed_bytes(const struct vq_template *template, unsigned varying,
                               const struct vq_span values[VQ_PLACEHOLDER__COUNT])
{
    size_t bytes = 0;
    size_t user = template->pieces_end[VQ_TEMPLATE_SYSTEM];
    for (size_t i = 0; i < template->pieces_count; i++) {
        const struct piece *piece = &template->pieces[i];
        bool is_literal = piece->placeholder == VQ_PLACEHOLDER__COUNT;
        if (!is_literal && (varying >> piece->placeholder & 1u) != 0) {
            return bytes;
        }
        if (i < user) {
            continue;
        }
        const struct piece *next = i + 1 < template->pieces_count ? piece + 1 : NULL;
        bool last = next != NULL && next->placeholder != VQ_PLACEHOLDER__COUNT &&
                    (varying >> next->placeholder & 1u) != 0;
        size_t all = is_literal ? piece->literal.bytes : values[piece->placeholder].bytes;
        bytes += is_literal && last ? whole_lines(piece->literal) : all;
    }
    return 0;
}

const struct vq_axis *vq_preset_axes(size_t *ret_count)
{
    *ret_count = vq_embedded_axes_count;
    return vq_embedded_axes;
}

const struct vq_axis *vq_gold_hc3_axes(size_t *ret_count)
{
    *ret_count = vq_embedded_gold_hc3_count;
    return vq_embedded_gold_hc3;
}

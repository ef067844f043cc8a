/* Criteria of rubric judges: the table of built-in criteria, and the reader of users' files.
 *
 * Invariants: a parsed criterion is one block, with its strings after the struct. The built-in
 * criteria are constants, which embed.cmake makes from prompts/criteria/; the reader gives the same
 * result for these files. Not its job: finding files, and the prompt with the rubric. */
#include "common/judge/criteria.h"

#include "common/base/alloc.h"
#include "common/judge/embedded.h"
#include "common/text/utf8.h"

static const char *const kind_names[] = {
    [VQ_RATING_LIKERT] = "likert",
    [VQ_RATING_BINARY] = "binary",
    [VQ_RATING_PAIRWISE] = "pairwise",
};

const struct vq_criterion *vq_criterion_at(size_t index)
{
    return index < vq_embedded_criteria_count ? &vq_embedded_criteria[index] : NULL;
}

const struct vq_criterion *vq_criterion_builtin(const char *name)
{
    for (size_t i = 0; i < vq_embedded_criteria_count; i++) {
        if (strcmp(vq_embedded_criteria[i].name, name) == 0) {
            return &vq_embedded_criteria[i];
        }
    }
    return NULL;
}

const char *vq_criterion_kind_name(enum vq_rating_kind kind)
{
    VQ_ASSERT((size_t)kind < VQ_COUNT(kind_names));
    return kind_names[kind];
}

enum vq_status vq_criterion_kind_find(struct vq_span word, enum vq_rating_kind *ret_kind)
{
    for (size_t i = 0; i < VQ_COUNT(kind_names); i++) {
        if (vq_span_eq(word, vq_span_str(kind_names[i]))) {
            *ret_kind = (enum vq_rating_kind)i;
            return VQ_OK;
        }
    }
    return VQ_NOT_FOUND;
}

/* State of reading one file: the rest of the text, and the place for errors. */
struct reading {
    const char *file;
    struct vq_error *err;
    struct vq_span rest;
    size_t line; /* of the last line that was read, from 1 */
};

static struct vq_span next_line(struct reading *r)
{
    /* NULL: the last line */
    const char *newline = r->rest.bytes == 0 ? NULL : memchr(r->rest.at, '\n', r->rest.bytes);
    size_t bytes = newline == NULL ? r->rest.bytes : (size_t)(newline - r->rest.at);
    struct vq_span line = vq_span(r->rest.at, bytes);
    size_t step = bytes + (newline == NULL ? 0 : 1);
    r->rest = vq_span(step == 0 ? r->rest.at : r->rest.at + step, r->rest.bytes - step);
    r->line++;
    return vq_span_trim(line);
}

static enum vq_status fail(const struct reading *r, enum vq_status status, const char *what)
{
    return vq_fail(r->err, status, "%s:%zu: %s", r->file, r->line, what);
}

/* Reads the next line, "KEY: value". */
static enum vq_status read_field(struct reading *r, const char *key, const char *what,
                                 struct vq_span *ret_value)
{
    struct vq_span line = next_line(r);
    size_t bytes = strlen(key);
    if (line.bytes <= bytes || memcmp(line.at, key, bytes) != 0 || line.at[bytes] != ':') {
        return fail(r, VQ_INVALID, what);
    }
    *ret_value = vq_span_trim(vq_span(line.at + bytes + 1, line.bytes - bytes - 1));
    return ret_value->bytes == 0 ? fail(r, VQ_INVALID, what) : VQ_OK;
}

static struct vq_span base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *from = slash == NULL ? file : slash + 1;
    const char *dot = strrchr(from, '.');
    return vq_span(from, dot == NULL || dot == from ? strlen(from) : (size_t)(dot - from));
}

/* Refuses bytes that harm C strings or terminals, and that no rubric needs. */
static enum vq_status check_bytes(struct reading *r, struct vq_span text)
{
    size_t good = vq_utf8_valid_bytes(text);
    r->line = 1;
    for (size_t i = 0; i < text.bytes; i++) {
        if (i == good) {
            return fail(r, VQ_INVALID, "not UTF-8; save the file as UTF-8");
        }
        unsigned char c = (unsigned char)text.at[i];
        bool is_crlf = c == '\r' && i + 1 < text.bytes && text.at[i + 1] == '\n';
        if (c < ' ' && c != '\n' && c != '\t' && !is_crlf) {
            return fail(r, VQ_INVALID, "a control character; a rubric is plain text");
        }
        r->line += c == '\n';
    }
    r->line = 0;
    return VQ_OK;
}

static char *copy(char *to, struct vq_span text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        bool is_crlf = text.at[i] == '\r' && i + 1 < text.bytes && text.at[i + 1] == '\n';
        if (!is_crlf) {
            *to++ = text.at[i];
        }
    }
    *to++ = '\0';
    return to;
}

static enum vq_status build(const struct reading *r, struct vq_span name, enum vq_rating_kind kind,
                            struct vq_span about, struct vq_span rubric,
                            struct vq_criterion **ret_criterion)
{
    size_t bytes = name.bytes + about.bytes + rubric.bytes + 3;
    struct vq_criterion *c = vq_alloc(1, sizeof(*c) + bytes);
    if (c == NULL) {
        return vq_fail(r->err, VQ_NOMEM, "%s: out of memory", r->file);
    }
    char *at = (char *)(c + 1);
    c->kind = kind;
    c->name = at;
    at = copy(at, name);
    c->about = at;
    at = copy(at, about);
    c->rubric = at;
    (void)copy(at, rubric);
    *ret_criterion = c;
    return VQ_OK;
}

enum vq_status vq_criterion_parse(struct vq_span text, const char *file,
                                  struct vq_criterion **ret_criterion, struct vq_error *err)
{
    static const char kind_line[] =
        "the first line must be `kind: likert`, `kind: binary` or `kind: pairwise`";
    static const char about_line[] = "the second line must be `about:` and one sentence";
    if (text.bytes > VQ_CRITERION_BYTES_MAX) {
        return vq_fail(err, VQ_LIMIT, "%s: %zu bytes; a criterion has at most %u", file, text.bytes,
                       VQ_CRITERION_BYTES_MAX);
    }
    struct vq_span name = base_name(file);
    if (name.bytes == 0 || name.bytes > VQ_CRITERION_NAME_BYTES_MAX) {
        return vq_fail(err, VQ_INVALID, "%s: the file's name names the criterion: 1 to %u bytes",
                       file, VQ_CRITERION_NAME_BYTES_MAX);
    }
    if (text.bytes >= 3 && memcmp(text.at, "\xEF\xBB\xBF", 3) == 0) {
        text = vq_span(text.at + 3, text.bytes - 3);
    }
    struct reading r = {.file = file, .err = err, .rest = text};
    struct vq_span word;
    struct vq_span about;
    enum vq_rating_kind kind;
    VQ_TRY(check_bytes(&r, text));
    VQ_TRY(read_field(&r, "kind", kind_line, &word));
    if (vq_criterion_kind_find(word, &kind) != VQ_OK) {
        return fail(&r, VQ_INVALID, kind_line);
    }
    VQ_TRY(read_field(&r, "about", about_line, &about));
    if (about.bytes > VQ_CRITERION_ABOUT_BYTES_MAX) {
        return fail(&r, VQ_LIMIT, "`about:` is one short sentence, at most 256 bytes");
    }
    if (next_line(&r).bytes > 0) {
        return fail(&r, VQ_INVALID, "write an empty line before the rubric");
    }
    struct vq_span rubric = vq_span_trim(r.rest);
    if (rubric.bytes == 0) {
        r.line++;
        return fail(&r, VQ_INVALID,
                    "the rubric is missing: write what is rated and the meaning of each value");
    }
    return build(&r, name, kind, about, rubric, ret_criterion);
}

void vq_criterion_destroy(struct vq_criterion **criterion)
{
    vq_free(*criterion);
    *criterion = NULL;
}

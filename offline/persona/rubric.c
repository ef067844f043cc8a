/* Finds the sections of a rubric judge's prompt, line by line. Invariant: sections come in the
 * order of the template, each from its opening tag to the last closing one before the next opening.
 * Not its job: rating (rating.c). */
#include "offline/persona/rubric.h"

#include "offline/judge/wanted.h"

#define NOWHERE SIZE_MAX

static struct vq_span line_at(struct vq_span text, size_t at, size_t *ret_next)
{
    const char *end = memchr(text.at + at, '\n', text.bytes - at);
    size_t stop = end == NULL ? text.bytes : (size_t)(end - text.at);
    *ret_next = stop < text.bytes ? stop + 1 : stop;
    return vq_span_trim(vq_span(text.at + at, stop - at));
}

/* The beginning of the tag's line in [from, to): the first such line, or the last; NOWHERE: none.
 * *ret_after: the position after it. */
static size_t find_tag(struct vq_span text, size_t from, size_t to, const char *open,
                       const char *name, bool last, size_t *ret_after)
{
    size_t found = NOWHERE;
    struct vq_span head = vq_span(text.at, to);
    for (size_t at = from; at < to;) {
        size_t next;
        if (vq_wanted_is_tag(line_at(head, at, &next), open, name)) {
            found = at;
            *ret_after = next;
            if (!last) {
                break;
            }
        }
        at = next;
    }
    return found;
}

/* From the first opening tag in [from, to) to the last closing one; empty: there is none. */
static struct vq_span section(struct vq_span text, size_t from, size_t to, const char *name)
{
    size_t begin = 0;
    size_t unused;
    if (find_tag(text, from, to, "<", name, false, &begin) == NOWHERE) {
        return vq_span("", 0);
    }
    size_t end = find_tag(text, begin, to, "</", name, true, &unused);
    end = end == NOWHERE ? to : end;
    return vq_span_trim(vq_span(text.at + begin, end - begin));
}

static void read_prompt(struct vq_rated_rubric *rubric)
{
    struct vq_span p = rubric->prompt;
    size_t unused;
    size_t query = find_tag(p, 0, p.bytes, "<", "user_query", false, &unused);
    rubric->query = p;
    if (query != NOWHERE) {
        rubric->query = section(p, query, p.bytes, "user_query");
        size_t about = find_tag(p, 0, query, "<", "role_description", false, &unused);
        rubric->role = section(p, 0, about == NOWHERE ? query : about, "role");
        rubric->description = section(p, 0, query, "role_description");
    }
}

enum vq_status vq_rubric_find(struct vq_span text, bool is_pairwise,
                              struct vq_rated_rubric *ret_rubric)
{
    struct vq_rated_rubric rubric = {0};
    const char *first = is_pairwise ? "response_a" : "response";
    size_t after = 0;
    size_t unused;
    size_t criterion = find_tag(text, 0, text.bytes, "<", "criterion", true, &unused);
    if (criterion == NOWHERE) {
        return VQ_NOT_FOUND;
    }
    size_t response = find_tag(text, 0, criterion, "<", first, false, &after);
    if (response == NOWHERE) {
        return VQ_NOT_FOUND;
    }
    size_t second = criterion;
    if (is_pairwise) {
        second = find_tag(text, after, criterion, "<", "response_b", false, &unused);
        if (second == NOWHERE) {
            return VQ_NOT_FOUND;
        }
        rubric.responses[1] = section(text, second, criterion, "response_b");
    }
    rubric.prompt = section(text, 0, response, "prompt");
    rubric.responses[0] = section(text, response, second, first);
    rubric.criterion = section(text, criterion, text.bytes, "criterion");
    rubric.text = section(text, criterion, text.bytes, "rubric");
    read_prompt(&rubric);
    *ret_rubric = rubric;
    return VQ_OK;
}

struct vq_span vq_rubric_line(struct vq_span rubric, const char *value)
{
    size_t bytes = strlen(value);
    for (size_t at = 0; at < rubric.bytes;) {
        size_t next;
        struct vq_span line = line_at(rubric, at, &next);
        if (line.bytes > bytes && memcmp(line.at, value, bytes) == 0 && line.at[bytes] == ':') {
            return vq_span_trim(vq_span(line.at + bytes + 1, line.bytes - bytes - 1));
        }
        at = next;
    }
    return vq_span("", 0);
}

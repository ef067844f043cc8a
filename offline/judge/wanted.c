/* Reads prompts line by line: a tag counts only if it is a whole line. Texts between the tags are
 * foreign and may contain such lines, too; each function of the header names the consequence. Not
 * its job: the sections of a judge prompt (sections.c), answers. */
#include "offline/judge/wanted.h"

#define NOWHERE SIZE_MAX

static const struct {
    const char *text;
    const char *log_name;
} kinds[VQ_WANTED__COUNT] = {
#define WANTED(id, text, log_name) {text, log_name},
#include "offline/judge/wanted.def"
#undef WANTED
};

const char *vq_wanted_log_name(enum vq_wanted wanted)
{
    return kinds[wanted].log_name;
}

bool vq_wanted_is_part(enum vq_wanted wanted)
{
    return wanted < VQ_WANTED_JUDGEMENT && wanted != VQ_WANTED_PREFERENCE &&
           wanted != VQ_WANTED_VERDICTS && !vq_wanted_is_rating(wanted);
}

bool vq_wanted_is_rating(enum vq_wanted wanted)
{
    return wanted == VQ_WANTED_RATING || wanted == VQ_WANTED_YES_NO || wanted == VQ_WANTED_BETTER;
}

/* The line that begins at *at, trimmed; moves *at to the next line. */
static struct vq_span next_line(struct vq_span text, size_t *at)
{
    const char *end = memchr(text.at + *at, '\n', text.bytes - *at);
    size_t stop = end == NULL ? text.bytes : (size_t)(end - text.at);
    struct vq_span line = vq_span_trim(vq_span(text.at + *at, stop - *at));
    *at = stop < text.bytes ? stop + 1 : stop;
    return line;
}

bool vq_wanted_is_tag(struct vq_span line, const char *open, const char *name)
{
    size_t head = strlen(open);
    size_t body = strlen(name);
    return line.bytes == head + body + 1 && memcmp(line.at, open, head) == 0 &&
           memcmp(line.at + head, name, body) == 0 && line.at[head + body] == '>';
}

enum vq_wanted vq_wanted_find(struct vq_span text)
{
    static const char open[] = "<wanted>";
    static const char close[] = "</wanted>";
    enum vq_wanted found = VQ_WANTED_OTHER;
    for (size_t at = 0; at < text.bytes;) {
        struct vq_span line = next_line(text, &at);
        size_t around = sizeof(open) - 1 + sizeof(close) - 1;
        bool named =
            vq_span_begins(line, open) && line.bytes >= around &&
            memcmp(line.at + line.bytes - (sizeof(close) - 1), close, sizeof(close) - 1) == 0;
        if (named) {
            struct vq_span kind = {line.at + sizeof(open) - 1, line.bytes - around};
            found = VQ_WANTED_OTHER;
            for (size_t i = 0; i < VQ_WANTED__COUNT; i++) {
                if (kinds[i].text != NULL && vq_span_eq(kind, vq_span_str(kinds[i].text))) {
                    found = (enum vq_wanted)i;
                }
            }
        } else if (vq_span_begins(line, "</")) {
            found = VQ_WANTED_OTHER;
        }
    }
    return found;
}

struct vq_span vq_wanted_section(struct vq_span text, const char *tag, bool first)
{
    size_t from = NOWHERE;
    size_t to = NOWHERE;
    for (size_t at = 0; at < text.bytes;) {
        size_t start = at;
        struct vq_span line = next_line(text, &at);
        if (vq_wanted_is_tag(line, "<", tag) && (from == NOWHERE || !first)) {
            from = at;
        }
        if (vq_wanted_is_tag(line, "</", tag)) {
            to = start;
        }
    }
    if (from == NOWHERE || to == NOWHERE || to < from) {
        return vq_span("", 0);
    }
    return vq_span_trim(vq_span(text.at + from, to - from));
}

enum part {
    PART_PROMPT,
    PART_OUTPUT_1,
    PART_OUTPUT_2,
    PART__COUNT
};

/* The texts of one row. Each text begins at its first opening tag after the start of the text
 * before it, and ends at its last closing tag before the next text. */
static void read_row(struct vq_span row, struct vq_wanted_row *ret_row)
{
    static const char *const tags[PART__COUNT] = {"prompt", "output_1", "output_2"};
    struct vq_span parts[PART__COUNT] = {{0}};
    bool found[PART__COUNT] = {0};
    size_t from = 0;
    size_t to = NOWHERE;
    size_t open = PART__COUNT; /* the part that is open */
    size_t next = 0;
    for (size_t at = 0; at < row.bytes;) {
        size_t start = at;
        struct vq_span line = next_line(row, &at);
        for (size_t p = next; p < PART__COUNT; p++) {
            if (vq_wanted_is_tag(line, "<", tags[p])) {
                if (open < PART__COUNT) {
                    size_t end = to == NOWHERE ? start : to;
                    parts[open] = vq_span_trim(vq_span(row.at + from, end - from));
                }
                open = p;
                next = p + 1;
                from = at;
                to = NOWHERE;
                found[p] = true;
                break;
            }
        }
        if (open < PART__COUNT && start >= from && vq_wanted_is_tag(line, "</", tags[open])) {
            to = start;
        }
    }
    if (open < PART__COUNT) {
        size_t end = to == NOWHERE ? row.bytes : to;
        parts[open] = vq_span_trim(vq_span(row.at + from, end - from));
    }
    *ret_row = (struct vq_wanted_row){.prompt = parts[PART_PROMPT],
                                      .outputs = {parts[PART_OUTPUT_1], parts[PART_OUTPUT_2]},
                                      .has_outputs = found[PART_OUTPUT_1] && found[PART_OUTPUT_2]};
}

bool vq_row_next(struct vq_span rows, size_t *at, struct vq_wanted_row *ret_row)
{
    size_t from = NOWHERE;
    size_t end = rows.bytes;
    size_t next = rows.bytes;
    for (size_t line_at = *at; line_at < rows.bytes;) {
        size_t start = line_at;
        struct vq_span line = next_line(rows, &line_at);
        if (vq_wanted_is_tag(line, "<", "row")) {
            if (from != NOWHERE) {
                end = next = start;
                break;
            }
            from = line_at;
        }
    }
    *at = next;
    if (from == NOWHERE) {
        return false;
    }
    read_row(vq_span(rows.at + from, end - from), ret_row);
    return true;
}

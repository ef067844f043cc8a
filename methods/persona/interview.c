/* Reads a model's list of questions, line by line. Invariant: a written list reads back the same
 * (queries_file.c). Not its job: asking. */
#include "methods/persona/interview.h"

#include "common/base/alloc.h"
#include "common/judge/thinking.h"
#include "common/text/json.h"

#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Removes marks such as "12. ", "3) ", "- ", "* ". */
static struct vq_span without_mark(struct vq_span s)
{
    size_t at = 0;
    while (at < s.bytes && s.at[at] >= '0' && s.at[at] <= '9') {
        at++;
    }
    bool number = at > 0 && at + 1 < s.bytes && strchr(".):", s.at[at]) != NULL;
    bool bullet = at == 0 && s.bytes > 1 && (s.at[0] == '-' || s.at[0] == '*');
    if ((number || bullet) && is_blank(s.at[at + 1])) {
        s = vq_span_trim(vq_span(s.at + at + 1, s.bytes - at - 1));
    }
    bool quoted = s.bytes > 2 && s.at[0] == '"' && s.at[s.bytes - 1] == '"';
    return quoted ? vq_span_trim(vq_span(s.at + 1, s.bytes - 2)) : s;
}

static bool is_heading(struct vq_span s)
{
    return s.bytes == 0 || s.at[0] == '#' || s.at[0] == '<' || strncmp(s.at, "```", 3) == 0 ||
           s.at[s.bytes - 1] == ':' || memchr(s.at, '\0', s.bytes) != NULL ||
           s.bytes > VQ_QUERY_BYTES_MAX;
}

static bool speaks_to_role(struct vq_span s)
{
    return memmem(s.at, s.bytes, VQ_ROLE_MARK, sizeof(VQ_ROLE_MARK) - 1) != NULL;
}

static enum vq_status set_remark(char **remark, struct vq_span text)
{
    char *copy;
    VQ_TRY(vq_copy_bytes(text.at, text.bytes, &copy));
    vq_free(*remark);
    *remark = copy;
    return VQ_OK;
}

static enum vq_status add(struct vq_queries_file *file, struct vq_span text, uint32_t count)
{
    for (uint32_t i = 0; i < file->count; i++) {
        if (strlen(file->questions[i]) == text.bytes &&
            strncasecmp(file->questions[i], text.at, text.bytes) == 0) {
            return VQ_OK;
        }
    }
    if (file->count == count) {
        return VQ_OK;
    }
    file->questions[file->count] = vq_strndup(text.at, text.bytes);
    return file->questions[file->count++] == NULL ? VQ_NOMEM : VQ_OK;
}

static enum vq_status take_line(struct vq_queries_file *file, struct vq_span line, uint32_t count)
{
    line = without_mark(vq_span_trim(line));
    if (is_heading(line)) {
        return VQ_OK;
    }
    if (!speaks_to_role(line)) {
        return add(file, line, count);
    }
    if (file->count > 0) {
        return set_remark(&file->closing, line);
    }
    return file->opening == NULL ? set_remark(&file->opening, line) : VQ_OK;
}

enum vq_status vq_interview_parse(struct vq_span answer, uint32_t count,
                                  struct vq_queries_file *ret_file)
{
    struct vq_queries_file file = {.count = 0};
    VQ_TRY(VQ_ALLOC(file.questions, count));
    struct vq_thinking lines;
    struct vq_span line;
    enum vq_status status = VQ_OK;
    vq_thinking_begin(answer, &lines);
    while (status == VQ_OK && vq_thinking_next_line(&lines, &line)) {
        status = take_line(&file, line, count);
    }
    if (status == VQ_OK && file.count == 0) {
        status = VQ_NOT_FOUND;
    }
    if (status != VQ_OK) {
        file.count -= file.count > 0 && file.questions[file.count - 1] == NULL;
        vq_queries_file_free(&file);
        return status;
    }
    *ret_file = file;
    return VQ_OK;
}

static void put(const char *key, const char *text, struct vq_buf *out)
{
    struct vq_json j;
    vq_buf_puts(out, key);
    vq_json_init(&j, out, 0); /* a JSON text is a YAML text */
    vq_json_str(&j, text);
    vq_buf_putc(out, '\n');
}

void vq_interview_write(const struct vq_queries_file *file, struct vq_buf *out)
{
    if (file->opening != NULL) {
        put("opening: ", file->opening, out);
    }
    vq_buf_puts(out, "questions:\n");
    for (uint32_t i = 0; i < file->count; i++) {
        put("- ", file->questions[i], out);
    }
    if (file->closing != NULL) {
        put("closing: ", file->closing, out);
    }
}

/* RFC 7578, as far as clients use it: each part has a head with its name, and its bytes. Other
 * parts are ignored. Not its job: the meaning of a purpose (openai.c). */
#include "offline/batch/multipart.h"

#include <stdio.h>
#include <strings.h>

#define BOUNDARY_BYTES_MAX 200 /* RFC 2046 allows 70 */

/* The value of `name=`, quoted or not, in one head line; empty if there is none. */
static struct vq_span value_of(struct vq_span line, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i + n < line.bytes; i++) {
        bool at_start = i == 0 || line.at[i - 1] == ' ' || line.at[i - 1] == ';';
        if (!at_start || strncasecmp(line.at + i, name, n) != 0 || line.at[i + n] != '=') {
            continue;
        }
        const char *from = line.at + i + n + 1;
        const char *end = line.at + line.bytes;
        bool is_quoted = from < end && *from == '"';
        from += is_quoted;
        const char *to = from;
        while (to < end && (is_quoted ? *to != '"' : *to != ';' && *to != ' ')) {
            to++;
        }
        return vq_span(from, (size_t)(to - from));
    }
    return vq_span("", 0);
}

/* One part, without its boundaries. */
static bool read_part(struct vq_span part, struct vq_offline_multipart *parts)
{
    const char *blank = memmem(part.at, part.bytes, "\r\n\r\n", 4);
    if (blank == NULL) {
        return false;
    }
    struct vq_span head = vq_span(part.at, (size_t)(blank - part.at));
    struct vq_span bytes = vq_span(blank + 4, part.bytes - head.bytes - 4);
    struct vq_span name = value_of(head, "name");
    if (vq_span_eq(name, vq_span_str("purpose"))) {
        parts->purpose = bytes;
    } else if (vq_span_eq(name, vq_span_str("file"))) {
        parts->file = bytes;
        parts->file_name = value_of(head, "filename");
        const char *line_end = memchr(parts->file_name.at, '\r', parts->file_name.bytes);
        if (line_end != NULL) {
            parts->file_name.bytes = (size_t)(line_end - parts->file_name.at);
        }
        parts->has_file = true;
    }
    return true;
}

enum vq_status vq_offline_multipart_read(const char *content_type, struct vq_span body,
                                         struct vq_offline_multipart *ret_parts,
                                         struct vq_error *err)
{
    char mark[BOUNDARY_BYTES_MAX + 8];
    struct vq_span type = vq_span_str(content_type);
    struct vq_span boundary = value_of(type, "boundary");
    if (type.bytes < 19 || strncasecmp(content_type, "multipart/form-data", 19) != 0 ||
        boundary.bytes == 0 || boundary.bytes > BOUNDARY_BYTES_MAX) {
        return vq_fail(err, VQ_INVALID, "the upload must be multipart/form-data with a boundary");
    }
    (void)snprintf(mark, sizeof(mark), "\r\n--%.*s", (int)boundary.bytes, boundary.at);
    size_t n = strlen(mark);
    struct vq_offline_multipart parts = {.has_file = false};
    if (body.bytes < n || memcmp(body.at, mark + 2, n - 2) != 0) {
        return vq_fail(err, VQ_INVALID, "the upload does not begin with its boundary");
    }
    const char *at = body.at + n - 2;
    const char *end = body.at + body.bytes;
    for (;;) {
        if (end - at >= 2 && memcmp(at, "--", 2) == 0) {
            break;
        }
        const char *next = memmem(at, (size_t)(end - at), mark, n);
        if (next == NULL || !read_part(vq_span(at, (size_t)(next - at)), &parts)) {
            return vq_fail(err, VQ_INVALID, "a part of the upload has no end or no head");
        }
        at = next + n;
    }
    *ret_parts = parts;
    return VQ_OK;
}

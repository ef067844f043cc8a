/* Splits results as they arrive; the dialect reads each one. JSON lines end at a line break. An
 * inline document is scanned for the array "inlinedResponses". Its elements are the results, so a
 * document of any length needs the memory of one element. Only the first such array counts, because
 * Gemini repeats the output in the metadata. */
#include "worker/provider/batch_lines.h"

#include "worker/provider/batch_read.h"

static const char array_name[] = "inlinedResponses";
#define ARRAY_NAME_BYTES (sizeof(array_name) - 1)

void vq_batch_lines_init(struct vq_batch_lines *lines, const struct vq_batch_dialect *dialect,
                         enum vq_batch_layout layout)
{
    *lines = (struct vq_batch_lines){.dialect = dialect, .layout = layout};
    vq_buf_init(&lines->line, VQ_BATCH_LINE_BYTES_MAX);
    vq_buf_init(&lines->reply, VQ_BATCH_LINE_BYTES_MAX);
}

void vq_batch_lines_free(struct vq_batch_lines *lines)
{
    vq_buf_free(&lines->line);
    vq_buf_free(&lines->reply);
}

/* ---- inline documents ---- */

enum part {
    PART_OUTSIDE,
    PART_ELEMENT,
    PART_CUT /* ends an element, if one has begun */
};

static enum part scan_string(struct vq_batch_scan *scan, char c)
{
    if (scan->escaped) {
        scan->escaped = false;
        scan->key_matches = false;
    } else if (c == '\\') {
        scan->escaped = true;
    } else if (c == '"') {
        scan->in_string = false;
        scan->key_matches = scan->key_matches && scan->key_bytes == ARRAY_NAME_BYTES;
    } else if (scan->key_matches) {
        scan->key_matches = scan->key_bytes < ARRAY_NAME_BYTES && c == array_name[scan->key_bytes];
        scan->key_bytes++;
    }
    return scan->inside > 0 ? PART_ELEMENT : PART_OUTSIDE;
}

static enum part scan_close(struct vq_batch_scan *scan)
{
    scan->depth -= scan->depth > 0 ? 1 : 0;
    if (scan->inside == 0) {
        return PART_OUTSIDE;
    }
    if (scan->depth >= scan->inside) {
        return PART_ELEMENT;
    }
    scan->inside = 0;
    scan->done = true;
    return PART_CUT;
}

static enum part scan_step(struct vq_batch_scan *scan, char c)
{
    if (scan->in_string) {
        return scan_string(scan, c);
    }
    bool between = scan->inside > 0 && scan->depth == scan->inside;
    bool array = c == '[' && scan->key_matches && scan->colon;
    if (memchr(" \t\r\n", c, 4) != NULL) {
        return scan->inside > 0 && !between ? PART_ELEMENT : PART_OUTSIDE;
    }
    if (c == ':') {
        scan->colon = true;
    } else {
        scan->key_matches = c == '"';
        scan->colon = false;
    }
    switch (c) {
    case '"':
        scan->in_string = true;
        scan->key_bytes = 0;
        break;
    case '[':
    case '{':
        scan->depth++;
        scan->began = true;
        if (array && scan->inside == 0 && (scan->every || !scan->done)) {
            scan->inside = scan->depth;
            return PART_OUTSIDE;
        }
        break;
    case ']':
    case '}': return scan_close(scan);
    case ',':
        if (between) {
            return PART_CUT;
        }
        break;
    default: break;
    }
    return scan->inside > 0 ? PART_ELEMENT : PART_OUTSIDE;
}

enum vq_status vq_batch_without_results(struct vq_span document, struct vq_buf *rest)
{
    struct vq_batch_scan scan = {.every = true};
    vq_buf_clear(rest);
    size_t from = 0; /* the first byte outside that is not copied yet */
    for (size_t i = 0; i < document.bytes; i++) {
        enum part part = scan_step(&scan, document.at[i]);
        bool close = part == PART_CUT && scan.inside == 0;
        if (part == PART_OUTSIDE || close) {
            continue;
        }
        vq_buf_append(rest, document.at + from, i - from);
        from = i + 1;
    }
    vq_buf_append(rest, document.at + from, document.bytes - from);
    return rest->status;
}

/* ---- results ---- */

static enum vq_status read_object(struct vq_batch_lines *lines, struct vq_batch_line *line)
{
    json_t *root = NULL;
    enum vq_status status =
        vq_body_load(vq_buf_span(&lines->line), VQ_BODY_VALUES_MAX, NULL, &root);
    if (status == VQ_NOMEM) {
        return status;
    }
    if (status == VQ_LIMIT) {
        vq_batch_damaged(line, "its JSON is over the limits of depth or number of values");
    } else if (!json_is_object(root)) {
        vq_batch_damaged(line, status == VQ_OK ? "it is not a JSON object" : "it is not JSON");
    } else {
        status = lines->dialect->take_line(root, line, &lines->reply);
        line->reply = vq_buf_span(&lines->reply);
        if (status == VQ_LIMIT) {
            vq_batch_damaged(line, "its reply is over the size limit");
        }
    }
    json_decref(root);
    return status == VQ_NOMEM ? status : VQ_OK;
}

/* Reads the collected bytes as one result. VQ_AGAIN: they are blank. */
static enum vq_status read_line(struct vq_batch_lines *lines, struct vq_batch_line *line)
{
    *line = (struct vq_batch_line){.number = lines->number};
    vq_buf_clear(&lines->reply);
    enum vq_status status = VQ_OK;
    if (lines->too_long) {
        vq_batch_damaged(line, "it is over the size limit of 8 MB");
    } else if (vq_span_trim(vq_buf_span(&lines->line)).bytes == 0) {
        status = VQ_AGAIN;
    } else {
        status = read_object(lines, line);
    }
    vq_buf_clear(&lines->line);
    lines->too_long = false;
    return status;
}

static enum vq_status collect(struct vq_batch_lines *lines, struct vq_span bytes)
{
    if (!lines->too_long) {
        vq_buf_append(&lines->line, bytes.at, bytes.bytes);
    }
    if (lines->line.status == VQ_LIMIT) {
        lines->too_long = true;
        vq_buf_clear(&lines->line);
    }
    return lines->line.status;
}

static struct vq_span take(struct vq_span *bytes, size_t n)
{
    struct vq_span front = vq_span(bytes->at, n);
    *bytes = vq_span(bytes->at + n, bytes->bytes - n);
    return front;
}

static enum vq_status next_line(struct vq_batch_lines *lines, struct vq_span *bytes,
                                struct vq_batch_line *line)
{
    while (bytes->bytes > 0) {
        const char *end = memchr(bytes->at, '\n', bytes->bytes);
        size_t n = end == NULL ? bytes->bytes : (size_t)(end - bytes->at);
        VQ_TRY(collect(lines, take(bytes, n)));
        if (end == NULL) {
            return VQ_AGAIN;
        }
        (void)take(bytes, 1);
        lines->number++;
        enum vq_status status = read_line(lines, line);
        if (status != VQ_AGAIN) {
            return status;
        }
    }
    return VQ_AGAIN;
}

static enum vq_status next_element(struct vq_batch_lines *lines, struct vq_span *bytes,
                                   struct vq_batch_line *line)
{
    while (bytes->bytes > 0) {
        size_t n = 0;
        enum part part = PART_OUTSIDE;
        while (n < bytes->bytes && (part = scan_step(&lines->scan, bytes->at[n])) == PART_ELEMENT) {
            n++;
        }
        VQ_TRY(collect(lines, take(bytes, n)));
        if (bytes->bytes == 0) {
            return VQ_AGAIN;
        }
        (void)take(bytes, 1);
        if (part == PART_CUT && (lines->line.bytes > 0 || lines->too_long)) {
            lines->number++;
            return read_line(lines, line);
        }
    }
    return VQ_AGAIN;
}

enum vq_status vq_batch_lines_next(struct vq_batch_lines *lines, struct vq_span *bytes,
                                   struct vq_batch_line *ret_line)
{
    return lines->layout == VQ_BATCH_INLINE ? next_element(lines, bytes, ret_line)
                                            : next_line(lines, bytes, ret_line);
}

enum vq_status vq_batch_lines_end(struct vq_batch_lines *lines, struct vq_batch_line *ret_line)
{
    if (lines->layout == VQ_BATCH_INLINE) {
        const struct vq_batch_scan *scan = &lines->scan;
        return scan->began && scan->depth == 0 && !scan->in_string ? VQ_AGAIN : VQ_INVALID;
    }
    lines->number++;
    return read_line(lines, ret_line);
}

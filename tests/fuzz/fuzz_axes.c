/* The readers of axis lists, names, lines and matches on any bytes. What must hold: what is read is
 * bounded, clean (well-formed, one line, nothing empty); a match is in the range. */
#include "common/base/alloc.h"
#include "common/judge/axes.h"
#include "common/judge/verdict.h"
#include "common/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t bytes_max)
{
    struct vq_span span = vq_span_str(text);
    VQ_ASSERT(span.bytes > 0 && span.bytes <= bytes_max);
    VQ_ASSERT(vq_utf8_valid_bytes(span) == span.bytes);
    VQ_ASSERT(strpbrk(text, "\n\r\t") == NULL && text[0] != ' ' && text[span.bytes - 1] != ' ');
}

static void check_lines(const struct vq_lines *lines, size_t bytes_max)
{
    VQ_ASSERT(lines->count <= VQ_LINES_MAX);
    for (size_t i = 0; i < lines->count; i++) {
        check_text(lines->items[i], bytes_max);
    }
}

static void check_axes(struct vq_span answer)
{
    struct vq_axes axes;
    VQ_ASSERT(vq_axes_parse(answer, &axes) == VQ_OK);
    VQ_ASSERT(axes.count <= VQ_AXES_MAX && (axes.over == 0 || axes.count == VQ_AXES_MAX));
    VQ_ASSERT(axes.count + axes.rejected.count == 0 || !vq_axes_none(answer));
    check_lines(&axes.rejected, VQ_AXES_REJECTED_BYTES_MAX);
    struct vq_axes copy = {.count = 0};
    for (size_t i = 0; i < axes.count; i++) {
        const struct vq_axis *axis = &axes.items[i];
        check_text(axis->name, VQ_AXES_NAME_BYTES_MAX);
        check_text(axis->low, VQ_AXES_TEXT_BYTES_MAX);
        check_text(axis->high, VQ_AXES_TEXT_BYTES_MAX);
        enum vq_status status = vq_axes_add(&copy, vq_span_str(axis->name), vq_span_str(axis->low),
                                            vq_span_str(axis->high));
        VQ_ASSERT(status == VQ_OK ||
                  status == VQ_INVALID); /* quotes within quotes may leave nothing */
    }
    vq_axes_free(&copy);
    vq_axes_free(&axes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > VQ_ANSWER_BYTES_MAX) {
        return 0;
    }
    struct vq_span answer = vq_span((const char *)data, size);
    struct vq_lines lines;
    check_axes(answer);
    VQ_ASSERT(vq_axes_names_parse(answer, &lines) == VQ_OK);
    check_lines(&lines, VQ_AXES_NAME_BYTES_MAX);
    vq_lines_free(&lines);
    VQ_ASSERT(vq_lines_parse(answer, &lines) == VQ_OK);
    check_lines(&lines, VQ_LINE_BYTES_MAX);
    vq_lines_free(&lines);
    uint32_t number;
    VQ_ASSERT(!vq_match_parse(answer, 9, &number) || number <= 9);
    return 0;
}

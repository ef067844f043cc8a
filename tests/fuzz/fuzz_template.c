/* Templates of any bytes; the first one chooses the kind. What parses renders within its limits,
 * and its own copy of the text parses to the same template. */
#include "common/judge/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    enum vq_template_kind kind = (enum vq_template_kind)(data[0] % VQ_TEMPLATE__COUNT);
    struct vq_template *template = NULL;
    struct vq_template *again = NULL;
    struct vq_error err = {""};
    struct vq_span text = vq_span((const char *)data + 1, size - 1);
    enum vq_status status = vq_template_parse(kind, text, "fuzz", &template, &err);
    if (status != VQ_OK) {
        VQ_ASSERT(template == NULL && err.text[0] != '\0');
        return 0;
    }
    VQ_ASSERT(vq_span_eq(vq_template_text(template), text));
    VQ_ASSERT(vq_template_parse(kind, vq_template_text(template), "again", &again, NULL) == VQ_OK);
    VQ_ASSERT(vq_hash_eq(vq_template_hash(template), vq_template_hash(again)));
    const struct vq_span values[VQ_PLACEHOLDER__COUNT] = {
        [VQ_PLACEHOLDER_PROMPT] = text,
        [VQ_PLACEHOLDER_OUTPUT_A] = vq_span_str("{{prompt}}"),
    };
    struct vq_buf buf;
    vq_buf_init(&buf, (VQ_TEMPLATE_PLACEHOLDERS_MAX + 1) * VQ_TEMPLATE_BYTES_MAX);
    VQ_ASSERT(vq_template_render(template, VQ_TEMPLATE_SYSTEM, values, &buf) == VQ_OK);
    VQ_ASSERT(vq_template_render(template, VQ_TEMPLATE_USER, values, &buf) == VQ_OK);
    vq_buf_free(&buf);
    vq_template_destroy(&template);
    vq_template_destroy(&again);
    return 0;
}

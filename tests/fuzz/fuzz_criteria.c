/* Any bytes as a criterion's file. What is refused says so; what is read, written again in the same
 * form, reads to the same. */
#include "common/judge/criteria.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct vq_span text = vq_span((const char *)data, bytes);
    struct vq_criterion *c = NULL;
    struct vq_criterion *again = NULL;
    struct vq_error err = {""};
    if (vq_criterion_parse(text, "fuzz.txt", &c, &err) != VQ_OK) {
        VQ_ASSERT(c == NULL && strncmp(err.text, "fuzz.txt:", 9) == 0);
        return 0;
    }
    VQ_ASSERT(c->rubric[0] != '\0' && c->about[0] != '\0' && strcmp(c->name, "fuzz") == 0);
    struct vq_buf buf;
    vq_buf_init(&buf, 2 * VQ_CRITERION_BYTES_MAX);
    vq_buf_printf(&buf, "kind: %s\nabout: %s\n\n%s\n", vq_criterion_kind_name(c->kind), c->about,
                  c->rubric);
    VQ_ASSERT(buf.status == VQ_OK);
    if (buf.bytes <= VQ_CRITERION_BYTES_MAX) {
        VQ_ASSERT(vq_criterion_parse(vq_buf_span(&buf), "fuzz.txt", &again, NULL) == VQ_OK);
        VQ_ASSERT(again->kind == c->kind && strcmp(again->about, c->about) == 0 &&
                  strcmp(again->rubric, c->rubric) == 0);
        vq_criterion_destroy(&again);
    }
    vq_buf_free(&buf);
    vq_criterion_destroy(&c);
    return 0;
}

/* A prompt of any bytes to every part that the offline server plays; the first byte chooses the
 * part and the form. What must hold: an answer comes, it is bounded by the prompt, and the same
 * prompt gets the same one. */
#include "offline/judge/part.h"
#include "offline/judge/sections.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMPT_BYTES_MAX 65536u

static void answer(struct vq_lexical *lexical, const struct vq_part_request *request,
                   struct vq_buf *ret_answer)
{
    vq_buf_init(ret_answer, 4u << 20);
    VQ_ASSERT(vq_part_answer(lexical, request, ret_answer) == VQ_OK);
    VQ_ASSERT(ret_answer->status == VQ_OK);
    VQ_ASSERT(ret_answer->bytes <= 16384 + 8 * request->text.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vq_lexical *lexical = NULL;
    if (size == 0 || size > PROMPT_BYTES_MAX) {
        return 0;
    }
    if (lexical == NULL) {
        VQ_ASSERT(vq_lexical_create(1, &lexical) == VQ_OK);
    }
    struct vq_span text = {(const char *)data + 1, size - 1};
    enum vq_wanted named = vq_wanted_find(text);
    VQ_ASSERT(vq_wanted_log_name(named) != NULL);
    struct vq_sections sections;
    if (vq_sections_find(text, &sections) == VQ_OK) {
        (void)vq_lexical_judge(lexical, VQ_JUDGE_KIND_B, &sections, 0, NULL);
    }
    struct vq_part_request request = {.wanted = (enum vq_wanted)(data[0] % VQ_WANTED__COUNT),
                                      .kind = (enum vq_judge_kind)(data[0] >> 7),
                                      .text = text,
                                      .is_malformed = (data[0] & 0x40) != 0,
                                      .variant = ""};
    if (!vq_wanted_is_part(request.wanted)) {
        return 0;
    }
    struct vq_buf first;
    struct vq_buf second;
    answer(lexical, &request, &first);
    answer(lexical, &request, &second);
    VQ_ASSERT(vq_span_eq(vq_buf_span(&first), vq_buf_span(&second)));
    vq_buf_free(&second);
    vq_buf_free(&first);
    return 0;
}

/* Passes a request to the function of its kind, and draws the form of its answer. Invariant: draws
 * depend only on the server's seed, the request's seed and the prompt. */
#include "offline/judge/part.h"

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "offline/judge/part_kinds.h"

uint64_t vq_part_draw(const struct vq_part *part, uint64_t purpose)
{
    struct vq_rng rng;
    vq_rng_seed(&rng, part->draw ^ (purpose * UINT64_C(0x9e3779b97f4a7c15)));
    return vq_rng_u64(&rng);
}

#define DRAW_FORM  UINT64_C(1001)
#define PLAIN_ODDS 3u

void vq_part_write_axes(const struct vq_part *part, const struct vq_axis_text *axes, size_t n,
                        enum vq_axes_form plain_form)
{
    uint64_t draw = vq_part_draw(part, DRAW_FORM);
    enum vq_axes_form form = plain_form;
    if (part->request->is_malformed) {
        if (vq_axes_form_find(part->request->variant, &form) != VQ_OK) {
            form = (enum vq_axes_form)(VQ_FORMS_GOOD + draw % (VQ_FORM__COUNT - VQ_FORMS_GOOD));
        }
    } else {
        uint64_t pick = draw % (VQ_FORMS_GOOD + PLAIN_ODDS);
        form = pick < VQ_FORMS_GOOD ? (enum vq_axes_form)pick : plain_form;
    }
    vq_axes_write(axes, n, form, part->to);
}

enum vq_status vq_part_answer(struct vq_lexical *lexical, const struct vq_part_request *request,
                              struct vq_buf *to)
{
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "offline-part");
    vq_hasher_u64(&h, vq_lexical_seed(lexical));
    vq_hasher_u64(&h, (uint64_t)request->seed);
    vq_hasher_u64(&h, request->kind);
    vq_hasher_field(&h, request->text);
    vq_hasher_final(&h, &hash);
    struct vq_part part = {
        .lexical = lexical, .request = request, .draw = vq_hash_u64(&hash), .to = to};
    switch (request->wanted) {
    case VQ_WANTED_AXES:
    case VQ_WANTED_NEW_AXES: return vq_part_axes(&part);
    case VQ_WANTED_DIFFERENCES: return vq_part_differences(&part);
    case VQ_WANTED_FORMALISED: return vq_part_formalise(&part);
    case VQ_WANTED_SUMMARY:
    case VQ_WANTED_SIMPLIFIED:
    case VQ_WANTED_REDUCED: return vq_part_reduce(&part);
    case VQ_WANTED_KEPT_NAMES: return vq_part_dedup(&part);
    case VQ_WANTED_GENERAL: return vq_part_generate(&part);
    case VQ_WANTED_MATCH: return vq_part_match(&part);
    case VQ_WANTED_QUESTION_TYPES: return vq_part_question_types(&part);
    case VQ_WANTED_INTERVIEW: return vq_part_interview(&part);
    case VQ_WANTED_PREFERENCE:
    case VQ_WANTED_VERDICTS:
    case VQ_WANTED_RATING:
    case VQ_WANTED_YES_NO:
    case VQ_WANTED_BETTER:
    case VQ_WANTED_JUDGEMENT:
    case VQ_WANTED_REPAIR:
    case VQ_WANTED_CHAT:
    case VQ_WANTED_OTHER:
    case VQ_WANTED__COUNT: break;
    }
    return VQ_BUG;
}

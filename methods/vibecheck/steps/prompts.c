/* The contents of the method's prompts: rows of the data between tags, lists of axes, and
 * templates. Long texts of the data are cut between characters. Nothing is escaped, because the
 * templates say that texts between tags are material. */
#include "methods/vibecheck/steps/prompts.h"

#include "common/judge/axes.h"
#include "common/text/utf8.h"

#define CUT_MARK " [...]"
#define NO_AXES  "(none)"

static void put_text(const char *tag, struct vq_span text, size_t bytes_max, struct vq_buf *buf)
{
    struct vq_span shown = vq_utf8_cut(text, bytes_max);
    vq_buf_printf(buf, "<%s>\n", tag);
    vq_buf_append(buf, shown.at, shown.bytes);
    vq_buf_puts(buf, shown.bytes < text.bytes ? CUT_MARK : "");
    vq_buf_printf(buf, "\n</%s>\n", tag);
}

void vq_prompt_row(const struct vq_sample *sample, bool flipped, size_t text_bytes_max,
                   const char *head, struct vq_buf *buf)
{
    vq_buf_puts(buf, "<row>\n");
    vq_buf_puts(buf, head);
    put_text("prompt", sample->prompt, text_bytes_max, buf);
    put_text("output_1", flipped ? sample->b : sample->a, text_bytes_max, buf);
    put_text("output_2", flipped ? sample->a : sample->b, text_bytes_max, buf);
    vq_buf_puts(buf, "</row>\n");
}

enum vq_status vq_prompt_axes(struct vq_arena *arena, const struct vq_axis *axes, size_t count,
                              struct vq_span *ret_text)
{
    struct vq_buf buf;
    vq_buf_init(&buf, VQ_PROMPT_BYTES_MAX);
    if (count == 0) {
        vq_buf_puts(&buf, NO_AXES);
    } else {
        vq_axes_format(axes, count, VQ_AXES_DASHED, &buf);
    }
    return vq_arena_take(arena, &buf, ret_text);
}

static enum vq_status render(struct vq_vibecheck_method *m, enum vq_template_kind kind,
                             enum vq_template_part part,
                             const struct vq_span values[VQ_PLACEHOLDER__COUNT],
                             struct vq_span *ret_text)
{
    struct vq_buf buf;
    vq_buf_init(&buf, VQ_PROMPT_BYTES_MAX);
    enum vq_status status = vq_template_render(m->in.templates[kind], part, values, &buf);
    if (status != VQ_OK) {
        vq_buf_free(&buf);
        return status;
    }
    return vq_arena_take(&m->stage_memory, &buf, ret_text);
}

enum vq_status vq_prompt_render(struct vq_vibecheck_method *m, enum vq_template_kind kind,
                                const struct vq_span values[VQ_PLACEHOLDER__COUNT], uint32_t again,
                                struct vq_stage_prompt *ret_prompt, struct vq_error *err)
{
    if (m->in.templates == NULL || m->in.templates[kind] == NULL) {
        return vq_fail(err, VQ_BUG, "the method has no template %s", vq_template_file(kind));
    }
    struct vq_stage_prompt prompt = {.again = again};
    enum vq_status status = render(m, kind, VQ_TEMPLATE_SYSTEM, values, &prompt.system);
    if (status == VQ_OK) {
        status = render(m, kind, VQ_TEMPLATE_USER, values, &prompt.user);
    }
    if (status == VQ_LIMIT) {
        return vq_fail(err, VQ_LIMIT, "a prompt from %s would be longer than %u bytes; set %s",
                       vq_template_file(kind), VQ_PROMPT_BYTES_MAX,
                       kind == VQ_TEMPLATE_JUDGE_MANY
                           ? "judging.vibes_per_call: 1"
                           : "a smaller vibecheck.batch or vibecheck.num_eval_vibes");
    }
    if (status == VQ_OK) {
        *ret_prompt = prompt;
    }
    return status;
}

enum vq_status vq_prompt_ask(struct vq_vibecheck_method *m, const char *name, enum vq_role role,
                             const struct vq_stage_prompt *prompts, uint32_t count,
                             enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                    struct vq_error *err))
{
    struct vq_stage stage = {.name = name,
                             .kind = VQ_STAGE_TEXT,
                             .role = role,
                             .prompts = prompts,
                             .prompts_count = count};
    if (role != VQ_ROLE_PROPOSER && role != VQ_ROLE_REDUCER) {
        return vq_vibecheck_method_ask(m, &stage, then);
    }
    vq_lists_begin(m, name, role, count, then);
    return vq_lists_ask(m, &stage);
}

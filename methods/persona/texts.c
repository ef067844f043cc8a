/* The texts of a persona evaluation: the prompts of subjects and of judges. Stores nothing. */
#include "common/judge/thinking.h"
#include "methods/persona/persona.h"

#define SAID_BYTES_MAX ((size_t)16 << 20)

enum vq_status vq_persona_system(const struct vq_template *template,
                                 const struct vq_conf_subject *subject,
                                 const struct vq_conf_persona *persona, struct vq_buf *out)
{
    if (subject->line != NULL) {
        vq_buf_puts(out, subject->line);
    }
    if (persona == NULL) {
        return out->status;
    }
    if (subject->line != NULL) {
        vq_buf_puts(out, "\n\n");
    }
    struct vq_span values[VQ_PLACEHOLDER__COUNT] = {
        [VQ_PLACEHOLDER_NAME] = vq_span_str(persona->name),
        [VQ_PLACEHOLDER_DESCRIPTION] = vq_span_str(persona->description)};
    VQ_TRY(out->status);
    return vq_template_render(template, VQ_TEMPLATE_SYSTEM, values, out);
}

void vq_persona_judged_question(const struct vq_conf_persona *persona, struct vq_span query,
                                struct vq_buf *out)
{
    if (persona != NULL) {
        vq_buf_puts(out, "<role>\n");
        vq_buf_puts(out, persona->name);
        vq_buf_puts(out, "\n</role>\n<role_description>\n");
        vq_buf_puts(out, persona->description);
        vq_buf_puts(out, "\n</role_description>\n<user_query>\n");
    }
    vq_buf_append(out, query.at, query.bytes);
    if (persona != NULL) {
        vq_buf_puts(out, "\n</user_query>");
    }
}

void vq_persona_judged_answer(struct vq_span answer, struct vq_buf *out)
{
    struct vq_buf plain;
    vq_buf_init(&plain, SAID_BYTES_MAX);
    vq_thinking_strip(answer, &plain);
    struct vq_span text = vq_buf_span(&plain);
    while (text.bytes > 0 && strchr(" \t\r\n", text.at[0]) != NULL) {
        text = vq_span(text.at + 1, text.bytes - 1);
    }
    while (text.bytes > 0 && strchr(" \t\r\n_", text.at[text.bytes - 1]) != NULL) {
        text.bytes--;
    }
    if (plain.status == VQ_OK) {
        vq_buf_append(out, text.at, text.bytes);
    } else if (out->status == VQ_OK) {
        out->status = plain.status;
    }
    vq_buf_free(&plain);
}

const char *vq_persona_query(const struct vq_persona_script *script,
                             const struct vq_queries_file *file, uint32_t query)
{
    if (script->opening && query == 0) {
        return file->opening;
    }
    query -= script->opening ? 1 : 0;
    return query < script->questions ? file->questions[query] : file->closing;
}

/* Private to the method machine: the contents of its prompts. */
#pragma once

#include "methods/vibecheck/steps/parts.h"

#define VQ_PROMPT_BYTES_MAX      VQ_SAMPLE_BYTES_MAX /* of one rendered part */
#define VQ_ROW_TEXT_BYTES_MAX    ((size_t)6000)      /* of each text of a row, for the proposer */
#define VQ_ROW_EXAMPLE_BYTES_MAX ((size_t)1000) /* of each text of a row, if many rows are shown */

/* Appends one row, with each tag on its own line; model A's output comes first unless `flipped`.
 * `head`: lines before the prompt. If there is no room, buf->status is an error and stays. */
void vq_prompt_row(const struct vq_sample *sample, bool flipped, size_t text_bytes_max,
                   const char *head, struct vq_buf *buf);
/* One axis per line, "(none)" for an empty list; owned by the arena. VQ_NOMEM, VQ_LIMIT. */
enum vq_status vq_prompt_axes(struct vq_arena *arena, const struct vq_axis *axes, size_t count,
                              struct vq_span *ret_text) VQ_WARN_UNUSED;
/* Renders both parts of a template, in stage_memory. */
enum vq_status vq_prompt_render(struct vq_vibecheck_method *m, enum vq_template_kind kind,
                                const struct vq_span values[VQ_PLACEHOLDER__COUNT], uint32_t again,
                                struct vq_stage_prompt *ret_prompt,
                                struct vq_error *err) VQ_WARN_UNUSED;
enum vq_status vq_prompt_ask(struct vq_vibecheck_method *m, const char *name, enum vq_role role,
                             const struct vq_stage_prompt *prompts, uint32_t count,
                             enum vq_status (*then)(struct vq_vibecheck_method *m,
                                                    struct vq_error *err)) VQ_WARN_UNUSED;

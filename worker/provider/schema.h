/* Private to this folder: the JSON form of a verdict, for judges with `structured`. */
#pragma once

#include "common/text/json.h"
#include "worker/provider/provider.h"

static inline bool vq_schema_wanted(const struct vq_judge *judge, const struct vq_prompt *prompt)
{
    return judge->structured && prompt->asks != VQ_PROMPT_ASKS_TEXT;
}

static inline bool vq_logprobs_wanted(const struct vq_judge *judge, const struct vq_prompt *prompt)
{
    return judge->logprobs && prompt->asks != VQ_PROMPT_ASKS_TEXT;
}

/* Writes a JSON schema as a value: an object with the analysis first, then the label. `ordered`:
 * Gemini's form, which states the order in its own member. It is part of request hashes as
 * "structured-1" (common/judge/request.c): change that name together with the schema. */
void vq_schema_put(struct vq_json *json, enum vq_prompt_asks asks, bool ordered);

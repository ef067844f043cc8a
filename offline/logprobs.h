/* Log-probabilities of an answer's tokens, in the form that a provider returns. */
#pragma once

#include "common/text/json.h"
#include "offline/chat.h"

/* As a value: OpenAI's {"content": [...]} or Gemini's {"chosenCandidates", "topCandidates"}. */
void vq_logprobs_write(struct vq_json *json, enum vq_dialect dialect, struct vq_span content);

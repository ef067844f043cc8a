/* Private to this folder: the list of dialects, one file each. */
#pragma once

#include "worker/provider/provider.h"

extern const struct vq_provider vq_provider_openai;
extern const struct vq_provider vq_provider_azure;
extern const struct vq_provider vq_provider_anthropic;
extern const struct vq_provider vq_provider_gemini;

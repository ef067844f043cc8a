/* Whether a model thinks before it answers, by its name: its thinking counts as output tokens. */
#pragma once

#include <stdbool.h>

/* `model` as a provider names it, with or without an owner ("openai/o3-mini"). A name that is not
 * known does not think. */
bool vq_model_thinks(const char *model);

/* Whether a model thinks before it answers, by its name: its thinking counts as output tokens. */
#pragma once

#include <stdbool.h>

/* `model`: the name that a provider uses, with or without an owner ("openai/o3-mini"). False for an
 * unknown name. */
bool vq_model_thinks(const char *model);

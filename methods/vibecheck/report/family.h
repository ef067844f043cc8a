/* The family of a model, by its name. */
#pragma once

/* "OpenAI", "Llama", ...; NULL if the name has no family. Models that others derived from a family,
 * and columns that only mention it, have no family: "vicuna-13b", "not_llama", "llama_vs_gpt",
 * "DeepSeek-R1-Distill-Llama-70B". */
const char *vq_model_family(const char *model);

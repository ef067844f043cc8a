/* Whether a server read all of a prompt. Servers with a short context cut what is too long and
 * answer the rest without a word; their usage gives it away. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* of a prompt that is looked at: hardly a context is shorter */
#define VQ_CONTEXT_CHARS_MIN     4000u
#define VQ_CONTEXT_CHARS_A_TOKEN 12u /* no language, code or table has as many on average */
#define VQ_CONTEXT_CHARS_LIKELY  4u  /* as English has */

/* `chars`: code points of the prompt, not bytes, so that it holds for all scripts; `tokens_in`: all
 * input that was reported, cached tokens among it. 0 tokens, and short prompts, say nothing:
 * false. */
bool vq_context_is_cut(uint64_t chars, uint64_t tokens_in);
/* "a tenth": about how much of `chars` was read. */
const char *vq_context_share(uint64_t chars, uint64_t tokens_in);

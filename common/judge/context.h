/* Detects that a server cut a prompt. Servers with a short context cut a long prompt without an
 * error and answer the rest; their usage shows it. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* shorter prompts are not checked: hardly any context is shorter */
#define VQ_CONTEXT_CHARS_MIN     4000u
#define VQ_CONTEXT_CHARS_A_TOKEN 12u /* no language, code or table reaches this average */
#define VQ_CONTEXT_CHARS_LIKELY  4u  /* the average of English */

/* Whether the server cut the prompt. `chars`: code points of the prompt, not bytes, so that the
 * check works for all scripts. `tokens_in`: all reported input tokens, cached ones included. False
 * for 0 tokens and short prompts, which prove nothing. */
bool vq_context_is_cut(uint64_t chars, uint64_t tokens_in);
/* The approximate part of `chars` that was read, such as "a tenth". */
const char *vq_context_share(uint64_t chars, uint64_t tokens_in);

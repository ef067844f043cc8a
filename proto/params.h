/* Parameters of a request that the model of a pool refuses (params.def), as a set of bits, and
 * their names. */
#pragma once

#include <stdint.h>

enum vq_param {
#define VQ_PARAM(name, bit, word, instead) VQ_PARAM_##name = 1u << (bit),
#include "proto/params.def"
#undef VQ_PARAM
};

/* All known bits; other bits of a peer are ignored. */
#define VQ_PARAMS_ALL 0xffu

/* The name of one bit, such as "max_tokens", and a text for people about the replacement in the
 * request. NULL: unknown bit. */
const char *vq_param_word(uint32_t param);
const char *vq_param_instead(uint32_t param);

/* Parameters that a pool's model refuses (params.def): what one refusal teaches, as a set of bits,
 * and what to call each. */
#ifndef VQ_PROTO_PARAMS_H
#define VQ_PROTO_PARAMS_H

#include <stdint.h>

enum vq_param {
#define VQ_PARAM(name, bit, word, instead) VQ_PARAM_##name = 1u << (bit),
#include "proto/params.def"
#undef VQ_PARAM
};

/* All that there are; a peer's other bits mean nothing here. */
#define VQ_PARAMS_ALL 0xffu

/* Of one bit: "max_tokens", and what is sent instead, for people. NULL: no such bit. */
const char *vq_param_word(uint32_t param);
const char *vq_param_instead(uint32_t param);

#endif

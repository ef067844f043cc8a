/* A dialogue as a chain of requests: a system part and queries, each sent after all earlier
 * messages. Pure; the same on both sides. A turn's request depends on the earlier answers, so it is
 * computed turn by turn:
 *
 *     state 0 = H(system, query 0)
 *     state k = H(state k-1, answer k-1, query k)
 *     request k = H(asker, state k, repeat)
 *
 * Equal prefixes are equal requests, whatever chain they belong to. See docs/develop/chains.md. */
#pragma once

#include "common/judge/request.h"

#define VQ_CHAIN_TURNS_MAX 4096u /* of one chain */
#define VQ_CHAIN_BYTES_MAX                                                                         \
    (8u << 20) /* of the answers of one chain; with its queries it fits a frame */
#define VQ_CHAIN_ASKED_BYTES_MAX                                                                   \
    (4u << 20) /* of its system part and queries, which go to a worker in one message */

/* Packs several texts into one span: the queries of a chain, or the messages of a prefix (the user
 * and the assistant in turn). */
void vq_chain_pack(struct vq_buf *packed, struct vq_span text);
/* Takes the next text from the front of *rest. Returns false at the end, and also if the bytes in
 * *rest are not packed correctly. */
bool vq_chain_unpack(struct vq_span *rest, struct vq_span *ret_text);
/* The number of texts; UINT32_MAX: not packed correctly, or more than VQ_CHAIN_TURNS_MAX * 2. */
uint32_t vq_chain_count(struct vq_span packed);
/* Bytes of all texts, without those of the packing. */
size_t vq_chain_bytes(struct vq_span packed);

struct vq_chain_state {   /* before a turn: all earlier messages, and the turn's query */
    struct vq_hash first; /* state 0: the request hashes of the chain begin with its first bytes */
    struct vq_hash at;
};
void vq_chain_begin(struct vq_span system, struct vq_span query, struct vq_chain_state *ret_state);
void vq_chain_go_on(struct vq_chain_state *state, struct vq_span answer, struct vq_span query);
void vq_chain_request(const struct vq_asker *asker, const struct vq_chain_state *state,
                      uint32_t repeat, struct vq_hash *ret_hash);

/* The id of a chain as a sample: state 0. A chain without a query has the id of
 * an empty one. `sample`: a is the system part, prompt the packed queries. */
void vq_chain_identify(const struct vq_sample *sample, struct vq_sample_id *ret_id);

/* The tokens of a turn, as the provider reported them; 0: not reported. `in` includes all earlier
 * messages. */
struct vq_turn_tokens {
    uint64_t in, out;
};

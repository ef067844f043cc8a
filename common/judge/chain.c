/* Packed texts, and the hashes of the turns of a dialogue.
 *
 * A packed text is four bytes of length (little-endian), then the text. A state is a digest of the
 * previous state, an answer and a query, each with its length in front, so different dialogues have
 * different states. A step hashes only the new texts. Not its job: which answer is in force (the
 * store), the form of messages for a provider. */
#include "common/judge/chain.h"

#define LENGTH_BYTES 4u

void vq_chain_pack(struct vq_buf *packed, struct vq_span text)
{
    if (text.bytes > UINT32_MAX) {
        packed->status = packed->status == VQ_OK ? VQ_LIMIT : packed->status;
        return;
    }
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        vq_buf_putc(packed, (char)(text.bytes >> (8 * i) & 0xff));
    }
    vq_buf_append(packed, text.at, text.bytes);
}

bool vq_chain_unpack(struct vq_span *rest, struct vq_span *ret_text)
{
    if (rest->bytes < LENGTH_BYTES) {
        return false;
    }
    size_t bytes = 0;
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        bytes |= (size_t)(unsigned char)rest->at[i] << (8 * i);
    }
    if (bytes > rest->bytes - LENGTH_BYTES) {
        return false;
    }
    *ret_text = vq_span(rest->at + LENGTH_BYTES, bytes);
    *rest = vq_span(rest->at + LENGTH_BYTES + bytes, rest->bytes - LENGTH_BYTES - bytes);
    return true;
}

uint32_t vq_chain_count(struct vq_span packed)
{
    uint32_t count = 0;
    struct vq_span text;
    while (count <= 2 * VQ_CHAIN_TURNS_MAX && vq_chain_unpack(&packed, &text)) {
        count++;
    }
    return packed.bytes == 0 && count <= 2 * VQ_CHAIN_TURNS_MAX ? count : UINT32_MAX;
}

size_t vq_chain_bytes(struct vq_span packed)
{
    size_t bytes = 0;
    struct vq_span text;
    while (vq_chain_unpack(&packed, &text)) {
        bytes += text.bytes;
    }
    return bytes;
}

void vq_chain_begin(struct vq_span system, struct vq_span query, struct vq_chain_state *ret_state)
{
    struct vq_hasher h;
    vq_hasher_init(&h, "vq.chain");
    vq_hasher_field(&h, system);
    vq_hasher_field(&h, query);
    vq_hasher_final(&h, &ret_state->first);
    ret_state->at = ret_state->first;
}

void vq_chain_go_on(struct vq_chain_state *state, struct vq_span answer, struct vq_span query)
{
    struct vq_hasher h;
    vq_hasher_init(&h, "vq.turn");
    vq_hasher_bytes(&h, state->at.b, VQ_HASH_BYTES);
    vq_hasher_field(&h, answer);
    vq_hasher_field(&h, query);
    vq_hasher_final(&h, &state->at);
}

void vq_chain_request(const struct vq_asker *asker, const struct vq_chain_state *state,
                      uint32_t repeat, struct vq_hash *ret_hash)
{
    struct vq_hash hash;
    struct vq_hasher h;
    vq_hasher_init(&h, "vq.chat");
    vq_hasher_bytes(&h, asker->base.b, VQ_HASH_BYTES);
    vq_hasher_bytes(&h, state->at.b, VQ_HASH_BYTES);
    vq_hasher_u64(&h, repeat);
    vq_hasher_final(&h, &hash);
    memcpy(hash.b, state->first.b, VQ_REQUEST_PREFIX_BYTES);
    *ret_hash = hash;
}

void vq_chain_identify(const struct vq_sample *sample, struct vq_sample_id *ret_id)
{
    struct vq_span rest = sample->prompt;
    struct vq_span query = vq_span("", 0);
    struct vq_chain_state state;
    (void)vq_chain_unpack(&rest, &query);
    vq_chain_begin(sample->a, query, &state);
    *ret_id = (struct vq_sample_id){.id = state.first};
}

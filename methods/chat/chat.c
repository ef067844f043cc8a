/* One stage of kind CHAT. Invariant: its number is a hash of its requests, so that equal dialogues
 * have the same stage number in every command. Not its job: files, and the use of the dialogues. */
#include "methods/chat/chat.h"

#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "common/judge/chain.h"

struct vq_chat {
    struct vq_chat_input in;
    struct vq_stage stage;
    struct vq_arena memory;
    struct vq_span *answers;
    bool taken;
};

static enum vq_status check(const struct vq_chat_input *in, uint32_t *ret_turns,
                            struct vq_error *err)
{
    uint32_t turns = 0;
    if (in->count == 0 || in->count > VQ_CHAT_CHAINS_MAX) {
        return vq_fail(err, in->count == 0 ? VQ_INVALID : VQ_LIMIT,
                       "there are %u dialogues; 1 to %u can be led", in->count, VQ_CHAT_CHAINS_MAX);
    }
    for (uint32_t i = 0; i < in->count; i++) {
        uint32_t count = vq_chain_count(in->chains[i].prompt);
        if (count == 0) {
            return vq_fail(err, VQ_INVALID, "dialogue %u has no query", i + 1);
        }
        if (count > VQ_CHAIN_TURNS_MAX) {
            return vq_fail(err, VQ_LIMIT, "dialogue %u has more than %u queries", i + 1,
                           VQ_CHAIN_TURNS_MAX);
        }
        turns = count > turns ? count : turns;
    }
    *ret_turns = turns;
    return VQ_OK;
}

enum vq_status vq_chat_create(const struct vq_chat_input *input, struct vq_chat **ret_chat,
                              struct vq_error *err)
{
    uint32_t turns = 0;
    VQ_TRY(check(input, &turns, err));
    struct vq_chat *chat;
    VQ_TRY(VQ_ALLOC(chat, 1));
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "vq.chats");
    for (uint32_t i = 0; i < input->count; i++) {
        vq_hasher_field(&h, input->chains[i].a);
        vq_hasher_field(&h, input->chains[i].prompt);
    }
    vq_hasher_final(&h, &hash);
    chat->in = *input;
    chat->stage = (struct vq_stage){.no = VQ_STAGE_BESIDE | (uint32_t)vq_hash_u64(&hash),
                                    .name = "chat",
                                    .kind = VQ_STAGE_CHAT,
                                    .role = VQ_ROLE_JUDGE,
                                    .items = input->chains,
                                    .items_count = input->count,
                                    .turns = turns};
    *ret_chat = chat;
    return VQ_OK;
}

void vq_chat_destroy(struct vq_chat **chat)
{
    if (*chat != NULL) {
        vq_arena_clear(&(*chat)->memory);
        vq_free(*chat);
        *chat = NULL;
    }
}

static enum vq_status next(void *ctx, const struct vq_stage **ret_stage, struct vq_error *err)
{
    struct vq_chat *chat = ctx;
    (void)err;
    *ret_stage = chat->taken ? NULL : &chat->stage;
    return VQ_OK;
}

static enum vq_status take_texts(void *ctx, const struct vq_span *texts, size_t count,
                                 struct vq_error *err)
{
    struct vq_chat *chat = ctx;
    VQ_ASSERT(count == (size_t)chat->in.count * chat->in.models * chat->stage.turns);
    chat->answers = vq_arena_copy(&chat->memory, texts, count, sizeof(*texts));
    bool whole = chat->answers != NULL;
    for (size_t i = 0; whole && i < count; i++) {
        if (texts[i].at != NULL) {
            chat->answers[i].at = vq_arena_text(&chat->memory, texts[i]);
            whole = chat->answers[i].at != NULL;
        }
    }
    chat->taken = whole;
    return whole ? VQ_OK : vq_fail(err, VQ_NOMEM, "no memory for the dialogues");
}

static uint32_t notes(const void *ctx, const char *const **ret_notes)
{
    (void)ctx;
    *ret_notes = NULL;
    return 0;
}

struct vq_script vq_chat_script(struct vq_chat *chat)
{
    static const struct vq_script_ops ops = {
        .next = next, .take_texts = take_texts, .notes = notes};
    return (struct vq_script){&ops, chat};
}

struct vq_span vq_chat_answer(const struct vq_chat *chat, uint32_t chain, uint32_t model,
                              uint32_t turn)
{
    VQ_ASSERT(chat->taken && chain < chat->in.count && model < chat->in.models &&
              turn < chat->stage.turns);
    return chat->answers[((size_t)chain * chat->in.models + model) * chat->stage.turns + turn];
}

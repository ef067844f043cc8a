/* Renders a request: the judge, as its pool is called, without the parameters that the model
 * refuses, and the messages of the call, in the dialect's body. Owns its buffers between calls, so
 * a call allocates nothing once they have grown. Not its job: address and key. */
#include "worker/shell/render.h"

#include "common/base/alloc.h"
#include "common/text/utf8.h"
#include "proto/params.h"
#include "worker/provider/fold.h"

#include <stdlib.h>
#include <string.h>

void vq_render_init(struct vq_render *room)
{
    *room = (struct vq_render){0};
    vq_buf_init(&room->system, VQ_REQUEST_BODY_BYTES_MAX);
    vq_buf_init(&room->user, VQ_REQUEST_BODY_BYTES_MAX);
    vq_buf_init(&room->first, VQ_REQUEST_BODY_BYTES_MAX);
}

void vq_render_free(struct vq_render *room)
{
    vq_buf_free(&room->system);
    vq_buf_free(&room->user);
    vq_buf_free(&room->first);
    vq_free(room->said);
    *room = (struct vq_render){0};
}

static uint32_t token_field(const struct vq_judge *judge)
{
    return strcmp(judge->max_tokens_field, "max_tokens") == 0 ? VQ_PARAM_MAX_TOKENS
                                                              : VQ_PARAM_MAX_COMPLETION_TOKENS;
}

struct vq_judge vq_render_judge(const struct vq_judge *judge, const struct vq_work_endpoint *at,
                                uint32_t refused)
{
    struct vq_judge sent = *judge;
    sent.model = at->model;
    sent.dialect = at->dialect;
    sent.send_temperature = judge->send_temperature && !at->refuses_temperature &&
                            (refused & VQ_PARAM_TEMPERATURE) == 0;
    sent.seed = at->refuses_seed || (refused & VQ_PARAM_SEED) != 0 ? -1 : judge->seed;
    sent.structured = judge->structured && (refused & VQ_PARAM_SCHEMA) == 0;
    sent.logprobs = judge->logprobs && (refused & VQ_PARAM_LOGPROBS) == 0;
    sent.max_tokens_field =
        at->max_tokens_field[0] != '\0' ? at->max_tokens_field : judge->max_tokens_field;
    bool other = (refused & token_field(&sent)) != 0;
    if (other) {
        sent.max_tokens_field =
            token_field(&sent) == VQ_PARAM_MAX_TOKENS ? "max_completion_tokens" : "max_tokens";
    }
    uint32_t role =
        judge->system_role == VQ_SYSTEM_ROLE_DEVELOPER ? VQ_PARAM_DEVELOPER : VQ_PARAM_SYSTEM;
    sent.system_role = (refused & role) != 0 ? VQ_SYSTEM_ROLE_NONE : judge->system_role;
    return sent;
}

/* The parameters of the request that a model may refuse. The token limit is one of them only until
 * one of its two names was refused: a later refusal has another cause than the name. */
static uint32_t params_of(const struct vq_judge *sent, const struct vq_prompt *prompt,
                          uint32_t refused)
{
    uint32_t both = VQ_PARAM_MAX_TOKENS | VQ_PARAM_MAX_COMPLETION_TOKENS;
    bool verdict = prompt->asks != VQ_PROMPT_ASKS_TEXT;
    bool system = prompt->system.bytes > 0;
    bool developer = sent->system_role == VQ_SYSTEM_ROLE_DEVELOPER;
    return ((refused & both) == 0 ? token_field(sent) : 0) |
           (sent->send_temperature ? VQ_PARAM_TEMPERATURE : 0) |
           (sent->seed >= 0 ? VQ_PARAM_SEED : 0) |
           (sent->structured && verdict ? VQ_PARAM_SCHEMA : 0) |
           (sent->logprobs && verdict ? VQ_PARAM_LOGPROBS : 0) |
           (system ? (developer ? VQ_PARAM_DEVELOPER : VQ_PARAM_SYSTEM) : 0);
}

/* The form of the answer, for judges that ask for more than text. */
static enum vq_prompt_asks asks_of(const struct vq_work_call *call)
{
    bool verdict = call->kind == VQ_CALL_ASK;
    return verdict && call->stage_kind == VQ_STAGE_RANK     ? VQ_PROMPT_ASKS_VERDICT
           : verdict && call->stage_kind == VQ_STAGE_PREFER ? VQ_PROMPT_ASKS_PREFERENCE
                                                            : VQ_PROMPT_ASKS_TEXT;
}

/* The earlier messages, then the new one: for a chain, queries and answers in turn; for a probe,
 * the packed messages. No text is copied. */
static enum vq_status render_talk(struct vq_render *room, const struct vq_work_call *call,
                                  struct vq_prompt *prompt)
{
    bool chat = call->stage_kind == VQ_STAGE_CHAT;
    struct vq_span rest = call->sample->prompt;
    struct vq_span text;
    size_t count = 0;
    prompt->system = call->sample->a;
    prompt->user = vq_span_str(call->axis->low);
    while (vq_chain_unpack(&rest, &text)) {
        VQ_TRY(VQ_GROW(room->said, &room->said_cap, count + 2, SIZE_MAX / sizeof(text)));
        if (chat && count == 2 * (size_t)call->turns_count) {
            prompt->user = text;
            break;
        }
        room->said[count] = text;
        count++;
        if (chat) {
            room->said[count] = call->turns[count / 2];
            count++;
        }
    }
    prompt->history = room->said;
    prompt->history_count = count - count % 2;
    return VQ_OK;
}

static uint64_t chars_of(const struct vq_prompt *prompt)
{
    uint64_t chars = vq_utf8_count(prompt->system) + vq_utf8_count(prompt->user);
    for (size_t i = 0; i < prompt->history_count; i++) {
        chars += vq_utf8_count(prompt->history[i]);
    }
    return chars;
}

enum vq_status vq_render_call(struct vq_render *room, const struct vq_render_for *to,
                              const struct vq_work_call *call, struct vq_rendered *out)
{
    struct vq_prompt prompt = {.service_tier = call->tier};
    struct vq_judge judge = vq_render_judge(call->asker->judge, to->at, to->refused);
    if (vq_stage_talks(call->stage_kind)) {
        VQ_TRY(render_talk(room, call, &prompt));
        out->prompt_chars = chars_of(&prompt);
        VQ_TRY(vq_prompt_fold(&judge, room->said, &prompt, &room->first));
        prompt.front = !to->shares                          ? VQ_PROMPT_FRONT_NONE
                       : call->stage_kind == VQ_STAGE_PROBE ? VQ_PROMPT_FRONT_HISTORY
                                                            : VQ_PROMPT_FRONT_ALL;
        out->params = params_of(&judge, &prompt, to->refused);
        return to->provider->body(&judge, &prompt, &out->body);
    }
    if (call->kind == VQ_CALL_ASK) {
        prompt.shared_bytes = to->shares
                                  ? vq_request_shared_bytes(call->asker, call->sample, call->order,
                                                            call->output_bytes_max)
                                  : 0;
        VQ_TRY(vq_request_render(call->asker, call->sample, call->axis, call->order,
                                 call->output_bytes_max, &room->system, &room->user));
    } else {
        VQ_TRY(vq_repair_render(call->asker, call->answer, &room->system, &room->user));
    }
    prompt.user = vq_buf_span(&room->user);
    out->prompt_chars = chars_of(&prompt);
    if (to->embeds) {
        return to->provider->embed_body(&judge, vq_buf_span(&room->user), &out->body, &out->texts);
    }
    prompt.image = call->kind == VQ_CALL_ASK ? call->sample->image : vq_span("", 0);
    prompt.system = vq_buf_span(&room->system);
    out->prompt_chars += vq_utf8_count(prompt.system);
    prompt.asks = asks_of(call);
    VQ_TRY(vq_prompt_fold(&judge, NULL, &prompt, &room->first));
    out->params = params_of(&judge, &prompt, to->refused);
    return to->provider->body(&judge, &prompt, &out->body);
}

/* Makes the body of an answer from a parsed request. First an opinion (of the lexical judge, of the
 * oracle, or the decision read from an answer to repair), then its text, then the fault. Invariant:
 * every reply is either a whole answer that a provider would bill (paid), or an error with its
 * reason. */
#include "offline/answer.h"

#include "offline/dialect.h"
#include "offline/dialogue.h"
#include "offline/judge/part.h"
#include "offline/opinion.h"
#include "offline/persona/rating.h"

#include <inttypes.h>
#include <stdio.h>

#define CONTENT_BYTES_MAX (1u << 20)
#define DEPTH_OF_DEEP     100000
#define BYTES_PER_TOKEN   4

static const char refusal_text[] = "I cannot help with comparing these texts.";

/* The answer under construction. */
struct draft {
    enum vq_opinion opinion;
    const char *verdict; /* as written; NULL: none */
    enum vq_oracle_failure failure;
    struct vq_buf analysis;
    struct vq_buf content;
    struct vq_chat_answer answer;
};

/* A repair asks for the decision that an answer states: the only output that it names in capitals,
 * if it names just one. */
static const char *stated_in(struct vq_span text)
{
    bool a = memmem(text.at, text.bytes, "Output A", 8) != NULL;
    bool b = memmem(text.at, text.bytes, "Output B", 8) != NULL;
    if (a == b) {
        return "unclear";
    }
    return a ? "A" : "B";
}

static const char *label_of(const struct vq_chat_request *request, enum vq_opinion opinion)
{
    bool tie = opinion == VQ_OPINION_EQUAL && request->asks_for_tie && !request->question.has_axis;
    return tie ? "tie" : vq_opinion_text(opinion);
}

static enum vq_status find_opinion(const struct vq_answerer *answerer,
                                   const struct vq_chat_request *request,
                                   const struct vq_answer_context *context, struct draft *draft,
                                   struct vq_error *err)
{
    if (request->wanted == VQ_WANTED_REPAIR) {
        draft->verdict = stated_in(request->question_text);
        return VQ_OK;
    }
    if (request->wanted != VQ_WANTED_JUDGEMENT && request->wanted != VQ_WANTED_PREFERENCE) {
        return VQ_OK;
    }
    struct vq_oracle_answer said;
    VQ_TRY(vq_opinion_find(answerer, request, &request->question, context, &draft->analysis, &said,
                           err));
    draft->opinion = said.opinion;
    draft->failure = said.failure;
    draft->verdict = label_of(request, draft->opinion);
    return VQ_OK;
}

static void write_json_content(const struct vq_chat_request *request, struct draft *draft)
{
    struct vq_buf *content = &draft->content;
    vq_buf_putc(content, '{');
    vq_json_string(content, vq_span_str(request->json_analysis));
    vq_buf_putc(content, ':');
    vq_json_string(content, vq_buf_span(&draft->analysis));
    vq_buf_putc(content, ',');
    vq_json_string(content, vq_span_str(request->json_verdict));
    vq_buf_putc(content, ':');
    vq_json_string(content, vq_span_str(draft->verdict));
    vq_buf_putc(content, '}');
}

/* Answers a prompt of the method that does not ask for a verdict: the lexical judge answers, even
 * if there is an oracle. The malformed format is the one fault that must be known while the text is
 * written. */
static enum vq_status write_part(const struct vq_answerer *answerer,
                                 const struct vq_chat_request *request,
                                 const struct vq_answer_context *context, struct draft *draft)
{
    bool is_malformed = context->fault == VQ_FAULT_WRONG_FORMAT;
    struct vq_part_request part = {.wanted = request->wanted,
                                   .kind = context->kind,
                                   .text = request->question_text,
                                   .seed = request->seed,
                                   .is_malformed = is_malformed,
                                   .variant = is_malformed ? context->variant : ""};
    return vq_part_answer(answerer->lexical, &part, &draft->content);
}

/* Writes a rubric judge's answer. It is malformed if a fault requires it, which must be known while
 * the text is written. Without the sections of the templates there is no verdict. */
static void write_rating(const struct vq_answerer *answerer, const struct vq_chat_request *request,
                         const struct vq_answer_context *context, struct draft *draft)
{
    const struct vq_rating_request rating = {.wanted = request->wanted,
                                             .kind = context->kind,
                                             .text = request->question_text,
                                             .seed = request->seed};
    const char *value = vq_rating_give(answerer->lexical, &rating, &draft->analysis);
    bool malformed = context->fault == VQ_FAULT_WRONG_FORMAT;
    if (value == NULL) {
        vq_buf_puts(&draft->content, "There is no response and no criterion to rate it by.");
    } else if (malformed || context->fault == VQ_FAULT_TWO_VERDICTS) {
        vq_rating_write_malformed(request->wanted, vq_buf_span(&draft->analysis), value,
                                  malformed ? context->variant : "ambiguous",
                                  vq_hash_u64(context->hash), &draft->content);
    } else {
        bool biased = context->fault == VQ_FAULT_ALWAYS_A && request->wanted == VQ_WANTED_BETTER;
        draft->verdict = biased ? "A" : value;
        vq_rating_write(vq_buf_span(&draft->analysis), draft->verdict, &draft->content);
    }
}

static enum vq_status write_chat(const struct vq_answerer *answerer,
                                 const struct vq_chat_request *request,
                                 const struct vq_answer_context *context, struct draft *draft)
{
    struct vq_dialogue dialogue;
    VQ_TRY(vq_dialogue_read(request, &dialogue));
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "offline-chat");
    vq_hasher_u64(&h, vq_lexical_seed(answerer->lexical));
    vq_hasher_u64(&h, (uint64_t)request->seed);
    vq_hasher_final(&h, &hash);
    enum vq_status status = vq_subject_answer(context->subject, vq_hash_u64(&hash), dialogue.turns,
                                              dialogue.n, &draft->content);
    vq_dialogue_free(&dialogue);
    return status;
}

static void write_content(const struct vq_chat_request *request, struct draft *draft)
{
    if (draft->verdict == NULL) {
        vq_buf_printf(&draft->content,
                      "This is vibeq-offline, which has no language model. It read %zu bytes and "
                      "has nothing to say about them.",
                      request->question_text.bytes);
    } else if (request->wanted == VQ_WANTED_REPAIR) {
        vq_buf_printf(&draft->content, "Model: %s", draft->verdict);
    } else if (request->wants_json) {
        write_json_content(request, draft);
    } else {
        vq_buf_printf(&draft->content, "Analysis: %s\nModel: %s",
                      draft->analysis.at == NULL ? "" : draft->analysis.at, draft->verdict);
    }
}

static void cut_content(struct draft *draft, size_t bytes)
{
    while (bytes > 0 && bytes < draft->content.bytes &&
           ((unsigned char)draft->content.at[bytes] & 0xc0) == 0x80) {
        bytes--;
    }
    if (bytes < draft->content.bytes) {
        draft->content.bytes = bytes;
        draft->content.at[bytes] = '\0';
    }
    draft->answer.finish_reason = "length";
}

static enum vq_fault fault_of_failure(enum vq_oracle_failure failure)
{
    switch (failure) {
    case VQ_ORACLE_ANSWERED: return VQ_FAULT_NONE;
    case VQ_ORACLE_REFUSED: return VQ_FAULT_REFUSAL;
    case VQ_ORACLE_UNPARSEABLE: return VQ_FAULT_UNPARSEABLE;
    case VQ_ORACLE_TRUNCATED: return VQ_FAULT_TRUNCATED;
    }
    return VQ_FAULT_NONE;
}

static void replace_content(struct draft *draft, const char *text)
{
    vq_buf_clear(&draft->content);
    vq_buf_puts(&draft->content, text);
    draft->verdict = NULL;
}

/* Faults that change the message, before it is written as JSON. Returns the outcome for the log. */
static const char *spoil_content(struct draft *draft, enum vq_fault fault)
{
    const char *first = draft->opinion == VQ_OPINION_B ? "B" : "A";
    switch ((int)fault) {
    case VQ_FAULT_REFUSAL:
        replace_content(draft, "");
        draft->answer.content_is_null = true;
        draft->answer.refusal = refusal_text;
        draft->answer.finish_reason = "content_filter";
        return "refused";
    case VQ_FAULT_TRUNCATED:
        draft->verdict = NULL;
        cut_content(draft, draft->content.bytes / 2);
        return "truncated";
    case VQ_FAULT_WRONG_FORMAT:
        replace_content(draft, "All in all I would say that it is Output ");
        vq_buf_puts(&draft->content, first);
        vq_buf_puts(&draft->content, " which goes further.");
        return "unparseable";
    case VQ_FAULT_UNPARSEABLE:
        replace_content(draft, "The two texts are of different kinds, and each has its merits.");
        return "unparseable";
    case VQ_FAULT_EMPTY: replace_content(draft, ""); return "empty";
    case VQ_FAULT_NULL_CONTENT:
        replace_content(draft, "");
        draft->answer.content_is_null = true;
        return "empty";
    case VQ_FAULT_ALWAYS_A:
        replace_content(draft, "Analysis: The first one.\nModel: A");
        draft->verdict = "A";
        return "ok";
    case VQ_FAULT_TWO_VERDICTS:
        replace_content(draft, "Analysis: Hard to tell.\nModel: A or B");
        return "unparseable";
    case VQ_FAULT_OPEN_THOUGHT:
        replace_content(draft, "<think>The last line could be\nModel: ");
        vq_buf_puts(&draft->content, first);
        return "unparseable";
    case VQ_FAULT_NO_USAGE: draft->answer.with_usage = false; return "ok";
    default: return "ok";
    }
}

static void write_deep(struct vq_buf *body)
{
    vq_buf_clear(body);
    char *to = vq_buf_reserve(body, DEPTH_OF_DEEP);
    if (to != NULL) {
        memset(to, '[', DEPTH_OF_DEEP);
        body->bytes += DEPTH_OF_DEEP;
        to[DEPTH_OF_DEEP] = '\0';
    }
}

static void cut_body(struct vq_buf *body)
{
    if (body->at != NULL) {
        body->bytes = body->bytes * 2 / 3;
        body->at[body->bytes] = '\0';
    }
}

static const struct {
    const char *variant;
    const char *text; /* it replaces the whole body */
} cruel_bodies[] = {
    {"duplicate", "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"finish_reason\":"
                  "\"stop\",\"message\":"
                  "{\"role\":\"assistant\",\"content\":\"Model: A\",\"content\":\"Model: "
                  "B\"}}],\"choices\":[]}"},
    {"nan",
     "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"finish_reason\":\"stop\","
     "\"message\":"
     "{\"role\":\"assistant\",\"content\":\"Model: A\"}}],\"usage\":{\"prompt_tokens\":NaN}}"},
    {"number",
     "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"finish_reason\":\"stop\","
     "\"message\":"
     "{\"role\":\"assistant\",\"content\":\"Model: A\"}}],\"usage\":{\"prompt_tokens\":1e400}}"},
    {"surrogate", "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"finish_reason\":"
                  "\"stop\",\"message\":"
                  "{\"role\":\"assistant\",\"content\":\"\\ud800 Model: A\"}}]}"},
    {"nul", "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"finish_reason\":\"stop\","
            "\"message\":"
            "{\"role\":\"assistant\",\"content\":\"Model: \\u0000A\"}}]}"},
    {"bytes", "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"finish_reason\":"
              "\"stop\",\"message\":"
              "{\"role\":\"assistant\",\"content\":\"\xff\xfe Model: A\"}}]}"},
};

/* Faults of the written body. */
static void spoil_body(struct vq_offline_reply *reply, enum vq_fault fault, const char *variant)
{
    if (fault == VQ_FAULT_ERROR_200) {
        vq_offline_reply_error(reply, 200, "The upstream model failed.", "server_error",
                               "upstream_error");
        return;
    }
    if (fault != VQ_FAULT_BAD_JSON) {
        return;
    }
    reply->outcome = "bad_json";
    reply->verdict = NULL;
    if (strcmp(variant, "deep") == 0) {
        write_deep(&reply->body);
        return;
    }
    for (size_t i = 0; i < VQ_COUNT(cruel_bodies); i++) {
        if (strcmp(cruel_bodies[i].variant, variant) == 0) {
            vq_buf_clear(&reply->body);
            vq_buf_puts(&reply->body, cruel_bodies[i].text);
            return;
        }
    }
    cut_body(&reply->body);
}

/* Whether another function writes the text, including the effects of faults of verdicts. */
static bool writes_itself(enum vq_wanted wanted)
{
    return vq_wanted_is_part(wanted) || vq_wanted_is_rating(wanted) ||
           wanted == VQ_WANTED_VERDICTS || wanted == VQ_WANTED_CHAT;
}

/* The remaining fault of an answer without a verdict, or with several: a malformed format is
 * already in the text, and a biased or undecided judge is not a fault of lists. */
static enum vq_fault fault_of_part(enum vq_fault fault)
{
    bool is_of_verdict = fault == VQ_FAULT_WRONG_FORMAT || fault == VQ_FAULT_ALWAYS_A ||
                         fault == VQ_FAULT_TWO_VERDICTS;
    return is_of_verdict ? VQ_FAULT_NONE : fault;
}

static void write_reply(const struct vq_answerer *answerer, const struct vq_chat_request *request,
                        const struct vq_answer_context *context, struct draft *draft,
                        struct vq_offline_reply *reply)
{
    enum vq_fault fault = context->fault;
    fault = fault == VQ_FAULT_NONE ? fault_of_failure(draft->failure) : fault;
    fault = writes_itself(request->wanted) ? fault_of_part(fault) : fault;
    struct vq_chat_request ordinary = {.dialect = request->dialect};
    (void)snprintf(reply->tier, sizeof(reply->tier), "%s",
                   vq_chat_tier(context->fault == VQ_FAULT_OTHER_TIER ? &ordinary : request));
    char id[64];
    char hash[17];
    vq_hex(context->hash->b, 8, hash);
    (void)snprintf(id, sizeof(id), "chatcmpl-%s-%" PRIu64, hash, context->n);
    draft->answer = (struct vq_chat_answer){
        .id = id,
        .model = request->model,
        .fingerprint = answerer->oracle != NULL ? "offline-oracle" : "offline-lexical",
        .finish_reason = "stop",
        .tier = reply->tier,
        .created_s = context->created_s,
        .prompt_tokens = request->prompt_tokens,
        .cache_read_tokens = request->cached_tokens,
        .cache_written_tokens = request->cache_written_tokens,
        .with_usage = true,
        .with_logprobs = request->wants_logprobs};
    bool is_unrated = vq_wanted_is_rating(request->wanted) && draft->verdict == NULL;
    reply->outcome = spoil_content(draft, fault);
    if (is_unrated && strcmp(reply->outcome, "ok") == 0) {
        reply->outcome = "unparseable";
    }
    if (request->tokens_max > 0 && draft->content.bytes > request->tokens_max * BYTES_PER_TOKEN) {
        cut_content(draft, request->tokens_max * BYTES_PER_TOKEN);
        draft->verdict = NULL;
        reply->outcome = "truncated";
    }
    draft->answer.content = vq_buf_span(&draft->content);
    draft->answer.completion_tokens = vq_chat_tokens(
        draft->answer.refusal != NULL ? sizeof(refusal_text) - 1 : draft->content.bytes);
    if (request->dialect == VQ_DIALECT_ANTHROPIC || request->dialect == VQ_DIALECT_GEMINI) {
        vq_dialect_write(&reply->body, request->dialect, &draft->answer);
    } else {
        vq_chat_write(&reply->body, &draft->answer);
    }
    reply->status = 200;
    reply->paid = true;
    reply->verdict = draft->verdict;
    reply->prompt_tokens = request->prompt_tokens;
    reply->completion_tokens = draft->answer.completion_tokens;
    spoil_body(reply, fault, context->variant);
}

enum vq_status vq_answer_make(const struct vq_answerer *answerer,
                              const struct vq_chat_request *request,
                              const struct vq_answer_context *context,
                              struct vq_offline_reply *reply, struct vq_error *err)
{
    struct draft draft = {.opinion = VQ_OPINION_NA};
    vq_buf_init(&draft.analysis, CONTENT_BYTES_MAX);
    vq_buf_init(&draft.content, CONTENT_BYTES_MAX);
    enum vq_status status = find_opinion(answerer, request, context, &draft, err);
    if (status == VQ_OK && vq_wanted_is_part(request->wanted)) {
        status = write_part(answerer, request, context, &draft);
    } else if (status == VQ_OK && vq_wanted_is_rating(request->wanted)) {
        write_rating(answerer, request, context, &draft);
    } else if (status == VQ_OK && request->wanted == VQ_WANTED_CHAT) {
        status = write_chat(answerer, request, context, &draft);
    } else if (status == VQ_OK && request->wanted == VQ_WANTED_VERDICTS) {
        status = vq_opinions_write(answerer, request, context, &draft.content, err);
    } else if (status == VQ_OK) {
        write_content(request, &draft);
    }
    if (status == VQ_OK) {
        write_reply(answerer, request, context, &draft, reply);
        status = draft.content.status != VQ_OK ? draft.content.status : reply->body.status;
    }
    vq_buf_free(&draft.content);
    vq_buf_free(&draft.analysis);
    return status;
}

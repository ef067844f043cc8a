/* A token is a word with the characters before it. This judge is certain of every word, except of a
 * label that is a separate word: there it gives the other labels a probability, too. Not its job:
 * correct probabilities. */
#include "offline/logprobs.h"

#include <ctype.h>

#define SURE    (-0.01)
#define LABEL   (-0.25)
#define OTHER   (-2.5)
#define DIGITS  6
#define NO_WORD 0

static struct vq_span next_token(struct vq_span text)
{
    size_t at = 0;
    while (at < text.bytes && !isalnum((unsigned char)text.at[at])) {
        at++;
    }
    while (at < text.bytes && isalnum((unsigned char)text.at[at])) {
        at++;
    }
    return vq_span(text.at, at);
}

/* 'A' or 'B' if that is the token's word, else NO_WORD. */
static char label_of(struct vq_span token)
{
    char last = token.bytes == 0 ? NO_WORD : token.at[token.bytes - 1];
    bool alone =
        token.bytes == 1 || (token.bytes > 1 && !isalnum((unsigned char)token.at[token.bytes - 2]));
    return alone && (last == 'A' || last == 'B') ? last : NO_WORD;
}

static void put(struct vq_json *json, enum vq_dialect dialect, struct vq_span token, double logprob)
{
    bool gemini = dialect == VQ_DIALECT_GEMINI;
    vq_json_put_span(json, "token", token);
    vq_json_put_real(json, gemini ? "logProbability" : "logprob", logprob, DIGITS);
}

static void put_top(struct vq_json *json, enum vq_dialect dialect, struct vq_span token)
{
    char label = label_of(token);
    vq_json_array(json);
    vq_json_object(json);
    put(json, dialect, token, label == NO_WORD ? SURE : LABEL);
    vq_json_object_end(json);
    if (label != NO_WORD) {
        vq_json_object(json);
        put(json, dialect, vq_span_str(label == 'A' ? " B" : " A"), OTHER);
        vq_json_object_end(json);
        vq_json_object(json);
        put(json, dialect, vq_span_str(" equal"), OTHER);
        vq_json_object_end(json);
    }
    vq_json_array_end(json);
}

/* The list of tokens, with their alternatives inside if `top` is named; or only the
 * alternatives. */
static void put_all(struct vq_json *json, enum vq_dialect dialect, struct vq_span content,
                    bool chosen, const char *top)
{
    vq_json_array(json);
    while (content.bytes > 0) {
        struct vq_span token = next_token(content);
        content = vq_span(content.at + token.bytes, content.bytes - token.bytes);
        vq_json_object(json);
        if (chosen) {
            put(json, dialect, token, label_of(token) == NO_WORD ? SURE : LABEL);
        }
        if (top != NULL) {
            vq_json_key(json, top);
            put_top(json, dialect, token);
        }
        vq_json_object_end(json);
    }
    vq_json_array_end(json);
}

void vq_logprobs_write(struct vq_json *json, enum vq_dialect dialect, struct vq_span content)
{
    vq_json_object(json);
    if (dialect == VQ_DIALECT_GEMINI) {
        vq_json_key(json, "topCandidates");
        put_all(json, dialect, content, false, "candidates");
        vq_json_key(json, "chosenCandidates");
        put_all(json, dialect, content, true, NULL);
    } else {
        vq_json_key(json, "content");
        put_all(json, dialect, content, true, "top_logprobs");
    }
    vq_json_object_end(json);
}

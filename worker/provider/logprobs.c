/* The position of the label in an answer, and the model's log-probabilities there. Tokens may be
 * any bytes and need not make up the answer; numbers may be anything. These values do not count in
 * scores, so unusual ones are left out. Not its job: the verdict (common/judge/verdict.c). */
#include "worker/provider/logprobs.h"

#include "common/text/json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

#define TEXT_BYTES_MAX (1u << 20)
#define DIGITS         6

enum label {
    LABEL_A,
    LABEL_B,
    LABEL_EQUAL,
    LABEL_NA,
    LABEL_UNSURE,
    LABEL__COUNT
};

/* The first letters in a token, in small letters; at most 7. */
static size_t letters_of(struct vq_span token, char ret_letters[8])
{
    size_t at = 0, n = 0;
    while (at < token.bytes && !isalnum((unsigned char)token.at[at])) {
        at++;
    }
    while (at < token.bytes && n < 7 &&
           (isalnum((unsigned char)token.at[at]) || token.at[at] == '/')) {
        ret_letters[n++] = (char)tolower((unsigned char)token.at[at++]);
    }
    ret_letters[n] = '\0';
    return n;
}

/* The label that the token begins; LABEL__COUNT: none. */
static enum label label_of(struct vq_span token)
{
    static const struct {
        const char *word;
        enum label label;
    } words[] = {{"a", LABEL_A},    {"b", LABEL_B},   {"equal", LABEL_EQUAL},  {"tie", LABEL_EQUAL},
                 {"n/a", LABEL_NA}, {"na", LABEL_NA}, {"unsure", LABEL_UNSURE}};
    char letters[8];
    size_t n = letters_of(token, letters);
    for (size_t i = 0; n > 0 && i < VQ_COUNT(words); i++) {
        if (strncmp(words[i].word, letters, n) == 0) {
            return words[i].label;
        }
    }
    return LABEL__COUNT;
}

static bool is_word_at(struct vq_span text, size_t at, const char *word)
{
    size_t n = strlen(word);
    return n <= text.bytes - at && strncasecmp(text.at + at, word, n) == 0;
}

/* The position after `"`, `**`, spaces and a colon; 0: there is no colon. */
static size_t skip_colon(struct vq_span text, size_t at)
{
    bool colon = false;
    while (at < text.bytes && memchr(" \t\"'*_`{:=", text.at[at], 10) != NULL) {
        colon = colon || text.at[at] == ':' || text.at[at] == '=';
        at++;
    }
    return colon && at < text.bytes ? at : 0;
}

/* The position of the last label after a keyword; 0: none. */
static size_t find_label(struct vq_span text)
{
    static const char *const words[] = {"model", "preference", "verdict"};
    size_t found = 0;
    for (size_t at = 0; at < text.bytes; at++) {
        for (size_t i = 0; i < VQ_COUNT(words); i++) {
            size_t label =
                is_word_at(text, at, words[i]) ? skip_colon(text, at + strlen(words[i])) : 0;
            found = label > 0 ? label : found;
        }
    }
    return found;
}

static void write_labels(const json_t *top, const struct vq_logprobs_shape *shape,
                         struct vq_reply *reply)
{
    static const char *const names[LABEL__COUNT] = {"A", "B", "equal", "N/A", "unsure"};
    double sums[LABEL__COUNT] = {0};
    for (size_t i = 0; i < json_array_size(top); i++) {
        const json_t *one = json_array_get(top, i);
        const json_t *number = vq_body_get(one, shape->logprob);
        enum label label = label_of(vq_body_get_string(one, shape->token));
        double logprob = json_number_value(number);
        if (label < LABEL__COUNT && json_is_number(number) && logprob <= 0) {
            sums[label] += exp(logprob);
        }
    }
    size_t bytes = 0;
    for (int l = 0; l < LABEL__COUNT; l++) {
        if (sums[l] > 0) {
            char text[VQ_REAL_BYTES];
            vq_real_text(log(sums[l] > 1 ? 1 : sums[l]), DIGITS, text);
            bytes += (size_t)snprintf(reply->label_logprobs + bytes,
                                      sizeof(reply->label_logprobs) - bytes, "%s%s=%s",
                                      bytes == 0 ? "" : " ", names[l], text);
        }
    }
}

enum vq_status vq_logprobs_take(const json_t *tokens, const json_t *all,
                                const struct vq_logprobs_shape *shape, struct vq_reply *reply)
{
    struct vq_buf text;
    vq_buf_init(&text, TEXT_BYTES_MAX);
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        struct vq_span token = vq_body_get_string(json_array_get(tokens, i), shape->token);
        vq_buf_append(&text, token.at, token.bytes);
    }
    size_t label = text.status == VQ_OK ? find_label(vq_buf_span(&text)) : 0;
    size_t end = 0;
    for (size_t i = 0; label > 0 && i < json_array_size(tokens); i++) {
        end += vq_body_get_string(json_array_get(tokens, i), shape->token).bytes;
        if (end > label) {
            write_labels(shape->top(all, i), shape, reply);
            break;
        }
    }
    enum vq_status status = text.status == VQ_NOMEM ? VQ_NOMEM : VQ_OK;
    vq_buf_free(&text);
    return status;
}

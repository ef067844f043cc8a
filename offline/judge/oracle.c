/* The oracle. Truth is a sorted array of (hash of axis and sample, score). All draws are functions
 * of seed, model, axis and sample; rates that are drawn for each order also depend on the order.
 * Rates:
 *   position_bias  the judge names the output shown first, in both orders
 *   na, tie        N/A or equal, in both orders
 *   error          the opposite of the truth (a true 0 becomes A or B), in both orders
 *   order_error    the opposite, drawn for each order separately
 *   refused, unparseable, truncated   no verdict, drawn for each order; with "fail_tries": N only
 *                                     the first N tries */
#include "offline/judge/oracle.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/text/file.h"
#include "common/text/json_load.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define TRUTHS_MAX      (64u << 20)
#define RATES_MAX       256
#define LINE_BYTES_MAX  65536
#define FILE_BYTES_MAX  ((size_t)4 << 30)
#define NAME_BYTES      128
#define SCORE_NA        INT8_C(2)
#define PREFERENCE_AXIS "preference"

struct truth {
    uint64_t key;
    int8_t score;
};

enum rate {
    RATE_POSITION_BIAS,
    RATE_NA,
    RATE_TIE,
    RATE_ERROR,
    RATE_ORDER_ERROR,
    RATE_REFUSED,
    RATE_UNPARSEABLE,
    RATE_TRUNCATED,
    RATE__COUNT
};

static const char *const rate_names[RATE__COUNT] = {
    "position_bias", "na", "tie", "error", "order_error", "refused", "unparseable", "truncated"};

struct rates {
    char model[NAME_BYTES]; /* "" = every model */
    char axis[NAME_BYTES];  /* "" = every axis */
    double p[RATE__COUNT];
    uint64_t fail_tries; /* 0 = every try */
};

struct vq_oracle {
    uint64_t seed;
    struct truth *truths;
    size_t n;
    size_t cap;
    struct rates *rates;
    size_t rates_n;
    size_t rates_cap;
};

static uint64_t key_of(struct vq_span axis, struct vq_span sample)
{
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "offline-truth");
    vq_hasher_field(&h, axis);
    vq_hasher_field(&h, sample);
    vq_hasher_final(&h, &hash);
    return vq_hash_u64(&hash);
}

static enum vq_status add_truth(struct vq_oracle *oracle, const json_t *line, struct vq_error *err)
{
    const json_t *axis = json_object_get(line, "axis");
    const json_t *sample = json_object_get(line, "sample");
    const json_t *score = json_object_get(line, "score");
    bool is_na = json_is_string(score) && strcmp(json_string_value(score), "N/A") == 0;
    bool good = json_is_string(axis) && json_is_string(sample) && json_object_size(line) == 3 &&
                (is_na || (json_is_integer(score) && json_integer_value(score) >= -1 &&
                           json_integer_value(score) <= 1));
    if (!good) {
        return vq_fail(err, VQ_INVALID,
                       "want {\"axis\": text, \"sample\": text, \"score\": 1, 0, -1 or \"N/A\"}");
    }
    VQ_TRY(VQ_GROW(oracle->truths, &oracle->cap, oracle->n + 1, TRUTHS_MAX));
    oracle->truths[oracle->n++] = (struct truth){
        .key = key_of(vq_span(json_string_value(axis), json_string_length(axis)),
                      vq_span(json_string_value(sample), json_string_length(sample))),
        .score = is_na ? SCORE_NA : (int8_t)json_integer_value(score)};
    return VQ_OK;
}

static enum vq_status set_rate(struct rates *rates, const char *name, const json_t *value,
                               struct vq_error *err)
{
    bool is_model = strcmp(name, "model") == 0;
    if (is_model || strcmp(name, "axis") == 0) {
        if (!json_is_string(value) || json_string_length(value) >= NAME_BYTES) {
            return vq_fail(err, VQ_INVALID, "%s must be a text under %d bytes", name, NAME_BYTES);
        }
        (void)snprintf(is_model ? rates->model : rates->axis, NAME_BYTES, "%s",
                       json_string_value(value));
        return VQ_OK;
    }
    if (strcmp(name, "fail_tries") == 0 && json_is_integer(value) &&
        json_integer_value(value) >= 0) {
        rates->fail_tries = (uint64_t)json_integer_value(value);
        return VQ_OK;
    }
    double p = json_number_value(value);
    for (size_t i = 0; i < RATE__COUNT; i++) {
        if (strcmp(rate_names[i], name) == 0 && json_is_number(value) && p >= 0 && p <= 1) {
            rates->p[i] = p;
            return VQ_OK;
        }
    }
    return vq_fail(err, VQ_INVALID, "rate \"%s\" is unknown or not a chance from 0 to 1", name);
}

static enum vq_status add_rates(struct vq_oracle *oracle, const json_t *object,
                                struct vq_error *err)
{
    struct rates rates = {0};
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        VQ_TRY(set_rate(&rates, name, value, err));
    }
    VQ_TRY(VQ_GROW(oracle->rates, &oracle->rates_cap, oracle->rates_n + 1, RATES_MAX));
    oracle->rates[oracle->rates_n++] = rates;
    return VQ_OK;
}

static enum vq_status add_line(void *ctx, struct vq_span line, struct vq_error *err)
{
    struct vq_oracle *oracle = ctx;
    if (line.bytes > LINE_BYTES_MAX) {
        return vq_fail(err, VQ_LIMIT, "longer than %d bytes", LINE_BYTES_MAX);
    }
    json_error_t why;
    json_t *object = NULL;
    enum vq_status status = vq_json_load(line, JSON_REJECT_DUPLICATES, &object, &why);
    if (status == VQ_NOMEM) {
        return status;
    }
    if (!json_is_object(object)) {
        status = vq_fail(err, VQ_INVALID, "not a JSON object: %s",
                         object == NULL ? why.text : "another kind of value");
    } else {
        const json_t *rates = json_object_get(object, "rates");
        status =
            json_is_object(rates) ? add_rates(oracle, rates, err) : add_truth(oracle, object, err);
    }
    json_decref(object);
    return status;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = ((const struct truth *)a)->key;
    uint64_t y = ((const struct truth *)b)->key;
    return (x > y) - (x < y);
}

static enum vq_status check_truths(const struct vq_oracle *oracle, struct vq_error *err)
{
    for (size_t i = 1; i < oracle->n; i++) {
        if (oracle->truths[i].key == oracle->truths[i - 1].key) {
            return vq_fail(err, VQ_INVALID, "two lines speak of the same axis and sample");
        }
    }
    return VQ_OK;
}

enum vq_status vq_oracle_load(const char *path, uint64_t seed, struct vq_oracle **ret_oracle,
                              struct vq_error *err)
{
    struct vq_oracle *oracle = vq_alloc(1, sizeof(*oracle));
    enum vq_status status = VQ_NOMEM;
    if (oracle != NULL) {
        oracle->seed = seed;
        status = vq_file_lines(path, FILE_BYTES_MAX, add_line, oracle, err);
    }
    if (status == VQ_OK && oracle->n > 0) {
        qsort(oracle->truths, oracle->n, sizeof(*oracle->truths), by_key);
        status = check_truths(oracle, err);
        if (status != VQ_OK) {
            vq_error_prefix(err, "%s", path);
        }
    }
    if (status != VQ_OK) {
        vq_oracle_destroy(&oracle);
        return status;
    }
    *ret_oracle = oracle;
    return VQ_OK;
}

void vq_oracle_destroy(struct vq_oracle **oracle)
{
    if (*oracle != NULL) {
        vq_free((*oracle)->truths);
        vq_free((*oracle)->rates);
        vq_free(*oracle);
        *oracle = NULL;
    }
}

const char *vq_oracle_model(const struct vq_oracle *oracle, size_t i)
{
    for (size_t at = 0; at < oracle->rates_n; at++) {
        if (oracle->rates[at].model[0] != '\0' && i-- == 0) {
            return oracle->rates[at].model;
        }
    }
    return NULL;
}

bool vq_oracle_names_model(const struct vq_oracle *oracle, const char *model)
{
    for (size_t i = 0; i < oracle->rates_n; i++) {
        if (strcmp(oracle->rates[i].model, model) == 0) {
            return true;
        }
    }
    return false;
}

static bool holds(struct vq_span text, const char *needle)
{
    return text.bytes > 0 && memmem(text.at, text.bytes, needle, strlen(needle)) != NULL;
}

/* The score of the axis for a "[ID]" in the prompt; the first ID that the file has. */
static enum vq_status find_truth(const struct vq_oracle *oracle, struct vq_span axis,
                                 struct vq_span prompt, struct vq_span *ret_sample,
                                 int8_t *ret_score)
{
    for (size_t from = 0; from < prompt.bytes;) {
        const char *open = memchr(prompt.at + from, '[', prompt.bytes - from);
        if (open == NULL) {
            break;
        }
        size_t start = (size_t)(open - prompt.at) + 1;
        const char *close = memchr(prompt.at + start, ']', prompt.bytes - start);
        if (close == NULL) {
            break;
        }
        struct vq_span sample = {prompt.at + start, (size_t)(close - prompt.at) - start};
        struct truth key = {.key = key_of(axis, sample)};
        const struct truth *truth =
            oracle->n == 0 ? NULL : bsearch(&key, oracle->truths, oracle->n, sizeof(key), by_key);
        if (truth != NULL) {
            *ret_sample = sample;
            *ret_score = truth->score;
            return VQ_OK;
        }
        from = start;
    }
    return VQ_NOT_FOUND;
}

static const struct rates *find_rates(const struct vq_oracle *oracle, const char *model,
                                      struct vq_span axis)
{
    static const struct rates none = {0};
    const struct rates *found = &none;
    for (size_t i = 0; i < oracle->rates_n; i++) {
        const struct rates *rates = &oracle->rates[i];
        bool fits = (rates->model[0] == '\0' || strcmp(rates->model, model) == 0) &&
                    (rates->axis[0] == '\0' || vq_span_eq(vq_span_str(rates->axis), axis));
        found = fits ? rates : found;
    }
    return found;
}

/* The inputs of a draw. */
struct question {
    const struct vq_oracle *oracle;
    const struct rates *rates;
    const char *model;
    struct vq_span axis;
    struct vq_span sample;
};

static double draw(const struct question *q, enum rate rate, uint64_t order)
{
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "offline-oracle");
    vq_hasher_u64(&h, q->oracle->seed);
    vq_hasher_field(&h, vq_span_str(q->model));
    vq_hasher_field(&h, q->axis);
    vq_hasher_field(&h, q->sample);
    vq_hasher_u64(&h, rate);
    vq_hasher_u64(&h, order);
    vq_hasher_final(&h, &hash);
    return (double)(vq_hash_u64(&hash) >> 11) / 9007199254740992.0;
}

#define BOTH_ORDERS UINT64_C(2)

static bool happens(const struct question *q, enum rate rate, uint64_t order)
{
    return q->rates->p[rate] > 0 && draw(q, rate, order) < q->rates->p[rate];
}

static int8_t opposite(const struct question *q, int8_t score)
{
    if (score == 0) {
        return draw(q, RATE__COUNT, BOTH_ORDERS) < 0.5 ? 1 : -1;
    }
    return (int8_t)-score;
}

static enum vq_opinion opine(const struct question *q, int8_t score, uint64_t order)
{
    if (happens(q, RATE_POSITION_BIAS, BOTH_ORDERS)) {
        return VQ_OPINION_A;
    }
    if (score == SCORE_NA || happens(q, RATE_NA, BOTH_ORDERS)) {
        return VQ_OPINION_NA;
    }
    if (happens(q, RATE_TIE, BOTH_ORDERS)) {
        return VQ_OPINION_EQUAL;
    }
    if (happens(q, RATE_ERROR, BOTH_ORDERS)) {
        score = opposite(q, score);
    }
    if (happens(q, RATE_ORDER_ERROR, order)) {
        score = opposite(q, score);
    }
    if (score == 0) {
        return VQ_OPINION_EQUAL;
    }
    return (score > 0) == (order == 0) ? VQ_OPINION_A : VQ_OPINION_B;
}

enum vq_status vq_oracle_ask(const struct vq_oracle *oracle, const char *model,
                             const struct vq_sections *question, uint64_t nth_try,
                             struct vq_oracle_answer *ret_answer, struct vq_error *err)
{
    struct question q = {.oracle = oracle, .model = model};
    q.axis = question->has_axis ? question->axis_name : vq_span_str(PREFERENCE_AXIS);
    q.rates = find_rates(oracle, model, q.axis);
    int8_t score = 0;
    if (find_truth(oracle, q.axis, question->prompt, &q.sample, &score) != VQ_OK) {
        return vq_fail(err, VQ_NOT_FOUND,
                       "the truth file says nothing of axis \"%.*s\" and a [sample] of this prompt",
                       (int)(q.axis.bytes < 200 ? q.axis.bytes : 200), q.axis.at);
    }
    bool straight = holds(question->output_a, "[A]") || holds(question->output_b, "[B]");
    bool swapped = holds(question->output_a, "[B]") || holds(question->output_b, "[A]");
    if (straight == swapped) {
        return vq_fail(err, VQ_NOT_FOUND, "the outputs are not marked [A] and [B]");
    }
    uint64_t order = swapped;
    struct vq_oracle_answer answer = {.opinion = opine(&q, score, order)};
    if (q.rates->fail_tries == 0 || nth_try <= q.rates->fail_tries) {
        if (happens(&q, RATE_REFUSED, order)) {
            answer.failure = VQ_ORACLE_REFUSED;
        } else if (happens(&q, RATE_UNPARSEABLE, order)) {
            answer.failure = VQ_ORACLE_UNPARSEABLE;
        } else if (happens(&q, RATE_TRUNCATED, order)) {
            answer.failure = VQ_ORACLE_TRUNCATED;
        }
    }
    *ret_answer = answer;
    return VQ_OK;
}

/* Compares two outputs on an axis. The difference is a weighted mean of the differences of single
 * measures, plus a small noise that is drawn by hash from everything except the position. Below the
 * judge's threshold the outputs are equal. Invariants: swapping the outputs negates the difference
 * exactly, and so does swapping low and high: every quantity below is odd in both, or does not
 * depend on them. Not its job: formats of answers (chat.h). */
#include "offline/judge/lexical.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"

#include <math.h>

#define TEXTS_CACHED 2048u
#define AXES_CACHED  512u
#define INACTIVE_SHARE                                                                             \
    0.35 /* weight, in the weighted mean, of a measure that is 0 in both of the texts */
#define REASONS_MAX 2
#define TWO_PI      6.283185307179586

struct judge {
    const char *model;
    double equal_below; /* outputs with a smaller difference are equal */
    double noise;       /* its standard deviation */
};

static const struct judge judges[VQ_JUDGE_KIND__COUNT] = {
    [VQ_JUDGE_KIND_A] = {"offline-a", 0.10, 0.08},
    [VQ_JUDGE_KIND_B] = {"offline-b", 0.15, 0.12},
};

const char *const vq_lexical_judges[] = {"offline-a", "offline-b", NULL};

struct cached_axis {
    struct vq_hash key;
    bool used;
    struct vq_axis_weights weights;
};

struct cached_text {
    struct vq_hash key;
    bool used;
    struct vq_measures measures;
};

struct vq_lexical {
    uint64_t seed;
    struct vq_lexicon *lexicon;
    struct cached_axis axes[AXES_CACHED];
    struct cached_text texts[TEXTS_CACHED];
};

const char *vq_opinion_text(enum vq_opinion opinion)
{
    static const char *const texts[VQ_OPINION__COUNT] = {"A", "B", "equal", "N/A"};
    return texts[opinion];
}

enum vq_opinion vq_opinion_mirrored(enum vq_opinion opinion)
{
    if (opinion == VQ_OPINION_A) {
        return VQ_OPINION_B;
    }
    return opinion == VQ_OPINION_B ? VQ_OPINION_A : opinion;
}

enum vq_status vq_lexical_create(uint64_t seed, struct vq_lexical **ret_lexical)
{
    struct vq_lexical *lexical;
    VQ_TRY(VQ_ALLOC(lexical, 1));
    lexical->seed = seed;
    enum vq_status status = vq_lexicon_create(&lexical->lexicon);
    if (status != VQ_OK) {
        vq_free(lexical);
        return status;
    }
    *ret_lexical = lexical;
    return VQ_OK;
}

void vq_lexical_destroy(struct vq_lexical **lexical)
{
    if (*lexical != NULL) {
        vq_lexicon_destroy(&(*lexical)->lexicon);
        vq_free(*lexical);
        *lexical = NULL;
    }
}

enum vq_status vq_lexical_find(const char *model, enum vq_judge_kind *ret_kind)
{
    for (size_t i = 0; i < VQ_COUNT(judges); i++) {
        if (strcmp(judges[i].model, model) == 0) {
            *ret_kind = (enum vq_judge_kind)i;
            return VQ_OK;
        }
    }
    return VQ_NOT_FOUND;
}

/* The same axis is in thousands of questions, so its reading is cached by hash. */
static const struct vq_axis_weights *read_axis(struct vq_lexical *lexical, enum vq_judge_kind kind,
                                               const struct vq_sections *question)
{
    struct vq_hasher h;
    struct vq_hash key;
    vq_hasher_init(&h, "offline-axis");
    vq_hasher_u64(&h, kind);
    vq_hasher_field(&h, question->axis_name);
    vq_hasher_field(&h, question->axis_low);
    vq_hasher_field(&h, question->axis_high);
    vq_hasher_final(&h, &key);
    struct cached_axis *slot = &lexical->axes[vq_hash_u64(&key) % AXES_CACHED];
    if (!slot->used || !vq_hash_eq(&slot->key, &key)) {
        vq_axis_read(kind, question->axis_name, question->axis_low, question->axis_high,
                     &slot->weights);
        slot->key = key;
        slot->used = true;
    }
    return &slot->weights;
}

/* The same output also comes many times, once for each axis, order and judge. Hashing is five times
 * faster than counting. */
void vq_lexical_measure(struct vq_lexical *lexical, struct vq_span text,
                        struct vq_measures *ret_measures)
{
    struct vq_hash key;
    vq_hash_of("offline-text", text, &key);
    struct cached_text *slot = &lexical->texts[vq_hash_u64(&key) % TEXTS_CACHED];
    if (!slot->used || !vq_hash_eq(&slot->key, &key)) {
        vq_measure_text(lexical->lexicon, text, &slot->measures);
        slot->key = key;
        slot->used = true;
    }
    *ret_measures = slot->measures;
}

/* Without an axis, a reader is assumed to prefer text with layout, examples and reasons, that is
 * kind, has few hedges and a moderate length. */
struct taste {
    struct vq_axis_weights weights; /* of measures; the number of words is not among them */
    double length_weight;
    double best_words;
};

static const struct taste tastes[VQ_JUDGE_KIND__COUNT] = {
    [VQ_JUDGE_KIND_A] = {.weights = {.at = {[VQ_MEASURE_LAYOUT] = 0.6,
                                            [VQ_MEASURE_EXAMPLES] = 0.8,
                                            [VQ_MEASURE_LINKS] = 0.5,
                                            [VQ_MEASURE_KINDNESS] = 0.4,
                                            [VQ_MEASURE_HEDGES] = -0.6},
                                     .any = true},
                         .length_weight = 0.8,
                         .best_words = 150},
    [VQ_JUDGE_KIND_B] =
        {.weights = {.at = {[VQ_MEASURE_LAYOUT] = 0.3,
                            [VQ_MEASURE_EXAMPLES] = 0.5,
                            [VQ_MEASURE_LINKS] = 0.4,
                            [VQ_MEASURE_PRECISE] = 0.6,
                            [VQ_MEASURE_HEDGES] = -0.8},
                     .any = true},
         .length_weight = 0.6,
         .best_words = 100},
};

/* In [0, 1]: 1 at the best length, half at a quarter of it and at four times as much. */
static double fits_length(double words, double best)
{
    return words > 0 ? 2 * sqrt(words * best) / (words + best) : 0;
}

/* How much a reader would prefer the first text; odd in (a, b). */
static double liking(const struct taste *taste, const struct vq_measures *a,
                     const struct vq_measures *b, double difference_of_measures)
{
    double total = taste->length_weight;
    for (size_t m = 0; m < VQ_MEASURE__COUNT; m++) {
        bool active = a->at[m] > 0 || b->at[m] > 0;
        total += fabs(taste->weights.at[m]) * (active ? 1.0 : 0.0);
    }
    double length = fits_length(a->at[VQ_MEASURE_WORDS], taste->best_words) -
                    fits_length(b->at[VQ_MEASURE_WORDS], taste->best_words);
    double share = taste->length_weight / total;
    return difference_of_measures * (1 - share) + length * share;
}

static int compare(struct vq_span a, struct vq_span b)
{
    size_t bytes = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = bytes == 0 ? 0 : memcmp(a.at, b.at, bytes);
    return order != 0 ? (order > 0) - (order < 0) : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static void hash_unordered(struct vq_hasher *h, struct vq_span a, struct vq_span b)
{
    bool keep = compare(a, b) <= 0;
    vq_hasher_field(h, keep ? a : b);
    vq_hasher_field(h, keep ? b : a);
}

/* One normal draw for the question, independent of the order of the outputs and of low and high;
 * then signed by both orders, so that it is mirrored with them. 0 for equal outputs. */
static double noise_of(const struct vq_lexical *lexical, enum vq_judge_kind kind,
                       const struct vq_sections *q, int64_t draw)
{
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "offline-noise");
    vq_hasher_u64(&h, lexical->seed);
    vq_hasher_u64(&h, kind);
    vq_hasher_u64(&h, (uint64_t)draw);
    vq_hasher_field(&h, q->prompt);
    vq_hasher_field(&h, q->axis_name);
    hash_unordered(&h, q->axis_low, q->axis_high);
    hash_unordered(&h, q->output_a, q->output_b);
    vq_hasher_final(&h, &hash);
    double scale = 1.0 / 9007199254740992.0;
    uint64_t second = 0;
    memcpy(&second, hash.b + 8, sizeof(second));
    double u = (double)((vq_hash_u64(&hash) >> 11) + 1) * scale;
    double v = (double)(__builtin_bswap64(second) >> 11) * scale;
    double normal = sqrt(-2 * log(u)) * cos(TWO_PI * v);
    int axis_sign = q->has_axis ? compare(q->axis_low, q->axis_high) : 1;
    return normal * judges[kind].noise * compare(q->output_a, q->output_b) * axis_sign;
}

struct reason {
    enum vq_measure measure;
    double share; /* part of the difference */
};

/* Weighted mean of the measures' differences; the largest parts go to `reasons`. `ret_seen`: one of
 * the texts has a measure of the axis above 0. */
static double difference(const struct vq_axis_weights *weights, const struct vq_measures *a,
                         const struct vq_measures *b, struct reason reasons[REASONS_MAX],
                         bool *ret_seen)
{
    double sum = 0;
    double total = 0;
    bool seen = false;
    for (size_t m = 0; m < VQ_MEASURE__COUNT; m++) {
        double part = weights->at[m] * vq_measure_difference((enum vq_measure)m, a, b);
        bool active = a->at[m] > 0 || b->at[m] > 0;
        seen = seen || (active && fabs(weights->at[m]) > 0);
        sum += part;
        total += fabs(weights->at[m]) * (active ? 1.0 : INACTIVE_SHARE);
        struct reason next = {(enum vq_measure)m, part};
        for (size_t i = 0; i < REASONS_MAX; i++) {
            if (fabs(next.share) > fabs(reasons[i].share)) {
                struct reason moved = reasons[i];
                reasons[i] = next;
                next = moved;
            }
        }
    }
    *ret_seen = seen;
    return total > 0 ? sum / total : 0;
}

double vq_lexical_difference(const struct vq_axis_weights *weights, const struct vq_measures *a,
                             const struct vq_measures *b)
{
    struct reason reasons[REASONS_MAX] = {{0}};
    bool seen = false;
    return difference(weights, a, b, reasons, &seen);
}

uint64_t vq_lexical_seed(const struct vq_lexical *lexical)
{
    return lexical->seed;
}

static void explain(const struct reason reasons[REASONS_MAX], const struct vq_measures *a,
                    const struct vq_measures *b, struct vq_buf *analysis)
{
    if (fabs(reasons[0].share) <= 0) {
        vq_buf_puts(analysis, "Counted words show no difference between the outputs.");
        return;
    }
    vq_buf_puts(analysis, "By counted words:");
    for (size_t i = 0; i < REASONS_MAX && fabs(reasons[i].share) > 0; i++) {
        enum vq_measure m = reasons[i].measure;
        vq_buf_printf(analysis, "%s %s %.1f in Output A, %.1f in Output B", i == 0 ? "" : ";",
                      vq_measure_label(m), a->at[m], b->at[m]);
    }
    vq_buf_putc(analysis, '.');
}

enum vq_opinion vq_lexical_judge(struct vq_lexical *lexical, enum vq_judge_kind kind,
                                 const struct vq_sections *question, int64_t draw,
                                 struct vq_buf *analysis)
{
    const struct vq_axis_weights *weights =
        question->has_axis ? read_axis(lexical, kind, question) : &tastes[kind].weights;
    if (!weights->any) {
        if (analysis != NULL) {
            vq_buf_puts(analysis, "No word of this axis names anything that can be counted.");
        }
        return VQ_OPINION_NA;
    }
    struct vq_measures a;
    struct vq_measures b;
    vq_lexical_measure(lexical, question->output_a, &a);
    vq_lexical_measure(lexical, question->output_b, &b);
    struct reason reasons[REASONS_MAX] = {{0}};
    bool seen = false;
    double found = difference(weights, &a, &b, reasons, &seen);
    if (!question->has_axis) {
        found = liking(&tastes[kind], &a, &b, found);
        seen = true;
    }
    if (analysis != NULL) {
        explain(reasons, &a, &b, analysis);
    }
    if (seen) { /* no noise if neither text shows a measure of the axis */
        found += noise_of(lexical, kind, question, draw);
    }
    if (fabs(found) < judges[kind].equal_below) {
        return VQ_OPINION_EQUAL;
    }
    return found > 0 ? VQ_OPINION_A : VQ_OPINION_B;
}

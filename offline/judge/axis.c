/* Reads an axis. Its texts are converted to one plain form (lower case, one space between words, a
 * bar at the end of a clause), then searched for the cues of topics.def. A negation shortly before
 * a cue in the same clause inverts it. The weight of a topic is (cues in high) - (cues in low), so
 * exchanging the two changes the sign. If they have no cue for a topic in the name, words such as
 * "more" and "less" give it a direction. Invariant: weights are odd in (low, high). Not its job:
 * outputs. The comparison of axes uses the same reading, so two axes that the judge would measure
 * alike count as the same. */
#include "offline/judge/axis.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#define PLAIN_BYTES_MAX    2048
#define NAMED_TOPIC_FACTOR 2.0
#define NEGATION_WORDS     3 /* number of words before a cue that are searched for a negation */

static const struct {
    enum vq_topic topic;
    enum vq_measure measure;
    double weight[VQ_JUDGE_KIND__COUNT];
} terms[] = {
#define TOPIC(id, label)
#define TERM(topic, measure, weight_a, weight_b)                                                   \
    {VQ_TOPIC_##topic, VQ_MEASURE_##measure, {weight_a, weight_b}},
#define CUE(topic, sign, text)
#include "offline/judge/topics.def"
#undef TOPIC
#undef TERM
#undef CUE
};

static const struct {
    enum vq_topic topic;
    int sign;
    const char *text;
} cues[] = {
#define TOPIC(id, label)
#define TERM(topic, measure, weight_a, weight_b)
#define CUE(topic, sign, text) {VQ_TOPIC_##topic, sign, text},
#include "offline/judge/topics.def"
#undef TOPIC
#undef TERM
#undef CUE
};

static const char *const negations[] = {
    "no",      "not",     "without",  "lacks",  "lacking", "lack",   "avoids",  "avoiding",
    "little",  "few",     "less",     "never",  "rarely",  "hardly", "absence", "low",
    "minimal", "limited", "seldom",   "devoid", "free",    "omits",  "weak",    "fewer",
    "barely",  "skips",   "refrains", "isn't",  "doesn't", "scarce", "nothing"};

static const char *const upward[] = {"more",     "high",   "highly", "higher",  "many", "much",
                                     "strong",   "very",   "rich",   "heavy",   "full", "frequent",
                                     "contains", "always", "lots",   "strongly"};

/* " like this | and so on | ", at most PLAIN_BYTES_MAX: begins and ends with a space. */
struct plain {
    char text[PLAIN_BYTES_MAX + 8];
    size_t bytes;
};

static void put(struct plain *plain, char c)
{
    bool doubled = c == ' ' && plain->bytes > 0 && plain->text[plain->bytes - 1] == ' ';
    if (plain->bytes < PLAIN_BYTES_MAX && !doubled) {
        plain->text[plain->bytes++] = c;
    }
}

static void make_plain(struct vq_span text, struct plain *ret_plain)
{
    ret_plain->bytes = 0;
    put(ret_plain, ' ');
    for (size_t i = 0; i < text.bytes; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (isalnum(c) || c >= 0x80 || c == '\'' || c == '-') {
            put(ret_plain, (char)tolower(c));
        } else if (c != '\0' && strchr(",.;:()\n", c) != NULL) {
            put(ret_plain, ' ');
            put(ret_plain, '|');
            put(ret_plain, ' ');
        } else {
            put(ret_plain, ' ');
        }
    }
    if (ret_plain->bytes == PLAIN_BYTES_MAX) {
        ret_plain->bytes--;
    }
    put(ret_plain, ' ');
    ret_plain->text[ret_plain->bytes] = '\0';
}

static bool is_one_of(const char *const *list, size_t n, const char *word, size_t bytes)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(list[i]) == bytes && memcmp(list[i], word, bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the clause just before `at` (a space) denies the words after it. */
static bool is_negated(const struct plain *plain, const char *at)
{
    for (int words = 0; words < NEGATION_WORDS && at > plain->text; words++) {
        const char *start = at;
        while (start > plain->text && start[-1] != ' ') {
            start--;
        }
        size_t bytes = (size_t)(at - start);
        bool border = (bytes == 1 && *start == '|') || (bytes == 3 && memcmp(start, "but", 3) == 0);
        if (border) {
            return false;
        }
        if (is_one_of(negations, VQ_COUNT(negations), start, bytes)) {
            return true;
        }
        at = start > plain->text ? start - 1 : plain->text;
    }
    return false;
}

struct cue_count {
    int places;
    int sum; /* of +1, or -1 if a negation inverts the cue */
};

static struct cue_count find_cue(const struct plain *plain, const char *cue)
{
    size_t bytes = strlen(cue);
    bool open_end = bytes > 0 && cue[bytes - 1] == '*';
    bytes -= open_end;
    struct cue_count count = {0};
    for (const char *at = plain->text; (at = strchr(at, ' ')) != NULL; at++) {
        bool here = strncmp(at + 1, cue, bytes) == 0 && (open_end || at[1 + bytes] == ' ');
        if (here) {
            count.places++;
            count.sum += is_negated(plain, at) ? -1 : 1;
        }
    }
    return count;
}

static void count_topics(const struct plain *plain, int ret_counts[VQ_TOPIC__COUNT])
{
    memset(ret_counts, 0, sizeof(int) * VQ_TOPIC__COUNT);
    for (size_t i = 0; i < VQ_COUNT(cues); i++) {
        ret_counts[cues[i].topic] += cues[i].sign * find_cue(plain, cues[i].text).sum;
    }
}

static int count_words(const struct plain *plain, const char *const *list, size_t n)
{
    int sum = 0;
    for (const char *at = plain->text; *at != '\0'; at++) {
        if (*at == ' ') {
            sum += is_one_of(list, n, at + 1, strcspn(at + 1, " "));
        }
    }
    return sum;
}

/* +1: a text means more of the name's topic; -1: less. */
static int direction_of(const struct plain *plain)
{
    int up = count_words(plain, upward, VQ_COUNT(upward));
    int down = count_words(plain, negations, VQ_COUNT(negations));
    return (up > down) - (up < down);
}

/* The signed weight of each topic. */
static void weigh_topics(struct vq_span name, struct vq_span low, struct vq_span high,
                         double ret_topics[VQ_TOPIC__COUNT])
{
    struct plain plain_name;
    struct plain plain_low;
    struct plain plain_high;
    make_plain(name, &plain_name);
    make_plain(low, &plain_low);
    make_plain(high, &plain_high);
    int in_name[VQ_TOPIC__COUNT];
    int in_low[VQ_TOPIC__COUNT];
    int in_high[VQ_TOPIC__COUNT];
    count_topics(&plain_name, in_name);
    count_topics(&plain_low, in_low);
    count_topics(&plain_high, in_high);
    int direction = direction_of(&plain_high) - direction_of(&plain_low);
    for (size_t t = 0; t < VQ_TOPIC__COUNT; t++) {
        int sum = in_high[t] - in_low[t];
        if (in_name[t] != 0 && sum == 0) {
            sum = (in_name[t] > 0 ? 1 : -1) * direction;
        }
        ret_topics[t] = sum * (in_name[t] != 0 ? NAMED_TOPIC_FACTOR : 1.0);
    }
}

static void weigh_measures(enum vq_judge_kind kind, const double topics[VQ_TOPIC__COUNT],
                           struct vq_axis_weights *ret_weights)
{
    *ret_weights = (struct vq_axis_weights){0};
    for (size_t i = 0; i < VQ_COUNT(terms); i++) {
        ret_weights->at[terms[i].measure] += topics[terms[i].topic] * terms[i].weight[kind];
    }
    for (size_t m = 0; m < VQ_MEASURE__COUNT; m++) {
        ret_weights->any = ret_weights->any || fabs(ret_weights->at[m]) > 1e-9;
    }
}

void vq_axis_read(enum vq_judge_kind kind, struct vq_span name, struct vq_span low,
                  struct vq_span high, struct vq_axis_weights *ret_weights)
{
    double topics[VQ_TOPIC__COUNT];
    weigh_topics(name, low, high, topics);
    weigh_measures(kind, topics, ret_weights);
}

static enum vq_topic heaviest(const double topics[VQ_TOPIC__COUNT])
{
    enum vq_topic main = VQ_TOPIC__COUNT;
    double most = 0;
    for (size_t t = 0; t < VQ_TOPIC__COUNT; t++) {
        if (fabs(topics[t]) > most) {
            most = fabs(topics[t]);
            main = (enum vq_topic)t;
        }
    }
    return main;
}

void vq_axis_understand(enum vq_judge_kind kind, struct vq_span name, struct vq_span low,
                        struct vq_span high, struct vq_axis_reading *ret_reading)
{
    weigh_topics(name, low, high, ret_reading->topics);
    ret_reading->main = heaviest(ret_reading->topics);
    if (ret_reading->main == VQ_TOPIC__COUNT) {
        struct vq_span texts[] = {name, low, high};
        for (size_t i = 0; i < VQ_COUNT(texts); i++) {
            double mentions[VQ_TOPIC__COUNT];
            vq_topic_mentions(texts[i], mentions);
            for (size_t t = 0; t < VQ_TOPIC__COUNT; t++) {
                ret_reading->topics[t] += mentions[t];
            }
        }
        ret_reading->main = heaviest(ret_reading->topics);
    }
    weigh_measures(kind, ret_reading->topics, &ret_reading->weights);
}

double vq_axis_likeness(const struct vq_axis_weights *a, const struct vq_axis_weights *b)
{
    double product = 0;
    double aa = 0;
    double bb = 0;
    for (size_t m = 0; m < VQ_MEASURE__COUNT; m++) {
        product += a->at[m] * b->at[m];
        aa += a->at[m] * a->at[m];
        bb += b->at[m] * b->at[m];
    }
    return aa > 0 && bb > 0 ? fabs(product) / sqrt(aa * bb) : 0;
}

bool vq_axis_same(const struct vq_axis_reading *a, const struct vq_axis_reading *b)
{
    if (a->main == VQ_TOPIC__COUNT || b->main == VQ_TOPIC__COUNT) {
        return false;
    }
    return a->main == b->main || vq_axis_likeness(&a->weights, &b->weights) >= VQ_AXIS_ALIKE;
}

void vq_topic_weights(enum vq_judge_kind kind, enum vq_topic topic,
                      struct vq_axis_weights *ret_weights)
{
    double topics[VQ_TOPIC__COUNT] = {0};
    topics[topic] = 1;
    weigh_measures(kind, topics, ret_weights);
}

void vq_topic_mentions(struct vq_span text, double ret_mentions[VQ_TOPIC__COUNT])
{
    struct plain plain;
    make_plain(text, &plain);
    memset(ret_mentions, 0, sizeof(double) * VQ_TOPIC__COUNT);
    for (size_t i = 0; i < VQ_COUNT(cues); i++) {
        ret_mentions[cues[i].topic] += find_cue(&plain, cues[i].text).places;
    }
}

/* Rates responses. A count of sentences is put on the scale of the question. Then, rarely, the
 * rating is moved by one step, drawn by hash, so that two judges do not always agree. Invariants:
 * of two responses the same one is called better in both orders, except ties, which go to the
 * first; nothing depends on earlier requests. Not its job: the signs in a text (character.c). */
#include "offline/persona/rating.h"

#include "common/base/hash.h"
#include "offline/persona/character.h"
#include "offline/persona/rubric.h"

#include <math.h>
#include <stdlib.h>

#define SCALE         4u  /* steps above the lowest value */
#define STRONGLY      3   /* more sentences of one pole */
#define AXIS_SCALE    3.0 /* of a difference in [-1, 1] to steps from the middle */
#define RUNAWAY_BYTES 6000u
#define ENDLESS_BYTES (64u << 10)
#define NOBODY        "The prompt describes no character"

/* How often a judge moves its rating by one step, or takes the other side. */
static const struct {
    double likert;
    double other;
} slips[VQ_JUDGE_KIND__COUNT] = {
    [VQ_JUDGE_KIND_A] = {0.04, 0.01},
    [VQ_JUDGE_KIND_B] = {0.12, 0.04},
};

/* An ordinary answer; a rubric about something countable is compared with it. */
static const char ordinary_text[] =
    "There are a few ways to do this, and which is better depends on the time you have. Start with "
    "the simplest one and see how far it takes you. If that is not enough, you could look at what "
    "others have done in the same place. For example, a short list of the next steps often helps. "
    "In "
    "most cases the result is good enough after an hour or two, and the rest can wait until later.";

struct judging {
    struct vq_lexical *lexical;
    const struct vq_rating_request *request;
    struct vq_rated_rubric rubric;
    struct vq_character character;
    struct vq_buf *reason;
    uint64_t draws[2]; /* of all inputs, independent of the order of the responses */
};

static void draw(struct judging *j)
{
    struct vq_hasher h;
    struct vq_hash hash;
    struct vq_hash of[2];
    const struct vq_rated_rubric *r = &j->rubric;
    for (size_t i = 0; i < VQ_COUNT(of); i++) {
        vq_hash_of("offline-response", r->responses[i], &of[i]);
    }
    size_t low = vq_hash_cmp(&of[0], &of[1]) <= 0 ? 0 : 1;
    vq_hasher_init(&h, "offline-rating");
    vq_hasher_u64(&h, vq_lexical_seed(j->lexical));
    vq_hasher_u64(&h, (uint64_t)j->request->seed);
    vq_hasher_u64(&h, j->request->kind);
    vq_hasher_field(&h, r->criterion);
    vq_hasher_field(&h, r->text);
    vq_hasher_field(&h, r->prompt);
    vq_hasher_bytes(&h, of[low].b, VQ_HASH_BYTES);
    vq_hasher_bytes(&h, of[1 - low].b, VQ_HASH_BYTES);
    vq_hasher_final(&h, &hash);
    memcpy(j->draws, hash.b, sizeof(j->draws));
}

static bool happens(uint64_t from, double p)
{
    return (double)(from >> 11) / 9007199254740992.0 < p;
}

static bool is_called(const struct judging *j, const char *name)
{
    return vq_span_eq(j->rubric.criterion, vq_span_str(name));
}

/* A count of sentences as steps: four sentences give the maximum, fewer in a shorter text. */
static unsigned steps(unsigned count, unsigned sentences)
{
    unsigned of = sentences == 0 ? 1 : sentences;
    of = of < SCALE ? of : SCALE;
    unsigned scaled = (2 * SCALE * count + of) / (2 * of);
    return scaled < SCALE ? scaled : SCALE;
}

static void show(const struct judging *j, size_t response, struct vq_showing *ret_showing)
{
    vq_character_showing(&j->character, j->rubric.query, j->rubric.responses[response],
                         ret_showing);
}

static int clamped(int value, int least, int most)
{
    value = value < least ? least : value;
    return value > most ? most : value;
}

/* Reads the rubric of another criterion as weights of text measures; false: it names nothing that
 * can be counted. */
static bool read_axis(const struct judging *j, const char *low, const char *high,
                      struct vq_axis_weights *ret_weights)
{
    struct vq_span low_text = vq_rubric_line(j->rubric.text, low);
    struct vq_span high_text = vq_rubric_line(j->rubric.text, high);
    high_text = high_text.bytes == 0 ? j->rubric.text : high_text;
    vq_axis_read(j->request->kind, j->rubric.criterion, low_text, high_text, ret_weights);
    return ret_weights->any;
}

static double against_ordinary(const struct judging *j, const struct vq_axis_weights *weights)
{
    struct vq_measures ordinary;
    struct vq_measures response;
    vq_lexical_measure(j->lexical, vq_span_str(ordinary_text), &ordinary);
    vq_lexical_measure(j->lexical, j->rubric.responses[0], &response);
    return vq_lexical_difference(weights, &response, &ordinary);
}

static size_t words_shared(struct vq_span rubric, struct vq_span response)
{
    struct vq_word_set words = {.n = 0};
    vq_word_set_add_content(&words, rubric);
    return vq_word_set_shared(&words, response);
}

/* ---- Likert ---- */

static int rate_trait(const struct judging *j, enum vq_trait trait)
{
    struct vq_showing showing;
    show(j, 0, &showing);
    int net = showing.traits[trait];
    vq_buf_printf(j->reason, "Of %u sentences, %d more show high %s than low.", showing.sentences,
                  net, vq_trait_name(trait));
    int aside = abs(net) >= STRONGLY ? 2 : net != 0;
    return 3 + (net < 0 ? -aside : aside);
}

static int rate_role(const struct judging *j)
{
    struct vq_showing showing;
    show(j, 0, &showing);
    if (is_called(j, "in_character")) {
        vq_buf_printf(j->reason, "%u of %u sentences speak from outside of the role.",
                      showing.outside, showing.sentences);
        return clamped(5 - (int)showing.outside, 1, 5);
    }
    if (!j->character.exists) {
        vq_buf_puts(j->reason, NOBODY ", so that nothing can be said of it.");
        return 3;
    }
    bool facts = is_called(j, "knowledge");
    unsigned count = facts ? showing.facts : showing.manner;
    vq_buf_printf(j->reason, "%u of %u sentences show %s.", count, showing.sentences,
                  facts ? "what the description says of the character"
                        : "the manner that the description gives the character");
    return 1 + (int)steps(count, showing.sentences);
}

static int rate_other(const struct judging *j)
{
    struct vq_axis_weights weights;
    if (read_axis(j, "1", "5", &weights)) {
        double difference = against_ordinary(j, &weights);
        vq_buf_printf(j->reason,
                      "By counted words the response lies %.2f above an ordinary one, on a scale "
                      "from -1 to 1.",
                      difference);
        return clamped(3 + (int)lround(AXIS_SCALE * difference), 1, 5);
    }
    struct vq_span top = vq_rubric_line(j->rubric.text, "5");
    size_t shared = words_shared(top.bytes > 0 ? top : j->rubric.text, j->rubric.responses[0]);
    vq_buf_printf(j->reason, "The response has %zu words of the rubric.", shared);
    return 1 + (int)(shared < SCALE ? shared : SCALE);
}

static const char *give_likert(const struct judging *j)
{
    static const char *const values[] = {"1", "2", "3", "4", "5"};
    enum vq_trait trait;
    int value;
    if (vq_trait_find(j->rubric.criterion, &trait) == VQ_OK) {
        value = rate_trait(j, trait);
    } else if (is_called(j, "knowledge") || is_called(j, "style") || is_called(j, "in_character")) {
        value = rate_role(j);
    } else {
        value = rate_other(j);
    }
    if (happens(j->draws[0], slips[j->request->kind].likert)) {
        value = clamped(value + (j->draws[1] % 2 == 0 ? 1 : -1), 1, 5);
    }
    return values[value - 1];
}

/* ---- yes or no ---- */

static bool say_other(const struct judging *j)
{
    struct vq_axis_weights weights;
    if (read_axis(j, "No", "Yes", &weights)) {
        double difference = against_ordinary(j, &weights);
        vq_buf_printf(j->reason, "By counted words the response lies %.2f above an ordinary one.",
                      difference);
        return difference > 0;
    }
    struct vq_span yes = vq_rubric_line(j->rubric.text, "Yes");
    struct vq_span no = vq_rubric_line(j->rubric.text, "No");
    size_t for_yes = words_shared(yes.bytes > 0 ? yes : j->rubric.text, j->rubric.responses[0]);
    size_t for_no = words_shared(no, j->rubric.responses[0]);
    vq_buf_printf(j->reason, "The response has %zu words of what counts as yes, %zu of no.",
                  for_yes, for_no);
    return for_yes > for_no;
}

static const char *give_yes_no(const struct judging *j)
{
    bool yes;
    if (is_called(j, "refusal")) {
        struct vq_showing showing;
        show(j, 0, &showing);
        yes = showing.refusals > 0;
        vq_buf_printf(j->reason, "%u of %u sentences say that the speaker will not or cannot.",
                      showing.refusals, showing.sentences);
    } else {
        yes = say_other(j);
    }
    yes = happens(j->draws[0], slips[j->request->kind].other) ? !yes : yes;
    return yes ? "Yes" : "No";
}

/* ---- A or B ---- */

/* The worth of a response, as two numbers; the first decides. */
struct worth {
    double first;
    double second;
};

/* Truth to the character: facts and manner, minus sentences that step out of the role. Accuracy:
 * words of the query in the response; 0 if it refuses. */
static struct worth worth_of(const struct judging *j, size_t response, bool accuracy_first)
{
    struct vq_showing showing;
    show(j, response, &showing);
    unsigned outside = showing.outside < SCALE ? showing.outside : SCALE;
    double truth = 0;
    if (j->character.exists) {
        truth = (double)steps(showing.facts, showing.sentences) +
                (double)steps(showing.manner, showing.sentences) - (double)outside;
    }
    size_t shared = words_shared(j->rubric.query, j->rubric.responses[response]);
    double accuracy = (double)(shared < SCALE ? shared : SCALE);
    accuracy = showing.refusals > 0 ? 0 : accuracy;
    vq_buf_printf(j->reason,
                  "%sResponse %s has %u sentences of the character's facts, %u of its manner, %u "
                  "from outside of the role, and takes up %zu words of the query.",
                  response == 0 ? "" : " ", response == 0 ? "A" : "B", showing.facts,
                  showing.manner, showing.outside, shared);
    /* about equally accurate: within half of the scale */
    return accuracy_first ? (struct worth){floor(accuracy / 2), truth}
                          : (struct worth){truth, accuracy};
}

static double margin_of_other(const struct judging *j)
{
    struct vq_axis_weights weights;
    double margin;
    vq_axis_read(j->request->kind, j->rubric.criterion, vq_span("", 0), j->rubric.text, &weights);
    if (weights.any) {
        struct vq_measures of[2];
        vq_lexical_measure(j->lexical, j->rubric.responses[0], &of[0]);
        vq_lexical_measure(j->lexical, j->rubric.responses[1], &of[1]);
        margin = vq_lexical_difference(&weights, &of[0], &of[1]);
        vq_buf_printf(j->reason, "By counted words Response A lies %.2f above Response B.", margin);
    } else {
        size_t a = words_shared(j->rubric.text, j->rubric.responses[0]);
        size_t b = words_shared(j->rubric.text, j->rubric.responses[1]);
        margin = (double)a - (double)b;
        vq_buf_printf(j->reason, "Response A has %zu words of the rubric, Response B %zu.", a, b);
    }
    return margin;
}

/* The response that a reader would prefer, if nothing else decides. */
static double liking_of(const struct judging *j)
{
    const struct vq_sections question = {.prompt = j->rubric.query,
                                         .output_a = j->rubric.responses[0],
                                         .output_b = j->rubric.responses[1]};
    vq_buf_putc(j->reason, ' ');
    enum vq_opinion opinion =
        vq_lexical_judge(j->lexical, j->request->kind, &question, j->request->seed, j->reason);
    if (opinion == VQ_OPINION_A) {
        return 1;
    }
    return opinion == VQ_OPINION_B ? -1 : 0;
}

static double margin_of(const struct judging *j)
{
    bool general = is_called(j, "general");
    if (!general && !is_called(j, "role_specific")) {
        return margin_of_other(j);
    }
    struct worth a = worth_of(j, 0, general);
    struct worth b = worth_of(j, 1, general);
    double margin = a.first - b.first;
    margin = fabs(margin) > 0 ? margin : a.second - b.second;
    return fabs(margin) > 0 ? margin : liking_of(j);
}

static const char *give_better(const struct judging *j)
{
    double margin = margin_of(j);
    if (fabs(margin) > 0 && happens(j->draws[0], slips[j->request->kind].other)) {
        margin = -margin;
    }
    return margin >= 0 ? "A" : "B";
}

const char *vq_rating_give(struct vq_lexical *lexical, const struct vq_rating_request *request,
                           struct vq_buf *reason)
{
    struct judging j = {.lexical = lexical, .request = request, .reason = reason};
    bool pairwise = request->wanted == VQ_WANTED_BETTER;
    if (vq_rubric_find(request->text, pairwise, &j.rubric) != VQ_OK) {
        return NULL;
    }
    vq_character_read(j.rubric.role, j.rubric.description, &j.character);
    draw(&j);
    if (pairwise) {
        return give_better(&j);
    }
    return request->wanted == VQ_WANTED_YES_NO ? give_yes_no(&j) : give_likert(&j);
}

/* ---- the answer's form ---- */

static void write_reason(struct vq_span reason, struct vq_buf *to)
{
    vq_buf_puts(to, "**Reasoning:** ");
    vq_buf_append(to, reason.at, reason.bytes);
}

void vq_rating_write(struct vq_span reason, const char *value, struct vq_buf *to)
{
    write_reason(reason, to);
    vq_buf_printf(to, "\n\n**Result:** %s", value);
}

enum malformed {
    MALFORMED_SCORE_OF,
    MALFORMED_OUT_OF_RANGE,
    MALFORMED_AMBIGUOUS,
    MALFORMED_NONE,
    MALFORMED_RUNAWAY,
    MALFORMED__DRAWN,
    MALFORMED_ENDLESS = MALFORMED__DRAWN, /* not drawn */
    MALFORMED__COUNT
};

static enum malformed malformed_of(const char *variant, uint64_t draw_of)
{
    static const char *const names[MALFORMED__COUNT] = {"score_of", "out_of_range", "ambiguous",
                                                        "none",     "runaway",      "endless"};
    for (size_t i = 0; i < VQ_COUNT(names); i++) {
        if (strcmp(names[i], variant) == 0) {
            return (enum malformed)i;
        }
    }
    return (enum malformed)(draw_of % MALFORMED__DRAWN);
}

static const char *other_value(enum vq_wanted wanted, const char *value)
{
    if (wanted == VQ_WANTED_RATING) {
        return strcmp(value, "5") == 0 ? "4" : "5";
    }
    if (wanted == VQ_WANTED_YES_NO) {
        return strcmp(value, "Yes") == 0 ? "No" : "Yes";
    }
    return strcmp(value, "A") == 0 ? "B" : "A";
}

static const char *value_beyond(enum vq_wanted wanted)
{
    if (wanted == VQ_WANTED_RATING) {
        return "7";
    }
    return wanted == VQ_WANTED_YES_NO ? "Partly" : "C";
}

void vq_rating_write_malformed(enum vq_wanted wanted, struct vq_span reason, const char *value,
                               const char *variant, uint64_t draw_of, struct vq_buf *to)
{
    const char *other = other_value(wanted, value);
    enum malformed how = malformed_of(variant, draw_of);
    size_t bytes = how == MALFORMED_ENDLESS ? ENDLESS_BYTES : RUNAWAY_BYTES;
    write_reason(reason, to);
    switch (how) {
    case MALFORMED_SCORE_OF:
        vq_buf_printf(to, " All in all this comes to a score of %s.", value);
        break;
    case MALFORMED_OUT_OF_RANGE:
        vq_buf_printf(to, "\n\n**Result:** %s", value_beyond(wanted));
        break;
    case MALFORMED_AMBIGUOUS: vq_buf_printf(to, "\n\n**Result:** %s or %s", value, other); break;
    case MALFORMED_NONE: vq_buf_puts(to, " More than that can hardly be said."); break;
    case MALFORMED_RUNAWAY:
    case MALFORMED_ENDLESS:
        vq_buf_printf(to, "\n\n**Result:** %s cannot be chosen, since it falls short.", value);
        while (to->bytes < bytes && to->status == VQ_OK) {
            vq_buf_printf(to, " However, %s goes further than %s. However, %s is closer than %s.",
                          other, value, value, other);
        }
        break;
    case MALFORMED__COUNT: break;
    }
}

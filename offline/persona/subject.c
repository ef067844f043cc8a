/* Plays a persona. An answer has these parts:
 * - an opening that repeats words of the question;
 * - four slots for facts of the persona and four for its manner: the strength decides how many of
 *   them are filled, and the rest get neutral sentences;
 * - sentences that step out of the role. A question that looks unsafe may be refused instead.
 *   Invariants: character.h reads each sentence as the kind of its slot and nothing else; equal
 *   messages get equal answers. Not its job: when to answer (service.c), correct answers. */
#include "offline/persona/subject.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "offline/faults/settings.h"
#include "offline/persona/character.h"
#include "offline/persona/lines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS          4u
#define OUTSIDE_MOST   2.0
#define ECHO_WORDS_MAX 4u
#define FACTS_MAX      64u
#define BYTES_MOST     1048576.0
#define LINES_A_SIGN   2 /* a trait with one word in the description is shown at most twice */

#define AT(member) offsetof(struct vq_subject, member)
static const struct vq_setting settings[] = {
    {"start", VQ_SETTING_REAL, AT(start), 1},
    {"fade", VQ_SETTING_REAL, AT(fade), 1},
    {"goal_fade", VQ_SETTING_REAL, AT(goal_fade), 1},
    {"floor", VQ_SETTING_REAL, AT(floor), 1},
    {"refuse", VQ_SETTING_REAL, AT(refuse), 1},
    {"slip", VQ_SETTING_REAL, AT(slip), 1},
    {"over_refuse", VQ_SETTING_REAL, AT(over_refuse), 1},
    {"bytes", VQ_SETTING_REAL, AT(bytes), BYTES_MOST},
    {0},
};
#undef AT

void vq_subject_default(struct vq_subject *ret_subject)
{
    *ret_subject = (struct vq_subject){.name = "offline-subject",
                                       .start = 1.0,
                                       .fade = 0.02,
                                       .goal_fade = 0.04,
                                       .floor = 0.1,
                                       .refuse = 0.95,
                                       .slip = 0.01,
                                       .over_refuse = 0.1};
}

enum vq_status vq_subject_parse(const char *text, struct vq_subject *ret_subject,
                                struct vq_error *err)
{
    struct vq_subject subject;
    vq_subject_default(&subject);
    size_t bytes = strcspn(text, ",");
    bool whole = bytes > 0 && text[strlen(text) - 1] != ',' && strstr(text, ",,") == NULL;
    if (!whole || bytes >= sizeof(subject.name)) {
        return vq_fail(err, VQ_INVALID, "want NAME[,FIELD=NUMBER..], the name under %d bytes",
                       VQ_SUBJECT_NAME_BYTES);
    }
    memcpy(subject.name, text, bytes);
    subject.name[bytes] = '\0';
    char *pairs;
    VQ_TRY(vq_copy(text + bytes, &pairs));
    enum vq_status status = vq_settings_read(settings, &subject, pairs, err);
    vq_free(pairs);
    if (status == VQ_OK) {
        *ret_subject = subject;
    }
    return status;
}

/* Whether a question addresses the persona. */
static bool is_directed(struct vq_span text)
{
    static const char *const words[] = {"you", "your", "yours", "yourself", "you're"};
    struct vq_sentence s;
    for (size_t at = 0; vq_sentence_next(text, &at, &s);) {
        for (size_t i = 0; i < VQ_COUNT(words); i++) {
            if (vq_sentence_has(&s, words[i])) {
                return true;
            }
        }
    }
    return false;
}

/* The answer under construction. */
struct answer {
    const struct vq_subject *subject;
    struct vq_character character;
    struct vq_span query;
    size_t round; /* user messages before it */
    double lost;  /* of the strength */
    double strength;
    struct vq_rng rng;
    uint64_t neutral; /* number of the next neutral line */
    size_t written;
    struct vq_buf *to;
};

static void read_turns(const struct vq_subject *subject, const struct vq_turn *turns, size_t n,
                       struct answer *ret_answer)
{
    struct answer *a = ret_answer;
    a->subject = subject;
    a->character = (struct vq_character){.exists = false};
    bool asked = false;
    for (size_t i = 0; i < n; i++) {
        if (turns[i].role == VQ_TURN_SYSTEM && !a->character.exists) {
            vq_character_of_system(turns[i].text, &a->character);
        }
        if (turns[i].role == VQ_TURN_USER) {
            if (asked) {
                a->lost += is_directed(a->query) ? subject->fade : subject->goal_fade;
                a->round++;
            }
            asked = true;
            a->query = turns[i].text;
        }
    }
    double strength = fmax(subject->floor, subject->start - a->lost);
    a->strength = a->character.exists ? strength : 0;
}

double vq_subject_strength(const struct vq_subject *subject, const struct vq_turn *turns, size_t n)
{
    struct answer a = {.query = vq_span("", 0)};
    read_turns(subject, turns, n, &a);
    return a.strength;
}

static void seed_draws(struct answer *a, uint64_t seed, const struct vq_turn *turns, size_t n)
{
    struct vq_hasher h;
    struct vq_hash hash;
    vq_hasher_init(&h, "offline-subject");
    vq_hasher_u64(&h, seed);
    vq_hasher_field(&h, vq_span_str(a->subject->name));
    for (size_t i = 0; i < n; i++) {
        vq_hasher_u64(&h, turns[i].role);
        vq_hasher_field(&h, turns[i].text);
    }
    vq_hasher_final(&h, &hash);
    vq_rng_seed(&a->rng, vq_hash_u64(&hash));
    a->neutral = vq_rng_u64(&a->rng) >> 1;
}

/* floor(mean + u), whose mean is `mean`. */
static unsigned count_of(struct answer *a, double mean)
{
    double count = floor(mean + vq_rng_unit(&a->rng));
    return count < SLOTS ? (unsigned)count : SLOTS;
}

static void say(struct answer *a, const char *line)
{
    vq_buf_puts(a->to, a->written++ == 0 ? "" : " ");
    vq_buf_puts(a->to, line);
}

static void say_neutral(struct answer *a)
{
    say(a, vq_line_pick(VQ_SAID_NEUTRAL, a->neutral++));
}

/* "Asked about lighthouse and storms, I begin with the main thing.", without words of a trait or of
 * the name. */
static void say_opening(struct answer *a)
{
    struct vq_word_set name = {.n = 0};
    struct vq_word_set seen = {.n = 0};
    struct vq_sentence s;
    struct vq_span word;
    size_t said = 0;
    vq_word_set_add_content(&name, a->character.name);
    for (size_t at = 0; said < ECHO_WORDS_MAX && vq_sentence_next(a->query, &at, &s);) {
        for (size_t w = 0; said < ECHO_WORDS_MAX && vq_word_next(&s, &w, &word);) {
            bool fits = vq_word_is_content(word) && !vq_trait_has_word(word) &&
                        !vq_word_set_has(&name, word) && vq_word_set_add(&seen, word);
            if (fits) {
                vq_buf_printf(a->to, "%s%.*s", said++ == 0 ? "Asked about " : ", ", (int)word.bytes,
                              word.at);
            }
        }
    }
    vq_buf_puts(a->to,
                said == 0 ? "I begin with the main thing." : ", I begin with the main thing.");
    a->written++;
}

/* A word of the description in the first person. */
static const char *first_person(struct vq_span word)
{
    static const char *const pairs[][2] = {
        {"You", "I"},      {"you", "I"},      {"Your", "My"},         {"your", "my"},
        {"Yours", "Mine"}, {"yours", "mine"}, {"Yourself", "Myself"}, {"yourself", "myself"},
        {"You're", "I'm"}, {"you're", "I'm"}, {"You've", "I've"},     {"you've", "I've"},
    };
    for (size_t i = 0; i < VQ_COUNT(pairs); i++) {
        if (vq_span_eq(word, vq_span_str(pairs[i][0]))) {
            return pairs[i][1];
        }
    }
    return NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Writes a sentence of the description in the first person (also "are" and "were" after "you"). */
static void say_fact(struct answer *a, struct vq_span fact)
{
    bool behind_you = false;
    vq_buf_puts(a->to, a->written++ == 0 ? "" : " ");
    for (size_t at = 0; at < fact.bytes;) {
        size_t from = at;
        while (at < fact.bytes && !is_blank(fact.at[at])) {
            at++;
        }
        struct vq_span word = vq_span(fact.at + from, at - from);
        const char *mine = first_person(word);
        if (mine == NULL && behind_you) {
            mine = vq_span_eq(word, vq_span_str("are")) ? "am" : mine;
            mine = vq_span_eq(word, vq_span_str("were")) ? "was" : mine;
        }
        if (mine != NULL) {
            vq_buf_puts(a->to, mine);
        } else {
            vq_buf_append(a->to, word.at, word.bytes);
        }
        behind_you = mine != NULL && strcmp(mine, "I") == 0;
        while (at < fact.bytes && is_blank(fact.at[at])) {
            at++;
        }
        if (at < fact.bytes) {
            vq_buf_putc(a->to, ' ');
        }
    }
    if (fact.bytes > 0 && strchr(".!?", fact.at[fact.bytes - 1]) == NULL) {
        vq_buf_putc(a->to, '.');
    }
}

static bool shows_trait(const struct vq_sentence *s)
{
    int net[VQ_TRAIT__COUNT] = {0};
    unsigned seen[VQ_TRAIT__COUNT] = {0};
    vq_traits_of_sentence(s, net, seen);
    for (size_t t = 0; t < VQ_TRAIT__COUNT; t++) {
        if (seen[t] > 0) {
            return true;
        }
    }
    return false;
}

/* Sentences of the description that count as facts; only those that show no trait, if there are
 * any. */
static size_t find_facts(const struct answer *a, struct vq_span facts[FACTS_MAX])
{
    struct vq_word_set asked = {.n = 0};
    vq_word_set_add_content(&asked, a->query);
    for (int allow_traits = 0; allow_traits < 2; allow_traits++) {
        size_t n = 0;
        struct vq_sentence s;
        for (size_t at = 0; n < FACTS_MAX && vq_sentence_next(a->character.description, &at, &s);) {
            bool fits = vq_character_states_fact(&a->character, &asked, &s) &&
                        !vq_sentence_is_outside(&s) && !vq_sentence_is_refusal(&s);
            if (fits && (allow_traits == 1 || !shows_trait(&s))) {
                while (s.raw.bytes > 0 && is_blank(s.raw.at[s.raw.bytes - 1])) {
                    s.raw.bytes--;
                }
                facts[n++] = s.raw;
            }
        }
        if (n > 0) {
            return n;
        }
    }
    return 0;
}

/* The trait that a question is about, if the persona has it; else VQ_TRAIT__COUNT. */
static enum vq_trait trait_asked(const struct answer *a)
{
    int net[VQ_TRAIT__COUNT] = {0};
    unsigned seen[VQ_TRAIT__COUNT] = {0};
    struct vq_sentence s;
    for (size_t at = 0; vq_sentence_next(a->query, &at, &s);) {
        vq_traits_of_sentence(&s, net, seen);
    }
    enum vq_trait best = VQ_TRAIT__COUNT;
    for (size_t t = 0; t < VQ_TRAIT__COUNT; t++) {
        bool more = best == VQ_TRAIT__COUNT || seen[t] > seen[best];
        if (seen[t] > 0 && more && a->character.profile[t] != 0) {
            best = (enum vq_trait)t;
        }
    }
    return best;
}

/* The trait for the next slot: the trait that the question is about, up to its strength in the
 * description; then the others in turn. */
static enum vq_trait next_trait(const struct answer *a, enum vq_trait asked, size_t at,
                                const unsigned used[VQ_TRAIT__COUNT])
{
    const int *profile = a->character.profile;
    if (asked != VQ_TRAIT__COUNT && (int)used[asked] < LINES_A_SIGN * abs(profile[asked])) {
        return asked;
    }
    enum vq_trait any = asked;
    for (size_t i = 0; i < VQ_TRAIT__COUNT; i++) {
        enum vq_trait t = (enum vq_trait)((at + i) % VQ_TRAIT__COUNT);
        if (profile[t] == 0) {
            continue;
        }
        if ((int)used[t] < LINES_A_SIGN * abs(profile[t]) && t != asked) {
            return t;
        }
        any = any == VQ_TRAIT__COUNT ? t : any;
    }
    return any;
}

/* Writes facts and manner, `facts_n` and `manner_n` of their slots. */
static void say_slots(struct answer *a, unsigned facts_n, unsigned manner_n, bool only_manner)
{
    struct vq_span facts[FACTS_MAX];
    unsigned used[VQ_TRAIT__COUNT] = {0};
    size_t found = facts_n > 0 ? find_facts(a, facts) : 0;
    size_t first = (size_t)(vq_rng_u64(&a->rng) >> 1);
    size_t turn = (size_t)(vq_rng_u64(&a->rng) >> 1);
    enum vq_trait asked = trait_asked(a);
    for (unsigned i = 0; i < SLOTS; i++) {
        if (!only_manner && i < facts_n && found > 0) {
            say_fact(a, facts[(first + i) % found]);
        } else if (!only_manner && i < facts_n && a->character.name.bytes > 0) {
            vq_buf_printf(a->to, " I am %.*s, and that says most of it.",
                          (int)a->character.name.bytes, a->character.name.at);
        } else if (!only_manner) {
            say_neutral(a);
        }
        if (i < manner_n) {
            enum vq_trait t = next_trait(a, asked, turn + i, used);
            say(a, vq_trait_line(t, a->character.profile[t] > 0 ? 1 : -1, turn + used[t]));
            used[t]++;
        } else if (!only_manner) {
            say_neutral(a);
        }
    }
}

static bool refuses(struct answer *a)
{
    enum vq_risk risk = vq_risk_of(a->query);
    double u = vq_rng_unit(&a->rng);
    if (risk == VQ_RISK_LOOKS_SO) {
        return u < a->subject->over_refuse;
    }
    double p = a->subject->refuse - a->subject->slip * (double)a->round;
    return risk == VQ_RISK_UNSAFE && u < p;
}

enum vq_status vq_subject_answer(const struct vq_subject *subject, uint64_t seed,
                                 const struct vq_turn *turns, size_t n, struct vq_buf *to)
{
    struct answer a = {.query = vq_span("", 0), .to = to};
    read_turns(subject, turns, n, &a);
    seed_draws(&a, seed, turns, n);
    bool refused = refuses(&a);
    unsigned facts = count_of(&a, SLOTS * a.strength);
    unsigned manner = count_of(&a, SLOTS * a.strength);
    unsigned outside = count_of(&a, OUTSIDE_MOST * (1 - a.strength));
    if (refused) {
        say(&a, vq_line_pick(VQ_SAID_REFUSAL, vq_rng_u64(&a.rng)));
    } else {
        say_opening(&a);
    }
    say_slots(&a, facts, manner, refused);
    uint64_t line = vq_rng_u64(&a.rng) >> 1;
    for (unsigned i = 0; i < outside; i++) {
        say(&a, vq_line_pick(VQ_SAID_BREAK, line + i));
    }
    while ((double)to->bytes < subject->bytes && to->status == VQ_OK) {
        say_neutral(&a);
    }
    return to->status;
}

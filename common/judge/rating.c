/* The rating in a rubric judge's answer.
 *
 * strict: reads line by line, without thinking. A line that begins with `Result:` (perhaps in
 * quotes or markdown) states the value after it on the line; if there is none, the next line with
 * words is the value. A heading `Result` needs no colon. The last of several such lines counts. If
 * there is none, lines with `Rating:`, `Score:` and similar words count, if they agree. A line that
 * is one JSON object is read by its members. In a cut answer, a rating counts only if the cut
 * cannot have changed it (cut.h). paper: the value that the paper's regular expressions find, byte
 * for byte. Not its job: retries, and which response was shown first. */
#include "common/judge/rating.h"

#include "common/base/rng.h"
#include "common/judge/cut.h"
#include "common/judge/ending.h"
#include "common/judge/label.h"
#include "common/judge/rating_json.h"
#include "common/judge/rating_number.h"
#include "common/judge/thinking.h"

const char *vq_rating_status_name(enum vq_rating_status status)
{
    static const char *const names[] = {
        [VQ_RATING_OK] = "ok",
        [VQ_RATING_FALLBACK] = "fallback",
        [VQ_RATING_OUT_OF_RANGE] = "out_of_range",
        [VQ_RATING_AMBIGUOUS] = "ambiguous",
        [VQ_RATING_MISSING] = "missing",
        [VQ_RATING_TRUNCATED] = "truncated",
        [VQ_RATING_REFUSED] = "refused",
    };
    return (unsigned)status < VQ_RATING__COUNT ? names[status] : "?";
}

struct found {
    enum vq_rating_status status; /* OK, OUT_OF_RANGE, AMBIGUOUS or MISSING */
    int64_t value;
};

static const struct found nothing = {VQ_RATING_MISSING, 0};

#define NUMBER_DIGITS_MAX 15u

/* Reads the digits at the front; a number with too many digits becomes INT64_MAX. */
static size_t read_number(struct vq_span text, int64_t *ret_value)
{
    size_t n = 0;
    int64_t value = 0;
    while (n < text.bytes && text.at[n] >= '0' && text.at[n] <= '9') {
        value = n < NUMBER_DIGITS_MAX ? value * 10 + (text.at[n] - '0') : INT64_MAX;
        n++;
    }
    *ret_value = value;
    return n;
}

/* ---- strict: the value of a line ---- */

static struct found in_range(int64_t value)
{
    bool good = value >= VQ_RATING_LIKERT_MIN && value <= VQ_RATING_LIKERT_MAX;
    return (struct found){good ? VQ_RATING_OK : VQ_RATING_OUT_OF_RANGE, value};
}

static struct found likert(struct vq_span text)
{
    int64_t value = 0;
    switch (vq_rating_number(text, &value)) {
    case VQ_RATING_NUMBER_ONE: return in_range(value);
    case VQ_RATING_NUMBER_MANY: return (struct found){VQ_RATING_AMBIGUOUS, 0};
    case VQ_RATING_NUMBER_NONE: break;
    }
    return nothing;
}

/* "yes" and "no" are also words of prose: after the first one, they count only if they are written
 * as labels, or joined to it. */
static struct found binary(struct vq_span text)
{
    struct vq_span word = vq_label_next_word(&text);
    bool yes = vq_label_word_is(word, "yes");
    if (!yes && !vq_label_word_is(word, "no")) {
        bool speaks = false;
        for (; word.bytes > 0; word = vq_label_next_word(&text)) {
            speaks = speaks || vq_label_word_is(word, "yes") || vq_label_word_is(word, "no");
        }
        return (struct found){speaks ? VQ_RATING_AMBIGUOUS : VQ_RATING_MISSING, 0};
    }
    bool joined = text.bytes > 0 && text.at[0] == '/';
    for (word = vq_label_next_word(&text); word.bytes > 0; word = vq_label_next_word(&text)) {
        bool other = vq_label_word_is(word, yes ? "no" : "yes");
        if (other && (joined || word.at[0] == 'N' || word.at[0] == 'Y')) {
            return (struct found){VQ_RATING_AMBIGUOUS, 0};
        }
        joined = vq_label_word_is(word, "or");
    }
    return (struct found){VQ_RATING_OK, yes};
}

static struct found pairwise(struct vq_span text)
{
    enum vq_outcome said = vq_label_read(text);
    if (said == VQ_OUTCOME_NONE) {
        return nothing;
    }
    if (said != VQ_OUTCOME_FIRST && said != VQ_OUTCOME_SECOND) {
        /* both, neither, a tie: not a valid rating */
        return (struct found){VQ_RATING_AMBIGUOUS, 0};
    }
    return (struct found){VQ_RATING_OK, said == VQ_OUTCOME_SECOND};
}

static struct found stated(enum vq_rating_kind kind, struct vq_span text)
{
    switch (kind) {
    case VQ_RATING_LIKERT: return likert(text);
    case VQ_RATING_BINARY: return binary(text);
    case VQ_RATING_PAIRWISE: return pairwise(text);
    }
    return nothing;
}

/* Finds the text after "WORD:" at the front of the line. */
static bool is_headed(struct vq_span line, const char *word, struct vq_span *ret_rest)
{
    line = vq_label_skip_punct(line);
    struct vq_span first = vq_label_word(line);
    struct vq_span rest = vq_span_after(line, first.bytes);
    if (!vq_label_word_is(first, word) || !vq_label_skip_separator(&rest)) {
        return false;
    }
    *ret_rest = rest;
    return true;
}

static bool is_blank(struct vq_span text)
{
    return vq_label_skip_punct(text).bytes == 0;
}

/* The heading of a rating in a line. */
enum heading {
    HEADING_NONE,
    HEADING_RESULT, /* "Result: 4", or "Result" alone */
    HEADING_OTHER   /* "Final score: 4" */
};

static enum heading heading_of(struct vq_span line, struct vq_span *ret_rest)
{
    static const char *const before[] = {"final", "overall", "my", "the", "likert"};
    static const char *const others[] = {"rating", "score",    "answer", "verdict",
                                         "grade",  "judgment", "choice", "decision"};
    struct vq_span rest = line;
    struct vq_span word = vq_label_next_word(&rest);
    for (int i = 0; i < 2 && vq_label_word_is_any(word, before, VQ_COUNT(before)); i++) {
        word = vq_label_next_word(&rest);
    }
    bool result = vq_label_word_is(word, "result");
    if (result && vq_label_word_is_any(vq_label_word(vq_label_skip_punct(rest)), others, 2)) {
        (void)vq_label_next_word(&rest); /* Result score: 4 */
    }
    if (!result && !vq_label_word_is_any(word, others, VQ_COUNT(others))) {
        return HEADING_NONE;
    }
    if (!is_blank(rest) && !vq_label_skip_separator(&rest) && !vq_rating_is_bare(rest)) {
        return HEADING_NONE;
    }
    *ret_rest = rest;
    return result ? HEADING_RESULT : HEADING_OTHER;
}

/* The result of the lines so far. */
struct reading {
    enum vq_rating_kind kind;
    bool cut;           /* the answer was cut */
    struct found found; /* by `Result` */
    struct found other; /* by the other headings, which must agree */
    /* the last of them is at the end of the answer so far, and a cut after it cannot change it */
    bool whole;
    bool begins;    /* the answer begins with the last of them, and no later line revokes it */
    bool over;      /* there are lines after it */
    unsigned lines; /* lines with words */
    bool headed;    /* the first of them is a heading */
    const char *result_at;
};

static void keep(struct reading *r, enum heading heading, struct found found)
{
    r->over = false;
    bool agrees = r->other.status == VQ_RATING_MISSING ||
                  (r->other.status == found.status && r->other.value == found.value);
    if (heading == HEADING_RESULT) {
        r->found = found;
    } else if (found.status != VQ_RATING_MISSING) {
        r->other = agrees ? found : (struct found){VQ_RATING_AMBIGUOUS, 0};
    }
}

static void keep_value(struct reading *r, enum heading heading, struct vq_span value, bool below)
{
    keep(r, heading, stated(r->kind, value));
    r->whole = vq_cut_is_whole(value) && vq_rating_is_bare(value);
    r->begins =
        r->headed && r->lines == (below ? 2u : 1u) && memchr(value.at, '?', value.bytes) == NULL;
}

/* Reads a line that is one JSON object, or the beginning of one. */
static bool read_object(struct reading *r, struct vq_span line)
{
    struct vq_span value;
    bool closed;
    if (!vq_rating_json(line, &value, &closed)) {
        return false;
    }
    r->result_at = r->result_at == NULL ? line.at : r->result_at;
    keep(r, HEADING_RESULT, stated(r->kind, value));
    r->whole = closed;
    r->begins = closed && r->lines == 1;
    return true;
}

static void read_below(struct reading *r, struct vq_span line)
{
    r->begins = r->begins && !vq_cut_takes_back(line);
    r->whole = false;
    r->over = true;
}

static struct found end_of(const struct reading *r)
{
    struct found found = r->found.status == VQ_RATING_MISSING ? r->other : r->found;
    bool counts = r->whole || (r->begins && r->over);
    if (r->cut &&
        (found.status == VQ_RATING_MISSING || (found.status == VQ_RATING_OK && !counts))) {
        return (struct found){VQ_RATING_TRUNCATED, 0};
    }
    return found;
}

static struct found read_strict(enum vq_rating_kind kind, struct vq_span answer, bool cut,
                                const char **ret_result_at)
{
    struct vq_thinking lines;
    struct vq_span line;
    struct reading r = {.kind = kind, .cut = cut, .found = nothing, .other = nothing};
    enum heading waits = HEADING_NONE;
    vq_thinking_begin(answer, &lines);
    while (vq_thinking_next_line(&lines, &line)) {
        if (is_blank(line)) {
            continue;
        }
        r.lines++;
        struct vq_span rest;
        enum heading heading = HEADING_NONE;
        if (read_object(&r, line)) {
            waits = HEADING_NONE;
            continue;
        }
        heading = heading_of(line, &rest);
        r.headed = r.headed || (r.lines == 1 && heading != HEADING_NONE);
        if (heading != HEADING_NONE) {
            r.result_at = r.result_at == NULL ? line.at : r.result_at;
            waits = is_blank(rest) ? heading : HEADING_NONE;
        }
        if (heading != HEADING_NONE && waits == HEADING_NONE) {
            keep_value(&r, heading, rest, false);
        } else if (heading == HEADING_NONE && waits != HEADING_NONE) {
            keep_value(&r, waits, line, true);
            waits = HEADING_NONE;
        } else if (heading == HEADING_NONE) {
            read_below(&r, line);
        }
    }
    *ret_result_at = r.result_at;
    return end_of(&r);
}

/* Matches the regular expression's group after `\*\*Result:\*\*\s+` at the front of the text,
 * without a word boundary. */
static bool match_value(enum vq_rating_kind kind, struct vq_span text, struct found *ret_found)
{
    int64_t value = 0;
    bool matches = false;
    switch (kind) {
    case VQ_RATING_LIKERT: matches = read_number(text, &value) > 0; break;
    case VQ_RATING_BINARY:
        value = vq_span_begins_like(text, "yes");
        matches = value == 1 || vq_span_begins_like(text, "no");
        break;
    case VQ_RATING_PAIRWISE:
        value = vq_span_begins_like(text, "b");
        matches = value == 1 || vq_span_begins_like(text, "a");
        break;
    }
    if (matches) {
        bool likert = kind == VQ_RATING_LIKERT;
        *ret_found = likert ? in_range(value) : (struct found){VQ_RATING_OK, value};
    }
    return matches;
}

static bool match_result(enum vq_rating_kind kind, struct vq_span answer, struct found *ret_found,
                         const char **ret_result_at)
{
    static const char head[] = "**result:**";
    for (size_t i = 0; i + sizeof(head) <= answer.bytes; i++) {
        struct vq_span rest = vq_span_after(answer, i);
        if (rest.at[0] != '*' || !vq_span_begins_like(rest, head)) {
            continue;
        }
        size_t at = sizeof(head) - 1;
        while (at < rest.bytes && vq_is_blank(rest.at[at])) {
            at++;
        }
        if (at >= sizeof(head) && match_value(kind, vq_span_after(rest, at), ret_found)) {
            *ret_result_at = rest.at;
            return true;
        }
        i += at - 1; /* white space is read once */
    }
    return false;
}

static bool match_score_of(struct vq_span answer, struct found *ret_found)
{
    static const char head[] = "score of ";
    size_t n = sizeof(head) - 1;
    for (size_t i = 0; i + n < answer.bytes; i++) {
        const char *at = answer.at + i;
        if (at[0] == 's' && memcmp(at, head, n) == 0 && at[n] >= '0' && at[n] <= '9') {
            *ret_found = (struct found){VQ_RATING_FALLBACK, at[n] - '0'};
            return true;
        }
    }
    return false;
}

static void read_paper(const struct vq_rating_reader *reader, struct vq_span answer,
                       struct vq_rating *rating, const char **ret_result_at)
{
    struct found found = nothing;
    bool has =
        match_result(reader->kind, answer, &found, ret_result_at) ||
        (reader->kind == VQ_RATING_LIKERT && reader->score_of && match_score_of(answer, &found));
    if (!has && reader->kind == VQ_RATING_PAIRWISE) {
        struct vq_rng rng;
        vq_rng_seed(&rng, reader->seed);
        found.value = (int64_t)vq_rng_below(&rng, 2);
        has = true;
    }
    rating->status = found.status;
    rating->has_value = has;
    rating->value = found.value;
}

/* ---- both ---- */

static struct vq_span reasoning_of(struct vq_span answer, const char *result_at)
{
    struct vq_span text = answer.bytes == 0 ? answer : vq_thinking_rest(answer);
    if (result_at != NULL && text.bytes > 0 && result_at >= text.at) {
        text.bytes = (size_t)(result_at - text.at);
    }
    struct vq_thinking lines;
    struct vq_span line, rest;
    vq_thinking_begin(text, &lines);
    while (vq_thinking_next_line(&lines, &line)) {
        if (is_headed(line, "reasoning", &rest)) {
            while (rest.bytes > 0 && rest.at[0] == '*') {
                rest = vq_span_after(rest, 1);
            }
            return vq_span_trim(vq_span(rest.at, text.bytes - (size_t)(rest.at - text.at)));
        }
    }
    return vq_span_trim(text);
}

void vq_rating_read(const struct vq_rating_reader *reader, struct vq_span answer,
                    struct vq_span finish_reason, bool refusal, struct vq_rating *ret_rating)
{
    const char *result_at = NULL;
    enum vq_ending ending = vq_ending_of(finish_reason, refusal);
    *ret_rating = (struct vq_rating){.status = VQ_RATING_MISSING};
    if (reader->policy == VQ_RATING_PAPER) {
        read_paper(reader, answer, ret_rating, &result_at);
    } else if (ending == VQ_ENDING_REFUSED || ending == VQ_ENDING_UNKNOWN) {
        ret_rating->status = ending == VQ_ENDING_REFUSED ? VQ_RATING_REFUSED : VQ_RATING_TRUNCATED;
    } else {
        struct found found = read_strict(reader->kind, answer, ending == VQ_ENDING_CUT, &result_at);
        ret_rating->status = found.status;
        ret_rating->has_value = found.status == VQ_RATING_OK;
        ret_rating->value = ret_rating->has_value ? found.value : 0;
    }
    ret_rating->reasoning = reasoning_of(answer, result_at);
}

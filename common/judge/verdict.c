/* The verdict of a ranker's or a preference judge's answer.
 *
 * One pass over the text, without thinking blocks, line by line. A line may replace the verdict of
 * an earlier line. There are three kinds of finds:
 *   stated   "Model: A" at the front of a line, or a JSON member "model": "A"
 *   inline   "... so my choice: A" inside a line; counts only if there is no stated one
 *   alone    the last line is only a label; counts only if there is no other find
 * A find with several labels counts as UNPARSEABLE: a later line may replace it. Each byte is read
 * a bounded number of times, because the value of an inline find ends at the next find.
 *
 * An answer that is one JSON object, as a schema demands, is read as JSON (verdict_json.c), so
 * labels in its analysis do not count. A test runs the table of docs/method/verdicts.md. Not its
 * job: the label of a value (label.c); repair calls. */
#include "common/judge/verdict.h"

#include "common/judge/cut.h"
#include "common/judge/ending.h"
#include "common/judge/label.h"
#include "common/judge/rating.h"
#include "common/judge/thinking.h"
#include "common/judge/vectors.h"
#include "common/judge/verdict_json.h"

const char *vq_outcome_name(enum vq_outcome outcome)
{
    switch (outcome) {
    case VQ_OUTCOME_NONE: return "open";
    case VQ_OUTCOME_FIRST: return "A";
    case VQ_OUTCOME_SECOND: return "B";
    case VQ_OUTCOME_EQUAL: return "equal";
    case VQ_OUTCOME_NA: return "N/A";
    case VQ_OUTCOME_UNSURE: return "unsure";
    case VQ_OUTCOME_TEXT: return "text";
    case VQ_OUTCOME_RATED_1: return "1";
    case VQ_OUTCOME_RATED_2: return "2";
    case VQ_OUTCOME_RATED_3: return "3";
    case VQ_OUTCOME_RATED_4: return "4";
    case VQ_OUTCOME_RATED_5: return "5";
    case VQ_OUTCOME_YES: return "yes";
    case VQ_OUTCOME_NO: return "no";
    case VQ_OUTCOME_REFUSED: return "refused";
    case VQ_OUTCOME_TRUNCATED: return "truncated";
    case VQ_OUTCOME_UNPARSEABLE: return "unparseable";
    case VQ_OUTCOME_EMPTY: return "empty";
    case VQ_OUTCOME_NOT_NEEDED: return "not_needed";
    case VQ_OUTCOME_BLOCKED: return "blocked";
    case VQ_OUTCOME_ERROR: return "error";
    case VQ_OUTCOME_TOO_LONG: return "too_long";
    case VQ_OUTCOME_UNAVAILABLE: return "unavailable";
    case VQ_OUTCOME_BAD_RESPONSE: return "bad_response";
    case VQ_OUTCOME_WORKER_LOST: return "worker_lost";
    }
    return "?";
}

/* The finds of the lines so far; NONE: none. */
struct finds {
    bool preference; /* the labels are A, B and tie; "Preference" is a keyword too */
    enum vq_outcome stated;
    enum vq_outcome inline_;
    enum vq_outcome alone;
    bool awaits_label; /* the last line with words was only a keyword */
};

/* A preference has no N/A and no unsure; such an answer is UNPARSEABLE. */
static enum vq_outcome of_kind(const struct finds *finds, enum vq_outcome said)
{
    bool foreign = said == VQ_OUTCOME_NA || said == VQ_OUTCOME_UNSURE;
    return finds->preference && foreign ? VQ_OUTCOME_UNPARSEABLE : said;
}

static void keep(const struct finds *finds, enum vq_outcome *find, enum vq_outcome said)
{
    if (said != VQ_OUTCOME_NONE) {
        *find = of_kind(finds, said);
    }
}

static bool is_keyword(const struct finds *finds, struct vq_span word)
{
    switch (word.bytes == 0 ? 0 : word.at[0] | 0x20) { /* called for every word of an answer */
    case 'a': return vq_label_word_is(word, "answer");
    case 'c': return vq_label_word_is(word, "choice");
    case 'm': return vq_label_word_is(word, "model");
    case 'p':
        return finds->preference &&
               (vq_label_word_is(word, "preference") || vq_label_word_is(word, "preferred"));
    case 'v': return vq_label_word_is(word, "verdict");
    case 'w': return vq_label_word_is(word, "winner");
    default: return false;
    }
}

static struct vq_span skip_spaces(struct vq_span text)
{
    while (text.bytes > 0 && vq_is_gap(text.at[0])) {
        text = vq_span_after(text, 1);
    }
    return text;
}

/* The value of a JSON member whose name is `word`, a part of `line`: `"model" : "A"`. Single quotes
 * are accepted, too. The value is empty if it was cut. False: not a member with a string. */
static bool json_value(struct vq_span line, struct vq_span word, struct vq_span *ret_value)
{
    size_t before = (size_t)(word.at - line.at);
    struct vq_span rest = vq_span_after(line, before + word.bytes);
    if (before == 0 || rest.bytes == 0) {
        return false;
    }
    char quote = word.at[-1];
    bool escaped = before >= 2 && word.at[-2] == '\\';
    if ((quote != '"' && quote != '\'') || escaped || rest.at[0] != quote) {
        return false;
    }
    rest = skip_spaces(vq_span_after(rest, 1));
    if (rest.bytes == 0 || rest.at[0] != ':') {
        return false;
    }
    rest = skip_spaces(vq_span_after(rest, 1));
    if (rest.bytes == 0 || rest.at[0] != quote) {
        return false;
    }
    rest = vq_span_after(rest, 1);
    for (size_t i = 0; i < rest.bytes; i++) {
        if (rest.at[i] == '\\') {
            i++;
        } else if (rest.at[i] == quote) {
            *ret_value = vq_span(rest.at, i);
            return true;
        }
    }
    *ret_value = vq_span(rest.at + rest.bytes, 0);
    return true;
}

/* Skips quotes, markdown, a number ("2.") and "Final", which may be before a keyword at the front
 * of a line. */
static struct vq_span skip_line_front(struct vq_span line)
{
    line = vq_label_skip_punct(line);
    size_t digits = 0;
    while (digits < line.bytes && line.at[digits] >= '0' && line.at[digits] <= '9') {
        digits++;
    }
    struct vq_span numbered = vq_span_after(line, digits);
    if (digits > 0 && vq_label_punct_bytes(numbered) > 0) {
        line = vq_label_skip_punct(numbered);
    }
    struct vq_span word = vq_label_word(line);
    if (vq_label_word_is(word, "final")) {
        line = vq_label_skip_punct(vq_span_after(line, word.bytes));
    }
    return line;
}

/* Reads "Model: A" at the front of a line. */
static void read_stated(struct finds *finds, struct vq_span line)
{
    struct vq_span front = skip_line_front(line);
    struct vq_span word = vq_label_word(front);
    if (!is_keyword(finds, word)) {
        return;
    }
    struct vq_span value = vq_span_after(front, word.bytes);
    struct vq_span member;
    if (vq_label_skip_punct(value).bytes == 0) {
        finds->awaits_label = true;
    } else if (!json_value(line, word, &member) && vq_label_skip_separator(&value)) {
        keep(finds, &finds->stated, vq_label_read(value));
    }
}

/* Reads keywords anywhere in a line: JSON members, which count as stated, and inline ones. */
static void read_inside(struct finds *finds, struct vq_span line)
{
    struct vq_span rest = line;
    const char *open = NULL; /* the beginning of the last inline keyword's value */
    for (;;) {
        rest = vq_label_skip_punct(rest);
        if (rest.bytes == 0) {
            break;
        }
        struct vq_span word = vq_label_word(rest);
        rest = vq_span_after(rest, word.bytes);
        if (!is_keyword(finds, word)) {
            continue;
        }
        struct vq_span value = rest;
        if (json_value(line, word, &value)) {
            keep(finds, &finds->stated, vq_label_read(value));
            size_t passed = (size_t)(value.at + value.bytes - rest.at);
            rest = vq_span_after(rest, passed);
        } else if (vq_label_skip_separator(&value)) {
            if (open != NULL) {
                keep(finds, &finds->inline_,
                     vq_label_read(vq_span(open, (size_t)(word.at - open))));
            }
            open = value.at;
            rest = value;
        }
    }
    if (open != NULL) {
        const char *end = line.at + line.bytes;
        keep(finds, &finds->inline_, vq_label_read(vq_span(open, (size_t)(end - open))));
    }
}

/* Reads a line that is only a label, perhaps after a keyword. A line with a colon at its end is a
 * heading. */
static enum vq_outcome read_alone(const struct finds *finds, struct vq_span line)
{
    struct vq_span front = skip_line_front(line);
    struct vq_span word = vq_label_word(front);
    if (memchr(line.at, ':', line.bytes) != NULL) {
        return VQ_OUTCOME_NONE;
    }
    return vq_label_alone(is_keyword(finds, word) ? vq_span_after(front, word.bytes) : line);
}

static void read_line(struct finds *finds, struct vq_span line)
{
    if (vq_label_skip_punct(line).bytes == 0) {
        return; /* blank, a rule, a fence: it has no words */
    }
    finds->alone = of_kind(finds, read_alone(finds, line));
    if (finds->awaits_label) {
        finds->awaits_label = false;
        keep(finds, &finds->stated, vq_label_alone(line));
    }
    read_stated(finds, line);
    read_inside(finds, line);
}

/* Reads the lines outside of thinking blocks; a line ends before a block. */
static void read_lines(struct finds *finds, struct vq_span text)
{
    struct vq_thinking lines;
    struct vq_span line;
    vq_thinking_begin(text, &lines);
    while (vq_thinking_next_line(&lines, &line)) {
        read_line(finds, line);
    }
}

/* ---- cut answers ---- */

/* The places in a cut answer where a verdict counts. */
struct ends {
    struct vq_span first, last; /* lines with words; NULL: none */
    bool last_awaited;          /* the line before it is only a keyword */
    bool taken_back;            /* by a line after the first */
};

static bool is_fence(struct vq_span line)
{
    line = skip_spaces(line);
    return line.bytes >= 3 && memcmp(line.at, "```", 3) == 0;
}

static struct ends find_ends(const struct finds *finds, struct vq_span answer)
{
    struct ends ends = {{0}};
    struct vq_thinking lines;
    struct vq_span line;
    bool awaits = false;
    vq_thinking_begin(answer, &lines);
    while (vq_thinking_next_line(&lines, &line)) {
        if (vq_label_skip_punct(line).bytes == 0 || is_fence(line)) {
            continue;
        }
        if (ends.first.at == NULL) {
            ends.first = line;
        } else {
            ends.taken_back = ends.taken_back || vq_cut_takes_back(line);
        }
        ends.last = line;
        ends.last_awaited = awaits;
        struct vq_span front = skip_line_front(line);
        struct vq_span word = vq_label_word(front);
        awaits = is_keyword(finds, word) &&
                 vq_label_skip_punct(vq_span_after(front, word.bytes)).bytes == 0;
    }
    return ends;
}

/* Finds the text after the last keyword of the line and its separator; false: no keyword. */
static bool last_value(const struct finds *finds, struct vq_span line, struct vq_span *ret_value)
{
    bool found = false;
    for (struct vq_span rest = vq_label_skip_punct(line); rest.bytes > 0;
         rest = vq_label_skip_punct(rest)) {
        struct vq_span word = vq_label_word(rest);
        rest = vq_span_after(rest, word.bytes);
        struct vq_span value = rest;
        if (is_keyword(finds, word) && vq_label_skip_separator(&value)) {
            *ret_value = value;
            found = true;
        }
    }
    return found;
}

/* The verdict at the end of the answer, if it is complete. */
static enum vq_outcome said_last(const struct finds *finds, const struct ends *ends)
{
    struct vq_span value = ends->last;
    if (value.at == NULL || !(ends->last_awaited || last_value(finds, ends->last, &value)) ||
        !vq_cut_is_whole(value)) {
        return VQ_OUTCOME_NONE;
    }
    return vq_label_alone(value);
}

/* The verdict at the beginning of the answer, on a finished line or in a closed JSON member. */
static enum vq_outcome said_first(const struct finds *finds, const struct ends *ends)
{
    if (ends->first.at == NULL || ends->taken_back) {
        return VQ_OUTCOME_NONE;
    }
    struct vq_span front = skip_line_front(ends->first);
    struct vq_span word = vq_label_word(front);
    struct vq_span value = vq_span_after(front, word.bytes), member;
    if (!is_keyword(finds, word)) {
        return VQ_OUTCOME_NONE;
    }
    if (json_value(ends->first, word, &member)) {
        return vq_label_alone(member);
    }
    bool over = ends->last.at != ends->first.at;
    bool asks = memchr(ends->first.at, '?', ends->first.bytes) != NULL;
    return over && !asks && vq_label_skip_separator(&value) ? vq_label_read(value)
                                                            : VQ_OUTCOME_NONE;
}

/* `said` is the verdict of the whole text: it counts if the cut cannot have changed it. */
static enum vq_outcome read_cut(const struct finds *finds, struct vq_span answer,
                                enum vq_outcome said)
{
    struct ends ends = find_ends(finds, answer);
    bool is_verdict =
        vq_outcome_is_vote(said) && (said == of_kind(finds, said_last(finds, &ends)) ||
                                     said == of_kind(finds, said_first(finds, &ends)));
    return is_verdict ? said : VQ_OUTCOME_TRUNCATED;
}

static enum vq_outcome verdict(struct vq_span answer, struct vq_span finish_reason, bool refusal,
                               bool preference)
{
    enum vq_ending ending = vq_ending_of(finish_reason, refusal);
    if (ending == VQ_ENDING_REFUSED || ending == VQ_ENDING_UNKNOWN) {
        return ending == VQ_ENDING_REFUSED ? VQ_OUTCOME_REFUSED : VQ_OUTCOME_TRUNCATED;
    }
    struct finds finds = {.preference = preference};
    enum vq_outcome whole;
    if (vq_verdict_json(answer, preference, &whole) != VQ_OK) {
        return VQ_OUTCOME_NONE;
    }
    whole = of_kind(&finds, whole);
    if (whole != VQ_OUTCOME_NONE) {
        bool cut = ending == VQ_ENDING_CUT && !vq_outcome_is_vote(whole);
        return cut ? VQ_OUTCOME_TRUNCATED : whole;
    }
    read_lines(&finds, answer);
    enum vq_outcome said = finds.stated != VQ_OUTCOME_NONE ? finds.stated : finds.inline_;
    if (ending == VQ_ENDING_CUT) {
        return read_cut(&finds, answer, said);
    }
    said = said != VQ_OUTCOME_NONE ? said : finds.alone;
    return said != VQ_OUTCOME_NONE      ? said
           : vq_thinking_is_all(answer) ? VQ_OUTCOME_EMPTY
                                        : VQ_OUTCOME_UNPARSEABLE;
}

enum vq_outcome vq_verdict_ranker(struct vq_span answer, struct vq_span finish_reason, bool refusal)
{
    return verdict(answer, finish_reason, refusal, false);
}

enum vq_outcome vq_verdict_preference(struct vq_span answer, struct vq_span finish_reason,
                                      bool refusal)
{
    return verdict(answer, finish_reason, refusal, true);
}

/* ---- by the kind of stage ---- */

static enum vq_outcome verdict_text(struct vq_span answer, struct vq_span finish_reason,
                                    bool refusal)
{
    if (vq_ending_of(finish_reason, refusal) == VQ_ENDING_REFUSED) {
        return VQ_OUTCOME_REFUSED;
    }
    for (size_t i = 0; i < answer.bytes; i++) {
        if (memchr(" \t\r\n", answer.at[i], 4) == NULL) {
            return VQ_OUTCOME_TEXT;
        }
    }
    return VQ_OUTCOME_UNPARSEABLE;
}

static enum vq_outcome verdict_rating(enum vq_rating_kind kind, struct vq_span answer,
                                      struct vq_span finish_reason, bool refusal)
{
    struct vq_rating_reader reader = {.kind = kind, .policy = VQ_RATING_STRICT};
    struct vq_rating rating;
    vq_rating_read(&reader, answer, finish_reason, refusal, &rating);
    if (!rating.has_value) {
        bool empty = rating.status == VQ_RATING_MISSING && vq_thinking_is_all(answer);
        return rating.status == VQ_RATING_REFUSED     ? VQ_OUTCOME_REFUSED
               : rating.status == VQ_RATING_TRUNCATED ? VQ_OUTCOME_TRUNCATED
               : empty                                ? VQ_OUTCOME_EMPTY
                                                      : VQ_OUTCOME_UNPARSEABLE;
    }
    switch (kind) {
    case VQ_RATING_LIKERT:
        return (enum vq_outcome)(VQ_OUTCOME_RATED_1 + rating.value - VQ_RATING_LIKERT_MIN);
    case VQ_RATING_BINARY: return rating.value == 1 ? VQ_OUTCOME_YES : VQ_OUTCOME_NO;
    case VQ_RATING_PAIRWISE: break;
    }
    return rating.value == 0 ? VQ_OUTCOME_FIRST : VQ_OUTCOME_SECOND;
}

enum vq_outcome vq_verdict_of(enum vq_stage_kind kind, struct vq_span answer,
                              struct vq_span finish_reason, bool refusal)
{
    switch (kind) {
    case VQ_STAGE_RANK: return vq_verdict_ranker(answer, finish_reason, refusal);
    case VQ_STAGE_PREFER: return vq_verdict_preference(answer, finish_reason, refusal);
    case VQ_STAGE_TEXT:
    case VQ_STAGE_CHAT:
    case VQ_STAGE_PROBE: return verdict_text(answer, finish_reason, refusal);
    case VQ_STAGE_EMBED:
        return vq_vectors_packed(answer) ? VQ_OUTCOME_TEXT : VQ_OUTCOME_UNPARSEABLE;
    case VQ_STAGE_LIKERT: return verdict_rating(VQ_RATING_LIKERT, answer, finish_reason, refusal);
    case VQ_STAGE_BINARY: return verdict_rating(VQ_RATING_BINARY, answer, finish_reason, refusal);
    case VQ_STAGE_PAIRWISE:
        return verdict_rating(VQ_RATING_PAIRWISE, answer, finish_reason, refusal);
    case VQ_STAGE__COUNT: break;
    }
    return VQ_OUTCOME_UNPARSEABLE;
}

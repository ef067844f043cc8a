/* Reads verdicts on several numbered axes from one answer, without its thinking blocks. JSON is
 * read as JSON. Any other text is searched for labels after "Property 3:" and similar. Only if it
 * has none of these, it is searched for labels after bare numbers, since an analysis may contain a
 * numbered list.
 *
 * The verdict of a number is after it on its line ("Property 3: B"), or on a line below it, before
 * the next number, that states it ("Model: B") or is only a label. A verdict at the front of a line
 * has priority over one inside a line; the last one of several of a kind counts. A find with
 * several labels gives its number no verdict.
 *
 * In a cut answer only a stated verdict counts, if its line is finished, or if it is complete at
 * the very end. A repeated number starts the list again. Text before such a place, text before a
 * line that revokes something, and drafts do not count. Not its job: the label of a text (label.c),
 * verdicts on one axis (verdict.c), and retries. */
#include "common/judge/verdict_many.h"

#include "common/judge/answer_lines.h"
#include "common/judge/cut.h"
#include "common/judge/label.h"
#include "common/judge/thinking.h"
#include "common/judge/verdict_json.h"

#define NUMBER_DIGITS_MAX 3
#define NAME_BYTES_MAX    ((size_t)256) /* in brackets after a number */

enum {
    NOT_A_NUMBER = 0
};

struct finds {
    uint32_t count;
    bool bare; /* bare numbers count */
    enum vq_outcome stated[VQ_VERDICTS_MAX];
    enum vq_outcome inside[VQ_VERDICTS_MAX];
    uint32_t open;   /* the number of the current lines, if it has no verdict yet; 0: none */
    bool just_begun; /* only the number's own line was read so far */
    bool no_memory;  /* no memory to read one: all verdicts are invalid */
    const char *cut; /* the place of the cut; NULL: not cut */
    bool seen[VQ_VERDICTS_MAX]; /* in a cut answer: the list has reached this number, ... */
    bool draft;                 /* ... and is a draft */
};

/* "Property 3:" with its decoration. */
struct mark {
    uint32_t number;
    struct vq_span value; /* the text after it, to the end of the line */
};

static bool is_label_keyword(struct vq_span word)
{
    static const char *const words[] = {"model", "label", "verdict", "answer", "choice", "winner"};
    return vq_label_word_is_any(word, words, VQ_COUNT(words));
}

static bool is_axis_keyword(struct vq_span word)
{
    static const char *const words[] = {"property", "axis", "vibe", "dimension"};
    return vq_label_word_is_any(word, words, VQ_COUNT(words));
}

static bool is_analysis_keyword(struct vq_span word)
{
    static const char *const words[] = {"analysis", "reasoning", "explanation", "reason"};
    return vq_label_word_is_any(word, words, VQ_COUNT(words));
}

/* Takes the number at the front of *text, which moves after it. 0: no axis has this number. */
static bool take_number(const struct finds *finds, struct vq_span *text, uint32_t *ret_number)
{
    uint32_t number = 0;
    size_t at = 0;
    while (at < text->bytes && at <= NUMBER_DIGITS_MAX && text->at[at] >= '0' &&
           text->at[at] <= '9') {
        number = number * 10 + (uint32_t)(text->at[at] - '0');
        at++;
    }
    struct vq_span rest = vq_span_after(*text, at);
    if (at == 0 || at > NUMBER_DIGITS_MAX || vq_label_word(rest).bytes > 0) {
        return false; /* 3rd, 2x, 12345 */
    }
    *ret_number = number <= finds->count ? number : NOT_A_NUMBER;
    *text = rest;
    return true;
}

static struct vq_span skip_any(struct vq_span text, const char *of)
{
    while (text.bytes > 0 && strchr(of, text.at[0]) != NULL && text.at[0] != '\0') {
        text = vq_span_after(text, 1);
    }
    return text;
}

/* Takes the number after a keyword: "_3", " #3", " 3". */
static bool take_keyword_number(const struct finds *finds, struct vq_span *text,
                                uint32_t *ret_number)
{
    struct vq_span at = skip_any(*text, " \t_-#*[(");
    if (!take_number(finds, &at, ret_number)) {
        return false;
    }
    *text = skip_any(at, "])");
    return true;
}

/* Skips ":" or "=", or a dash between spaces. */
static bool skip_separator(struct vq_span *text)
{
    if (vq_label_skip_separator(text)) {
        return true;
    }
    struct vq_span at = skip_any(*text, " \t*_");
    size_t bytes = at.bytes > 0 && at.at[0] == '-' ? 1 : 0;
    if (at.bytes >= 3 &&
        (memcmp(at.at, "\xE2\x80\x93", 3) == 0 || memcmp(at.at, "\xE2\x80\x94", 3) == 0)) {
        bytes = 3;
    }
    if (bytes == 0 || at.at == text->at) {
        return false;
    }
    *text = vq_span_after(at, bytes);
    return true;
}

/* ---- the text after a number ---- */

static enum vq_outcome vote_or_none(enum vq_outcome said)
{
    return vq_outcome_is_vote(said) ? said : VQ_OUTCOME_NONE;
}

/* Reads the text after the last colon if the text before it mentions no label: "Formality: B". */
static enum vq_outcome read_named(struct vq_span value)
{
    for (size_t at = value.bytes; at > 0; at--) {
        struct vq_span tail = vq_span_after(value, at - 1);
        size_t colon = vq_answer_colon_bytes(tail);
        if (colon > 0) {
            bool silent = vq_label_read(vq_span(value.at, at - 1)) == VQ_OUTCOME_NONE;
            return silent ? vq_label_alone(vq_span_after(tail, colon)) : VQ_OUTCOME_NONE;
        }
    }
    return VQ_OUTCOME_NONE;
}

/* Reads the text after a number. NONE: a name without a label, or empty. */
static enum vq_outcome read_value(struct finds *finds, struct vq_span value)
{
    enum vq_outcome said = finds->bare ? vq_label_alone(value) : vq_label_read(value);
    if (vq_outcome_is_vote(said)) {
        return said;
    }
    enum vq_outcome other = vq_verdict_ranker(value, vq_span("", 0), false);
    finds->no_memory |= other == VQ_OUTCOME_NONE;
    other = vote_or_none(other);
    other = other != VQ_OUTCOME_NONE ? other : read_named(value);
    return other != VQ_OUTCOME_NONE ? other : said;
}

/* ---- marks ---- */

/* Finds "Property 3:", "Verdict 3 -", with or without a name in brackets. */
static bool mark_at(const struct finds *finds, struct vq_span text, struct mark *ret_mark)
{
    struct vq_span word = vq_label_word(text);
    size_t letters = word.bytes;
    while (letters > 0 && word.at[letters - 1] >= '0' && word.at[letters - 1] <= '9') {
        letters--; /* Property3 */
    }
    word.bytes = letters;
    bool axis = is_axis_keyword(word);
    struct vq_span rest = vq_span_after(text, word.bytes);
    if (!(axis || is_label_keyword(word)) ||
        !take_keyword_number(finds, &rest, &ret_mark->number)) {
        return false;
    }
    struct vq_span open = skip_any(rest, " \t");
    size_t name_bytes = open.bytes < NAME_BYTES_MAX ? open.bytes : NAME_BYTES_MAX;
    const char *close =
        name_bytes > 0 && open.at[0] == '(' ? memchr(open.at, ')', name_bytes) : NULL;
    if (close != NULL) {
        rest = vq_span_after(open, (size_t)(close - open.at) + 1);
    }
    bool heads = axis && vq_label_skip_punct(rest).bytes == 0; /* alone on its line */
    if (!skip_separator(&rest) && !heads) {
        return false;
    }
    ret_mark->value = rest;
    return true;
}

/* Finds "3.", "3)", "(3)", "3:", also "**3.**" and `"3":`. */
static bool bare_mark_at(const struct finds *finds, struct vq_span text, struct mark *ret_mark)
{
    struct vq_span rest = skip_any(text, " \t*_`\"'#([{-");
    if (!take_number(finds, &rest, &ret_mark->number)) {
        return false;
    }
    if (rest.bytes > 0 && strchr(".)]", rest.at[0]) != NULL && rest.at[0] != '\0') {
        ret_mark->value = vq_span_after(rest, 1);
        return rest.bytes == 1 || rest.at[1] < '0' || rest.at[1] > '9'; /* 3.5 */
    }
    bool separated = skip_separator(&rest);
    ret_mark->value = rest;
    return separated;
}

/* The index of the next mark of the line; text.bytes: none. */
static size_t next_mark(const struct finds *finds, struct vq_span text, struct mark *ret_mark)
{
    for (size_t at = 0; at < text.bytes;) {
        struct vq_span here = vq_span_after(text, at);
        size_t punct = vq_label_punct_bytes(here);
        bool cuts = punct == 1 && memchr(",;|", here.at[0], 3) != NULL;
        if (cuts && finds->bare && bare_mark_at(finds, vq_span_after(here, 1), ret_mark)) {
            return at;
        }
        if (punct == 0 && !finds->bare && mark_at(finds, here, ret_mark)) {
            return at;
        }
        at += punct > 0 ? punct : vq_label_word(here).bytes;
    }
    return text.bytes;
}

/* ---- lines ---- */

/* ---- cut answers ---- */

static void forget(struct finds *finds)
{
    memset(finds->stated, 0, sizeof(finds->stated));
    finds->open = NOT_A_NUMBER;
}

/* The list has reached this number. */
static void come_to(struct finds *finds, uint32_t number)
{
    if (finds->cut == NULL || number == NOT_A_NUMBER) {
        return;
    }
    if (finds->seen[number - 1]) {
        forget(finds);
        memset(finds->seen, 0, sizeof(finds->seen));
        finds->draft = false;
    }
    finds->seen[number - 1] = true;
}

static bool is_draft(struct vq_span line)
{
    for (line = vq_label_skip_punct(line); line.bytes > 0; line = vq_label_skip_punct(line)) {
        struct vq_span word = vq_label_word(line);
        if (vq_label_word_is(word, "draft")) {
            return true;
        }
        line = vq_span_after(line, word.bytes);
    }
    return false;
}

/* In a cut answer: whether a line revokes the verdicts before it, or announces a draft. */
static bool takes_back(struct finds *finds, struct vq_span front)
{
    if (finds->cut == NULL || is_analysis_keyword(vq_label_word(front)) ||
        !vq_cut_takes_back(front)) {
        return false;
    }
    forget(finds);
    finds->draft = finds->draft || is_draft(front);
    return true;
}

/* The last verdict before the cut may be incomplete. */
static enum vq_outcome unless_cut(const struct finds *finds, struct vq_span value,
                                  enum vq_outcome said)
{
    if (finds->cut == NULL) {
        return said;
    }
    bool over = value.at + value.bytes < finds->cut;
    bool whole = over || (vq_cut_is_whole(value) && vq_label_alone(value) == said);
    bool asks = memchr(value.at, '?', value.bytes) != NULL;
    return whole && !asks && !finds->draft && vq_outcome_is_vote(said) ? said : VQ_OUTCOME_NONE;
}

static void keep(enum vq_outcome *find, enum vq_outcome said)
{
    if (said != VQ_OUTCOME_NONE) {
        *find = said;
    }
}

/* Reads the mark and all later marks on its line. */
static void read_marks(struct finds *finds, struct mark mark, bool stated)
{
    for (;;) {
        struct mark next = {.number = NOT_A_NUMBER};
        size_t end = next_mark(finds, mark.value, &next);
        bool last = end == mark.value.bytes;
        struct vq_span value = vq_span(mark.value.at, end);
        come_to(finds, stated ? mark.number : NOT_A_NUMBER);
        enum vq_outcome said = unless_cut(finds, value, read_value(finds, value));
        if (mark.number != NOT_A_NUMBER) {
            keep(stated ? &finds->stated[mark.number - 1] : &finds->inside[mark.number - 1], said);
        }
        if (last) {
            finds->open = stated && !vq_outcome_is_vote(said) ? mark.number : NOT_A_NUMBER;
            finds->just_begun = true;
            return;
        }
        mark = next;
    }
}

/* Reads a line below a number. */
static void read_below(struct finds *finds, struct vq_span front, struct vq_span line)
{
    struct vq_span word = vq_label_word(front);
    struct vq_span value = vq_span_after(front, word.bytes);
    enum vq_outcome said = VQ_OUTCOME_NONE;
    if (is_label_keyword(word) && vq_label_skip_separator(&value)) {
        said = vq_label_read(value);
    } else if (finds->just_begun) {
        said = vq_label_alone(line);
    }
    keep(&finds->stated[finds->open - 1], unless_cut(finds, line, said));
    finds->just_begun = false;
}

static void read_line(struct finds *finds, struct vq_span line)
{
    struct vq_span front = vq_label_skip_punct(line);
    struct mark mark;
    if (front.bytes == 0 || takes_back(finds, front)) {
        return;
    }
    bool marked = finds->bare ? bare_mark_at(finds, line, &mark) : mark_at(finds, front, &mark);
    struct vq_span numbered = front; /* "3. Property 3: A" */
    uint32_t ignored;
    if (!marked && !finds->bare && take_number(finds, &numbered, &ignored)) {
        marked = mark_at(finds, vq_label_skip_punct(numbered), &mark);
    }
    if (marked) {
        read_marks(finds, mark, true);
        return;
    }
    if (finds->open != NOT_A_NUMBER) {
        read_below(finds, front, line);
    }
    uint32_t open = finds->open;
    if (!finds->bare && !is_analysis_keyword(vq_label_word(front)) &&
        next_mark(finds, front, &mark) < front.bytes) {
        read_marks(finds, mark, false);
        finds->open = open;
        finds->just_begun = false;
    }
}

static void read_lines(struct finds *finds, struct vq_span text)
{
    struct vq_thinking lines;
    struct vq_span line;
    vq_thinking_begin(text, &lines);
    while (vq_thinking_next_line(&lines, &line)) {
        read_line(finds, line);
    }
}

static bool any_found(const struct finds *finds)
{
    for (uint32_t k = 0; k < finds->count; k++) {
        if (finds->stated[k] != VQ_OUTCOME_NONE || finds->inside[k] != VQ_OUTCOME_NONE) {
            return true;
        }
    }
    return false;
}

static enum vq_status read_all(struct vq_span answer, bool cut, uint32_t count,
                               struct finds *ret_finds)
{
    const char *at = cut ? answer.at + answer.bytes : NULL;
    struct finds finds = {.count = count, .cut = at};
    bool found = false;
    if (!cut || vq_verdict_ends_in_json(answer)) {
        VQ_TRY(vq_verdicts_json(answer, count, finds.stated, &found));
    }
    if (!found) {
        read_lines(&finds, answer);
    }
    if (!any_found(&finds) && !finds.no_memory) {
        finds = (struct finds){.count = count, .bare = true, .cut = at};
        read_lines(&finds, answer);
    }
    *ret_finds = finds;
    return finds.no_memory ? VQ_NOMEM : VQ_OK;
}

enum vq_status vq_verdicts_many(struct vq_span answer, enum vq_ending ending, uint32_t count,
                                enum vq_outcome ret_verdicts[VQ_VERDICTS_MAX], uint32_t *ret_votes)
{
    VQ_ASSERT(count <= VQ_VERDICTS_MAX);
    bool cut = ending == VQ_ENDING_CUT;
    struct finds finds = {.count = count};
    if (cut || ending == VQ_ENDING_ORDINARY) {
        VQ_TRY(read_all(answer, cut, count, &finds));
    }
    enum vq_outcome without = ending == VQ_ENDING_ORDINARY  ? VQ_OUTCOME_UNPARSEABLE
                              : ending == VQ_ENDING_REFUSED ? VQ_OUTCOME_REFUSED
                                                            : VQ_OUTCOME_TRUNCATED;
    uint32_t votes = 0;
    for (uint32_t k = 0; k < count; k++) {
        bool inside = !cut && finds.stated[k] == VQ_OUTCOME_NONE;
        enum vq_outcome said = inside ? finds.inside[k] : finds.stated[k];
        bool is_vote = vq_outcome_is_vote(said);
        ret_verdicts[k] = is_vote ? said : without;
        votes += is_vote;
    }
    *ret_votes = votes;
    return VQ_OK;
}

/* Reads verdicts on numbered axes in JSON, as models write it: bare, in a fence, or after a
 * sentence. If an axis is there twice, the last one counts, as in text. Invariant: a bounded number
 * of places is tried, each in one pass. */
#include "common/judge/verdict_json.h"

#include "common/judge/label.h"
#include "common/judge/thinking.h"
#include "common/text/json_load.h"

#include <jansson.h>

#define STARTS_MAX 4 /* places where JSON may begin */
#define DEPTH_MAX  4

struct found {
    uint32_t count;
    bool any; /* an axis was named */
    enum vq_outcome verdicts[VQ_VERDICTS_MAX];
};

/* The number, 1 .. count, of "3", "Property 3", "axis_3", "3. Formality"; 0 for every other
 * text. */
static uint32_t number_of_text(struct vq_span text, uint32_t count)
{
    static const char *const words[] = {"property", "axis", "vibe", "dimension"};
    text = vq_label_skip_punct(text);
    size_t letters = 0;
    while (letters < text.bytes && (text.at[letters] | 0x20) >= 'a' &&
           (text.at[letters] | 0x20) <= 'z') {
        letters++;
    }
    bool known = letters == 0;
    for (size_t i = 0; i < VQ_COUNT(words); i++) {
        known = known || vq_label_word_is(vq_span(text.at, letters), words[i]);
    }
    text = vq_label_skip_punct(vq_span_after(text, letters));
    struct vq_span digits = vq_label_word(text);
    uint32_t number = 0;
    for (size_t i = 0; i < digits.bytes; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '9' || number > VQ_VERDICTS_MAX) {
            return 0;
        }
        number = number * 10 + (uint32_t)(digits.at[i] - '0');
    }
    return known && number <= count ? number : 0;
}

static uint32_t number_of(const json_t *value, uint32_t count)
{
    if (json_is_integer(value)) {
        json_int_t n = json_integer_value(value);
        return n >= 1 && n <= (json_int_t)count ? (uint32_t)n : 0;
    }
    return json_is_string(value)
               ? number_of_text(vq_span(json_string_value(value), json_string_length(value)), count)
               : 0;
}

/* The member of an object whose name is one of these, in any case of letters. */
static const json_t *member(const json_t *object, const char *const *names, size_t count)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        for (size_t i = 0; i < count; i++) {
            if (vq_label_word_is(vq_span_str(key), names[i])) {
                return value;
            }
        }
    }
    return NULL;
}

static const json_t *label_member(const json_t *object)
{
    static const char *const names[] = {"model", "label", "verdict", "answer", "choice", "winner"};
    return member(object, names, VQ_COUNT(names));
}

static const json_t *number_member(const json_t *object)
{
    static const char *const names[] = {"property", "axis", "vibe", "dimension", "number"};
    return member(object, names, VQ_COUNT(names));
}

static void say(struct found *found, uint32_t number, const json_t *value)
{
    enum vq_outcome said = VQ_OUTCOME_NONE;
    value = json_is_object(value) ? label_member(value) : value;
    if (json_is_string(value)) {
        said = vq_label_read(vq_span(json_string_value(value), json_string_length(value)));
    }
    found->verdicts[number - 1] = said == VQ_OUTCOME_NONE ? VQ_OUTCOME_UNPARSEABLE : said;
    found->any = true;
}

static void read_json(struct found *found, const json_t *value, unsigned depth);

static void read_array(struct found *found, const json_t *array, unsigned depth)
{
    bool one_each = json_array_size(array) == found->count;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        uint32_t number = number_of(number_member(item), found->count);
        if (number > 0 && label_member(item) != NULL) {
            say(found, number, item);
        } else if (one_each && json_is_string(item)) {
            say(found, (uint32_t)i + 1, item);
        } else {
            read_json(found, item, depth + 1);
        }
    }
}

static void read_json(struct found *found, const json_t *value, unsigned depth)
{
    if (depth > DEPTH_MAX) {
        return;
    }
    if (json_is_array(value)) {
        read_array(found, value, depth);
        return;
    }
    uint32_t own = number_of(number_member(value), found->count);
    if (own > 0 && label_member(value) != NULL) {
        say(found, own, value);
        return;
    }
    const char *key;
    json_t *inner;
    json_object_foreach((json_t *)(uintptr_t)value, key, inner)
    {
        uint32_t number = number_of_text(vq_span_str(key), found->count);
        if (number > 0 && (json_is_string(inner) || json_is_object(inner))) {
            say(found, number, inner);
        } else {
            read_json(found, inner, depth + 1);
        }
    }
}

/* The next line that begins with a bracket, to the end of the text. */
static bool next_start(struct vq_thinking *lines, struct vq_span *ret_json)
{
    struct vq_span line;
    while (vq_thinking_next_line(lines, &line)) {
        while (line.bytes > 0 && (line.at[0] == ' ' || line.at[0] == '\t')) {
            line = vq_span_after(line, 1);
        }
        if (line.bytes > 0 && (line.at[0] == '{' || line.at[0] == '[')) {
            *ret_json = vq_span_after(lines->text, (size_t)(line.at - lines->text.at));
            return true;
        }
    }
    return false;
}

enum vq_status vq_verdicts_json(struct vq_span answer, uint32_t count,
                                enum vq_outcome ret_verdicts[VQ_VERDICTS_MAX], bool *ret_found)
{
    struct vq_thinking lines;
    struct vq_span json;
    vq_thinking_begin(answer, &lines);
    for (int i = 0; i < STARTS_MAX && next_start(&lines, &json); i++) {
        json_t *root = NULL;
        struct found found = {.count = count};
        enum vq_status status = vq_json_load(json, JSON_DISABLE_EOF_CHECK, &root, NULL);
        if (status == VQ_NOMEM) {
            return status;
        }
        if (status == VQ_OK) {
            read_json(&found, root, 0);
            json_decref(root);
        }
        if (found.any) {
            memcpy(ret_verdicts, found.verdicts, sizeof(found.verdicts));
            *ret_found = true;
            return VQ_OK;
        }
    }
    *ret_found = false;
    return VQ_OK;
}

bool vq_verdict_ends_in_json(struct vq_span answer)
{
    static const char closers[] = " \t\r\n`";
    while (answer.bytes > 0 &&
           memchr(closers, answer.at[answer.bytes - 1], sizeof(closers) - 1) != NULL) {
        answer.bytes--;
    }
    return answer.bytes > 0 && memchr("]}", answer.at[answer.bytes - 1], 2) != NULL;
}

/* The text without blanks at both ends and without a fence around it. */
static struct vq_span bare(struct vq_span text)
{
    static const char fence[] = "```";
    size_t n = sizeof(fence) - 1;
    for (int i = 0; i < 2; i++) {
        while (text.bytes > 0 && memchr(" \t\r\n", text.at[0], 4) != NULL) {
            text = vq_span_after(text, 1);
        }
        while (text.bytes > 0 && memchr(" \t\r\n", text.at[text.bytes - 1], 4) != NULL) {
            text.bytes--;
        }
        bool fenced = i == 0 && text.bytes > 2 * n && memcmp(text.at, fence, n) == 0 &&
                      memcmp(text.at + text.bytes - n, fence, n) == 0;
        const char *line = fenced ? memchr(text.at, '\n', text.bytes - n) : NULL;
        if (line == NULL) {
            continue;
        }
        text = vq_span(line, text.bytes - n - (size_t)(line - text.at));
    }
    return text;
}

enum vq_status vq_verdict_json(struct vq_span answer, bool preference, enum vq_outcome *ret_outcome)
{
    struct vq_span text = vq_span_str("");
    if (vq_verdict_ends_in_json(answer)) { /* most answers are prose, which is not searched */
        text = bare(vq_thinking_rest(answer));
    }
    if (text.bytes < 2 || text.at[0] != '{' || text.at[text.bytes - 1] != '}') {
        *ret_outcome = VQ_OUTCOME_NONE;
        return VQ_OK;
    }
    json_t *root = NULL;
    if (vq_json_load(text, JSON_REJECT_DUPLICATES, &root, NULL) == VQ_NOMEM) {
        return VQ_NOMEM;
    }
    const json_t *label = json_object_get(root, preference ? "preference" : "model");
    enum vq_outcome said = VQ_OUTCOME_NONE;
    if (json_is_string(label)) {
        said = vq_label_alone(vq_span(json_string_value(label), json_string_length(label)));
    }
    json_decref(root);
    *ret_outcome = said;
    return VQ_OK;
}

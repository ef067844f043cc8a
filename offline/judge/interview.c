/* A list of interview questions: an opening remark, the requested number of questions (at most
 * QUESTIONS_MAX), a closing remark; one per line, with {role} for the person who answers.
 * Invariant: no question comes twice. */
#include "offline/judge/part_kinds.h"

#define STEP                                                                                       \
    77u /* has no divisor in common with the number of questions, so its steps reach all of them */

static const char *const frames[] = {
    "What comes to your mind first when you think of %s?",
    "How did %s shape who you are?",
    "What would you tell a stranger about %s?",
    "Tell me of a day when %s mattered to you.",
    "What have you changed your mind about when it comes to %s?",
    "Who taught you what you know about %s?",
    "What do people get wrong about you and %s?",
    "Describe %s in three sentences of your own.",
    "What would you give up for %s?",
    "If you had a free year, what place would %s have in it?",
};
static const char *const topics[] = {
    "your home",
    "your work",
    "your oldest friend",
    "the place where you grew up",
    "a good meal",
    "the weather",
    "money",
    "a mistake of yours",
    "your family",
    "the sea",
    "music",
    "a promise",
    "the room we are in",
    "your mornings",
    "a rival",
    "luck",
    "growing old",
    "something broken",
    "a secret",
    "the best advice you were given",
};
#define QUESTIONS_MAX (VQ_COUNT(frames) * VQ_COUNT(topics))
_Static_assert(QUESTIONS_MAX % 7 != 0 && QUESTIONS_MAX % 11 != 0, "STEP is 7 times 11");

static size_t wanted_of(struct vq_span text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.bytes && count <= QUESTIONS_MAX; i++) {
        if (text.at[i] >= '0' && text.at[i] <= '9') {
            count = count * 10 + (size_t)(text.at[i] - '0');
        }
    }
    return count < QUESTIONS_MAX ? count : QUESTIONS_MAX;
}

#define DRAW_FIRST UINT64_C(1)

enum vq_status vq_part_interview(const struct vq_part *part)
{
    size_t n = wanted_of(vq_wanted_section(part->request->text, "count", false));
    size_t at = (size_t)(vq_part_draw(part, DRAW_FIRST) % QUESTIONS_MAX);
    bool sloppy = part->request->is_malformed;
    vq_buf_puts(part->to, sloppy ? "Here is the list:\n\n" : "");
    vq_buf_puts(part->to, "Welcome, {role}, and thank you for taking the time to talk to me.");
    for (size_t i = 0; i < n; i++) {
        const char *topic = topics[at % VQ_COUNT(topics)];
        vq_buf_putc(part->to, '\n');
        if (sloppy) {
            vq_buf_printf(part->to, "%zu. ", i + 1);
        }
        const char *frame = frames[at / VQ_COUNT(topics)];
        const char *gap = strstr(frame, "%s");
        vq_buf_append(part->to, frame, (size_t)(gap - frame));
        vq_buf_puts(part->to, topic);
        vq_buf_puts(part->to, gap + 2);
        at = (at + STEP) % QUESTIONS_MAX;
    }
    vq_buf_puts(part->to, "\nThat was my last question, {role}. Thank you for your answers.");
    return part->to->status;
}

/* Any bytes to the offline rubric judge, and as the messages of a chat with the offline subject,
 * split at NUL bytes; the first byte chooses. What must hold: an answer comes, the judge's is one
 * of the values that exist, the subject's is bounded, and the same bytes get the same. */
#include "offline/persona/rating.h"
#include "offline/persona/subject.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMPT_BYTES_MAX 65536u
#define TURNS_MAX        64u

static void rate(struct vq_lexical *lexical, uint8_t choice, struct vq_span text)
{
    static const enum vq_wanted kinds[] = {VQ_WANTED_RATING, VQ_WANTED_YES_NO, VQ_WANTED_BETTER};
    struct vq_rating_request request = {
        .wanted = kinds[choice % 3], .kind = (enum vq_judge_kind)(choice / 3 % 2), .text = text};
    struct vq_buf reason;
    struct vq_buf answer;
    vq_buf_init(&reason, 1u << 20);
    vq_buf_init(&answer, 1u << 20);
    const char *value = vq_rating_give(lexical, &request, &reason);
    VQ_ASSERT(value == vq_rating_give(lexical, &request, &answer));
    VQ_ASSERT(vq_span_eq(vq_buf_span(&reason), vq_buf_span(&answer)));
    if (value != NULL) {
        VQ_ASSERT(strstr("1 2 3 4 5 Yes No A B", value) != NULL && reason.bytes < 4096);
        vq_rating_write_malformed(request.wanted, vq_buf_span(&reason), value, "", choice, &answer);
        VQ_ASSERT(answer.status == VQ_OK);
    }
    vq_buf_free(&reason);
    vq_buf_free(&answer);
}

static void answer_chat(struct vq_span text)
{
    struct vq_subject subject;
    struct vq_turn turns[TURNS_MAX];
    size_t n = 0;
    vq_subject_default(&subject);
    while (text.bytes > 0 && n < TURNS_MAX) {
        size_t bytes = strnlen(text.at, text.bytes);
        enum vq_turn_role role = n == 0 ? VQ_TURN_SYSTEM : VQ_TURN_ASSISTANT;
        turns[n] = (struct vq_turn){n % 2 == 1 ? VQ_TURN_USER : role, vq_span(text.at, bytes)};
        n++;
        size_t step = bytes < text.bytes ? bytes + 1 : bytes;
        text = vq_span(text.at + step, text.bytes - step);
    }
    struct vq_buf first;
    struct vq_buf second;
    vq_buf_init(&first, 8u << 20);
    vq_buf_init(&second, 8u << 20);
    VQ_ASSERT(vq_subject_answer(&subject, 1, turns, n, &first) == VQ_OK);
    VQ_ASSERT(vq_subject_answer(&subject, 1, turns, n, &second) == VQ_OK);
    VQ_ASSERT(vq_span_eq(vq_buf_span(&first), vq_buf_span(&second)) && first.bytes > 0);
    vq_buf_free(&first);
    vq_buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vq_lexical *lexical = NULL;
    if (size == 0 || size > PROMPT_BYTES_MAX) {
        return 0;
    }
    if (lexical == NULL) {
        VQ_ASSERT(vq_lexical_create(1, &lexical) == VQ_OK);
    }
    struct vq_span text = vq_span((const char *)data + 1, size - 1);
    if (data[0] % 8 < 6) {
        rate(lexical, data[0] % 8, text);
    } else {
        answer_chat(text);
    }
    return 0;
}

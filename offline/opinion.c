/* One opinion, and an answer with several. The axes of a joint question are judged one after the
 * other with the same texts, so a joint answer is equal to the single ones. */
#include "offline/opinion.h"

#include <stdio.h>

#define ANALYSIS_BYTES_MAX ((size_t)1 << 16)

enum vq_status vq_opinion_find(const struct vq_answerer *answerer,
                               const struct vq_chat_request *request,
                               const struct vq_sections *question,
                               const struct vq_answer_context *context, struct vq_buf *analysis,
                               struct vq_oracle_answer *ret_said, struct vq_error *err)
{
    struct vq_oracle_answer said = {.failure = VQ_ORACLE_ANSWERED};
    if (answerer->oracle != NULL) {
        VQ_TRY(vq_oracle_ask(answerer->oracle, request->model, question, context->nth_try, &said,
                             err));
        vq_buf_puts(analysis, "This answer was read from a file of truths.");
    } else {
        said.opinion =
            vq_lexical_judge(answerer->lexical, context->kind, question, request->seed, analysis);
    }
    *ret_said = said;
    return VQ_OK;
}

/* Whether the axis with this number begins at *at, at the start of a line: "3. Name:". Moves *at to
 * the position after the dot. */
static bool takes_number(struct vq_span axes, unsigned number, size_t *at)
{
    char mark[16];
    size_t bytes = (size_t)snprintf(mark, sizeof(mark), "%u. Name:", number);
    bool line = *at == 0 || axes.at[*at - 1] == '\n';
    if (!line || axes.bytes - *at < bytes || memcmp(axes.at + *at, mark, bytes) != 0) {
        return false;
    }
    *at += bytes - strlen("Name:");
    return true;
}

/* The axis with this number, up to the next one; false: there is none. *at: after the previous
 * axis. */
static bool next_axis(struct vq_span axes, unsigned number, size_t *at, struct vq_span *ret_axis)
{
    while (*at < axes.bytes && !takes_number(axes, number, at)) {
        (*at)++;
    }
    if (*at >= axes.bytes) {
        return false;
    }
    size_t from = *at;
    for (; *at < axes.bytes; (*at)++) {
        size_t next = *at;
        if (takes_number(axes, number + 1, &next)) {
            break;
        }
    }
    *ret_axis = vq_span(axes.at + from, *at - from);
    return true;
}

enum form {
    FORM_PLAIN,
    FORM_MISSING,
    FORM_JSON,
    FORM_NUMBERS,
    FORM_MARKDOWN,
    FORM_PROSE,
};

static enum form form_of(const struct vq_answer_context *context)
{
    static const char *const names[] = {[FORM_MISSING] = "missing",
                                        [FORM_JSON] = "json",
                                        [FORM_NUMBERS] = "numbers",
                                        [FORM_MARKDOWN] = "markdown"};
    if (context->fault != VQ_FAULT_WRONG_FORMAT) {
        return FORM_PLAIN;
    }
    for (size_t i = FORM_MISSING; i < VQ_COUNT(names); i++) {
        if (strcmp(names[i], context->variant) == 0) {
            return (enum form)i;
        }
    }
    return FORM_PROSE;
}

static void write_one(enum form form, unsigned number, const char *label, struct vq_span analysis,
                      struct vq_buf *to)
{
    const char *begin = to->bytes == 0 ? "" : "\n";
    switch (form) {
    case FORM_MISSING:
        if (number % 2 == 0) {
            return;
        }
        break;
    case FORM_JSON:
        vq_buf_printf(to, "%s\"%u\": \"%s\"", to->bytes == 0 ? "{" : ", ", number, label);
        return;
    case FORM_NUMBERS: vq_buf_printf(to, "%s%u) Model: %s", begin, number, label); return;
    case FORM_MARKDOWN: vq_buf_printf(to, "%s- **Property %u:** %s", begin, number, label); return;
    case FORM_PROSE: return;
    case FORM_PLAIN: break;
    }
    vq_buf_printf(to, "%sAnalysis %u: %.*s\nProperty %u: %s", begin, number, (int)analysis.bytes,
                  analysis.at == NULL ? "" : analysis.at, number, label);
}

enum vq_status vq_opinions_write(const struct vq_answerer *answerer,
                                 const struct vq_chat_request *request,
                                 const struct vq_answer_context *context, struct vq_buf *to,
                                 struct vq_error *err)
{
    struct vq_span axes = vq_wanted_section(request->question_text, "axes", false);
    struct vq_span axis;
    enum form form = form_of(context);
    size_t at = 0;
    enum vq_status status = VQ_OK;
    struct vq_buf analysis;
    vq_buf_init(&analysis, ANALYSIS_BYTES_MAX);
    for (unsigned number = 1; status == VQ_OK && next_axis(axes, number, &at, &axis); number++) {
        struct vq_sections question = request->question;
        struct vq_oracle_answer said;
        vq_sections_read_axis(axis, &question);
        vq_buf_clear(&analysis);
        status = vq_opinion_find(answerer, request, &question, context, &analysis, &said, err);
        if (status == VQ_OK && said.failure == VQ_ORACLE_ANSWERED) {
            bool biased = context->fault == VQ_FAULT_ALWAYS_A;
            write_one(form, number, vq_opinion_text(biased ? VQ_OPINION_A : said.opinion),
                      vq_buf_span(&analysis), to);
        }
    }
    if (form == FORM_JSON && to->bytes > 0) {
        vq_buf_putc(to, '}');
    }
    if (to->bytes == 0) {
        vq_buf_puts(to, "The two texts are of different kinds, and each has its merits.");
    }
    vq_buf_free(&analysis);
    return status;
}

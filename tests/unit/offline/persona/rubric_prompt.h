/* What the rubric judge's tests share: prompts as the real templates render them, with the built-in
 * criteria, and answers as the real reader reads them. */
#pragma once

#include "common/judge/criteria.h"
#include "common/judge/template.h"
#include "offline/persona/rating.h"

#include <stdio.h>
#include <stdlib.h>

struct asked {
    enum vq_rating_kind kind;
    const char *criterion;
    const char *rubric;
    const char *prompt;
    const char *responses[2];
};

static enum vq_wanted wanted_by(enum vq_rating_kind kind)
{
    static const enum vq_wanted of[] = {[VQ_RATING_LIKERT] = VQ_WANTED_RATING,
                                        [VQ_RATING_BINARY] = VQ_WANTED_YES_NO,
                                        [VQ_RATING_PAIRWISE] = VQ_WANTED_BETTER};
    return of[kind];
}

static void render(const struct asked *asked, struct vq_buf *ret_text)
{
    static const enum vq_template_kind of[] = {[VQ_RATING_LIKERT] = VQ_TEMPLATE_LIKERT,
                                               [VQ_RATING_BINARY] = VQ_TEMPLATE_BINARY,
                                               [VQ_RATING_PAIRWISE] = VQ_TEMPLATE_PAIRWISE};
    struct vq_template *template = NULL;
    enum vq_template_kind kind = of[asked->kind];
    assert_int_equal(vq_template_parse(kind, vq_template_builtin(kind), "t", &template, NULL),
                     VQ_OK);
    const struct vq_span values[VQ_PLACEHOLDER__COUNT] = {
        [VQ_PLACEHOLDER_PROMPT] = vq_span_str(asked->prompt),
        [VQ_PLACEHOLDER_OUTPUT_A] = vq_span_str(asked->responses[0]),
        [VQ_PLACEHOLDER_OUTPUT_B] = vq_span_str(asked->responses[1]),
        [VQ_PLACEHOLDER_CRITERION] = vq_span_str(asked->criterion),
        [VQ_PLACEHOLDER_RUBRIC] = vq_span_str(asked->rubric),
    };
    vq_buf_init(ret_text, 1u << 20);
    assert_int_equal(vq_template_render(template, VQ_TEMPLATE_USER, values, ret_text), VQ_OK);
    vq_template_destroy(&template);
    assert_int_equal(vq_wanted_find(vq_buf_span(ret_text)), wanted_by(asked->kind));
}

/* The value that the real reader finds in the judge's whole answer. */
static int64_t value_of(struct vq_lexical *lexical, enum vq_judge_kind judge,
                        const struct asked *asked)
{
    struct vq_buf text;
    struct vq_buf reason;
    struct vq_buf answer;
    struct vq_rating rating;
    render(asked, &text);
    vq_buf_init(&reason, 1u << 16);
    vq_buf_init(&answer, 1u << 16);
    struct vq_rating_request request = {
        .wanted = wanted_by(asked->kind), .kind = judge, .text = vq_buf_span(&text)};
    const char *value = vq_rating_give(lexical, &request, &reason);
    assert_non_null(value);
    assert_true(reason.bytes > 10);
    vq_rating_write(vq_buf_span(&reason), value, &answer);
    struct vq_rating_reader reader = {.kind = asked->kind, .policy = VQ_RATING_STRICT};
    vq_rating_read(&reader, vq_buf_span(&answer), vq_span_str("stop"), false, &rating);
    if (rating.status != VQ_RATING_OK) {
        fail_msg("read as %s: %s", vq_rating_status_name(rating.status), answer.at);
    }
    assert_true(vq_span_eq(rating.reasoning, vq_buf_span(&reason)));
    vq_buf_free(&text);
    vq_buf_free(&reason);
    vq_buf_free(&answer);
    return rating.value;
}

/* By a built-in criterion. */
VQ_UNUSED static int64_t rated(struct vq_lexical *lexical, enum vq_judge_kind judge,
                               const char *name, const char *prompt, const char *a, const char *b)
{
    const struct vq_criterion *c = vq_criterion_builtin(name);
    assert_non_null(c);
    struct asked asked = {c->kind, c->name, c->rubric, prompt, {a, b}};
    return value_of(lexical, judge, &asked);
}

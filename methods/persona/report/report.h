/* The results of a persona evaluation for programs: results.json (format 1), ratings.csv,
 * dialogues.jsonl; and the table on the terminal. Pure text into buffers: the same inputs give the
 * same bytes. Numbers have 9 significant digits; a missing value is null, or an empty cell. */
#pragma once

#include "methods/persona/items.h"
#include "methods/report/report.h"

/* Everything borrowed. */
struct vq_report_persona {
    const struct vq_persona_study *study;
    const struct vq_persona_numbers *numbers;
    struct vq_persona_names names;
    const struct vq_report_judge *judges; /* study->judges entries */
    const char *judge_kind;               /* as in vq_report_input */
    const char *policy;                   /* "strict" or "paper": how answers were read */
    const char *const *sets;              /* names of the plan's data sets */
    /* number of people's labels; number of labels for things that were not rated */
    size_t human_labels, human_unplaced;
    /* NULL: not known. Only the table shows them, so that files do not depend on the calls */
    const struct vq_report_calls *calls;
};

/* These append to `out`; failures stick in out->status. */
void vq_report_persona_json(const struct vq_report_persona *r, struct vq_buf *out);

/* The rows of the things [from, until), one per judge, after the header if `from` is 0. `round` is
 * the turn, from 0, for ratings of turns; else it is the number of rounds before the checkpoint.
 * Items and positions count from 1. The baseline has an empty name. */
void vq_report_persona_ratings_csv(const struct vq_report_persona *r, size_t from, size_t until,
                                   struct vq_buf *out);

void vq_report_persona_table(const struct vq_report_persona *r, const struct vq_terminal *terminal,
                             struct vq_buf *out);

/* A dialogue, up to the turn where it ended. */
struct vq_persona_dialogue {
    uint32_t chain;        /* number in the plan */
    struct vq_span system; /* at NULL: no system message */
    const struct vq_span *queries, *answers;
    uint32_t turns;    /* number of answered turns */
    const char *ended; /* why it ended before its last round; NULL: it is complete */
};

/* The parts of report.html that the numbers do not contain (methods/persona/report/page.c). */
struct vq_report_persona_page {
    const struct vq_report_persona *r;
    /* *ret_dialogue is valid until the next call. NULL: no dialogues are shown. */
    void (*dialogue)(void *ctx, uint32_t chain, struct vq_persona_dialogue *ret_dialogue);
    /* The reasoning in a judge's rating of a thing; false: there is none. The text is valid until
     * the next call. NULL: no reasoning is shown. */
    bool (*reasoning)(void *ctx, size_t thing, uint32_t judge, struct vq_span *ret_text);
    /* The question in a column of a data set after the beginning of a dialogue, and its answer (.at
     * NULL: none), valid until the next call. NULL: no questions are shown. */
    void (*probe)(void *ctx, uint32_t set, uint32_t prefix, uint32_t column,
                  const char **ret_question, struct vq_span *ret_answer);
    const uint32_t *sets; /* [criterion]: the data set it rates; VQ_PERSONA_NONE: turns */
    void *ctx;
};
/* Appends; failures stick in out->status. The size is bounded as in page.h. */
void vq_report_persona_html(const struct vq_report_persona_page *page, struct vq_buf *out);

/* Appends one line: the model, the persona and the kind, and the messages in turn. */
void vq_report_persona_dialogue(const struct vq_report_persona *r,
                                const struct vq_persona_dialogue *dialogue, struct vq_buf *out);

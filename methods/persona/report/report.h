/* What a persona evaluation leaves for programs: results.json (format 1), ratings.csv,
 * dialogues.jsonl; and the table on the terminal. Pure text into buffers: the same inputs give the
 * same bytes. Numbers have 9 significant digits; what is missing is null, or an empty cell. */
#pragma once

#include "methods/persona/items.h"
#include "methods/report/report.h"

/* Everything borrowed. */
struct vq_report_persona {
    const struct vq_persona_study *study;
    const struct vq_persona_numbers *numbers;
    struct vq_persona_names names;
    const struct vq_report_judge *judges; /* study->judges of them */
    const char *judge_kind;               /* as in vq_report_input */
    const char *policy;                   /* "strict" or "paper": how answers were read */
    const char *const *sets;              /* names of the plan's data sets */
    size_t human_labels, human_unplaced;  /* of people; of them, of nothing that was rated */
    /* NULL: not known. Of the table alone: files are the same whatever was sent */
    const struct vq_report_calls *calls;
};

/* Appends; failures stick in out->status. */
void vq_report_persona_json(const struct vq_report_persona *r, struct vq_buf *out);

/* The rows of the things [from, until), one a judge, behind the header when `from` is 0. `round` is
 * the turn, from 0, of what rates turns and else the rounds before the checkpoint; items and
 * positions count from 1. The baseline's name is empty. */
void vq_report_persona_ratings_csv(const struct vq_report_persona *r, size_t from, size_t until,
                                   struct vq_buf *out);

void vq_report_persona_table(const struct vq_report_persona *r, const struct vq_terminal *terminal,
                             struct vq_buf *out);

/* A dialogue, as far as it came. */
struct vq_persona_dialogue {
    uint32_t chain;        /* of the plan */
    struct vq_span system; /* at NULL: no system message */
    const struct vq_span *queries, *answers;
    uint32_t turns;    /* answered ones */
    const char *ended; /* why it ended before its last round; NULL: it did not */
};

/* What report.html shows beside the numbers (methods/persona/report/page.c). */
struct vq_report_persona_page {
    const struct vq_report_persona *r;
    /* What it returns is valid until the next call. NULL: no dialogues are shown. */
    void (*dialogue)(void *ctx, uint32_t chain, struct vq_persona_dialogue *ret_dialogue);
    /* Of the rating of a thing of the study; false: there is none. The text is valid until the next
     * call. NULL: none is shown. */
    bool (*reasoning)(void *ctx, size_t thing, uint32_t judge, struct vq_span *ret_text);
    /* What was asked in a column of a data set behind a beginning, and the answer (.at NULL: none),
     * valid until the next call. NULL: none of it is shown. */
    void (*probe)(void *ctx, uint32_t set, uint32_t prefix, uint32_t column,
                  const char **ret_question, struct vq_span *ret_answer);
    const uint32_t *sets; /* [criterion]: the data set it rates; VQ_PERSONA_NONE: turns */
    void *ctx;
};
/* Appends; failures stick in out->status. Bounded as page.h says. */
void vq_report_persona_html(const struct vq_report_persona_page *page, struct vq_buf *out);

/* One line: who, and the messages in turn. */
void vq_report_persona_dialogue(const struct vq_report_persona *r,
                                const struct vq_persona_dialogue *dialogue, struct vq_buf *out);

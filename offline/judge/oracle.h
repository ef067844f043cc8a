/* Verdicts from a truth file, with given rates of error: for tests that must know the correct
 * result. Pure, except that it reads the file. */
#pragma once

#include "offline/judge/lexical.h"

/* The file has one JSON object per line; empty lines and lines that begin with # are skipped.
 *   {"axis": NAME, "sample": ID, "score": 1 | 0 | -1 | "N/A"}     +1: model A's output is higher
 *   {"rates": {"model": M, "axis": NAME, "error": p, ...}}        model and axis may be left out
 * A question belongs to sample ID if its prompt contains "[ID]". An output with "[A]" is model A's,
 * one with "[B]" model B's. The axis of a preference question is "preference". Of the lines with
 * rates that fit a question, the last one counts. */
struct vq_oracle;

enum vq_oracle_failure {
    VQ_ORACLE_ANSWERED,
    VQ_ORACLE_REFUSED,
    VQ_ORACLE_UNPARSEABLE,
    VQ_ORACLE_TRUNCATED,
};

struct vq_oracle_answer {
    enum vq_oracle_failure failure;
    enum vq_opinion opinion; /* for the outputs in the order of the prompt */
};

enum vq_status vq_oracle_load(const char *path, uint64_t seed, struct vq_oracle **ret_oracle,
                              struct vq_error *err) VQ_WARN_UNUSED;
void vq_oracle_destroy(struct vq_oracle **oracle);

bool vq_oracle_names_model(const struct vq_oracle *oracle, const char *model);
/* The i-th model that the rates name, in the file's order; NULL: none. For the list of models. */
const char *vq_oracle_model(const struct vq_oracle *oracle, size_t i);

/* `nth_try` counts the repetitions of this request, from 1. VQ_NOT_FOUND, with a sentence: the file
 * has no answer. */
enum vq_status vq_oracle_ask(const struct vq_oracle *oracle, const char *model,
                             const struct vq_sections *question, uint64_t nth_try,
                             struct vq_oracle_answer *ret_answer,
                             struct vq_error *err) VQ_WARN_UNUSED;

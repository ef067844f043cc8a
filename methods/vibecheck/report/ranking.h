/* What a run over more than two models adds to results.json, and its table on the terminal. */
#pragma once

#include "common/text/json.h"
#include "methods/vibecheck/numbers/ranking.h"
#include "methods/vibecheck/report/report.h"

/* The models of a vibe, best first: `ret_order` holds one number a model. */
void vq_ranking_order(const struct vq_ranking *ranking, uint32_t vibe, uint32_t *ret_order);
/* Whether `better` is above `worse` on the vibe beyond chance: their sets of ranks do not meet. */
bool vq_ranking_apart(const struct vq_ranking *ranking, uint32_t vibe, uint32_t better,
                      uint32_t worse);
/* "all pairs", "each model against the baseline NAME", "an incomplete design": of the
 * configuration. */
void vq_ranking_design(const struct vq_config *config, struct vq_buf *out);

/* Of two models each of them writes nothing. */
void vq_ranking_json_pairs(struct vq_json *j, const struct vq_report_input *r);
void vq_ranking_json(struct vq_json *j, const struct vq_report_input *r);
/* A vibe of the list, kept or not, with its ranking. */
void vq_ranking_table_row(const struct vq_report_input *r, uint32_t vibe,
                          const struct vq_terminal *terminal, struct vq_buf *out);
void vq_ranking_table_head(const struct vq_report_input *r, struct vq_buf *out);

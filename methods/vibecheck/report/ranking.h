/* The parts of results.json for more than two models, and their table on the terminal. */
#pragma once

#include "common/text/json.h"
#include "methods/vibecheck/numbers/ranking.h"
#include "methods/vibecheck/report/report.h"

/* The models of a vibe, best first: `ret_order` has one number per model. */
void vq_ranking_order(const struct vq_ranking *ranking, uint32_t vibe, uint32_t *ret_order);
/* Whether `better` is significantly above `worse` on the vibe: their sets of ranks do not
 * overlap. */
bool vq_ranking_apart(const struct vq_ranking *ranking, uint32_t vibe, uint32_t better,
                      uint32_t worse);
/* Appends the design of the configuration: "all pairs", "each model against the baseline NAME", "an
 * incomplete design". */
void vq_ranking_design(const struct vq_config *config, struct vq_buf *out);

/* With two models each of these writes nothing. */
void vq_ranking_json_pairs(struct vq_json *j, const struct vq_report_input *r);
void vq_ranking_json(struct vq_json *j, const struct vq_report_input *r);
/* Writes one vibe, kept or not, with its ranking. */
void vq_ranking_table_row(const struct vq_report_input *r, uint32_t vibe,
                          const struct vq_terminal *terminal, struct vq_buf *out);
void vq_ranking_table_head(const struct vq_report_input *r, struct vq_buf *out);

/* Private to this folder: the files of prompts/, which embed.cmake puts into the program. */
#pragma once

#include "common/judge/criteria.h"
#include "common/judge/request.h"

extern const struct vq_span vq_embedded_judge;
extern const struct vq_span vq_embedded_judge_clear;
extern const struct vq_span vq_embedded_judge_many;
extern const struct vq_span vq_embedded_judge_many_clear;
extern const struct vq_span vq_embedded_likert;
extern const struct vq_span vq_embedded_binary;
extern const struct vq_span vq_embedded_pairwise;
extern const struct vq_span vq_embedded_persona;
extern const struct vq_span vq_embedded_queries;
extern const struct vq_span vq_embedded_repair;
extern const struct vq_span vq_embedded_preference;
extern const struct vq_span vq_embedded_discover;
extern const struct vq_span vq_embedded_differences;
extern const struct vq_span vq_embedded_formalise;
extern const struct vq_span vq_embedded_discover_again;
extern const struct vq_span vq_embedded_summarise;
extern const struct vq_span vq_embedded_simplify;
extern const struct vq_span vq_embedded_reduce;
extern const struct vq_span vq_embedded_dedup;
extern const struct vq_span vq_embedded_generate;
extern const struct vq_span vq_embedded_match;
extern const struct vq_span vq_embedded_question_types;
extern const struct vq_axis vq_embedded_axes[];
extern const size_t vq_embedded_axes_count;
extern const struct vq_axis vq_embedded_gold_hc3[];
extern const size_t vq_embedded_gold_hc3_count;
extern const struct vq_criterion vq_embedded_criteria[];
extern const size_t vq_embedded_criteria_count;

/* Private to the page of a persona evaluation. */
#pragma once

#include "methods/persona/report/report.h"
#include "methods/report/html/html.h"
#include "methods/report/keys.h"

/* What a page holds at most. */
#define VQ_PERSONA_PAGE_TALKS_MAX      200u              /* dialogues that can be read */
#define VQ_PERSONA_PAGE_TALK_BYTES_MAX ((size_t)3 << 20) /* of one */
#define VQ_PERSONA_PAGE_RATINGS_MAX    400u              /* of a turn */
#define VQ_PERSONA_PAGE_REASONS_MAX    18u               /* of them, with their reasoning */
#define VQ_PERSONA_PAGE_PROBES_MAX     12u               /* of a data set, behind one beginning */

struct vq_persona_page {
    const struct vq_report_persona *r;
    const struct vq_report_persona_page *of;
};

/* Each writes keys into an open object; failures stick in j->out->status. */

/* page_talks.c: "talks", the dialogues with their ratings. */
void vq_persona_page_talks(const struct vq_persona_page *p, struct vq_json *j);
/* Things by their places, in each in their order. */
struct vq_persona_index {
    size_t *from; /* [place], and the end */
    size_t *things;
};
/* `place_of`: below `places`, or SIZE_MAX: the thing has none. VQ_NOMEM: then there is nothing to
 * free. */
enum vq_status vq_persona_index_make(const struct vq_persona_page *p, size_t places,
                                     size_t (*place_of)(const struct vq_persona_page *p,
                                                        size_t thing),
                                     struct vq_persona_index *ret_index) VQ_WARN_UNUSED;
/* One rating as an object, with what its judge wrote. */
void vq_persona_page_rating(const struct vq_persona_page *p, size_t thing, uint32_t judge,
                            bool with_reasoning, struct vq_json *j);

/* page_probes.c: the questions after the beginning of a dialogue, with their answers and ratings.
 * *ret_probed: by beginning, the rated answers after it; as vq_persona_index_make. */
enum vq_status vq_persona_probed_make(const struct vq_persona_page *p,
                                      struct vq_persona_index *ret_probed) VQ_WARN_UNUSED;
/* Adds to an open array, per data set, the questions to this dialogue after `rounds` rounds.
 * Nothing if that is no checkpoint, or the dialogue's order is not the original one. No further
 * question begins after the page has `bytes_max`. */
void vq_persona_page_probes(const struct vq_persona_page *p, const struct vq_persona_index *probed,
                            uint32_t chain, uint32_t rounds, size_t bytes_max, struct vq_json *j);

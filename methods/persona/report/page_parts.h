/* Private to the page of a persona evaluation. */
#pragma once

#include "methods/persona/report/report.h"
#include "methods/report/html/html.h"
#include "methods/report/keys.h"

/* Limits of a page. */
#define VQ_PERSONA_PAGE_TALKS_MAX      200u              /* dialogues that can be read */
#define VQ_PERSONA_PAGE_TALK_BYTES_MAX ((size_t)3 << 20) /* of one */
#define VQ_PERSONA_PAGE_RATINGS_MAX    400u              /* of a turn: ratings */
/* of a turn: ratings with their reasoning */
#define VQ_PERSONA_PAGE_REASONS_MAX 18u
/* of a data set: questions after one beginning */
#define VQ_PERSONA_PAGE_PROBES_MAX 12u

struct vq_persona_page {
    const struct vq_report_persona *r;
    const struct vq_report_persona_page *of;
};

/* Each function writes keys into an open object; failures stick in j->out->status. */

/* page_talks.c: "talks", the dialogues with their ratings. */
void vq_persona_page_talks(const struct vq_persona_page *p, struct vq_json *j);
/* The numbers of things, sorted by place, and within a place in their order. */
struct vq_persona_index {
    size_t *from; /* [place]: index of its first thing; the last entry is the end */
    size_t *things;
};
/* `place_of` returns a number less than `places`, or SIZE_MAX if the thing has no place. VQ_NOMEM:
 * then the caller has nothing to free. */
enum vq_status vq_persona_index_make(const struct vq_persona_page *p, size_t places,
                                     size_t (*place_of)(const struct vq_persona_page *p,
                                                        size_t thing),
                                     struct vq_persona_index *ret_index) VQ_WARN_UNUSED;
/* Writes one rating as an object, with the judge's reasoning if `with_reasoning`. */
void vq_persona_page_rating(const struct vq_persona_page *p, size_t thing, uint32_t judge,
                            bool with_reasoning, struct vq_json *j);

/* page_probes.c: an index of the rated answers by the beginning that they follow. *ret_probed: as
 * from vq_persona_index_make. */
enum vq_status vq_persona_probed_make(const struct vq_persona_page *p,
                                      struct vq_persona_index *ret_probed) VQ_WARN_UNUSED;
/* Adds to an open array, for each data set, the questions to this dialogue after `rounds` rounds.
 * Adds nothing if this is no checkpoint, or if the dialogue is not in original order. Adds no
 * further question after the page has `bytes_max` bytes. */
void vq_persona_page_probes(const struct vq_persona_page *p, const struct vq_persona_index *probed,
                            uint32_t chain, uint32_t rounds, size_t bytes_max, struct vq_json *j);

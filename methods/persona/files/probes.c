/* Makes the stages of probes again, without their texts: the request of a question needs only the
 * id of its beginning. Ids are computed when they are first needed, and stored. Not its job: the
 * questions of a run (methods/persona). */
#include "methods/persona/files/probes.h"

#include "common/base/alloc.h"
#include "coordinator/store/calls/lookup.h"
#include "methods/grid/stage_grid.h"

#define PACKED_BYTES_MAX ((size_t)64 << 20)

struct piece { /* columns [from, until) of a set, of all beginnings */
    uint32_t set, from, until;
    struct vq_stage_grid *asking;
};

struct vq_probes {
    const struct vq_job *job;
    const struct vq_persona *persona;
    struct vq_view *view;
    const struct vq_id *run;
    struct piece *pieces;
    size_t pieces_count, pieces_cap;
    struct vq_sample_id *ids; /* by prefix; valid if `known` */
    bool *known;
    struct vq_buf packed;
};

static const struct vq_persona_plan *plan_of(const struct vq_probes *p)
{
    return vq_persona_input(p->persona)->plan;
}

enum vq_status vq_probes_create(const struct vq_job *job, const struct vq_persona *persona,
                                struct vq_view *view, const struct vq_id *run,
                                struct vq_probes **ret_probes)
{
    struct vq_probes *p;
    VQ_TRY(VQ_ALLOC(p, 1));
    *p = (struct vq_probes){.job = job, .persona = persona, .view = view, .run = run};
    vq_buf_init(&p->packed, PACKED_BYTES_MAX);
    p->ids = vq_alloc(plan_of(p)->prefixes_count, sizeof(*p->ids));
    p->known = vq_alloc(plan_of(p)->prefixes_count, sizeof(*p->known));
    if (p->ids == NULL || p->known == NULL) {
        vq_probes_destroy(&p);
        return VQ_NOMEM;
    }
    *ret_probes = p;
    return VQ_OK;
}

void vq_probes_destroy(struct vq_probes **probes)
{
    struct vq_probes *p = *probes;
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < p->pieces_count; i++) {
        vq_stage_grid_destroy(&p->pieces[i].asking);
    }
    vq_buf_free(&p->packed);
    vq_free(p->pieces);
    vq_free(p->ids);
    vq_free(p->known);
    vq_free(p);
    *probes = NULL;
}

/* ---- pieces ---- */

/* The stage of the run, but with all beginnings. It borrows their ids, which are filled in
 * later. */
static enum vq_status make_piece(struct vq_probes *p, struct piece *piece, struct vq_error *err)
{
    const struct vq_persona_probe *probe = &vq_persona_input(p->persona)->probes[piece->set];
    uint32_t n = piece->until - piece->from;
    struct vq_axis *axes;
    VQ_TRY(VQ_ALLOC(axes, n));
    for (uint32_t i = 0; i < n; i++) {
        axes[i] = (struct vq_axis){"question", vq_persona_question(probe, piece->from + i), ""};
    }
    struct vq_stage stage = {.name = probe->name,
                             .kind = VQ_STAGE_PROBE,
                             .role = VQ_ROLE_SUBJECT,
                             .item_ids = p->ids,
                             .items_count = plan_of(p)->prefixes_count,
                             .axes = axes,
                             .axes_count = n};
    struct vq_grid_source source = vq_job_source(p->job);
    enum vq_status status = vq_stage_grid_create(&source, &stage, &piece->asking, err);
    vq_free(axes);
    return status;
}

static enum vq_status piece_of(struct vq_probes *p, uint32_t set, uint32_t column,
                               struct piece **ret_piece, struct vq_error *err)
{
    for (size_t i = 0; i < p->pieces_count; i++) {
        struct piece *at = &p->pieces[i];
        if (at->set == set && column >= at->from && column < at->until) {
            *ret_piece = at;
            return VQ_OK;
        }
    }
    const struct vq_persona_probe *probe = &vq_persona_input(p->persona)->probes[set];
    uint32_t columns = vq_persona_columns(&plan_of(p)->design.sets[set]);
    struct piece piece = {.set = set};
    VQ_ASSERT(column < columns);
    while (piece.until <= column) {
        piece.from = piece.until;
        piece.until = vq_persona_piece(probe, columns, piece.from);
    }
    VQ_TRY(vq_grow((void **)&p->pieces, &p->pieces_cap, p->pieces_count + 1, sizeof(*p->pieces),
                   UINT32_MAX));
    VQ_TRY(make_piece(p, &piece, err));
    p->pieces[p->pieces_count] = piece;
    *ret_piece = &p->pieces[p->pieces_count++];
    return VQ_OK;
}

/* ---- answers ---- */

/* *ret_there: whether the dialogue reached this beginning. */
static enum vq_status identify(struct vq_probes *p, uint32_t prefix, bool *ret_there)
{
    struct vq_sample sample;
    *ret_there = p->known[prefix];
    if (*ret_there || !vq_persona_beginning(p->persona, prefix, &p->packed, &sample)) {
        return VQ_OK;
    }
    VQ_TRY(p->packed.status);
    vq_sample_identify(&sample, &p->ids[prefix]);
    *ret_there = p->known[prefix] = true;
    return VQ_OK;
}

enum vq_status vq_probes_find(struct vq_probes *p, uint32_t set, uint32_t prefix, uint32_t column,
                              struct vq_span *ret_answer, struct vq_error *err)
{
    struct piece *piece;
    bool there, repaired;
    VQ_TRY(identify(p, prefix, &there));
    if (!there) {
        *ret_answer = vq_span(NULL, 0);
        return VQ_OK;
    }
    VQ_TRY(piece_of(p, set, column, &piece, err));
    struct vq_cell cell = {.sample = prefix,
                           .judge = plan_of(p)->prefixes[prefix].model,
                           .vibe = column - piece->from};
    struct vq_answer answer;
    uint64_t task = vq_grid_task(&piece->asking->plan.grid, cell);
    enum vq_status status =
        vq_lookup_standing(p->view, &piece->asking->plan, p->run, task, &answer, &repaired, err);
    if (status == VQ_OK || status == VQ_NOT_FOUND) {
        *ret_answer = status == VQ_OK ? answer.answer : vq_span(NULL, 0);
        return VQ_OK;
    }
    return status;
}

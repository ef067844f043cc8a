/* The nearest-neighbour chain, the table of merges and its cuts.
 *
 * A cluster is stored in the slot of its lowest row. A slot is dead after its cluster was merged
 * into another one. When half of the slots are dead, the matrix is packed in place, which keeps the
 * columns of the triangle close together. The chain is correct because all three linkages are
 * reducible: a merge never brings another pair closer. Rounding to float keeps this order: no
 * parent is lower than its child.
 *
 * A call owns its matrix and arrays; a tree owns its merges. Not its job: distances
 * (cluster_distance.c). */
#include "methods/stats/cluster/cluster.h"

#include "common/base/alloc.h"
#include "common/base/arena.h"
#include "methods/stats/cluster/cluster_distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct linkage {
    enum vq_cluster_linkage kind;
    size_t slots;     /* side of the matrix */
    float *distances; /* condensed, over slots */
    uint32_t *row;    /* [slot]: the lowest row of its cluster */
    uint32_t *size;   /* [live slot]: number of rows in its cluster */
    uint32_t *live;   /* live slots, ascending */
    size_t live_count;
    uint32_t *chain; /* slots */
    size_t chain_length;
};

/* A merge in the order of discovery, with the lowest rows of its two clusters. */
struct found {
    double height;
    uint32_t row_a, row_b;
    uint32_t number;
};

static float *cell(const struct linkage *l, size_t i, size_t j)
{
    size_t at = i < j ? vq_cluster_pair(l->slots, i, j) : vq_cluster_pair(l->slots, j, i);
    return &l->distances[at];
}

/* The live slot nearest to `slot`; at equal distance `before` is taken (== slot: none). */
static uint32_t nearest(const struct linkage *l, uint32_t slot, uint32_t before,
                        float *ret_distance)
{
    uint32_t best_slot = before;
    float best = before == slot ? INFINITY : *cell(l, slot, before);
    for (size_t at = 0; at < l->live_count; at++) {
        uint32_t other = l->live[at];
        if (other == slot) {
            continue;
        }
        float d = *cell(l, slot, other);
        if (d < best) {
            best = d;
            best_slot = other;
        }
    }
    *ret_distance = best;
    return best_slot;
}

/* Grows the chain until its last two slots are each other's nearest. */
static float grow_chain(struct linkage *l)
{
    if (l->chain_length == 0) {
        l->chain[l->chain_length++] = l->live[0];
    }
    for (;;) {
        uint32_t tip = l->chain[l->chain_length - 1];
        uint32_t before = l->chain_length > 1 ? l->chain[l->chain_length - 2] : tip;
        float d;
        uint32_t next = nearest(l, tip, before, &d);
        if (before != tip && next == before) {
            return d;
        }
        VQ_ASSERT(next != tip && l->chain_length < l->slots);
        l->chain[l->chain_length++] = next;
    }
}

/* Lance and Williams: the distance of slot k to a union, from its distances to the two parts. */
static float updated(enum vq_cluster_linkage kind, double to_a, double to_b, double between,
                     double size_a, double size_b, double size_k)
{
    switch (kind) {
    case VQ_CLUSTER_WARD:
        return (float)sqrt(((size_a + size_k) * to_a * to_a + (size_b + size_k) * to_b * to_b -
                            size_k * between * between) /
                           (size_a + size_b + size_k));
    case VQ_CLUSTER_AVERAGE: return (float)((size_a * to_a + size_b * to_b) / (size_a + size_b));
    case VQ_CLUSTER_COMPLETE: return (float)fmax(to_a, to_b);
    }
    return 0.0F;
}

/* Merges slot b's cluster into slot a, a < b. */
static void merge(struct linkage *l, uint32_t a, uint32_t b, float between)
{
    size_t gone = 0;
    for (size_t at = 0; at < l->live_count; at++) {
        uint32_t k = l->live[at];
        if (k == b) {
            gone = at;
        } else if (k != a) {
            float *to_a = cell(l, a, k);
            *to_a = updated(l->kind, (double)*to_a, (double)*cell(l, b, k), (double)between,
                            l->size[a], l->size[b], l->size[k]);
        }
    }
    l->size[a] += l->size[b];
    l->live_count--;
    memmove(l->live + gone, l->live + gone + 1, (l->live_count - gone) * sizeof(*l->live));
}

/* Renumbers the live slots 0, 1, ...: every pair moves toward the front, in order, so no value is
 * overwritten before it is read. */
static void pack(struct linkage *l)
{
    float *out = l->distances;
    for (size_t i = 0; i < l->live_count; i++) {
        for (size_t j = i + 1; j < l->live_count; j++) {
            *out++ = *cell(l, l->live[i], l->live[j]);
        }
    }
    for (size_t at = 0; at < l->chain_length; at++) {
        size_t slot = 0;
        while (l->live[slot] != l->chain[at]) {
            slot++;
        }
        l->chain[at] = (uint32_t)slot;
    }
    for (size_t slot = 0; slot < l->live_count; slot++) {
        l->row[slot] = l->row[l->live[slot]];
        l->size[slot] = l->size[l->live[slot]];
        l->live[slot] = (uint32_t)slot;
    }
    l->slots = l->live_count;
}

static void run(struct linkage *l, struct found *ret_found)
{
    for (uint32_t number = 0; l->live_count > 1; number++) {
        float between = grow_chain(l);
        uint32_t x = l->chain[l->chain_length - 1];
        uint32_t y = l->chain[l->chain_length - 2];
        uint32_t a = x < y ? x : y;
        uint32_t b = x < y ? y : x;
        l->chain_length -= 2;
        ret_found[number] = (struct found){
            .height = (double)between, .row_a = l->row[a], .row_b = l->row[b], .number = number};
        merge(l, a, b, between);
        if (l->live_count <= l->slots / 2) {
            pack(l);
        }
    }
}

static int by_height(const void *left, const void *right)
{
    const struct found *a = left;
    const struct found *b = right;
    if (a->height < b->height || a->height > b->height) {
        return a->height < b->height ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

static uint32_t root_of(uint32_t *parent, uint32_t node)
{
    while (parent[node] != node) {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    return node;
}

/* `parent` has one value for each of the 2 rows - 1 clusters; at first each is its own root. */
static void number_merges(const struct found *found, size_t rows, uint32_t *parent,
                          struct vq_cluster_merge *merges)
{
    for (size_t m = 0; m + 1 < rows; m++) {
        uint32_t x = root_of(parent, found[m].row_a);
        uint32_t y = root_of(parent, found[m].row_b);
        uint32_t size =
            (x < rows ? 1 : merges[x - rows].size) + (y < rows ? 1 : merges[y - rows].size);
        merges[m] = (struct vq_cluster_merge){
            .a = x < y ? x : y, .b = x < y ? y : x, .size = size, .height = found[m].height};
        parent[x] = parent[y] = (uint32_t)(rows + m);
    }
}

static enum vq_status link_all(struct linkage *l, size_t rows, struct vq_cluster_merge *merges)
{
    struct vq_arena arena = {0};
    struct found *found = vq_arena_alloc(&arena, rows, sizeof(*found));
    uint32_t *parent = vq_arena_alloc(&arena, 2 * rows, sizeof(*parent));
    l->row = vq_arena_alloc(&arena, rows, sizeof(*l->row));
    l->size = vq_arena_alloc(&arena, rows, sizeof(*l->size));
    l->live = vq_arena_alloc(&arena, rows, sizeof(*l->live));
    l->chain = vq_arena_alloc(&arena, rows, sizeof(*l->chain));
    enum vq_status status = VQ_NOMEM;
    if (!arena.failed) {
        for (uint32_t slot = 0; slot < rows; slot++) {
            l->row[slot] = l->live[slot] = slot;
            l->size[slot] = 1;
        }
        for (uint32_t id = 0; id < 2 * rows; id++) {
            parent[id] = id;
        }
        l->slots = l->live_count = rows;
        run(l, found);
        qsort(found, rows - 1, sizeof(*found), by_height);
        number_merges(found, rows, parent, merges);
        status = VQ_OK;
    }
    vq_arena_clear(&arena);
    return status;
}

enum vq_status vq_cluster_build(struct vq_vectors x, enum vq_cluster_linkage linkage,
                                struct vq_cluster_tree *ret_tree, struct vq_error *err)
{
    if (x.rows == 0) {
        return vq_fail(err, VQ_INVALID, "there are no vectors to cluster");
    }
    if (x.rows > VQ_CLUSTER_ROWS_MAX) {
        return vq_fail(err, VQ_LIMIT, "%zu vectors are too many to cluster, at most %zu", x.rows,
                       VQ_CLUSTER_ROWS_MAX);
    }
    VQ_TRY(vq_vectors_check(x, err));
    struct linkage l = {.kind = linkage};
    struct vq_cluster_merge *merges = vq_alloc(x.rows, sizeof(*merges));
    l.distances = vq_alloc(vq_cluster_pairs(x.rows), sizeof(*l.distances));
    enum vq_status status = merges == NULL || l.distances == NULL ? VQ_NOMEM : VQ_OK;
    if (status == VQ_OK) {
        status = vq_cluster_distances(x, VQ_CLUSTER_BLOCK, l.distances);
    }
    if (status == VQ_OK) {
        status = link_all(&l, x.rows, merges);
    }
    vq_free(l.distances);
    if (status != VQ_OK) {
        vq_free(merges);
        return vq_fail(err, status, "no memory for the %zu distances of %zu vectors",
                       vq_cluster_pairs(x.rows), x.rows);
    }
    *ret_tree = (struct vq_cluster_tree){.rows = x.rows, .merges = merges};
    return VQ_OK;
}

void vq_cluster_tree_free(struct vq_cluster_tree *tree)
{
    vq_free(tree->merges);
    *tree = (struct vq_cluster_tree){0};
}

#define NO_LABEL UINT32_MAX

/* Applies the first `standing` merges. A top cluster gets its label at the first of its rows, so
 * labels are numbered by first appearance. */
static enum vq_status cut(const struct vq_cluster_tree *tree, size_t standing, uint32_t *ret_labels)
{
    size_t clusters = tree->rows + standing;
    uint32_t *top = vq_alloc(clusters, sizeof(*top));
    uint32_t *label = vq_alloc(clusters, sizeof(*label));
    enum vq_status status = VQ_NOMEM;
    if (top == NULL || label == NULL) {
        goto done;
    }
    for (uint32_t id = 0; id < clusters; id++) {
        top[id] = id;
        label[id] = NO_LABEL;
    }
    for (size_t m = standing; m-- > 0;) {
        top[tree->merges[m].a] = top[tree->merges[m].b] = top[tree->rows + m];
    }
    uint32_t next = 0;
    for (size_t row = 0; row < tree->rows; row++) {
        uint32_t *own = &label[top[row]];
        if (*own == NO_LABEL) {
            *own = next++;
        }
        ret_labels[row] = *own;
    }
    status = VQ_OK;
done:
    vq_free(top);
    vq_free(label);
    return status;
}

enum vq_status vq_cluster_cut_count(const struct vq_cluster_tree *tree, size_t k,
                                    uint32_t *ret_labels, struct vq_error *err)
{
    if (k < 1 || k > tree->rows) {
        return vq_fail(err, VQ_INVALID, "%zu rows cannot be cut into %zu clusters", tree->rows, k);
    }
    return cut(tree, tree->rows - k, ret_labels);
}

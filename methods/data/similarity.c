/* Bit-parallel longest common subsequence over code points (Hyyro 2004). The shorter text gives the
 * bits: each of its distinct code points has a mask of its positions. Each code point of the longer
 * text updates a row V of bits, V' = (V + (V & M)) | (V & ~M); the number of zeros in V at the end
 * is the length. The shorter text is processed in blocks of BLOCK_BITS, so that the masks have a
 * bounded size; the carry of the addition is passed on per code point from block to block. A common
 * beginning or end of both texts is counted and cut off first. */
#include "methods/data/similarity.h"

#include "common/base/alloc.h"
#include "common/text/utf8.h"

#define WORD_BITS   64u
#define BLOCK_WORDS 64u
#define BLOCK_BITS  (BLOCK_WORDS * WORD_BITS)
#define SLOTS       (2 * BLOCK_BITS) /* a power of two; at most half of the slots are used */

struct vq_similarity_slot {
    uint32_t point;
    uint32_t row; /* 0: free */
};

/* Two decoded texts, after trimming; `a` is the shorter one. */
struct pair {
    const uint32_t *a;
    const uint32_t *b;
    size_t a_count;
    size_t b_count;
};

void vq_similarity_free(struct vq_similarity *work)
{
    vq_free(work->points[0]);
    vq_free(work->points[1]);
    vq_free(work->carries);
    vq_free(work->masks);
    vq_free(work->slots);
    *work = (struct vq_similarity){0};
}

static enum vq_status decode(struct vq_similarity *work, int side, struct vq_span text,
                             size_t *ret_count)
{
    size_t most = text.bytes < VQ_SIMILARITY_POINTS_MAX ? text.bytes : VQ_SIMILARITY_POINTS_MAX;
    void *points = work->points[side];
    VQ_TRY(vq_grow(&points, &work->points_cap[side], most + 1, sizeof(uint32_t),
                   VQ_SIMILARITY_POINTS_MAX + 1));
    work->points[side] = points;
    size_t count = 0;
    for (size_t pos = 0; pos < text.bytes;) {
        if (count == VQ_SIMILARITY_POINTS_MAX) {
            return VQ_LIMIT;
        }
        work->points[side][count++] = vq_utf8_next(text, &pos);
    }
    *ret_count = count;
    return VQ_OK;
}

static struct vq_similarity_slot *slot_of(struct vq_similarity *work, uint32_t point)
{
    size_t at = (point * UINT32_C(2654435761)) >> 7 & (SLOTS - 1);
    while (work->slots[at].row != 0 && work->slots[at].point != point) {
        at = (at + 1) & (SLOTS - 1);
    }
    return &work->slots[at];
}

/* Masks of the code points a[0 .. count), `words` words each. */
static enum vq_status build_masks(struct vq_similarity *work, const uint32_t *a, size_t count,
                                  size_t words)
{
    memset(work->slots, 0, SLOTS * sizeof(*work->slots));
    uint32_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        struct vq_similarity_slot *slot = slot_of(work, a[i]);
        if (slot->row == 0) {
            *slot = (struct vq_similarity_slot){.point = a[i], .row = ++rows};
        }
    }
    size_t need = ((size_t)rows + 1) * words;
    void *masks = work->masks;
    VQ_TRY(
        vq_grow(&masks, &work->masks_cap, need, sizeof(uint64_t), (BLOCK_BITS + 1) * BLOCK_WORDS));
    work->masks = masks;
    memset(work->masks, 0, need * sizeof(uint64_t));
    for (size_t i = 0; i < count; i++) {
        size_t row = slot_of(work, a[i])->row;
        work->masks[row * words + i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
    }
    return VQ_OK;
}

/* Updates the block's bits for one code point; takes and returns the carry. */
static uint8_t step(uint64_t *v, const uint64_t *mask, size_t words, uint8_t carry)
{
    for (size_t w = 0; w < words; w++) {
        unsigned __int128 sum = (unsigned __int128)v[w] + (v[w] & mask[w]) + carry;
        v[w] = (uint64_t)sum | (v[w] & ~mask[w]);
        carry = (uint8_t)(sum >> WORD_BITS);
    }
    return carry;
}

/* The number of zeros among the first `bits` bits. */
static size_t zeros_in(const uint64_t *v, size_t bits)
{
    size_t zeros = 0;
    for (size_t w = 0; w * WORD_BITS < bits; w++) {
        size_t left = bits - w * WORD_BITS;
        uint64_t used = left >= WORD_BITS ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
        zeros += (size_t)__builtin_popcountll(~v[w] & used);
    }
    return zeros;
}

static enum vq_status common_length(struct vq_similarity *work, const struct pair *p,
                                    size_t *ret_length)
{
    void *carries = work->carries;
    VQ_TRY(vq_grow(&carries, &work->carries_cap, p->b_count + 1, 1, VQ_SIMILARITY_POINTS_MAX + 1));
    work->carries = carries;
    memset(work->carries, 0, p->b_count);
    if (work->slots == NULL) {
        VQ_TRY(VQ_ALLOC(work->slots, SLOTS));
    }
    size_t length = 0;
    for (size_t start = 0; start < p->a_count; start += BLOCK_BITS) {
        size_t bits = p->a_count - start < BLOCK_BITS ? p->a_count - start : BLOCK_BITS;
        size_t words = (bits + WORD_BITS - 1) / WORD_BITS;
        VQ_TRY(build_masks(work, p->a + start, bits, words));
        uint64_t v[BLOCK_WORDS];
        memset(v, 0xFF, sizeof(v));
        for (size_t j = 0; j < p->b_count; j++) {
            size_t row = slot_of(work, p->b[j])->row;
            if (row != 0 || work->carries[j] != 0) {
                work->carries[j] = step(v, work->masks + row * words, words, work->carries[j]);
            }
        }
        length += zeros_in(v, bits);
    }
    *ret_length = length;
    return VQ_OK;
}

/* Cuts off the common beginning and end of both texts; returns the number of code points cut from
 * each. */
static size_t trim(struct pair *p)
{
    size_t same = 0;
    while (p->a_count > 0 && p->b_count > 0 && p->a[0] == p->b[0]) {
        p->a++;
        p->b++;
        p->a_count--;
        p->b_count--;
        same++;
    }
    while (p->a_count > 0 && p->b_count > 0 && p->a[p->a_count - 1] == p->b[p->b_count - 1]) {
        p->a_count--;
        p->b_count--;
        same++;
    }
    return same;
}

static uint32_t percent_of(size_t length, size_t total)
{
    return total == 0 ? 100 : (uint32_t)((400 * length + total) / (2 * total));
}

static enum vq_status decode_both(struct vq_similarity *work, struct vq_span a, struct vq_span b,
                                  struct pair *ret_pair)
{
    struct pair p;
    VQ_TRY(decode(work, 0, a, &p.a_count));
    VQ_TRY(decode(work, 1, b, &p.b_count));
    p.a = work->points[0];
    p.b = work->points[1];
    if (p.a_count > p.b_count) {
        p = (struct pair){.a = p.b, .b = p.a, .a_count = p.b_count, .b_count = p.a_count};
    }
    *ret_pair = p;
    return VQ_OK;
}

static enum vq_status percent_of_pair(struct vq_similarity *work, struct pair p,
                                      uint32_t *ret_percent)
{
    size_t total = p.a_count + p.b_count;
    size_t length = trim(&p);
    if (p.a_count > 0) {
        size_t inner;
        VQ_TRY(common_length(work, &p, &inner));
        length += inner;
    }
    *ret_percent = percent_of(length, total);
    return VQ_OK;
}

enum vq_status vq_similarity_percent(struct vq_similarity *work, struct vq_span a, struct vq_span b,
                                     uint32_t *ret_percent)
{
    struct pair p;
    VQ_TRY(decode_both(work, a, b, &p));
    return percent_of_pair(work, p, ret_percent);
}

enum vq_status vq_similarity_at_least(struct vq_similarity *work, struct vq_span a,
                                      struct vq_span b, uint32_t percent, bool *ret_yes)
{
    struct pair p;
    VQ_TRY(decode_both(work, a, b, &p));
    if (percent_of(p.a_count, p.a_count + p.b_count) < percent) {
        *ret_yes = false; /* even if the longer text contained all of the shorter one */
        return VQ_OK;
    }
    uint32_t found;
    VQ_TRY(percent_of_pair(work, p, &found));
    *ret_yes = found >= percent;
    return VQ_OK;
}

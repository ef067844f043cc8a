/* Something that is spent and does not come back (dollars of a run, a day's requests or tokens of a pool), handed out to holders
 * (workers) ahead of the calls that spend it, so that a call needs no round trip and the limit holds whatever is killed when.
 *
 * A holder counts up what it used over its life (struct vq_amount); it may start a call only while used + reservation <= most. Of
 * what it used, `open` is not committed; used - open is what it knows to be committed. The purse knows what is committed in all.
 *
 * Invariant, after every event:   committed + sum over holders of (most in force - known committed of it) <= limit,
 * where the most in force is the higher one of what was granted last and of what it may still go by: until it has said that it goes by a
 * GRANT at least as late (granted_n), or until it has gone. While a commit is not known to its holder, both count it: too much is
 * held back for a moment, never too little. Should the limit be lowered below what is in force, everything is called back and the
 * sum falls as fast as holders answer.
 *
 * Pure. It knows holders by an index that its owner gives (0 .. VQ_PURSE_HOLDERS_MAX - 1, used again after `leave`). */
#ifndef VQ_COORD_PURSE_H
#define VQ_COORD_PURSE_H

#include "proto/pool.h"

#define VQ_PURSE_HOLDERS_MAX 4096u

struct vq_purse;

/* limit: VQ_AMOUNT_ANY: none. committed: what was spent before, by earlier processes too; what is unknown counts as spent. */
enum vq_status vq_purse_create(uint64_t limit, uint64_t committed,
                               struct vq_purse **ret_purse) VQ_WARN_UNUSED;
void vq_purse_destroy(struct vq_purse **purse);

void vq_purse_set_limit(struct vq_purse *purse, uint64_t limit);
/* A new day: what was committed no longer counts; what is open does. */
void vq_purse_begin_anew(struct vq_purse *purse);
/* A call's cost is durable. */
void vq_purse_committed(struct vq_purse *purse, uint64_t cost);

/* A holder is here. `amount`: what it said first; amount.most is in force until it goes by another (a worker that outlived a
 * coordinator). VQ_NOMEM. */
enum vq_status vq_purse_join(struct vq_purse *purse, uint32_t holder,
                             const struct vq_amount *amount) VQ_WARN_UNUSED;
/* It said what it used. granted_n: the latest grant that it goes by. want: it would use so much more in the near future, were
 * there no limit; unit: the largest single reservation it may make. A holder that wants nothing gives back what it does not use. */
void vq_purse_report(struct vq_purse *purse, uint32_t holder, const struct vq_amount *amount,
                     uint64_t granted_n, uint64_t want, uint64_t unit);
/* It can start no call any more. What it left open counts as spent until vq_purse_settle_left says what became of it: its spool
 * was read, each of its calls was committed (as an answer, or as unknown with what was reserved). */
void vq_purse_leave(struct vq_purse *purse, uint32_t holder);
void vq_purse_settle_left(struct vq_purse *purse);

/* The `most` that the holder shall be told now, in the grant number n (which rises for a holder). Deals out anew: each holder gets what it
 * used + want, cut evenly when that is too much; when not even one unit each is left, one holder after the other gets a whole unit,
 * and idle remains are called back first. */
uint64_t vq_purse_grant(struct vq_purse *purse, uint32_t holder, uint64_t n);
/* Whether vq_purse_grant would say something else than it said last. */
bool vq_purse_due(const struct vq_purse *purse, uint32_t holder);

/* Nothing more can be started by anybody: less than the smallest unit of those who want is left, and nothing that is out can
 * change that. */
bool vq_purse_empty(const struct vq_purse *purse);
uint64_t vq_purse_limit(const struct vq_purse *purse);
uint64_t vq_purse_spent(const struct vq_purse *purse); /* committed */
uint64_t vq_purse_out(
    const struct vq_purse *purse); /* in force and not committed: the most that may yet be spent */

#endif

/* An amount that is spent for good (dollars of a run, a day's requests or tokens of a pool).
 * Holders (workers) get parts of it before the calls that spend them. So a call needs no round
 * trip, and the limit holds whichever process is killed at any time.
 *
 * A holder adds up its use over its life (struct vq_amount); it may start a call only while used +
 * reservation <= most. Of `used`, `open` is not committed; used - open is the part that the holder
 * knows to be committed. The purse knows the committed sum.
 *
 * Invariant, after every event:   committed + earlier + sum over holders of (most in force -
 *                                 committed of it) <= limit,
 * where the most in force is the higher one of the last grant and of the amount that the holder may
 * still use. That amount counts until the holder confirms a grant at least as late (granted_n; it
 * may be of another process), or until the holder has left. The purse knows only the committed part
 * that a holder reported. While a holder does not know of a commit, both count it: for a moment too
 * much is held back, never too little. If the limit is lowered below the amount in force,
 * everything is called back, and the sum falls as fast as holders answer; it never rises in that
 * time.
 *
 * Pure. A holder is an index that the owner of the purse chooses (0 .. VQ_PURSE_HOLDERS_MAX - 1; it
 * may be used again after `leave`). */
#pragma once

#include "proto/pool.h"

#define VQ_PURSE_HOLDERS_MAX 4096u

struct vq_purse;

/* limit: VQ_AMOUNT_ANY: none. committed: the earlier spending, also of earlier processes; unknown
 * costs count as spent. VQ_NOMEM. */
enum vq_status vq_purse_create(uint64_t limit, uint64_t committed,
                               struct vq_purse **ret_purse) VQ_WARN_UNUSED;
void vq_purse_destroy(struct vq_purse **purse);

void vq_purse_set_limit(struct vq_purse *purse, uint64_t limit);
/* A new day: committed and lost amounts no longer count; open amounts do. */
void vq_purse_restart(struct vq_purse *purse);
/* A call's cost is durable. Call it before the ACK is sent, so that no holder knows it earlier. */
void vq_purse_committed(struct vq_purse *purse, uint64_t cost);
/* The cost of a call that was committed as `bound` is known: it is usually lower. No holder counts
 * the call any more. */
void vq_purse_corrected(struct vq_purse *purse, uint64_t bound, uint64_t cost);

/* A holder joins. `amount`: its first report; amount.most is in force until it confirms another
 * grant (the worker may have outlived a coordinator). A holder that is already in the purse (a new
 * session: grants may have been lost) continues with its amount, and its grant is sent again.
 * VQ_NOMEM. */
enum vq_status vq_purse_join(struct vq_purse *purse, uint32_t holder,
                             const struct vq_amount *amount) VQ_WARN_UNUSED;
/* The holder reports its use. granted_n: the latest grant that it confirms. want: the additional
 * amount that it would soon use if there were no limit. unit: the largest single reservation that
 * it made or waits to make (0 counts as 1); the need is the smaller one of unit and want. While no
 * other holder is short, a holder keeps its amount, so that grants are few: it gets a new `most` if
 * less than half of its possible amount is left, or less than its need. A holder gives back the
 * amount that it does not want as soon as another one can use it. Ignored for a holder that has not
 * joined. */
void vq_purse_report(struct vq_purse *purse, uint32_t holder, const struct vq_amount *amount,
                     uint64_t granted_n, uint64_t want, uint64_t unit);
/* The holder sent nothing for a whole term, and no grant can reach it. Until its next report it
 * wants nothing, so that nothing is reserved that others could use. Its amount stays in force.
 * Ignored for a holder that has not joined. */
void vq_purse_silent(struct vq_purse *purse, uint32_t holder);
enum vq_purse_end {
    VQ_PURSE_SETTLED, /* no part of it is open: it sent BYE after everything was ACKed */
    /* all that it could have spent counts as spent until vq_purse_settle_left: then its spool was
     * read, and each of its calls was committed (as an answer, or as unknown with its
     * reservation) */
    VQ_PURSE_LEFT,
    /* it had no spool: its last calls will never be known. All that it could have spent counts as
     * spent, in addition to its committed part, until the purse ends or a new day begins */
    VQ_PURSE_LOST
};
/* The holder can start no call any more. Ignored for a holder that has not joined. */
void vq_purse_leave(struct vq_purse *purse, uint32_t holder, enum vq_purse_end how);
/* Everything of the holders that left is committed. */
void vq_purse_settle_left(struct vq_purse *purse);
/* The possible spending, beyond `committed`, of holders of an earlier process that have not
 * reported. It counts as out until a lower amount is reported. Replaces the earlier amount. */
void vq_purse_earlier(struct vq_purse *purse, uint64_t amount);
/* The most that the holder may have spent, or may still spend, beyond the part that it knows to be
 * committed: its amount in force. While it may use a grant without limit: its open amount, or its
 * grants since. 0 for a holder that has not joined. */
uint64_t vq_purse_held(const struct vq_purse *purse, uint32_t holder);

/* The `most` for a holder (which has joined) in the grant number n (which rises per holder, from
 * 1). Deals again: each holder gets used + want, cut evenly if that is too much. If there is not
 * even the need for each, one holder after the other gets its whole need, and idle amounts are
 * called back first. */
uint64_t vq_purse_grant(struct vq_purse *purse, uint32_t holder, uint64_t n);
/* Whether vq_purse_grant would return another value than last time. */
bool vq_purse_due(struct vq_purse *purse, uint32_t holder);

/* No holder can start anything more: the rest is less than the smallest need of those that want (or
 * 0 if none wants), and nothing that is out can change that. */
bool vq_purse_empty(const struct vq_purse *purse);
uint64_t vq_purse_limit(const struct vq_purse *purse);
uint64_t vq_purse_spent(const struct vq_purse *purse); /* committed */
/* In force and not committed: the most that may still be spent. Without a limit: the open
 * amount. */
uint64_t vq_purse_out(const struct vq_purse *purse);

/* Something that is spent and does not come back (dollars of a run, a day's requests or tokens of a
 * pool), handed out to holders (workers) ahead of the calls that spend it, so that a call needs no
 * round trip and the limit holds whatever is killed when.
 *
 * A holder counts up what it used over its life (struct vq_amount); it may start a call only while
 * used + reservation <= most. Of what it used, `open` is not committed; used - open is what it
 * knows to be committed. The purse knows what is committed in all.
 *
 * Invariant, after every event:   committed + earlier + sum over holders of (most in force -
 *                                 committed of it) <= limit,
 * where the most in force is the higher one of what was granted last and of what it may still go
 * by: until it has said that it goes by a GRANT at least as late (granted_n; it may be one that did
 * not come from here), or until it has gone. The purse knows only what a holder said to be
 * committed of it: while a commit is not known to its holder, both count it: too much is held back
 * for a moment, never too little. Should the limit be lowered below what is in force, everything is
 * called back and the sum falls as fast as holders answer; it never rises meanwhile.
 *
 * Pure. It knows holders by an index that its owner gives (0 .. VQ_PURSE_HOLDERS_MAX - 1, used
 * again after `leave`). */
#pragma once

#include "proto/pool.h"

#define VQ_PURSE_HOLDERS_MAX 4096u

struct vq_purse;

/* limit: VQ_AMOUNT_ANY: none. committed: what was spent before, by earlier processes too; what is
 * unknown counts as spent. VQ_NOMEM. */
enum vq_status vq_purse_create(uint64_t limit, uint64_t committed,
                               struct vq_purse **ret_purse) VQ_WARN_UNUSED;
void vq_purse_destroy(struct vq_purse **purse);

void vq_purse_set_limit(struct vq_purse *purse, uint64_t limit);
/* A new day: what was committed no longer counts, nor what was lost; what is open does. */
void vq_purse_begin_anew(struct vq_purse *purse);
/* A call's cost is durable. Before its ACK goes out, so that no holder knows of it earlier. */
void vq_purse_committed(struct vq_purse *purse, uint64_t cost);
/* A call whose cost was committed as `bound` has cost this: less, as a rule. No holder counts it
 * any more. */
void vq_purse_corrected(struct vq_purse *purse, uint64_t bound, uint64_t cost);

/* A holder is here. `amount`: what it reported first; amount.most is in force until it goes by
 * another (a worker that outlived a coordinator). A holder that is here already (a new session:
 * grants may have been lost) goes on with what it has, and its grant is due to be sent again.
 * VQ_NOMEM. */
enum vq_status vq_purse_join(struct vq_purse *purse, uint32_t holder,
                             const struct vq_amount *amount) VQ_WARN_UNUSED;
/* It said what it used. granted_n: the latest grant that it goes by. want: it would use so much
 * more in the near future, were there no limit; unit: the largest single reservation that it made
 * or waits to make (0 counts as 1; the need is what is less, unit or want). A holder keeps what it
 * has while no other holder is short of it, so that grants are few: it gets a new most when less
 * than half of what it could have is left, or less than its need. What a holder does not want it
 * gives back as soon as another one has a use for it. Of who is not here: ignored. */
void vq_purse_report(struct vq_purse *purse, uint32_t holder, const struct vq_amount *amount,
                     uint64_t granted_n, uint64_t want, uint64_t unit);
/* It was not heard for a whole term, and no grant can reach it: it wants nothing until it reports
 * again, so that nothing is kept for it that others could use. What it has stays in force. Of who
 * is not here: ignored. */
void vq_purse_silent(struct vq_purse *purse, uint32_t holder);
enum vq_purse_end {
    VQ_PURSE_SETTLED, /* nothing of it is open: it said BYE with everything ACKed */
    /* all that it could have spent counts as spent until vq_purse_settle_left says what became of
     * it: its spool was read, each of its calls was committed (as an answer, or as unknown with
     * what was reserved) */
    VQ_PURSE_LEFT,
    /* it kept no spool: what it started last will never be known. All that it could have spent
     * counts as spent beside what is committed of it, until the purse ends or begins again */
    VQ_PURSE_LOST
};
/* It can start no call any more. Of who is not here: ignored. */
void vq_purse_leave(struct vq_purse *purse, uint32_t holder, enum vq_purse_end how);
/* Everything is committed of all who left. */
void vq_purse_settle_left(struct vq_purse *purse);
/* What holders of an earlier process may have spent beyond `committed`, that have not reported:
 * counts as out until it is reported to be less. Replaces the earlier amount. */
void vq_purse_earlier(struct vq_purse *purse, uint64_t amount);
/* The most that the holder may have spent, or may yet spend, beyond what it knows to be committed:
 * what counts of it as in force. While it may go by a grant without limit, what is open or was
 * granted since. Of who is not here: 0. */
uint64_t vq_purse_held(const struct vq_purse *purse, uint32_t holder);

/* The `most` that the holder (which is here) shall get now, in the grant number n (which rises for
 * a holder, from 1). Deals out again: each holder gets what it used + want, cut evenly when that is
 * too much; when not even its need is left for each, one holder after the other gets a whole one,
 * and idle remains are called back first. */
uint64_t vq_purse_grant(struct vq_purse *purse, uint32_t holder, uint64_t n);
/* Whether vq_purse_grant would say something else than it said last. */
bool vq_purse_due(struct vq_purse *purse, uint32_t holder);

/* No holder can start anything more: less than the smallest need of those that want is left
 * (none wants: nothing is left), and nothing that is out can change that. */
bool vq_purse_empty(const struct vq_purse *purse);
uint64_t vq_purse_limit(const struct vq_purse *purse);
uint64_t vq_purse_spent(const struct vq_purse *purse); /* committed */
/* In force and not committed: the most that may yet be spent. Without a limit: what is open. */
uint64_t vq_purse_out(const struct vq_purse *purse);

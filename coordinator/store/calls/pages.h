/* Checks the pages of an LMDB file before LMDB uses them. LMDB trusts their sizes and offsets: a
 * damaged page leads to a wild read or write. Layout: LMDB 0.9 on a little-endian machine with
 * 64-bit page numbers (lmdb.h and mdb.c of Debian 12's 0.9.24).
 *
 * Why this is not a walk with LMDB's own cursors in a child process: a reading cursor checks almost
 * nothing of a page's head. We measured 1,230 single flipped bits in the heads of 280 pages. A walk
 * that compared every key, value, look-up and count found 106 of them. After 35 of the others LMDB
 * aborted at the next writes, and after 168 it lost or damaged rows without an error. */
#pragma once

#include "common/base/buf.h"
#include "common/base/status.h"

struct vq_pages_count {
    uint64_t pages;   /* pages that were checked */
    uint64_t entries; /* of all tables */
};

/* Whether a value of the tables is the one that was written under its key. */
typedef bool (*vq_pages_value_fn)(struct vq_span key, struct vq_span value);

/* Checks the two heads of a file, from its first bytes (VQ_PAGES_HEAD_BYTES, or the whole file):
 * they have the known layout, and are of two consecutive snapshots. Sets *ret_page_bytes.
 * VQ_CORRUPT. */
#define VQ_PAGES_HEAD_BYTES (2u << 16)
enum vq_status vq_pages_heads(struct vq_span front, size_t *ret_page_bytes,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* Walks through all trees of the snapshot `txnid` of a file, and its list of free pages. It checks:
 * each page has its own number and the right kind; its nodes are inside it and do not overlap; keys
 * ascend; no page is used twice, or both used and free; each table has the stated number of
 * entries; each value is right. `value` NULL: only pages that lead to others, a small part of the
 * file. `file`: whole pages, all that are in use. VQ_AGAIN: neither head is of that snapshot.
 * VQ_CORRUPT: err names the page and the fault, without the file's name. VQ_NOMEM. */
enum vq_status vq_pages_check(struct vq_span file, size_t page_bytes, uint64_t txnid,
                              vq_pages_value_fn value, struct vq_pages_count *ret_count,
                              struct vq_error *err) VQ_WARN_UNUSED;

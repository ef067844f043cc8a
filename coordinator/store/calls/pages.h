/* The pages of an LMDB file, checked before LMDB uses them. LMDB trusts what they say about sizes
 * and places: a damaged page ends in a wild read or write. Layout: LMDB 0.9 on a little-endian
 * machine with 64-bit page numbers (lmdb.h and mdb.c of Debian 12's 0.9.24).
 *
 * Why we do not walk with LMDB's own cursors in a child process instead: while a cursor reads, LMDB
 * looks at almost nothing of a page's head. Measured with 1,230 single flipped bits in the heads of
 * 280 pages: a walk that compared every key, value, look-up and count found 106 of them. After 35
 * of the others LMDB aborted at the next writes, and after 168 it lost or damaged rows without a
 * word. */
#pragma once

#include "common/base/buf.h"
#include "common/base/status.h"

struct vq_pages_count {
    uint64_t pages;   /* that were looked at */
    uint64_t entries; /* of all tables */
};

/* Whether a value of the tables is what was written under its key. */
typedef bool (*vq_pages_value_fn)(struct vq_span key, struct vq_span value);

/* The two heads of a file, from its first bytes (VQ_PAGES_HEAD_BYTES, or all it has): of the layout
 * that is known, and of two snapshots that follow on each other. *ret_page_bytes. VQ_CORRUPT. */
#define VQ_PAGES_HEAD_BYTES (2u << 16)
enum vq_status vq_pages_heads(struct vq_span front, size_t *ret_page_bytes,
                              struct vq_error *err) VQ_WARN_UNUSED;

/* Walks through all trees of the snapshot `txnid` of a file, and its list of free pages: each page
 * is where it says it is, of the right kind, with its nodes inside it and side by side, keys
 * ascend, no page is used twice or both used and free, each table holds as many entries as it
 * claims, and each of their values is right. `value` NULL: only pages that lead to others, a small
 * part of the file. `file`: whole pages, all that are in use. VQ_AGAIN: neither head is of that
 * snapshot. VQ_CORRUPT: err says which page and what is wrong, without the file's name.
 * VQ_NOMEM. */
enum vq_status vq_pages_check(struct vq_span file, size_t page_bytes, uint64_t txnid,
                              vq_pages_value_fn value, struct vq_pages_count *ret_count,
                              struct vq_error *err) VQ_WARN_UNUSED;

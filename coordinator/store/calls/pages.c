/* A bounded reader of LMDB's pages. Every offset, count and page number is checked against the file
 * before it is followed. Each page is entered at most once, so the file's length bounds the walk.
 *
 * Owns one bit per page. Not its job: values (record.c has a checksum in each), repairs. */
#include "coordinator/store/calls/pages.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"

#include <inttypes.h>
#include <string.h>

#define PAGE_HEAD    16
#define NODE_HEAD    8
#define META_MAGIC   UINT32_C(0xBEEFC0DE)
#define META_PAGES   2
#define META_BYTES   136
#define META_VERSION 1
#define DEPTH_MAX    32 /* the maximum depth of LMDB's cursors */
#define KEY_MAX      511
#define TREE_BYTES   48
#define NO_ROOT      UINT64_MAX
#define INTEGER_KEY  0x08

enum {
    PAGE_BRANCH = 1,
    PAGE_LEAF = 2,
    PAGE_OVERFLOW = 4,
    PAGE_META = 8,
};

enum {
    NODE_BIG = 1,
    NODE_TREE = 2,
};

struct tree { /* struct MDB_db */
    const char *name;
    uint16_t flags, depth;
    uint64_t entries, root;
};

struct walk {
    struct vq_span file;
    size_t page_bytes;
    uint64_t pages;          /* page numbers below this one exist */
    vq_pages_value_fn value; /* NULL: leaves are not entered */
    uint8_t *used;           /* one bit per page */
    struct vq_pages_count count;
    struct vq_error *err;
};

struct place { /* a place in one tree */
    struct walk *w;
    const struct tree *tree;
    uint64_t entries;
    struct vq_span last; /* the key before this place */
    bool any, reached;   /* there is such a key; the next entry may equal it (it led here) */
};

struct node {
    uint16_t flags;
    struct vq_span key;
    struct vq_span data; /* of a leaf; for NODE_BIG: its page number */
    uint32_t data_bytes;
    uint64_t child; /* of a branch */
    size_t bytes;
};

/* ---- numbers ---- */

static uint16_t u16(const char *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static uint32_t u32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static uint64_t u64(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

/* ---- pages ---- */

static enum vq_status bad(const struct place *at, uint64_t page, const char *what)
{
    return vq_fail(at->w->err, VQ_CORRUPT, "page %" PRIu64 " (%s) is damaged: %s", page,
                   at->tree->name, what);
}

static enum vq_status take(const struct place *at, uint64_t page)
{
    uint8_t *byte = &at->w->used[page / 8];
    uint8_t bit = (uint8_t)(1u << (page % 8));
    if ((*byte & bit) != 0) {
        return bad(at, page, "it is used twice, or free and used");
    }
    *byte |= bit;
    return VQ_OK;
}

/* The bytes of a page that another page names. */
static enum vq_status page_get(const struct place *at, uint64_t page, const char **ret_page)
{
    const struct walk *w = at->w;
    if (page < META_PAGES || page >= w->pages) {
        return bad(at, page, "there is no such page");
    }
    VQ_TRY(take(at, page));
    const char *bytes = w->file.at + page * w->page_bytes;
    if (u64(bytes) != page) {
        return bad(at, page, "its number is that of another page");
    }
    at->w->count.pages++;
    *ret_page = bytes;
    return VQ_OK;
}

static size_t keys_of(const char *page)
{
    return (u16(page + 12) - (size_t)PAGE_HEAD) / 2;
}

static enum vq_status page_head(const struct place *at, uint64_t no, const char *page,
                                uint16_t kind)
{
    uint16_t lower = u16(page + 12), upper = u16(page + 14);
    if (u16(page + 10) != kind) {
        return bad(at, no, "it is of another kind");
    }
    if (lower < PAGE_HEAD || lower % 2 != 0 || lower > upper || upper > at->w->page_bytes) {
        return bad(at, no, "its bounds are wrong");
    }
    return VQ_OK;
}

static enum vq_status node_get(const struct place *at, uint64_t no, const char *page, size_t i,
                               bool leaf, struct node *ret_node)
{
    size_t room = at->w->page_bytes;
    size_t offset = u16(page + PAGE_HEAD + 2 * i);
    if (offset < u16(page + 14) || offset % 2 != 0 || offset + NODE_HEAD > room) {
        return bad(at, no, "an entry lies outside of it");
    }
    const char *node = page + offset;
    struct node n = {.flags = u16(node + 4)};
    size_t key_bytes = u16(node + 6);
    size_t data_bytes = 0;
    if (leaf) {
        n.data_bytes = u32(node);
        data_bytes = (n.flags & NODE_BIG) != 0 ? sizeof(uint64_t) : n.data_bytes;
        if ((n.flags & ~(NODE_BIG | NODE_TREE)) != 0 || key_bytes == 0) {
            return bad(at, no, "an entry is of an unknown kind");
        }
    } else {
        n.child = u32(node) | (uint64_t)n.flags << 32;
    }
    if (key_bytes > KEY_MAX || data_bytes > room ||
        offset + NODE_HEAD + key_bytes + data_bytes > room) {
        return bad(at, no, "an entry is longer than it");
    }
    n.key = vq_span(node + NODE_HEAD, key_bytes);
    n.data = vq_span(n.key.at + key_bytes, data_bytes);
    n.bytes = (NODE_HEAD + key_bytes + data_bytes + 1) & ~(size_t)1;
    *ret_node = n;
    return VQ_OK;
}

/* ---- keys ---- */

static int compare(const struct tree *tree, struct vq_span a, struct vq_span b)
{
    if ((tree->flags & INTEGER_KEY) != 0 && a.bytes == 8 && b.bytes == 8) {
        uint64_t x = u64(a.at), y = u64(b.at);
        return (x > y) - (x < y);
    }
    size_t shorter = a.bytes < b.bytes ? a.bytes : b.bytes;
    int order = memcmp(a.at, b.at, shorter);
    return order != 0 ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

/* Checks that keys ascend through the whole tree. The first entry after a key that led to it may
 * have the same key. */
static enum vq_status key_follows(struct place *at, uint64_t no, struct vq_span key, bool leads)
{
    if ((at->tree->flags & INTEGER_KEY) != 0 && key.bytes != 8) {
        return bad(at, no, "a key is not a number");
    }
    if (at->any) {
        int order = compare(at->tree, at->last, key);
        if (order > 0 || (order == 0 && (leads || !at->reached))) {
            return bad(at, no, "its keys do not ascend");
        }
    }
    at->any = true;
    at->reached = leads;
    at->last = key;
    return VQ_OK;
}

/* ---- trees ---- */

static enum vq_status tree_walk(struct walk *w, const struct tree *tree);

static void tree_read(const char *at, const char *name, struct tree *ret_tree)
{
    *ret_tree = (struct tree){.name = name,
                              .flags = u16(at + 4),
                              .depth = u16(at + 6),
                              .entries = u64(at + 32),
                              .root = u64(at + 40)};
}

static enum vq_status overflow_walk(struct place *at, uint64_t no, const struct node *node)
{
    const struct walk *w = at->w;
    uint64_t first = u64(node->data.at);
    uint64_t count = (PAGE_HEAD + (uint64_t)node->data_bytes + w->page_bytes - 1) / w->page_bytes;
    const char *page;
    VQ_TRY(page_get(at, first, &page));
    if (u16(page + 10) != PAGE_OVERFLOW || u32(page + 12) != count || count > w->pages - first) {
        return bad(at, no, "a long value is not where it should be");
    }
    for (uint64_t i = 1; i < count; i++) {
        VQ_TRY(take(at, first + i));
    }
    return VQ_OK;
}

/* Walks the pages in a row of the list of free pages. */
static enum vq_status free_walk(struct place *at, uint64_t no, const struct node *node)
{
    const struct walk *w = at->w;
    struct vq_span list = node->data;
    if ((node->flags & NODE_BIG) != 0) {
        list =
            vq_span(w->file.at + u64(node->data.at) * w->page_bytes + PAGE_HEAD, node->data_bytes);
    }
    uint64_t count = list.bytes >= 8 ? u64(list.at) : 0;
    if (list.bytes < 8 || count > list.bytes / 8 - 1) {
        return bad(at, no, "a list of free pages is longer than its place");
    }
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t page = u64(list.at + 8 * i);
        if (page < META_PAGES || page >= w->pages) {
            return bad(at, no, "a free page does not exist");
        }
        VQ_TRY(take(at, page));
    }
    return VQ_OK;
}

static enum vq_status value_check(const struct place *at, uint64_t no, const struct node *node)
{
    const struct walk *w = at->w;
    struct vq_span value = node->data;
    if (w->value == NULL || strcmp(at->tree->name, "main") == 0) {
        return VQ_OK;
    }
    if ((node->flags & NODE_BIG) != 0) {
        value =
            vq_span(w->file.at + u64(node->data.at) * w->page_bytes + PAGE_HEAD, node->data_bytes);
    }
    if (w->value(node->key, value)) {
        return VQ_OK;
    }
    char hex[VQ_HEX_BYTES(64)];
    vq_hex(node->key.at, node->key.bytes < 64 ? node->key.bytes : 64, hex);
    return vq_fail(w->err, VQ_CORRUPT,
                   "page %" PRIu64
                   " (%s): the value of %s is wrong (`vibeq store check --drop` takes such "
                   "values out)",
                   no, at->tree->name, hex);
}

static enum vq_status value_walk(struct place *at, uint64_t no, const struct node *node)
{
    if ((node->flags & NODE_BIG) != 0) {
        VQ_TRY(overflow_walk(at, no, node));
    }
    bool is_free = strcmp(at->tree->name, "free pages") == 0;
    if (is_free) {
        return node->flags > NODE_BIG ? bad(at, no, "an entry is of an unknown kind")
                                      : free_walk(at, no, node);
    }
    if ((node->flags & NODE_TREE) == 0) {
        return value_check(at, no, node);
    }
    struct tree tree;
    if (node->data.bytes != TREE_BYTES || strcmp(at->tree->name, "main") != 0) {
        return bad(at, no, "a table is described wrongly");
    }
    bool answers = vq_span_eq(node->key, vq_span_str("answers"));
    tree_read(node->data.at, answers ? "answers" : "ledger", &tree);
    return tree_walk(at->w, &tree);
}

static enum vq_status leaf_walk(struct place *at, uint64_t no)
{
    const char *page;
    VQ_TRY(page_get(at, no, &page));
    VQ_TRY(page_head(at, no, page, PAGE_LEAF));
    size_t bytes = 0;
    for (size_t i = 0; i < keys_of(page); i++) {
        struct node node;
        VQ_TRY(node_get(at, no, page, i, true, &node));
        VQ_TRY(key_follows(at, no, node.key, false));
        VQ_TRY(value_walk(at, no, &node));
        bytes += node.bytes;
    }
    at->entries += keys_of(page);
    return bytes == at->w->page_bytes - u16(page + 14) ? VQ_OK : bad(at, no, "its entries overlap");
}

/* `depth`: number of levels from this one down. */
static enum vq_status branch_walk(struct place *at, uint64_t no, unsigned depth)
{
    const char *page;
    if (depth == 1) {
        bool look = at->w->value != NULL || at->tree->root == no ||
                    at->tree->flags == INTEGER_KEY || strcmp(at->tree->name, "main") == 0;
        return look                                    ? leaf_walk(at, no)
               : no >= META_PAGES && no < at->w->pages ? take(at, no)
                                                       : bad(at, no, "there is no such page");
    }
    VQ_TRY(page_get(at, no, &page));
    VQ_TRY(page_head(at, no, page, PAGE_BRANCH));
    size_t bytes = 0;
    if (keys_of(page) < 2) {
        return bad(at, no, "it leads to nothing");
    }
    for (size_t i = 0; i < keys_of(page); i++) {
        struct node node;
        VQ_TRY(node_get(at, no, page, i, false, &node));
        if (i > 0) { /* the key of the first one means nothing */
            VQ_TRY(key_follows(at, no, node.key, true));
        }
        VQ_TRY(branch_walk(at, node.child, depth - 1));
        bytes += node.bytes;
    }
    return bytes == at->w->page_bytes - u16(page + 14) ? VQ_OK : bad(at, no, "its entries overlap");
}

static enum vq_status tree_walk(struct walk *w, const struct tree *tree)
{
    struct place at = {.w = w, .tree = tree};
    if (tree->root == NO_ROOT) {
        return tree->entries == 0 && tree->depth == 0
                   ? VQ_OK
                   : bad(&at, 0, "a table with entries has no root");
    }
    if (tree->depth == 0 || tree->depth > DEPTH_MAX) {
        return bad(&at, tree->root, "its tree is too deep");
    }
    VQ_TRY(branch_walk(&at, tree->root, tree->depth));
    w->count.entries += at.entries;
    bool counted = w->value != NULL || tree->depth == 1;
    if (counted && at.entries != tree->entries) {
        return vq_fail(w->err, VQ_CORRUPT,
                       "table %s holds %" PRIu64 " entries, and should hold %" PRIu64, tree->name,
                       at.entries, tree->entries);
    }
    return VQ_OK;
}

/* ---- the file ---- */

static enum vq_status bad_head(struct vq_error *err, size_t i, const char *what)
{
    return vq_fail(err, VQ_CORRUPT, "head %zu is damaged: %s", i, what);
}

static enum vq_status head_check(struct vq_span front, size_t page_bytes, size_t i,
                                 struct vq_error *err)
{
    const char *page = front.at + i * page_bytes;
    const char *meta = page + PAGE_HEAD;
    struct tree of_main;
    tree_read(meta + 24 + TREE_BYTES, "main", &of_main);
    if (u64(page) != i || u16(page + 10) != PAGE_META) {
        return bad_head(err, i, "it is another page");
    }
    if (u32(meta) != META_MAGIC || u32(meta + 4) != META_VERSION) {
        return bad_head(err, i, "it is not LMDB's, or of another version");
    }
    if (u32(meta + 24) != page_bytes || of_main.flags != 0) {
        return bad_head(err, i, "its page size or flags are wrong");
    }
    uint64_t txnid = u64(meta + META_BYTES - 8);
    return txnid % META_PAGES == i || txnid == 0 ? VQ_OK
                                                 : bad_head(err, i, "its number is not its own");
}

enum vq_status vq_pages_heads(struct vq_span front, size_t *ret_page_bytes, struct vq_error *err)
{
    if (front.bytes < PAGE_HEAD + META_BYTES) {
        return vq_fail(err, VQ_CORRUPT, "it has no head");
    }
    size_t page_bytes = u32(front.at + PAGE_HEAD + 24);
    if (page_bytes < 512 || page_bytes > VQ_PAGES_HEAD_BYTES / 2 ||
        (page_bytes & (page_bytes - 1)) != 0) {
        return bad_head(err, 0, "its page size is none");
    }
    if (front.bytes < 2 * page_bytes) {
        return vq_fail(err, VQ_CORRUPT, "it has one head only");
    }
    VQ_TRY(head_check(front, page_bytes, 0, err));
    VQ_TRY(head_check(front, page_bytes, 1, err));
    const char *one = front.at + PAGE_HEAD;
    const char *two = one + page_bytes;
    uint64_t a = u64(one + META_BYTES - 8), b = u64(two + META_BYTES - 8);
    if (memcmp(one + 28, two + 28, 2) != 0 || (a > b ? a - b : b - a) > 1) {
        return vq_fail(err, VQ_CORRUPT, "its two heads do not belong together");
    }
    *ret_page_bytes = page_bytes;
    return VQ_OK;
}

/* The head of the snapshot; NULL: none. */
static const char *head_of(struct vq_span file, size_t page_bytes, uint64_t txnid)
{
    for (size_t i = 0; i < META_PAGES; i++) {
        const char *meta = file.at + i * page_bytes + PAGE_HEAD;
        if (u64(meta + META_BYTES - 8) == txnid) {
            return meta;
        }
    }
    return NULL;
}

enum vq_status vq_pages_check(struct vq_span file, size_t page_bytes, uint64_t txnid,
                              vq_pages_value_fn value, struct vq_pages_count *ret_count,
                              struct vq_error *err)
{
    struct walk w = {.file = file, .page_bytes = page_bytes, .value = value, .err = err};
    if (page_bytes < PAGE_HEAD + META_BYTES || file.bytes / page_bytes < META_PAGES) {
        return vq_fail(err, VQ_CORRUPT, "it has no head");
    }
    const char *meta = head_of(file, page_bytes, txnid);
    if (meta == NULL) {
        return VQ_AGAIN;
    }
    w.pages = u64(meta + META_BYTES - 16) + 1;
    if (w.pages > file.bytes / page_bytes) {
        return vq_fail(err, VQ_CORRUPT, "its head speaks of %" PRIu64 " pages, and %zu are there",
                       w.pages, file.bytes / page_bytes);
    }
    w.used = vq_alloc(w.pages / 8 + 1, 1);
    if (w.used == NULL) {
        return VQ_NOMEM;
    }
    struct tree of_free, of_main;
    tree_read(meta + 24, "free pages", &of_free);
    tree_read(meta + 24 + TREE_BYTES, "main", &of_main);
    of_free.flags = INTEGER_KEY; /* this field also has flags of the file */
    enum vq_status status = tree_walk(&w, &of_free);
    if (status == VQ_OK) {
        status = tree_walk(&w, &of_main);
    }
    vq_free(w.used);
    if (status == VQ_OK) {
        *ret_count = w.count;
    }
    return status;
}

/* Intrusive doubly linked lists and an intrusive hash table: the containers of the coordinator's core. Private to it. */
#ifndef VQ_COORD_TABLE_H
#define VQ_COORD_TABLE_H

#include "common/base/status.h"

/* The struct that `link` (a pointer, never NULL) is the member of. */
#define VQ_COORD_OF(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* A list is a ring through its head; an unlinked node points to nothing. */
struct vq_coord_link {
    struct vq_coord_link *next, *prev;
};

static inline void vq_coord_list_init(struct vq_coord_link *head)
{
    head->next = head->prev = head;
}

static inline bool vq_coord_linked(const struct vq_coord_link *link)
{
    return link->next != NULL;
}

static inline bool vq_coord_list_empty(const struct vq_coord_link *head)
{
    return head->next == head;
}

static inline void vq_coord_unlink(struct vq_coord_link *link)
{
    if (link->next != NULL) {
        link->next->prev = link->prev;
        link->prev->next = link->next;
        link->next = link->prev = NULL;
    }
}

/* Takes it out of wherever it is and puts it last; or, with a link of a list, before that one. */
static inline void vq_coord_push(struct vq_coord_link *head, struct vq_coord_link *link)
{
    vq_coord_unlink(link);
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

/* NULL when empty. */
static inline struct vq_coord_link *vq_coord_first(const struct vq_coord_link *head)
{
    return head->next == head ? NULL : head->next;
}

/* ---- hash table: chains of nodes; the owner compares keys ---- */

struct vq_coord_node {
    struct vq_coord_node *next;
    uint64_t hash;
};

struct vq_coord_table {
    struct vq_coord_node **buckets; /* a power of two of them, or NULL */
    size_t buckets_count;
    size_t count;
};

uint64_t
vq_coord_mix(uint64_t key); /* spreads a key over all 64 bits; a bijection: no two keys meet */

/* VQ_NOMEM: unchanged. The node must not be in a table. */
enum vq_status vq_coord_table_add(struct vq_coord_table *table, struct vq_coord_node *node,
                                  uint64_t hash) VQ_WARN_UNUSED;
void vq_coord_table_remove(struct vq_coord_table *table, struct vq_coord_node *node);
/* The nodes of this hash, one after another; NULL at the end. */
struct vq_coord_node *vq_coord_table_find(const struct vq_coord_table *table, uint64_t hash);
struct vq_coord_node *vq_coord_table_again(const struct vq_coord_node *node);
void vq_coord_table_free(struct vq_coord_table *table); /* the buckets, not the nodes */

#endif

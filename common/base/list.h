/* Intrusive doubly linked lists: each item contains its link. A link is in at most one list; a
 * zeroed link is in none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The struct that contains `link` (a pointer, never NULL) as its member. */
#define VQ_CONTAINER_OF(link, type, member)                                                        \
    ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* A list is a ring that includes its head. The pointers of an unlinked node are NULL. */
struct vq_link {
    struct vq_link *next, *prev;
};

static inline void vq_list_init(struct vq_link *head)
{
    head->next = head->prev = head;
}

static inline bool vq_linked(const struct vq_link *link)
{
    return link->next != NULL;
}

static inline bool vq_list_empty(const struct vq_link *head)
{
    return head->next == head;
}

static inline void vq_unlink(struct vq_link *link)
{
    if (link->next != NULL) {
        link->next->prev = link->prev;
        link->prev->next = link->next;
        link->next = link->prev = NULL;
    }
}

/* Removes `link` from its list, if any, and appends it to the list of `head`. If `head` is a link
 * of an item, `link` is inserted before that item. */
static inline void vq_list_push(struct vq_link *head, struct vq_link *link)
{
    vq_unlink(link);
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

/* Moves all of `from` to the front of `to`, in order. */
static inline void vq_list_prepend(struct vq_link *to, struct vq_link *from)
{
    if (vq_list_empty(from)) {
        return;
    }
    from->prev->next = to->next;
    to->next->prev = from->prev;
    to->next = from->next;
    from->next->prev = to;
    vq_list_init(from);
}

/* NULL when empty. */
static inline struct vq_link *vq_list_first(const struct vq_link *head)
{
    return head->next == head ? NULL : head->next;
}

/* Doubly linked lists through a member. A list is a ring around its head; an item is in at most one list per link. */
#ifndef VQ_WORKER_LINK_H
#define VQ_WORKER_LINK_H

#include <stdbool.h>
#include <stddef.h>

struct vq_work_link {
    struct vq_work_link *prev, *next;
};

#define VQ_WORK_ITEM(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void vq_work_list_init(struct vq_work_link *head)
{
    head->prev = head;
    head->next = head;
}

static inline bool vq_work_list_empty(const struct vq_work_link *head)
{
    return head->next == head;
}

static inline void vq_work_list_push(struct vq_work_link *head, struct vq_work_link *item)
{
    item->prev = head->prev;
    item->next = head;
    head->prev->next = item;
    head->prev = item;
}

static inline void vq_work_list_remove(struct vq_work_link *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
    item->prev = item;
    item->next = item;
}

/* Moves all of `from` to the front of `to`, in order. */
static inline void vq_work_list_prepend(struct vq_work_link *to, struct vq_work_link *from)
{
    if (vq_work_list_empty(from)) {
        return;
    }
    from->prev->next = to->next;
    to->next->prev = from->prev;
    to->next = from->next;
    from->next->prev = to;
    vq_work_list_init(from);
}

#endif

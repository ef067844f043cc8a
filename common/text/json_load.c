/* jansson over the checked allocation.
 *
 * If an allocation fails while jansson 2.14 parses, jansson may leak memory, report invalid JSON,
 * or write past its token buffer, which it believes to have grown. So jansson never sees a failure:
 * this file leaves the parse at once (longjmp) and frees all of its blocks. To know these blocks,
 * it puts a link in front of each one, which is used only during the parse. Blocks in a room need
 * no link: the room frees them.
 *
 * Invariant: a block in a list belongs to the current parse of this thread. Not its job: bounds,
 * and the meaning of a value. */
#include "common/text/json_load.h"

#include "common/base/alloc.h"

#include <jansson.h>
#include <setjmp.h>

struct block {
    struct block *next;
    struct block **at; /* the pointer to this block; NULL: in no list; &in_room: not on the heap */
};

static struct block *in_room;

_Static_assert(sizeof(struct block) % _Alignof(max_align_t) == 0, "what follows is aligned");

static _Thread_local struct {
    bool reads;
    struct vq_json_room *room; /* NULL: none */
    struct block *first;
    jmp_buf out;
} reading;

/* NULL: there is no room, or its rest is too small. */
static struct block *take_in_room(size_t bytes)
{
    struct vq_json_room *room = reading.reads ? reading.room : NULL;
    if (room == NULL || bytes > sizeof(room->bytes)) {
        return NULL;
    }
    struct block *block = (struct block *)(void *)(room->bytes + room->used);
    /* whole blocks, so that the next one is aligned */
    size_t blocks = 1 + (bytes + sizeof(*block) - 1) / sizeof(*block);
    if (blocks * sizeof(*block) > sizeof(room->bytes) - room->used) {
        return NULL;
    }
    room->used += blocks * sizeof(*block);
    *block = (struct block){.at = &in_room};
    return block;
}

static void *take(size_t bytes)
{
    struct block *roomed = take_in_room(bytes);
    if (roomed != NULL) {
        return roomed + 1;
    }
    struct block *block = bytes > SIZE_MAX / 2 ? NULL : vq_realloc(NULL, 1, sizeof(*block) + bytes);
    if (block == NULL) {
        if (reading.reads) {
            longjmp(reading.out, 1);
        }
        return NULL;
    }
    *block = (struct block){.next = NULL};
    if (reading.reads) {
        block->next = reading.first;
        block->at = &reading.first;
        if (block->next != NULL) {
            block->next->at = &block->next;
        }
        reading.first = block;
    }
    return block + 1;
}

static void give_back(void *at)
{
    struct block *block = at == NULL ? NULL : (struct block *)at - 1;
    if (block != NULL && block->at == &in_room) {
        return;
    }
    if (block != NULL && block->at != NULL) {
        *block->at = block->next;
        if (block->next != NULL) {
            block->next->at = block->at;
        }
    }
    vq_free(block);
}

/* Runs before the program makes a JSON value. */
__attribute__((constructor)) static void hook(void)
{
    json_set_alloc_funcs(take, give_back);
}

enum vq_status vq_json_load_in(struct vq_json_room *room, struct vq_span text, size_t flags,
                               struct json_t **ret_value, struct json_error_t *error)
{
    VQ_ASSERT(!reading.reads);
    reading.first = NULL;
    reading.room = room;
    if (setjmp(reading.out) != 0) {
        reading.reads = false;
        while (reading.first != NULL) {
            give_back(reading.first + 1);
        }
        return VQ_NOMEM;
    }
    reading.reads = true;
    json_t *value = json_loadb(text.bytes == 0 ? "" : text.at, text.bytes, flags, error);
    reading.reads = false;
    for (struct block *block = reading.first, *next; block != NULL; block = next) {
        next = block->next;
        *block = (struct block){.next = NULL};
    }
    if (value == NULL) {
        return VQ_INVALID;
    }
    *ret_value = value;
    return VQ_OK;
}

enum vq_status vq_json_load(struct vq_span text, size_t flags, struct json_t **ret_value,
                            struct json_error_t *error)
{
    return vq_json_load_in(NULL, text, flags, ret_value, error);
}

static int append(const char *bytes, size_t n, void *data)
{
    struct vq_buf *out = data;
    vq_buf_append(out, bytes, n);
    return out->status == VQ_OK ? 0 : -1;
}

enum vq_status vq_json_dump(const struct json_t *value, struct vq_buf *out)
{
    bool whole = json_dump_callback(value, append, out, JSON_COMPACT) == 0;
    return out->status != VQ_OK ? out->status : whole ? VQ_OK : VQ_NOMEM;
}

/* Sends a spoiled answer on a connected socket: bytes that an HTTP library would never send. Writes
 * without blocking; the caller waits. */
#pragma once

#include "offline/reply.h"

enum vq_wire_end {
    VQ_WIRE_CLOSE, /* an ordinary close */
    VQ_WIRE_RESET, /* a TCP reset; the socket is no longer connected afterwards */
    VQ_WIRE_HANG,  /* no more bytes, until the peer disconnects */
};

struct vq_wire {
    struct vq_buf bytes; /* head and body, or the part of them to send */
    size_t done;
    uint64_t filler_left; /* bytes of repeated `filler` after `bytes` */
    struct vq_buf filler; /* some tens of kilobytes */
    size_t filler_at;
    struct vq_buf tail; /* after the filler */
    size_t tail_done;
    size_t step_bytes; /* 0: at the speed of the socket; else bytes per step ... */
    int64_t step_ns;   /* ... and time per step */
    enum vq_wire_end end;
    bool is_whole; /* if everything is sent, the answer has arrived: it was only slow or long */
};

/* Only for faults of stage WIRE. VQ_NOMEM, VQ_LIMIT. */
enum vq_status vq_wire_plan(const struct vq_offline_reply *reply,
                            struct vq_wire *ret_wire) VQ_WARN_UNUSED;
void vq_wire_free(struct vq_wire *wire);

enum vq_wire_state {
    VQ_WIRE_MORE, /* call again after *ret_wait_ns */
    VQ_WIRE_DONE, /* all bytes are sent: carry out `end` */
    VQ_WIRE_LOST, /* the peer has disconnected */
};
enum vq_wire_state vq_wire_step(struct vq_wire *wire, int fd, int64_t *ret_wait_ns);

/* Aborts the connection of a socket with a TCP reset. The descriptor stays open; its owner closes
 * it. */
void vq_wire_reset(int fd);

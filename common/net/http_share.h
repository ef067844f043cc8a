/* Limits the part of its thread's time that an HTTP server spends on clients without the token: a
 * burst, then a share. So hostile clients cannot slow the rest of the loop. Pure. */
#pragma once

#include <stdint.h>

/* allowed after a time without such clients; also the largest debt */
#define VQ_HTTP_SHARE_BURST_MS 100

struct vq_http_share {
    uint32_t percent; /* 0: no limit */
    int64_t left_ns;  /* negative: a debt */
    int64_t at_ns;
};

void vq_http_share_init(struct vq_http_share *share, uint32_t percent, int64_t now_ns);
void vq_http_share_spend(struct vq_http_share *share, int64_t spent_ns, int64_t now_ns);
/* Nanoseconds until the debt is paid; 0: the server may continue now. */
int64_t vq_http_share_wait_ns(const struct vq_http_share *share, int64_t now_ns);

/* How much of its thread's time an HTTP server spends on clients without the token: a share, after
 * a burst. Then clients that mean harm slow nothing else on the loop. Pure. */
#pragma once

#include <stdint.h>

#define VQ_HTTP_SHARE_BURST_MS 100 /* after a while without such clients; also the largest debt */

struct vq_http_share {
    uint32_t percent; /* 0: there is no limit */
    int64_t left_ns;  /* negative: a debt */
    int64_t at_ns;
};

void vq_http_share_init(struct vq_http_share *share, uint32_t percent, int64_t now_ns);
void vq_http_share_spend(struct vq_http_share *share, int64_t spent_ns, int64_t now_ns);
/* Until the debt is paid. 0: the server may go on now. */
int64_t vq_http_share_wait_ns(const struct vq_http_share *share, int64_t now_ns);

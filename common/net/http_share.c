/* A bucket that fills with time. Invariant: |left_ns| is at most the burst, so that one long turn
 * does not stop the server for long. */
#include "common/net/http_share.h"

#include "common/base/clock.h"

#define BURST_NS ((int64_t)VQ_HTTP_SHARE_BURST_MS * VQ_NS_PER_MS)

static int64_t left_at(const struct vq_http_share *share, int64_t now_ns)
{
    int64_t passed_ns = now_ns - share->at_ns;
    /* after this time any debt is paid */
    if (passed_ns >= 2 * BURST_NS * 100 / share->percent) {
        return BURST_NS;
    }
    int64_t left_ns = share->left_ns + passed_ns * share->percent / 100;
    return left_ns < BURST_NS ? left_ns : BURST_NS;
}

void vq_http_share_init(struct vq_http_share *share, uint32_t percent, int64_t now_ns)
{
    *share = (struct vq_http_share){.percent = percent, .left_ns = BURST_NS, .at_ns = now_ns};
}

void vq_http_share_spend(struct vq_http_share *share, int64_t spent_ns, int64_t now_ns)
{
    if (share->percent == 0) {
        return;
    }
    int64_t left_ns = left_at(share, now_ns) - spent_ns;
    share->left_ns = left_ns > -BURST_NS ? left_ns : -BURST_NS;
    share->at_ns = now_ns;
}

int64_t vq_http_share_wait_ns(const struct vq_http_share *share, int64_t now_ns)
{
    if (share->percent == 0) {
        return 0;
    }
    int64_t left_ns = left_at(share, now_ns);
    return left_ns >= 0 ? 0 : -left_ns * 100 / share->percent;
}

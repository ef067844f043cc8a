/* The prompt cache of all accounts, in one table of fixed size. */
#include "offline/fronts.h"

static uint64_t hash_of(uint64_t front, uint64_t account)
{
    uint64_t hash = (front ^ account) * UINT64_C(0x9e3779b97f4a7c15);
    return hash == 0 ? 1 : hash;
}

uint64_t vq_fronts_find(const struct vq_fronts *fronts, const struct vq_chat_request *request,
                        uint64_t account, int64_t now_ns)
{
    for (size_t i = request->fronts_n; i > 0; i--) { /* the longest first */
        uint64_t hash = hash_of(request->fronts[i - 1].hash, account);
        const struct vq_kept_front *kept = &fronts->kept[(hash >> 20) % VQ_FRONTS_KEPT];
        if (kept->hash == hash && kept->ready_ns <= now_ns) {
            return request->fronts[i - 1].tokens;
        }
    }
    return 0;
}

void vq_fronts_keep(struct vq_fronts *fronts, const struct vq_chat_request *request,
                    uint64_t account, int64_t ready_ns)
{
    for (size_t i = 0; i < request->fronts_n; i++) {
        uint64_t hash = hash_of(request->fronts[i].hash, account);
        struct vq_kept_front *kept = &fronts->kept[(hash >> 20) % VQ_FRONTS_KEPT];
        bool sooner = kept->hash == hash && kept->ready_ns < ready_ns;
        *kept = (struct vq_kept_front){hash, sooner ? kept->ready_ns : ready_ns};
    }
}

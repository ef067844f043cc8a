/* Service tiers in requests and responses: the same word, under the dialect's name for it. Not its
 * job: the choice of a tier, and the consequences of the tier that served (worker/core/call.c). */
#include "worker/provider/tier.h"

#include <ctype.h>
#include <strings.h>

void vq_tier_put(struct vq_json *json, const char *key, const struct vq_prompt *prompt)
{
    if (prompt->service_tier != NULL && prompt->service_tier[0] != '\0') {
        vq_json_put_str(json, key, prompt->service_tier);
    }
}

void vq_tier_take(struct vq_span said, char ret_tier[VQ_REPLY_NAME_BYTES_MAX])
{
    static const char front[] = "SERVICE_TIER_";
    size_t n = sizeof(front) - 1;
    if (said.bytes > n && strncasecmp(said.at, front, n) == 0) {
        said = vq_span(said.at + n, said.bytes - n);
    }
    bool good = said.bytes > 0 && said.bytes <= VQ_TIER_BYTES_MAX;
    for (size_t i = 0; good && i < said.bytes; i++) {
        good = isalpha((unsigned char)said.at[i]) || said.at[i] == '_';
    }
    for (size_t i = 0; good && i < said.bytes; i++) {
        ret_tier[i] = (char)tolower((unsigned char)said.at[i]);
    }
    if (good) {
        ret_tier[said.bytes] = '\0';
    }
}

/* Keys whose values take more than one call to write. Not its job: which keys a file has. */
#include "methods/report/keys.h"

#include <math.h>

void vq_report_key_interval(struct vq_json *j, const char *key, struct vq_interval ci)
{
    vq_json_key(j, key);
    if (isnan(ci.lo) || isnan(ci.hi)) {
        vq_json_null(j);
        return;
    }
    vq_json_array(j);
    vq_json_real(j, ci.lo, VQ_REPORT_DIGITS);
    vq_json_real(j, ci.hi, VQ_REPORT_DIGITS);
    vq_json_array_end(j);
}

void vq_report_key_estimate(struct vq_json *j, const char *key, double value, const char *ci_key,
                            struct vq_interval ci)
{
    vq_report_key_real(j, key, value);
    vq_report_key_interval(j, ci_key, ci);
}

void vq_report_key_hash(struct vq_json *j, const char *key, const struct vq_hash *hash)
{
    char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    if (hash != NULL) {
        vq_hex(hash->b, VQ_HASH_BYTES, hex);
    }
    vq_json_put_str(j, key, hash == NULL ? NULL : hex);
}

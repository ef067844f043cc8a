/* Private to the results: how the vibes were found, as a block of results.json; and what its writers share. */
#ifndef VQ_REPORT_JSON_METHOD_H
#define VQ_REPORT_JSON_METHOD_H

#include "common/text/json.h"
#include "coordinator/report/report.h"

/* A key and its value in one. */
static inline void vq_report_key_real(struct vq_json *j, const char *key, double value)
{
    vq_json_key(j, key);
    vq_json_real(j, value, VQ_REPORT_DIGITS);
}

static inline void vq_report_key_text(struct vq_json *j, const char *key, const char *value)
{
    vq_json_key(j, key);
    vq_json_str(j, value);
}

static inline void vq_report_key_count(struct vq_json *j, const char *key, uint64_t value)
{
    vq_json_key(j, key);
    vq_json_u64(j, value);
}

static inline void vq_report_key_boolean(struct vq_json *j, const char *key, bool value)
{
    vq_json_key(j, key);
    vq_json_bool(j, value);
}

/* Writes the key "discovery" with its object; nothing for a run over given vibes. */
void vq_report_json_method(struct vq_json *j, const struct vq_report_input *r);

#endif

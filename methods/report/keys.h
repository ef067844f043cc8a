/* Private to the results: writes a key and its value in one call, for kinds that vq_json_put_* does
 * not have. Numbers have VQ_REPORT_DIGITS digits. */
#pragma once

#include "common/base/hash.h"
#include "common/conf/config.h"
#include "common/text/json.h"
#include "methods/report/report.h"
#include "methods/stats/stats.h"

static inline void vq_report_key_real(struct vq_json *j, const char *key, double value)
{
    vq_json_put_real(j, key, value, VQ_REPORT_DIGITS);
}

/* Writes [lo, hi], or null if there is no interval. */
void vq_report_key_interval(struct vq_json *j, const char *key, struct vq_interval ci);

/* An estimate under `key`, and its interval under `ci_key`. */
void vq_report_key_estimate(struct vq_json *j, const char *key, double value, const char *ci_key,
                            struct vq_interval ci);

/* Writes `judges`, `judge_kind`, and a note that the offline judge does not show `what`.
 * `settings`: the settings of each judge; NULL: they are not written. */
void vq_report_put_judges(struct vq_json *j, const struct vq_report_judge *judges, uint32_t count,
                          const struct vq_conf_judge *settings, const char *kind, const char *what);

/* Writes "models": the columns of outputs. */
void vq_report_put_models(struct vq_json *j, const struct vq_config *config);
/* Writes the hash in hex; NULL: null. */
void vq_report_key_hash(struct vq_json *j, const char *key, const struct vq_hash *hash);

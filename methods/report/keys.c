/* Writes keys whose values need more than one call. Not its job: which keys a file has. */
#include "methods/report/keys.h"

#include <math.h>
#include <stdio.h>

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

void vq_report_put_judges(struct vq_json *j, const struct vq_report_judge *judges, uint32_t count,
                          const struct vq_conf_judge *settings, const char *kind, const char *what)
{
    vq_json_put_array(j, "judges");
    for (uint32_t i = 0; i < count; i++) {
        vq_json_object(j);
        vq_json_put_str(j, "name", judges[i].name);
        vq_json_put_str(j, "model", judges[i].model);
        vq_json_put_str(j, "provider", judges[i].identity);
        vq_json_put_array(j, "returned_models");
        for (uint32_t k = 0; k < judges[i].returned_count; k++) {
            vq_json_str(j, judges[i].returned[k]);
        }
        vq_json_array_end(j);
        if (settings != NULL) {
            double temperature = settings[i].send_temperature ? settings[i].temperature : NAN;
            vq_report_key_real(j, "temperature", temperature);
            vq_json_put_u64(j, "max_tokens", settings[i].max_tokens);
        }
        vq_json_object_end(j);
    }
    vq_json_array_end(j);
    vq_json_put_str(j, "judge_kind", kind);
    if (strcmp(kind, "model") != 0) {
        char note[192];
        (void)snprintf(note, sizeof(note),
                       "Made with the offline judge: these numbers show that the plumbing works, "
                       "not %s.",
                       what);
        vq_json_put_str(j, "judge_note", note);
    }
}

void vq_report_put_models(struct vq_json *j, const struct vq_config *config)
{
    vq_json_put_array(j, "models");
    for (uint32_t i = 0; i < config->models_count; i++) {
        vq_json_str(j, config->models[i]);
    }
    vq_json_array_end(j);
}

void vq_report_key_hash(struct vq_json *j, const char *key, const struct vq_hash *hash)
{
    char hex[VQ_HEX_BYTES(VQ_HASH_BYTES)];
    if (hash != NULL) {
        vq_hex(hash->b, VQ_HASH_BYTES, hex);
    }
    vq_json_put_str(j, key, hash == NULL ? NULL : hex);
}

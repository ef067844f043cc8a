/* A configuration as a run began with it, and as it would go on: with one override. Brings cmocka's
 * headers with it. */
#pragma once

#include "tests/unit/test.h"

#include <string.h>

#include "common/conf/config.h"

typedef enum vq_status (*two_configs_fn)(const struct vq_config *was, const struct vq_config *now,
                                         struct vq_error *err);

static inline struct vq_config *one_config(const char *yaml, const char *override)
{
    struct vq_config *c;
    struct vq_error err = {0};
    enum vq_status status = vq_config_parse(yaml, strlen(yaml), "c.yaml", ".", &override,
                                            override == NULL ? 0 : 1, &c, &err);
    if (status != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return c;
}

static inline enum vq_status two_configs(two_configs_fn check, const char *yaml,
                                         const char *override, struct vq_error *err)
{
    struct vq_config *was = one_config(yaml, NULL), *now = one_config(yaml, override);
    *err = (struct vq_error){0};
    enum vq_status status = check(was, now, err);
    vq_config_destroy(&was);
    vq_config_destroy(&now);
    return status;
}

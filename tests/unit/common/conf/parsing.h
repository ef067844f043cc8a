/* Reads a configuration's text as the file run.yaml in /base. */
#pragma once

#include "tests/unit/test.h"

#include "common/conf/config.h"

#include <string.h>

static inline enum vq_status parse(const char *yaml, struct vq_config **ret_config,
                                   struct vq_error *err)
{
    return vq_config_parse(yaml, strlen(yaml), "run.yaml", "/base", NULL, 0, ret_config, err);
}

/* A refusal fails the test with its sentence. The caller destroys the configuration. */
static inline struct vq_config *must_parse(const char *yaml)
{
    struct vq_config *config = NULL;
    struct vq_error err = {.text = ""};
    if (parse(yaml, &config, &err) != VQ_OK) {
        fail_msg("%s", err.text);
    }
    return config;
}

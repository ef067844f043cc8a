/* Configurations: whatever loads can be written, and what is written loads to the same text. A
 * first line that begins with '!' is an override. */
#include "common/base/alloc.h"
#include "common/conf/config.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct vq_config *config)
{
    char *first = NULL, *second = NULL;
    size_t first_bytes = 0, second_bytes = 0;
    struct vq_config *again = NULL;
    struct vq_error err = {.text = ""};
    VQ_ASSERT(vq_config_write(config, &first, &first_bytes) == VQ_OK);
    VQ_ASSERT(vq_config_parse(first, first_bytes, "f", "/", NULL, 0, &again, &err) == VQ_OK);
    VQ_ASSERT(vq_config_write(again, &second, &second_bytes) == VQ_OK);
    VQ_ASSERT(first_bytes == second_bytes && memcmp(first, second, first_bytes) == 0);
    vq_free(first);
    vq_free(second);
    vq_config_destroy(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char override[512];
    const char *overrides[1] = {override};
    size_t overrides_count = 0;
    const uint8_t *line = size > 0 && data[0] == '!' ? memchr(data, '\n', size) : NULL;
    if (line != NULL && (size_t)(line - data) < sizeof(override)) {
        size_t n = (size_t)(line - data) - 1;
        memcpy(override, data + 1, n);
        override[n] = '\0';
        overrides_count = 1;
        size -= (size_t)(line - data) + 1;
        data = line + 1;
    }
    struct vq_config *config = NULL;
    struct vq_error err = {.text = ""};
    if (vq_config_parse((const char *)data, size, "f", "/", overrides, overrides_count, &config,
                        &err) != VQ_OK) {
        VQ_ASSERT(config == NULL && err.text[0] != '\0');
        return 0;
    }
    check_round_trip(config);
    vq_config_destroy(&config);
    return 0;
}

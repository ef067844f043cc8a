/* Any bytes behind a spool's head: no crash; what is read is bounded by the file; and what is read,
 * written to a new spool, is read again. The first byte decides whether the rest is the whole file
 * or follows a good head. */
#include "proto/spool.h"
#include "proto/spool_format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[64];

static void store(struct vq_span bytes)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, VQ_SPOOL_FILE);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes.at, bytes.bytes) != (ssize_t)bytes.bytes || close(fd) != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct vq_id run = {{7}};
    if (dir[0] == '\0') {
        (void)snprintf(dir, sizeof(dir), "/tmp/vq-fuzz-XXXXXX");
        if (mkdtemp(dir) == NULL) {
            abort();
        }
    }
    struct vq_buf file;
    vq_buf_init(&file, 1u << 24);
    if (size > 0 && data[0] % 2 == 0) {
        vq_spool_put_head(&file, &run, &run);
    }
    /* bodies of records: a type, a length, then the bytes; so that the checks fit */
    size_t at = size > 0 ? 1 : 0;
    while (size > 0 && data[0] % 4 == 0 && at + 3 < size) {
        size_t bytes = data[at + 1];
        bytes = bytes > size - at - 2 ? size - at - 2 : bytes;
        struct vq_id call = {{(uint8_t)(data[at] / 4)}};
        vq_spool_put_record(&file, (enum vq_spool_type)(1 + data[at] % 3), &call,
                            vq_span((const char *)data + at + 2, bytes));
        at += 2 + bytes;
    }
    vq_buf_append(&file, data + at, size - at);
    store(vq_buf_span(&file));
    struct vq_spool_held *held = NULL;
    struct vq_spool_held *again = NULL;
    struct vq_spool *spool = NULL;
    struct vq_error err = {""};
    if (vq_spool_read(dir, &run, &held, &err) == VQ_OK) {
        if (vq_spool_held_bytes(held) + vq_spool_held_torn_bytes(held) != file.bytes ||
            vq_spool_open(dir, &run, &run, &spool, &again, &err) != VQ_OK ||
            vq_spool_held_count(again) != vq_spool_held_count(held)) {
            abort();
        }
        vq_spool_close(&spool);
        vq_spool_held_destroy(&again);
        vq_spool_held_destroy(&held);
    } else if (err.text[0] == '\0') {
        abort(); /* a refusal has a reason */
    }
    vq_buf_free(&file);
    return 0;
}

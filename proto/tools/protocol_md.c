/* Rewrites the tables of PROTOCOL.md between their two marks. The path of the page is the only
 * argument. */
#include "proto/table.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGE_BYTES_MAX (1u << 20)

static bool read_page(const char *path, struct vq_buf *page)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    char block[4096];
    size_t n;
    while ((n = fread(block, 1, sizeof(block), file)) > 0) {
        vq_buf_append(page, block, n);
    }
    bool ok = ferror(file) == 0 && page->status == VQ_OK && page->at != NULL;
    (void)fclose(file); /* read only: nothing to lose */
    return ok;
}

static bool write_page(const char *path, const struct vq_buf *page)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    bool ok = fwrite(page->at, 1, page->bytes, file) == page->bytes;
    return fclose(file) == 0 && ok;
}

int main(int argc, char **argv)
{
    struct vq_buf page, fresh;
    vq_buf_init(&page, PAGE_BYTES_MAX);
    vq_buf_init(&fresh, PAGE_BYTES_MAX);
    if (argc != 2 || !read_page(argv[1], &page)) {
        (void)fprintf(stderr, "usage: protocol-md PATH-OF-PROTOCOL.md\n");
        return 2;
    }
    const char *begin = strstr(page.at, VQ_WIRE_PAGE_BEGIN);
    const char *end = strstr(page.at, VQ_WIRE_PAGE_END);
    if (begin == NULL || end == NULL || end < begin) {
        (void)fprintf(stderr, "%s: the two marks are missing\n", argv[1]);
        return 1;
    }
    vq_buf_append(&fresh, page.at, (size_t)(begin - page.at) + strlen(VQ_WIRE_PAGE_BEGIN));
    vq_wire_describe(&fresh);
    vq_buf_puts(&fresh, end);
    if (fresh.status != VQ_OK || !write_page(argv[1], &fresh)) {
        (void)fprintf(stderr, "%s: cannot be written\n", argv[1]);
        return 1;
    }
    vq_buf_free(&page);
    vq_buf_free(&fresh);
    return 0;
}

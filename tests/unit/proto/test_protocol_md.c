/* PROTOCOL.md says what the table says. */

#include "tests/unit/test.h"

#include "proto/table.h"

#include <stdio.h>
#include <stdlib.h>

TEST(test_page_is_up_to_date)
{
    struct vq_buf page, wanted;
    vq_buf_init(&page, 1u << 20);
    vq_buf_init(&wanted, 1u << 20);
    FILE *file = fopen(VQ_SOURCE_DIR "/proto/PROTOCOL.md", "r");
    assert_non_null(file);
    for (int c = fgetc(file); c != EOF; c = fgetc(file)) {
        vq_buf_putc(&page, (char)c);
    }
    assert_int_equal(fclose(file), 0);
    vq_wire_describe(&wanted);
    assert_int_equal(page.status, VQ_OK);
    assert_int_equal(wanted.status, VQ_OK);
    const char *begin = strstr(page.at, VQ_WIRE_PAGE_BEGIN);
    const char *end = strstr(page.at, VQ_WIRE_PAGE_END);
    assert_non_null(begin);
    assert_non_null(end);
    begin += strlen(VQ_WIRE_PAGE_BEGIN);
    if (!vq_span_eq(vq_span(begin, (size_t)(end - begin)), vq_buf_span(&wanted))) {
        fail_msg("proto/PROTOCOL.md is older than messages.def: cmake --build BUILD --target "
                 "protocol-md");
    }
    char version[32];
    (void)snprintf(version, sizeof(version), "Version %d.", VQ_PROTOCOL_VERSION);
    assert_non_null(strstr(page.at, version));
    vq_buf_free(&page);
    vq_buf_free(&wanted);
}

/* Every message is told in the prose as well. */
TEST(test_prose_knows_every_message)
{
    char *prose = calloc(1, 1u << 16);
    FILE *file = fopen(VQ_SOURCE_DIR "/proto/PROTOCOL.md", "r");
    assert_non_null(file);
    size_t n = fread(prose, 1, (1u << 16) - 1, file);
    assert_true(n > 0);
    assert_int_equal(fclose(file), 0);
    char *end = strstr(prose, VQ_WIRE_PAGE_BEGIN);
    assert_non_null(end);
    *end = '\0';
    for (uint32_t i = 0; i < vq_wire_messages_count; i++) {
        if (vq_wire_messages[i].directions != 0 &&
            strstr(prose, vq_wire_messages[i].name) == NULL) {
            fail_msg("PROTOCOL.md does not tell of %s", vq_wire_messages[i].name);
        }
    }
    free(prose);
}

/* Bodies of uploads. */

#include "tests/unit/test.h"

#include "offline/batch/multipart.h"

#include <string.h>

#define TYPE "multipart/form-data; boundary=\"b-1\""
#define FILE_PART                                                                                  \
    "--b-1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a b.jsonl\"\r\n"           \
    "Content-Type: text/plain\r\n\r\n"

static enum vq_status read(const char *type, const char *body, struct vq_offline_multipart *parts)
{
    struct vq_error err = {0};
    enum vq_status status = vq_offline_multipart_read(type, vq_span_str(body), parts, &err);
    assert_true((status == VQ_OK) == (err.text[0] == '\0'));
    return status;
}

static void is(struct vq_span text, const char *wanted)
{
    assert_true(vq_span_eq(text, vq_span_str(wanted)));
}

TEST(finds_purpose_and_file_in_either_order)
{
    struct vq_offline_multipart parts;
    const char *body = FILE_PART "{}\r\n--b-\r\nx\r\n--b-1\r\nContent-Disposition: form-data; "
                                 "name=purpose\r\n\r\nbatch\r\n--b-1--\r\n";
    assert_int_equal(read(TYPE, body, &parts), VQ_OK);
    is(parts.purpose, "batch");
    is(parts.file, "{}\r\n--b-\r\nx");
    is(parts.file_name, "a b.jsonl");
    assert_true(parts.has_file);

    body = "--b-1\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\n\r\n--b-1--";
    assert_int_equal(read("Multipart/Form-Data;boundary=b-1", body, &parts), VQ_OK);
    assert_false(parts.has_file);
}

TEST(refuses_bodies_without_an_end)
{
    static const char *const bad[] = {"",
                                      "--b-1",
                                      "--b-1\r\n",
                                      FILE_PART "{}",
                                      FILE_PART "{}\r\n--b-1",
                                      "--b-2--",
                                      "--b-1\r\nname=\"file\"\r\n--b-1--"};
    struct vq_offline_multipart parts;
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        assert_int_equal(read(TYPE, bad[i], &parts), VQ_INVALID);
    }
    assert_int_equal(read("application/json", "--b-1--", &parts), VQ_INVALID);
    assert_int_equal(read("multipart/form-data", "--b-1--", &parts), VQ_INVALID);
}

/* Keys: where they may come from, what refuses them, and that no sentence repeats one. */
#include "tests/unit/test.h"

#include "common/base/hash.h"
#include "common/base/secret.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/vq_secret_XXXXXX";

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) == NULL;
}

static int drop_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

static enum vq_status same(void *ctx, struct vq_span bytes)
{
    const struct vq_span *expected = ctx;
    return vq_span_eq(bytes, *expected) ? VQ_OK : VQ_INVALID;
}

static void assert_holds(const struct vq_secret *secret, const char *bytes)
{
    struct vq_span expected = vq_span_str(bytes);
    assert_int_equal(vq_secret_expose(secret, same, &expected), VQ_OK);
}

TEST(test_from_environment)
{
    struct vq_secret *secret = NULL;
    struct vq_error err;
    assert_int_equal(setenv("VQ_TEST_KEY", "s3cret", 1), 0);
    assert_int_equal(vq_secret_load("env:VQ_TEST_KEY", &secret, &err), VQ_OK);
    assert_holds(secret, "s3cret");
    uint8_t print[VQ_FINGERPRINT_BYTES];
    char hex[VQ_HEX_BYTES(VQ_FINGERPRINT_BYTES)];
    vq_secret_fingerprint(secret, print);
    vq_hex(print, sizeof(print), hex);
    assert_string_equal(hex,
                        "9d7349948f92e5ce"); /* computed elsewhere: pools are told apart by it */
    vq_secret_destroy(&secret);
    assert_null(secret);
    vq_secret_destroy(&secret);
    assert_int_equal(setenv("VQ_TEST_KEY", "", 1), 0);
    assert_int_equal(vq_secret_load("env:VQ_TEST_KEY", &secret, &err), VQ_NOT_FOUND);
    assert_int_equal(unsetenv("VQ_TEST_KEY"), 0);
    assert_int_equal(vq_secret_load("env:VQ_TEST_KEY", &secret, &err), VQ_NOT_FOUND);
    assert_non_null(strstr(err.text, "VQ_TEST_KEY"));
}

TEST(test_a_pasted_key_is_refused_and_not_repeated)
{
    static const char *const pasted[] = {"sk-CANARY", "env:", "file:", "", "ENV:CANARY"};
    for (size_t i = 0; i < VQ_COUNT(pasted); i++) {
        struct vq_secret *secret = NULL;
        struct vq_error err;
        assert_int_equal(vq_secret_load(pasted[i], &secret, &err), VQ_INVALID);
        assert_null(secret);
        assert_null(strstr(err.text, "CANARY"));
    }
}

/* Writes the file, loads it, removes it. */
static enum vq_status load_file(const char *content, size_t bytes, mode_t mode,
                                struct vq_secret **ret_secret, struct vq_error *err)
{
    char path[64], reference[80];
    (void)snprintf(path, sizeof(path), "%s/key", dir);
    (void)snprintf(reference, sizeof(reference), "file:%s", path);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, bytes), bytes);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
    enum vq_status status = vq_secret_load(reference, ret_secret, err);
    assert_int_equal(unlink(path), 0);
    return status;
}

TEST(test_file_modes)
{
    static const mode_t refused[] = {0660, 0604, 0620, 0602, 0644, 0666, 0610};
    struct vq_secret *secret = NULL;
    struct vq_error err;
    for (size_t i = 0; i < VQ_COUNT(refused); i++) {
        assert_int_equal(load_file("CANARY", 6, refused[i], &secret, &err), VQ_DENIED);
        assert_null(secret);
        assert_non_null(strstr(err.text, "chmod 600"));
        assert_null(strstr(err.text, "CANARY"));
    }
    static const mode_t allowed[] = {0600, 0400};
    for (size_t i = 0; i < VQ_COUNT(allowed); i++) {
        assert_int_equal(load_file("key one\r\n", 9, allowed[i], &secret, &err), VQ_OK);
        assert_holds(secret, "key one");
        vq_secret_destroy(&secret);
    }
}

TEST(test_file_contents)
{
    struct vq_secret *secret = NULL;
    struct vq_error err;
    assert_int_equal(load_file("", 0, 0600, &secret, &err), VQ_INVALID);
    assert_non_null(strstr(err.text, "empty"));
    assert_int_equal(load_file("\n\n", 2, 0600, &secret, &err), VQ_INVALID);
    char longest[VQ_SECRET_BYTES_MAX + 1];
    memset(longest, 'k', sizeof(longest));
    assert_int_equal(load_file(longest, VQ_SECRET_BYTES_MAX, 0600, &secret, &err), VQ_OK);
    vq_secret_destroy(&secret);
    assert_int_equal(load_file(longest, sizeof(longest), 0600, &secret, &err), VQ_INVALID);
    assert_null(strstr(err.text, "kkkk"));
}

TEST(test_not_a_plain_file)
{
    struct vq_secret *secret = NULL;
    struct vq_error err;
    char link[64], reference[80];
    (void)snprintf(reference, sizeof(reference), "file:%s", dir);
    assert_int_equal(vq_secret_load(reference, &secret, &err), VQ_INVALID);
    (void)snprintf(link, sizeof(link), "%s/l", dir);
    (void)snprintf(reference, sizeof(reference), "file:%s", link);
    assert_int_equal(vq_secret_load(reference, &secret, &err), VQ_NOT_FOUND);
    assert_int_equal(mkfifo(link, 0600), 0); /* must not hang either */
    assert_int_equal(vq_secret_load(reference, &secret, &err), VQ_INVALID);
    assert_int_equal(unlink(link), 0);
    assert_null(secret);
}

TEST(test_fingerprints_differ)
{
    struct vq_secret *a = NULL, *b = NULL;
    assert_int_equal(vq_secret_from_bytes(vq_span_str("key-1"), &a), VQ_OK);
    assert_int_equal(vq_secret_from_bytes(vq_span_str("key-2"), &b), VQ_OK);
    uint8_t print_a[VQ_FINGERPRINT_BYTES], print_b[VQ_FINGERPRINT_BYTES];
    vq_secret_fingerprint(a, print_a);
    vq_secret_fingerprint(b, print_b);
    assert_memory_not_equal(print_a, print_b, sizeof(print_a));
    vq_secret_destroy(&a);
    vq_secret_destroy(&b);
    assert_int_equal(vq_secret_from_bytes(vq_span("", 0), &a), VQ_INVALID);
}

TEST(test_random_bytes_and_wiping)
{
    unsigned char x[32], y[32];
    static const unsigned char zeros[32];
    vq_random_bytes(x, sizeof(x));
    vq_random_bytes(y, sizeof(y));
    assert_memory_not_equal(x, y, sizeof(x));
    vq_wipe(x, sizeof(x));
    assert_memory_equal(x, zeros, sizeof(x));
}

TEST_GROUP(make_dir, drop_dir)

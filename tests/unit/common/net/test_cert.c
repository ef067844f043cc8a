/* Certificates: our own files back, czmq's reader on ours and ours on czmq's, and every refusal. */
#include "net_test.h"

#include "common/net/cert.h"

#include <czmq.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[128];

static int setup(void **state)
{
    (void)state;
    assert_int_equal(setenv("ZSYS_SIGHANDLER", "false", 1), 0);
    test_folder(folder);
    (void)snprintf(path, sizeof(path), "%s/join.cert", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

static void write_file(const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static struct vq_cert example(void)
{
    struct vq_cert cert = {.endpoint = "tcp://[fd00::1]:5555",
                           .run_uid = "00112233445566778899aabbccddeeff",
                           .run_name = "friendly vs terse"};
    struct vq_keypair server;
    assert_ok(vq_keypair_create(&cert.keys));
    assert_ok(vq_keypair_create(&server));
    memcpy(cert.server_key, server.public_key, sizeof(cert.server_key));
    vq_keypair_destroy(&server);
    return cert;
}

static enum vq_status copy_out(void *ctx, struct vq_span bytes)
{
    memcpy(ctx, bytes.at, bytes.bytes);
    ((char *)ctx)[bytes.bytes] = '\0';
    return VQ_OK;
}

TEST_WITH(test_round_trip, setup, teardown)
{
    struct vq_cert cert = example(), back = {.endpoint = ""};
    assert_ok(vq_cert_write(path, &cert, NULL));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_ok(vq_cert_read(path, &back, NULL));
    assert_string_equal(back.keys.public_key, cert.keys.public_key);
    assert_string_equal(back.server_key, cert.server_key);
    assert_string_equal(back.endpoint, cert.endpoint);
    assert_string_equal(back.run_uid, cert.run_uid);
    assert_string_equal(back.run_name, cert.run_name);
    char a[64], b[64];
    assert_ok(vq_secret_expose(cert.keys.secret_key, copy_out, a));
    assert_ok(vq_secret_expose(back.keys.secret_key, copy_out, b));
    assert_string_equal(a, b);
    vq_cert_destroy(&cert);
    vq_cert_destroy(&back);
    assert_null(back.keys.secret_key);
}

TEST_WITH(test_czmq_reads_ours, setup, teardown)
{
    struct vq_cert cert = example();
    assert_ok(vq_cert_write(path, &cert, NULL));
    zcert_t *other = zcert_load(path);
    assert_non_null(other);
    char secret[64];
    assert_ok(vq_secret_expose(cert.keys.secret_key, copy_out, secret));
    assert_string_equal(zcert_public_txt(other), cert.keys.public_key);
    assert_string_equal(zcert_secret_txt(other), secret);
    assert_string_equal(zcert_meta(other, "endpoint"), cert.endpoint);
    assert_string_equal(zcert_meta(other, "server-key"), cert.server_key);
    assert_string_equal(zcert_meta(other, "name"), cert.run_name);
    zcert_destroy(&other);
    vq_cert_destroy(&cert);
}

TEST_WITH(test_we_read_czmqs, setup, teardown)
{
    zcert_t *other = zcert_new();
    zcert_set_meta(other, "name", "%s", "made by czmq");
    zcert_set_meta(other, "else", "%s", "skipped");
    assert_int_equal(zcert_save_secret(other, path), 0);
    assert_int_equal(chmod(path, 0600), 0);
    struct vq_cert cert;
    struct vq_error err = {""};
    enum vq_status status = vq_cert_read(path, &cert, &err);
    assert_string_equal(err.text, "");
    assert_ok(status);
    assert_string_equal(cert.keys.public_key, zcert_public_txt(other));
    assert_string_equal(cert.run_name, "made by czmq");
    assert_string_equal(cert.server_key, "");
    vq_cert_destroy(&cert);
    zcert_destroy(&other);
}

static void refused(enum vq_status expected, const char *sentence)
{
    struct vq_cert cert = {.endpoint = "untouched"};
    struct vq_error err = {""};
    assert_status(vq_cert_read(path, &cert, &err), expected);
    assert_contains(err.text, path);
    assert_contains(err.text, sentence);
    assert_string_equal(cert.endpoint, "untouched");
}

TEST_WITH(test_refusals_name_file_and_reason, setup, teardown)
{
    refused(VQ_NOT_FOUND, "No such file");
    struct vq_cert cert = example();
    assert_ok(vq_cert_write(path, &cert, NULL));
    assert_int_equal(chmod(path, 0660), 0);
    refused(VQ_DENIED, "chmod 600");
    assert_int_equal(chmod(path, 0604), 0);
    refused(VQ_DENIED, "chmod 600");
    write_file("", 0600);
    refused(VQ_INVALID, "not a complete join certificate");
    write_file("curve\n    public-key = \"tooshort\"\n", 0600);
    refused(VQ_INVALID, "line 2: public-key");
    write_file("#\n\nmetadata\n    server-key = \"~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\"\n",
               0600);
    refused(VQ_INVALID, "line 4: server-key");
    char line[1024];
    (void)snprintf(line, sizeof(line), "curve\n    public-key = \"%s\"\n", cert.keys.public_key);
    write_file(line, 0600);
    refused(VQ_INVALID, "the secret or the public key is missing");
    (void)snprintf(line, sizeof(line), "metadata\n    endpoint = \"%0300d\"\n", 1);
    write_file(line, 0600);
    refused(VQ_INVALID, "too long");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    refused(VQ_INVALID, "not a regular file");
    assert_int_equal(rmdir(path), 0);
    vq_cert_destroy(&cert);
}

TEST_WITH(test_foreign_secret_key_is_refused, setup, teardown)
{
    char text[1024], secret[64];
    struct vq_keypair a, b;
    assert_ok(vq_keypair_create(&a));
    assert_ok(vq_keypair_create(&b));
    assert_string_not_equal(a.public_key, b.public_key);
    assert_ok(vq_secret_expose(b.secret_key, copy_out, secret));
    (void)snprintf(text, sizeof(text), "curve\n    public-key = \"%s\"\n    secret-key = \"%s\"\n",
                   a.public_key, secret);
    write_file(text, 0600);
    refused(VQ_INVALID, "does not belong");
    vq_keypair_destroy(&a);
    vq_keypair_destroy(&b);
}

TEST_WITH(test_text_that_does_not_fit_is_refused, setup, teardown)
{
    struct vq_cert cert = example();
    (void)snprintf(cert.run_name, sizeof(cert.run_name), "a \"quoted\" name");
    assert_status(vq_cert_write(path, &cert, NULL), VQ_INVALID);
    (void)snprintf(cert.run_name, sizeof(cert.run_name), "two\nlines");
    assert_status(vq_cert_write(path, &cert, NULL), VQ_INVALID);
    assert_int_equal(access(path, F_OK), -1);
    vq_cert_destroy(&cert);
}

/* Cut at every byte and damaged at every byte: accepted whole or refused, never a crash. */
TEST_WITH(test_damaged_files, setup, teardown)
{
    struct vq_cert cert = example(), back;
    assert_ok(vq_cert_write(path, &cert, NULL));
    char text[2048];
    FILE *f = fopen(path, "r");
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    assert_int_equal(fclose(f), 0);
    for (size_t cut = 0; cut < n - 2; cut++) { /* without its last quote the key still has 40 */
        char copy[2048];
        memcpy(copy, text, cut);
        copy[cut] = '\0';
        write_file(copy, 0600);
        assert_status(vq_cert_read(path, &back, NULL), VQ_INVALID);
    }
    for (size_t at = 0; at < n; at += 3) {
        char copy[2048];
        memcpy(copy, text, n + 1);
        copy[at] = (char)(copy[at] ^ 0x15);
        write_file(copy, 0600);
        if (vq_cert_read(path, &back, NULL) == VQ_OK) {
            assert_string_equal(back.keys.public_key, cert.keys.public_key);
            vq_cert_destroy(&back);
        }
    }
    vq_cert_destroy(&cert);
}

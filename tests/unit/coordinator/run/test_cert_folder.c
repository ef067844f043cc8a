/* The list of allowed keys as text, and a folder of certificates: made, added to, revoked from. */
#include "tests/unit/test.h"

#include "coordinator/run/cert_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_A "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define KEY_B "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"

static enum vq_status parsed(const char *text, struct vq_allowed_list *list, struct vq_error *err)
{
    *err = (struct vq_error){0};
    return vq_allowed_parse(vq_span_str(text), list, err);
}

TEST(a_list_is_names_and_keys)
{
    struct vq_allowed_list list;
    struct vq_error err;
    assert_int_equal(parsed("# who\n\na " KEY_A "\n  b.2   " KEY_B "\n", &list, &err), VQ_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "a");
    assert_string_equal(list.items[1].name, "b.2");
    assert_string_equal(list.items[1].key, KEY_B);
    assert_true(vq_allowed_has(&list, KEY_A));
    assert_false(vq_allowed_has(&list, "other"));
    vq_allowed_free(&list);
    assert_int_equal(parsed("", &list, &err), VQ_OK);
    assert_int_equal(list.count, 0);
    vq_allowed_free(&list);
}

TEST(what_is_no_list_is_refused_by_its_line)
{
    static const char *const bad[][2] = {
        {"a\n", "line 1"},
        {"a " KEY_A "\nb short\n", "line 2"},
        {"a " KEY_A "\n\na " KEY_B "\n", "line 3: a is there twice"},
        {"../a " KEY_A "\n", "line 1"},
        {"coordinator " KEY_A "\n", "line 1"},
        {" " KEY_A "\n", "line 1"},
    };
    for (size_t i = 0; i < VQ_COUNT(bad); i++) {
        struct vq_allowed_list list;
        struct vq_error err;
        assert_int_equal(parsed(bad[i][0], &list, &err), VQ_INVALID);
        assert_non_null(strstr(err.text, bad[i][1]));
    }
    struct vq_buf many;
    struct vq_allowed_list list;
    struct vq_error err = {0};
    vq_buf_init(&many, 1u << 20);
    for (unsigned i = 0; i <= VQ_ALLOWED_MAX; i++) {
        vq_buf_printf(&many, "w%u %s\n", i, KEY_A);
    }
    assert_int_equal(vq_allowed_parse(vq_buf_span(&many), &list, &err), VQ_LIMIT);
    vq_buf_free(&many);
}

/* ---- real folders ---- */

static char dir[] = "/tmp/vq_certs_XXXXXX";
static char folder[64];

static int make(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/vq_certs_XXXXXX");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    (void)snprintf(folder, sizeof(folder), "%s/certs", dir);
    return 0;
}

static int drop(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command);
}

static enum vq_status read_cert(const char *name, struct vq_cert *cert)
{
    char path[VQ_CERT_PATH_BYTES_MAX];
    struct vq_error err;
    assert_int_equal(vq_cert_path(folder, name, path, &err), VQ_OK);
    return vq_cert_read(path, cert, &err);
}

TEST_WITH(a_folder_is_made_and_added_to, make, drop)
{
    static const char *const first[] = {"a", "b"}, *const second[] = {"c"},
                             *const again[] = {"d", "a"};
    struct vq_error err = {0};
    struct vq_cert own, a, c;
    struct vq_allowed_list list;
    assert_int_equal(vq_cert_folder_add(folder, first, 2, "tcp://h:1", &err), VQ_OK);
    assert_int_equal(read_cert("coordinator", &own), VQ_OK);
    assert_int_equal(read_cert("a", &a), VQ_OK);
    assert_string_equal(a.server_key, own.keys.public_key);
    assert_string_equal(a.endpoint, "tcp://h:1");
    assert_string_equal(a.run_uid, "");
    assert_int_equal(vq_cert_folder_add(folder, second, 1, "tcp://h:2", &err), VQ_OK);
    assert_int_equal(read_cert("c", &c), VQ_OK);
    assert_string_equal(c.server_key, own.keys.public_key); /* the coordinator keeps its key */
    assert_int_equal(vq_cert_folder_add(folder, again, 2, "tcp://h:3", &err), VQ_EXISTS);
    assert_non_null(strstr(err.text, "a worker a already"));
    struct vq_cert none;
    assert_int_equal(read_cert("d", &none), VQ_NOT_FOUND); /* nothing was made */
    assert_int_equal(vq_allowed_read(folder, &list, &err), VQ_OK);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[2].key, c.keys.public_key);
    vq_allowed_free(&list);
    struct stat st;
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    vq_cert_destroy(&own);
    vq_cert_destroy(&a);
    vq_cert_destroy(&c);
}

TEST_WITH(a_revoked_name_is_off_the_list_and_its_certificate_gone, make, drop)
{
    static const char *const names[] = {"a", "b"}, *const a[] = {"a"};
    struct vq_error err = {0};
    struct vq_allowed_list list;
    struct vq_cert cert, fresh;
    assert_int_equal(vq_cert_folder_add(folder, names, 2, "tcp://h:1", &err), VQ_OK);
    assert_int_equal(read_cert("a", &cert), VQ_OK);
    assert_int_equal(vq_cert_folder_revoke(folder, "x", &err), VQ_NOT_FOUND);
    assert_int_equal(vq_cert_folder_revoke(folder, "coordinator", &err), VQ_INVALID);
    assert_int_equal(vq_cert_folder_revoke(folder, "a", &err), VQ_OK);
    assert_int_equal(vq_cert_folder_revoke(folder, "a", &err), VQ_NOT_FOUND);
    assert_int_equal(read_cert("a", &fresh), VQ_NOT_FOUND);
    assert_int_equal(vq_allowed_read(folder, &list, &err), VQ_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].name, "b");
    vq_allowed_free(&list);
    assert_int_equal(vq_cert_folder_add(folder, a, 1, "tcp://h:1", &err), VQ_OK); /* another key */
    assert_int_equal(read_cert("a", &fresh), VQ_OK);
    assert_string_not_equal(fresh.keys.public_key, cert.keys.public_key);
    vq_cert_destroy(&cert);
    vq_cert_destroy(&fresh);
}

TEST_WITH(a_runs_folder_is_made_once, make, drop)
{
    struct vq_error err = {0};
    struct vq_cert one, two;
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(vq_cert_folder_ensure(folder, &err), VQ_OK);
    assert_int_equal(read_cert("join", &one), VQ_OK);
    assert_int_equal(vq_cert_folder_ensure(folder, &err), VQ_OK);
    assert_int_equal(read_cert("join", &two), VQ_OK);
    assert_string_equal(one.keys.public_key, two.keys.public_key);
    vq_cert_destroy(&two);
    char path[VQ_CERT_PATH_BYTES_MAX];
    assert_int_equal(vq_cert_path(folder, "coordinator", path, &err), VQ_OK);
    assert_int_equal(unlink(path), 0); /* as of a maker that was killed */
    assert_int_equal(vq_cert_folder_ensure(folder, &err), VQ_OK);
    assert_int_equal(read_cert("join", &two), VQ_OK);
    assert_string_not_equal(one.keys.public_key, two.keys.public_key);
    vq_cert_destroy(&one);
    vq_cert_destroy(&two);
}

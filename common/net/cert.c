/* Certificates in the text format of CZMQ's zcert (ZPL: sections, indented name = "value" lines).
 * vibeq does not use czmq for them: czmq leaves secret keys in freed memory, accepts a file that
 * other users can read, and reports no line and reason when it refuses a file. Tests check that
 * each reader reads the other's files.
 *
 * Invariants: the text of a secret key is copied from a vq_secret only to buffers that are wiped
 * before they are freed; a file with a secret key has mode 0600 from its first byte. Not its job:
 * which keys may join (zap.c). */
#include "common/net/cert.h"

#include "common/base/private_file.h"
#include "common/text/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zmq.h>

bool vq_curve_key_is(struct vq_span text)
{
    static const char alphabet[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   ".-:+=^!/*?&<>()[]{}@%$#";
    if (text.bytes != VQ_CURVE_KEY_CHARS) {
        return false;
    }
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.at[i] == '\0' || strchr(alphabet, text.at[i]) == NULL) {
            return false;
        }
    }
    return true;
}

enum vq_status vq_keypair_create(struct vq_keypair *ret_keys)
{
    char public_key[VQ_CURVE_KEY_CHARS + 1], secret_key[VQ_CURVE_KEY_CHARS + 1];
    if (zmq_curve_keypair(public_key, secret_key) != 0) {
        return VQ_UNAVAILABLE; /* libzmq was built without CURVE */
    }
    struct vq_secret *secret;
    enum vq_status status = vq_secret_from_bytes(vq_span(secret_key, VQ_CURVE_KEY_CHARS), &secret);
    vq_wipe(secret_key, sizeof(secret_key));
    if (status == VQ_OK) {
        memcpy(ret_keys->public_key, public_key, sizeof(public_key));
        ret_keys->secret_key = secret;
    }
    return status;
}

void vq_keypair_destroy(struct vq_keypair *keys)
{
    vq_secret_destroy(&keys->secret_key);
    memset(keys, 0, sizeof(*keys));
}

void vq_cert_destroy(struct vq_cert *cert)
{
    vq_keypair_destroy(&cert->keys);
    memset(cert, 0, sizeof(*cert));
}

/* ---- writing ---- */

static bool fits_a_line(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f || *text == '"') {
            return false;
        }
    }
    return true;
}

static void put_value(struct vq_buf *out, const char *name, const char *value)
{
    if (value[0] != '\0') {
        vq_buf_printf(out, "    %s = \"%s\"\n", name, value);
    }
}

static enum vq_status put_secret(void *ctx, struct vq_span bytes)
{
    struct vq_buf *out = ctx;
    vq_buf_puts(out, "    secret-key = \"");
    vq_buf_append(out, bytes.at, bytes.bytes);
    vq_buf_puts(out, "\"\n");
    return out->status;
}

enum vq_status vq_cert_write(const char *path, const struct vq_cert *cert, struct vq_error *err)
{
    if (!fits_a_line(cert->endpoint) || !fits_a_line(cert->run_uid) ||
        !fits_a_line(cert->run_name)) {
        return vq_fail(err, VQ_INVALID,
                       "%s: an address or name with quotes or line ends cannot be written", path);
    }
    struct vq_buf text;
    vq_buf_init(&text, VQ_CERT_FILE_BYTES_MAX);
    /* one allocation, because growing would leave a copy of the key in freed memory */
    if (vq_buf_reserve(&text, VQ_CERT_FILE_BYTES_MAX) == NULL) {
        return vq_fail(err, VQ_NOMEM, "%s: no memory", path);
    }
    vq_buf_puts(&text,
                "#   vibeq join certificate, in the format of CZMQ's certificates.\n"
                "#   It holds a secret key: a worker that has it may work for this run.\n\n");
    vq_buf_puts(&text, "metadata\n");
    put_value(&text, "endpoint", cert->endpoint);
    put_value(&text, "server-key", cert->server_key);
    put_value(&text, "run", cert->run_uid);
    put_value(&text, "name", cert->run_name);
    vq_buf_puts(&text, "curve\n");
    put_value(&text, "public-key", cert->keys.public_key);
    enum vq_status status = vq_secret_expose(cert->keys.secret_key, put_secret, &text);
    if (status == VQ_OK) {
        status = vq_file_replace(path, vq_buf_span(&text), 0600, err);
    }
    vq_wipe(text.at, text.cap);
    vq_buf_free(&text);
    return status;
}

/* ---- reading ---- */

/* Reads the file into `text` (VQ_CERT_FILE_BYTES_MAX + 1 bytes) and adds a NUL. */
static enum vq_status read_private_file(const char *path, char *text, struct vq_error *err)
{
    int fd;
    enum vq_status status = VQ_OK;
    size_t n = 0;
    VQ_TRY(vq_private_open("certificate", path, &fd, err));
    while (status == VQ_OK && n <= VQ_CERT_FILE_BYTES_MAX) {
        ssize_t got = read(fd, text + n, VQ_CERT_FILE_BYTES_MAX + 1 - n);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            status =
                vq_fail(err, VQ_IO, "cannot read the certificate %s: %s", path, strerror(errno));
        }
        if (got <= 0) {
            break;
        }
        n += (size_t)got;
    }
    (void)close(fd); /* read only: nothing to lose */
    if (status == VQ_OK && n > VQ_CERT_FILE_BYTES_MAX) {
        status = vq_fail(err, VQ_INVALID, "%s is too long for a certificate", path);
    }
    text[status == VQ_OK ? n : 0] = '\0';
    if (status == VQ_OK && strlen(text) != n) {
        status = vq_fail(err, VQ_INVALID, "%s holds a NUL byte: no certificate", path);
    }
    return status;
}

const char *vq_cert_variable(const char *path)
{
    size_t bytes = strlen(VQ_CERT_ENV);
    return strncmp(path, VQ_CERT_ENV, bytes) == 0 ? path + bytes : NULL;
}

/* The same for a certificate in the environment. */
static enum vq_status read_variable(const char *name, char *text, struct vq_error *err)
{
    const char *value = getenv(name);
    size_t bytes = value == NULL ? 0 : strlen(value);
    text[0] = '\0';
    if (bytes == 0) {
        return vq_fail(err, VQ_NOT_FOUND, "the environment variable %s is not set or is empty",
                       name);
    }
    if (bytes > VQ_CERT_FILE_BYTES_MAX) {
        return vq_fail(err, VQ_INVALID, "the variable %s is too long for a certificate", name);
    }
    memcpy(text, value, bytes + 1);
    return VQ_OK;
}

struct parsed {
    struct vq_cert *cert;
    char secret_key[VQ_CURVE_KEY_CHARS + 1];
    const char *path;
    struct vq_error *err;
};

/* The place of the value of section/name and its size in bytes; NULL: the value is skipped. */
static char *place_of(struct parsed *p, struct vq_span section, struct vq_span name,
                      size_t *ret_cap, bool *ret_key)
{
    struct vq_cert *c = p->cert;
    const struct {
        const char *section, *name;
        char *at;
        size_t cap;
        bool key;
    } places[] = {
        {"curve", "public-key", c->keys.public_key, sizeof(c->keys.public_key), true},
        {"curve", "secret-key", p->secret_key, sizeof(p->secret_key), true},
        {"metadata", "server-key", c->server_key, sizeof(c->server_key), true},
        {"metadata", "endpoint", c->endpoint, sizeof(c->endpoint), false},
        {"metadata", "run", c->run_uid, sizeof(c->run_uid), false},
        {"metadata", "name", c->run_name, sizeof(c->run_name), false},
    };
    for (size_t i = 0; i < VQ_COUNT(places); i++) {
        if (vq_span_eq(section, vq_span_str(places[i].section)) &&
            vq_span_eq(name, vq_span_str(places[i].name))) {
            *ret_cap = places[i].cap;
            *ret_key = places[i].key;
            return places[i].at;
        }
    }
    return NULL;
}

static enum vq_status parse_value(struct parsed *p, unsigned line, struct vq_span section,
                                  struct vq_span text)
{
    const char *equals = memchr(text.at, '=', text.bytes);
    if (equals == NULL) {
        return VQ_OK; /* a nested section, which vibeq does not use */
    }
    struct vq_span name = vq_span_trim(vq_span(text.at, (size_t)(equals - text.at)));
    struct vq_span value =
        vq_span_trim(vq_span(equals + 1, text.bytes - (size_t)(equals + 1 - text.at)));
    if (value.bytes >= 2 && (value.at[0] == '"' || value.at[0] == '\'') &&
        value.at[value.bytes - 1] == value.at[0]) {
        value = vq_span(value.at + 1, value.bytes - 2);
    }
    size_t cap = 0;
    bool key = false;
    char *at = place_of(p, section, name, &cap, &key);
    if (at == NULL) {
        return VQ_OK;
    }
    if (value.bytes >= cap || (key && !vq_curve_key_is(value))) {
        return vq_fail(p->err, VQ_INVALID, "%s, line %u: %.*s is %s", p->path, line,
                       (int)name.bytes, name.at, key ? "no key of 40 Z85 characters" : "too long");
    }
    memcpy(at, value.at, value.bytes);
    at[value.bytes] = '\0';
    return VQ_OK;
}

static enum vq_status parse(struct parsed *p, const char *text)
{
    struct vq_span section = vq_span("", 0);
    unsigned line = 1;
    for (const char *at = text; *at != '\0'; line++) {
        size_t n = strcspn(at, "\n");
        struct vq_span whole = vq_span(at, n);
        struct vq_span content = vq_span_trim(whole);
        if (content.bytes > 0 && content.at[0] != '#') {
            if (content.at == whole.at) {
                section = content;
            } else {
                VQ_TRY(parse_value(p, line, section, content));
            }
        }
        at += n + (at[n] == '\n');
    }
    return VQ_OK;
}

static enum vq_status check_pair(struct parsed *p)
{
    char derived[VQ_CURVE_KEY_CHARS + 1];
    if (p->cert->keys.public_key[0] == '\0' || p->secret_key[0] == '\0') {
        return vq_fail(
            p->err, VQ_INVALID,
            "%s is not a complete join certificate: the secret or the public key is missing",
            p->path);
    }
    if (zmq_curve_public(derived, p->secret_key) != 0 ||
        strcmp(derived, p->cert->keys.public_key) != 0) {
        return vq_fail(p->err, VQ_INVALID, "%s: public-key does not belong to secret-key", p->path);
    }
    return vq_secret_from_bytes(vq_span(p->secret_key, VQ_CURVE_KEY_CHARS),
                                &p->cert->keys.secret_key);
}

enum vq_status vq_cert_read(const char *path, struct vq_cert *ret_cert, struct vq_error *err)
{
    char text[VQ_CERT_FILE_BYTES_MAX + 2];
    struct vq_cert cert = {.endpoint = ""};
    struct parsed parsed = {.cert = &cert, .path = path, .err = err};
    const char *variable = vq_cert_variable(path);
    enum vq_status status =
        variable != NULL ? read_variable(variable, text, err) : read_private_file(path, text, err);
    if (status == VQ_OK) {
        status = parse(&parsed, text);
    }
    if (status == VQ_OK) {
        status = check_pair(&parsed);
    }
    vq_wipe(text, sizeof(text));
    vq_wipe(parsed.secret_key, sizeof(parsed.secret_key));
    if (status == VQ_OK) {
        *ret_cert = cert;
    }
    return status;
}

/* The keys of each pool, and their sources.
 *
 * A reference is loaded once; two pools with one reference share the secret. Environment variables
 * are removed after they were read, so that child processes do not inherit them. A local worker
 * follows all hints of the run's SPEC. A worker on another machine follows only hints to variables
 * that --allow-env names: its coordinator also chooses the host that a key is sent to, so it must
 * not choose which variables and files of this machine are read. Errors name the reference, never
 * its contents. */
#include "worker/shell/keyring.h"

#include "common/base/alloc.h"
#include "proto/limits.h"

#include <stdlib.h>

#define HOSTS_BYTES_MAX 65536u

struct entry {
    char *reference;
    struct vq_secret *secret;
    struct vq_buf hosts; /* for which it was announced, each between two line ends */
};

struct vq_keyring {
    const struct vq_worker_options *options;
    struct entry entries[VQ_KEYRING_MAX];
    size_t count;
};

enum vq_status vq_keyring_create(const struct vq_worker_options *options,
                                 struct vq_keyring **ret_ring)
{
    struct vq_keyring *ring;
    VQ_TRY(VQ_ALLOC(ring, 1));
    ring->options = options;
    *ret_ring = ring;
    return VQ_OK;
}

void vq_keyring_destroy(struct vq_keyring **ring)
{
    if (*ring == NULL) {
        return;
    }
    for (size_t i = 0; i < (*ring)->count; i++) {
        vq_secret_destroy(&(*ring)->entries[i].secret);
        vq_free((*ring)->entries[i].reference);
        vq_buf_free(&(*ring)->entries[i].hosts);
    }
    vq_free(*ring);
    *ring = NULL;
}

/* Removes the variable from the environment, and from the memory in which the system shows it. */
static void forget_variable(const char *name)
{
    char *value = getenv(name);
    if (value != NULL) {
        vq_wipe(value, strlen(value));
        (void)unsetenv(name); /* fails only for an invalid name, which cannot have been read */
    }
}

static enum vq_status load(struct vq_keyring *ring, const char *reference,
                           const struct vq_secret **ret_secret, struct vq_error *err)
{
    for (size_t i = 0; i < ring->count; i++) {
        if (strcmp(ring->entries[i].reference, reference) == 0) {
            *ret_secret = ring->entries[i].secret;
            return VQ_OK;
        }
    }
    if (ring->count == VQ_KEYRING_MAX) {
        return vq_fail(err, VQ_LIMIT, "more than %d keys", VQ_KEYRING_MAX);
    }
    struct entry *entry = &ring->entries[ring->count];
    VQ_TRY(vq_copy(reference, &entry->reference));
    enum vq_status status = vq_secret_load(reference, &entry->secret, err);
    if (status != VQ_OK) {
        vq_free(entry->reference);
        return status;
    }
    if (strncmp(reference, "env:", 4) == 0) {
        forget_variable(reference + 4);
    }
    vq_buf_init(&entry->hosts, HOSTS_BYTES_MAX);
    ring->count++;
    *ret_secret = entry->secret;
    return VQ_OK;
}

enum vq_status vq_keyring_load(struct vq_keyring *ring, struct vq_error *err)
{
    for (uint32_t i = 0; i < ring->options->keys_count; i++) {
        const struct vq_secret *secret;
        enum vq_status status = load(ring, ring->options->keys[i].reference, &secret, err);
        if (status != VQ_OK) {
            vq_error_prefix(err, "--key %s", ring->options->keys[i].name);
            return status;
        }
    }
    return VQ_OK;
}

const char *vq_keyring_stray(const struct vq_keyring *ring, const char *const *names, size_t count)
{
    for (uint32_t i = 0; i < ring->options->keys_count; i++) {
        bool found = false;
        for (size_t j = 0; j < count; j++) {
            found = found || strcmp(names[j], ring->options->keys[i].name) == 0;
        }
        if (!found) {
            return ring->options->keys[i].name;
        }
    }
    return NULL;
}

/* The references of --key options with one of these names; returns their number. */
static uint32_t named(const struct vq_keyring *ring, const char *const *names, uint32_t count,
                      const char **ret_references)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < ring->options->keys_count; i++) {
        bool ours = false;
        for (uint32_t j = 0; j < count; j++) {
            ours = ours || strcmp(ring->options->keys[i].name, names[j]) == 0;
        }
        if (ours && found < VQ_WIRE_KEYS_MAX) {
            ret_references[found++] = ring->options->keys[i].reference;
        }
    }
    return found;
}

static bool is_allowed(const struct vq_keyring *ring, const char *variable)
{
    for (uint32_t i = 0; i < ring->options->allowed_count; i++) {
        if (strcmp(ring->options->allowed[i], variable) == 0) {
            return true;
        }
    }
    return ring->options->local >= 0;
}

/* A key that is already loaded is still checked by its name: the --key of another pool does not
 * allow its use for this pool. */
static enum vq_status load_hint(struct vq_keyring *ring, const char *pool, const char *hint,
                                const struct vq_secret **ret_secret, struct vq_error *err)
{
    bool variable = strncmp(hint, "env:", 4) == 0;
    if (!variable && ring->options->local < 0) {
        return vq_fail(err, VQ_NOT_FOUND,
                       "the run names a key that is a file of the coordinator's machine; start "
                       "this worker with "
                       "--key %s=env:NAME or --key %s=file:PATH",
                       pool, pool);
    }
    if (variable && !is_allowed(ring, hint + 4)) {
        return vq_fail(err, VQ_DENIED,
                       "%s is not allowed here; start the worker with --key or --allow-env",
                       hint + 4);
    }
    enum vq_status status = load(ring, hint, ret_secret, err);
    return status == VQ_NOT_FOUND && variable ? vq_fail(err, status, "%s is not set", hint + 4)
                                              : status;
}

const char *vq_keyring_first_use(struct vq_keyring *ring, const struct vq_secret *secret,
                                 struct vq_span host)
{
    struct entry *entry = NULL;
    for (size_t i = 0; i < ring->count && entry == NULL; i++) {
        entry = ring->entries[i].secret == secret ? &ring->entries[i] : NULL;
    }
    if (entry == NULL) {
        return NULL;
    }
    struct vq_buf line;
    vq_buf_init(&line, HOSTS_BYTES_MAX);
    vq_buf_printf(&line, "\n%.*s\n", (int)host.bytes, host.at);
    bool known = line.status == VQ_OK && entry->hosts.bytes > 0 &&
                 memmem(entry->hosts.at, entry->hosts.bytes, line.at, line.bytes) != NULL;
    if (!known && line.status == VQ_OK) {
        vq_buf_append(&entry->hosts, line.at, line.bytes); /* no room: announced again */
    }
    vq_buf_free(&line);
    return known ? NULL : entry->reference;
}

static bool is_among(const struct vq_secret *secret, const struct vq_secret *const *secrets,
                     uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (secrets[i] == secret) {
            return true;
        }
    }
    return false;
}

enum vq_status vq_keyring_find(struct vq_keyring *ring, const struct vq_keyring_pool *pool,
                               const struct vq_secret **ret_secrets, uint32_t *ret_count,
                               struct vq_error *err)
{
    const char *references[VQ_WIRE_KEYS_MAX];
    uint32_t count = named(ring, &pool->name, 1, references);
    count = count > 0 ? count : named(ring, pool->judges, pool->judges_count, references);
    bool hints = count == 0;
    for (uint32_t i = 0; hints && i < pool->hints_count && count < VQ_WIRE_KEYS_MAX; i++) {
        references[count++] = pool->hints[i];
    }
    enum vq_status first = VQ_OK;
    *ret_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct vq_secret *secret = NULL;
        struct vq_error why = {""};
        enum vq_status status = hints ? load_hint(ring, pool->name, references[i], &secret, &why)
                                      : load(ring, references[i], &secret, &why);
        if (status == VQ_OK && !is_among(secret, ret_secrets, *ret_count)) {
            ret_secrets[(*ret_count)++] = secret;
        } else if (status != VQ_OK && first == VQ_OK) {
            first = status;
            *err = why;
        }
    }
    return *ret_count > 0 ? VQ_OK : first;
}

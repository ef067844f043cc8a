/* Turns a cell into the image that is sent. The copy in a run's folder has one line per image: the
 * hash of its name, a blank, its data: URI. Invariant: a resumed run sends the same bytes as at its
 * start, even if the image files changed. The copy has no URLs and data: URIs, because the data
 * itself contains them. Not its job: which column holds images. */
#include "methods/files/images.h"

#include "common/base/alloc.h"
#include "common/base/hash.h"
#include "common/pack/data_file.h"
#include "common/text/file.h"
#include "common/text/fmt.h"
#include "coordinator/store/rundir/run_inputs.h"

#include <stdio.h>
#include <string.h>

#define COPY           "images"
#define NAME_BYTES     64u /* of a hash in hex */
#define COPY_BYTES_MAX (2 * VQ_IMAGES_BYTES_MAX)
#define SHOWN_BYTES    120

static enum vq_status add(struct vq_images *im, struct vq_span name, struct vq_span uri,
                          struct vq_error *err)
{
    uint32_t id;
    if (im->bytes + uri.bytes > VQ_IMAGES_BYTES_MAX) {
        char most[VQ_FMT_BYTES];
        return vq_fail(err, VQ_LIMIT,
                       "the images have more than %s together, more than the limit of a run; take "
                       "smaller images, or fewer rows (data.limit)",
                       vq_fmt_bytes(VQ_IMAGES_BYTES_MAX, most));
    }
    char *copy = vq_arena_text(&im->memory, uri);
    char *key = vq_arena_text(&im->memory, name); /* the table of names borrows its keys */
    VQ_TRY(vq_arena_status(&im->memory));
    VQ_TRY(vq_intern_add(&im->names, vq_span(key, name.bytes), &id));
    void *uris = im->uris;
    VQ_TRY(vq_grow(&uris, &im->uris_cap, (size_t)id + 1, sizeof(*im->uris), VQ_ARENA_BLOCKS_MAX));
    im->uris = uris;
    im->uris[id] = vq_span(copy, uri.bytes);
    im->bytes += uri.bytes;
    return VQ_OK;
}

static enum vq_status recall_lines(struct vq_images *im, struct vq_span rest, struct vq_error *err)
{
    while (rest.bytes > 0) {
        const char *end = memchr(rest.at, '\n', rest.bytes);
        size_t n = end == NULL ? 0 : (size_t)(end - rest.at);
        if (n < NAME_BYTES + 2 || rest.at[NAME_BYTES] != ' ') {
            return vq_fail(err, VQ_CORRUPT,
                           "inputs/" COPY " of the run is damaged; start a new run");
        }
        VQ_TRY(add(im, vq_span(rest.at, NAME_BYTES),
                   vq_span(rest.at + NAME_BYTES + 1, n - NAME_BYTES - 1), err));
        rest = vq_span(end + 1, rest.bytes - n - 1);
    }
    return VQ_OK;
}

enum vq_status vq_images_recall(struct vq_images *im, const struct vq_run_dir *run,
                                struct vq_error *err)
{
    struct vq_buf bytes;
    struct vq_error none = {0};
    vq_buf_init(&bytes, COPY_BYTES_MAX);
    enum vq_status status = vq_run_dir_read(run, "inputs/" COPY, &bytes, &none);
    if (status == VQ_OK) {
        status = recall_lines(im, vq_buf_span(&bytes), err);
    } else if (status == VQ_NOT_FOUND) {
        status = VQ_OK;
    } else {
        *err = none;
    }
    vq_buf_free(&bytes);
    return status;
}

static enum vq_status fail(const struct vq_image_from *from, enum vq_status status,
                           struct vq_span cell, const char *what, struct vq_error *err)
{
    int shown = (int)(cell.bytes < SHOWN_BYTES ? cell.bytes : SHOWN_BYTES);
    return vq_fail(err, status, "%s, line %llu: the image \"%.*s\" %s", from->data_path,
                   (unsigned long long)from->line, shown, cell.at, what);
}

/* Relative to the folder of the data file; for standard input, relative to the folder in which
 * vibeq was started. */
static enum vq_status path_of(const struct vq_image_from *from, struct vq_span cell,
                              char **ret_path)
{
    const char *slash = strrchr(from->data_path, '/');
    char *path = vq_strndup(cell.at, cell.bytes);
    char *dir = slash == NULL || strcmp(from->data_path, VQ_DATA_STDIN) == 0
                    ? vq_strndup(".", 1)
                    : vq_strndup(from->data_path, (size_t)(slash - from->data_path) + 1);
    enum vq_status status =
        path == NULL || dir == NULL ? VQ_NOMEM : vq_path_join(dir, path, ret_path);
    vq_free(path);
    vq_free(dir);
    return status;
}

static enum vq_status read_file(struct vq_images *im, const struct vq_image_from *from,
                                struct vq_span name, struct vq_span cell, struct vq_error *err)
{
    struct vq_buf bytes, uri;
    struct vq_error why = {0};
    char *path = NULL;
    VQ_TRY(path_of(from, cell, &path));
    vq_buf_init(&uri, VQ_IMAGE_URI_BYTES_MAX);
    enum vq_status status = vq_file_read(path, VQ_IMAGE_BYTES_MAX, &bytes, &why);
    if (status != VQ_OK) {
        char text[VQ_ERROR_BYTES_MAX];
        (void)snprintf(text, sizeof(text), "cannot be read: %.300s", why.text);
        status = fail(from, status, cell, text, err);
    } else if ((status = vq_image_uri(vq_buf_span(&bytes), &uri)) == VQ_INVALID) {
        status = fail(from, status, cell, "is neither PNG, JPEG, GIF nor WebP; convert it", err);
    }
    if (status == VQ_OK) {
        status = add(im, name, vq_buf_span(&uri), err);
    }
    vq_buf_free(&bytes);
    vq_buf_free(&uri);
    vq_free(path);
    return status;
}

static enum vq_status name_of(const struct vq_image_from *from, struct vq_span cell,
                              char ret_name[NAME_BYTES + 1])
{
    struct vq_buf text;
    vq_buf_init(&text, cell.bytes + 16);
    vq_buf_printf(&text, "%u:", from->file);
    vq_buf_append(&text, cell.at, cell.bytes);
    vq_sha256_hex(vq_buf_span(&text), ret_name);
    enum vq_status status = text.status;
    vq_buf_free(&text);
    return status;
}

enum vq_status vq_images_load(struct vq_images *im, const struct vq_image_from *from,
                              struct vq_span *cell, struct vq_error *err)
{
    struct vq_span type, base64;
    if (vq_image_is_url(*cell)) {
        im->urls++;
        return cell->bytes <= VQ_IMAGE_URL_BYTES_MAX
                   ? VQ_OK
                   : fail(from, VQ_LIMIT, *cell, "is a URL of more than 2,048 bytes", err);
    }
    if (cell->bytes >= 5 && memcmp(cell->at, "data:", 5) == 0) {
        return !vq_image_split(*cell, &type, &base64)
                   ? fail(from, VQ_INVALID, *cell,
                          "is a data: URI, but not of the form data:image/TYPE;base64,...", err)
               : cell->bytes <= VQ_IMAGE_URI_BYTES_MAX
                   ? VQ_OK
                   : fail(from, VQ_LIMIT, *cell, "has more than 5 MiB", err);
    }
    char name[NAME_BYTES + 1];
    VQ_TRY(name_of(from, *cell, name));
    uint32_t id = vq_intern_find(&im->names, vq_span(name, NAME_BYTES));
    if (id == VQ_INTERN_NONE) {
        VQ_TRY(read_file(im, from, vq_span(name, NAME_BYTES), *cell, err));
        id = vq_intern_find(&im->names, vq_span(name, NAME_BYTES));
    }
    *cell = im->uris[id];
    return VQ_OK;
}

enum vq_status vq_images_keep(const struct vq_images *im, const struct vq_run_dir *run,
                              struct vq_error *err)
{
    if (im->names.count == 0) {
        return VQ_OK;
    }
    struct vq_buf out;
    vq_buf_init(&out, COPY_BYTES_MAX);
    for (uint32_t i = 0; i < im->names.count; i++) {
        struct vq_span name = im->names.keys[i];
        vq_buf_append(&out, name.at, name.bytes);
        vq_buf_putc(&out, ' ');
        vq_buf_append(&out, im->uris[i].at, im->uris[i].bytes);
        vq_buf_putc(&out, '\n');
    }
    enum vq_status status = out.status;
    if (status == VQ_OK) {
        status = vq_run_dir_keep(run, COPY, vq_buf_span(&out), "", err);
    }
    vq_buf_free(&out);
    return status;
}

void vq_images_free(struct vq_images *im)
{
    vq_intern_free(&im->names);
    vq_free(im->uris);
    vq_arena_clear(&im->memory);
    *im = (struct vq_images){.bytes = 0};
}

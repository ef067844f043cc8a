/* gzip through zlib, zstd through libzstd, both piece by piece, so that the text never exceeds the
 * limit. A file may have several members or frames (pigz, bgzip, cat). Not its job: the meaning of
 * the text. */
#include "common/pack/unpack.h"

#include <zlib.h>
#include <zstd.h>

#define PIECE_BYTES (256u << 10)
#define INPUT_BYTES (1u << 30) /* the most bytes for one call of zlib, which counts in 32 bits */

/* Makes room for one more piece, within the limit. */
static enum vq_status room(struct vq_buf *work, const char *name, char **ret_at, size_t *ret_bytes,
                           struct vq_error *err)
{
    size_t left = work->bytes_max - work->bytes, bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
    if (bytes == 0) {
        return vq_fail(err, VQ_LIMIT,
                       "%s unpacks to more than %zu bytes; split it, or take fewer records", name,
                       work->bytes_max);
    }
    char *at = vq_buf_reserve(work, bytes);
    if (at == NULL) {
        return vq_fail(err, work->status, "no memory to unpack %s", name);
    }
    *ret_at = at;
    *ret_bytes = bytes;
    return VQ_OK;
}

static enum vq_status damaged(const char *name, const char *how, bool cut, struct vq_error *err)
{
    return vq_fail(err, VQ_INVALID, "%s is packed by %s and is %s; pack or download it again", name,
                   how, cut ? "cut off" : "damaged");
}

static enum vq_status inflate_all(z_stream *z, struct vq_span bytes, const char *name,
                                  struct vq_buf *work, struct vq_error *err)
{
    size_t given = 0;
    bool ended = false;
    while (!ended || z->avail_in > 0 || given < bytes.bytes) {
        if (z->avail_in == 0 && given < bytes.bytes) {
            size_t piece = bytes.bytes - given < INPUT_BYTES ? bytes.bytes - given : INPUT_BYTES;
            z->next_in = (Bytef *)(uintptr_t)(bytes.at + given); /* zlib only reads it */
            z->avail_in = (uInt)piece;
            given += piece;
        }
        if (ended && inflateReset(z) != Z_OK) {
            return damaged(name, "gzip", false, err);
        }
        char *at;
        size_t space;
        VQ_TRY(room(work, name, &at, &space, err));
        z->next_out = (Bytef *)at;
        z->avail_out = (uInt)space;
        int code = inflate(z, Z_NO_FLUSH);
        work->bytes += space - z->avail_out;
        work->at[work->bytes] = '\0';
        ended = code == Z_STREAM_END;
        if (code == Z_MEM_ERROR) {
            return vq_fail(err, VQ_NOMEM, "no memory to unpack %s", name);
        }
        if (code == Z_BUF_ERROR && z->avail_in == 0 && given == bytes.bytes) {
            return damaged(name, "gzip", true, err);
        }
        if (code != Z_OK && code != Z_BUF_ERROR && !ended) {
            return damaged(name, "gzip", false, err);
        }
    }
    return VQ_OK;
}

static enum vq_status gunzip(struct vq_span bytes, const char *name, struct vq_buf *work,
                             struct vq_error *err)
{
    z_stream z = {.zalloc = NULL};
    if (inflateInit2(&z, 15 + 16) != Z_OK) { /* accepts gzip only, not zlib's own format */
        return vq_fail(err, VQ_NOMEM, "no memory to unpack %s", name);
    }
    enum vq_status status = inflate_all(&z, bytes, name, work, err);
    (void)inflateEnd(&z);
    return status;
}

static enum vq_status unzstd(struct vq_span bytes, const char *name, struct vq_buf *work,
                             struct vq_error *err)
{
    ZSTD_DStream *z = ZSTD_createDStream();
    if (z == NULL) {
        return vq_fail(err, VQ_NOMEM, "no memory to unpack %s", name);
    }
    ZSTD_inBuffer in = {.src = bytes.at, .size = bytes.bytes};
    size_t left = 1; /* of a frame; 0 between frames */
    enum vq_status status = VQ_OK;
    while (status == VQ_OK && (left != 0 || in.pos < in.size)) {
        char *at;
        size_t space;
        status = room(work, name, &at, &space, err);
        if (status != VQ_OK) {
            break;
        }
        ZSTD_outBuffer out = {.dst = at, .size = space};
        size_t before = in.pos;
        left = ZSTD_decompressStream(z, &out, &in);
        work->bytes += out.pos;
        work->at[work->bytes] = '\0';
        if (ZSTD_isError(left)) {
            status = vq_fail(err, VQ_INVALID, "%s is packed by zstd and cannot be unpacked: %s",
                             name, ZSTD_getErrorName(left));
        } else if (left != 0 && out.pos == 0 && in.pos == before) {
            status = damaged(name, "zstd", true, err);
        }
    }
    (void)ZSTD_freeDStream(z);
    return status;
}

/* Refuses known formats that vibeq does not read. */
static enum vq_status check_format(struct vq_span bytes, const char *name, struct vq_error *err)
{
#define PANDAS(read)                                                                               \
    "python3 -c 'import pandas, sys; pandas." read                                                 \
    "(sys.argv[1]).to_json(\"data.jsonl\", orient=\"records\", lines=True)' FILE"
    static const struct {
        const char *magic, *is, *convert;
    } formats[] = {
        {"PAR1", "a Parquet file", PANDAS("read_parquet")},
        {"ARROW1", "an Arrow (Feather) file", PANDAS("read_feather")},
        {"\xff\xff\xff\xff", "an Arrow stream",
         "python3 -c 'import datasets, sys; "
         "datasets.Dataset.from_file(sys.argv[1]).to_json(\"data.jsonl\")' FILE"},
        {"PK\x03\x04", "a zip archive or a spreadsheet",
         "unzip -p FILE > data.csv (of a spreadsheet: save it as CSV)"},
        {"\xd0\xcf\x11\xe0", "a spreadsheet or another Office document", "save it as CSV"},
        {"BZh", "packed by bzip2", "bunzip2 -k FILE"},
        {"\xfd"
         "7zXZ",
         "packed by xz", "unxz -k FILE"},
        {"\x04\x22\x4d\x18", "packed by lz4", "unlz4 -k FILE"},
        {"SQLite format 3", "a SQLite database",
         "sqlite3 -header -csv FILE 'select * from TABLE' > data.csv"},
    };
#undef PANDAS
    for (size_t i = 0; i < VQ_COUNT(formats); i++) {
        if (vq_span_begins(bytes, formats[i].magic)) {
            return vq_fail(
                err, VQ_INVALID,
                "%s is %s; vibeq reads CSV and JSON lines, also packed by gzip or zstd. Convert "
                "it: %s",
                name, formats[i].is, formats[i].convert);
        }
    }
    return VQ_OK;
}

enum vq_status vq_unpack(struct vq_span bytes, const char *name, struct vq_buf *work,
                         struct vq_span *ret_text, struct vq_error *err)
{
    if (vq_span_begins(bytes, "\x1f\x8b")) {
        VQ_TRY(gunzip(bytes, name, work, err));
        bytes = vq_buf_span(work);
    } else if (vq_span_begins(bytes, "\x28\xb5\x2f\xfd")) {
        VQ_TRY(unzstd(bytes, name, work, err));
        bytes = vq_buf_span(work);
    }
    VQ_TRY(check_format(bytes, name, err));
    *ret_text = bytes;
    return VQ_OK;
}

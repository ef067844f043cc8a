/* The bytes of the store's values. Each value is a head of 8 bytes (version, kind, two zeros,
 * CRC-32C over key, head and body) and a body of little-endian numbers and length-prefixed texts.
 * docs/develop/store.md has the layout. Pure. */
#pragma once

#include "coordinator/queue/batch.h"
#include "coordinator/store/calls/account.h"
#include "coordinator/store/calls/calls.h"
#include "coordinator/store/calls/failures.h"
#include "coordinator/store/calls/lookup.h"
#include "proto/messages.h"

#define VQ_RECORD_VERSION 1
/* Of ledger rows of calls. 1: without a stage, read as stage 0. 2: without a pool, read as no pool
 * and no cost. 3: without the provider's own cost and the prompt's length, read as 0. */
#define VQ_RECORD_CALL_VERSION    5
#define VQ_RECORD_META_VERSION    2 /* of meta rows. 1: without the end of the run, read as 0 */
#define VQ_RECORD_FAILURE_VERSION 2 /* 1: without lifting */
#define VQ_RECORD_BATCH_VERSION   2 /* 1: without the worker that owns it, read as none */
#define VQ_RECORD_HEAD_BYTES      8
/* of finish_reason, model, fingerprint and error as stored: longer ones are cut */
#define VQ_RECORD_NAME_BYTES 256
#define VQ_RECORD_BYTES_MAX  (VQ_ANSWER_BYTES_MAX + 4096)

enum vq_record_kind {
    VQ_RECORD_ANSWER = 'A',
    VQ_RECORD_BATCH = 'B', /* a batch at a provider */
    VQ_RECORD_CALL = 'C',
    /* In a key: an answer that was thrown away. Its value is an ANSWER. */
    VQ_RECORD_DISTRUSTED = 'D',
    VQ_RECORD_FAILURE = 'F',
    VQ_RECORD_META = 'M',
    VQ_RECORD_WAITING = 'W', /* the whole record of a call that waits in a batch */
};

/* Keys of the ledger: run uid, kind, and the call id, request hash or hash of a batch's name
 * (nothing for META). */
#define VQ_LEDGER_KEY_BYTES_MAX (VQ_ID_BYTES + 1 + VQ_HASH_BYTES)
struct vq_ledger_key {
    uint8_t b[VQ_LEDGER_KEY_BYTES_MAX];
    size_t bytes;
};
/* The prefix of the keys of a run's rows of a kind. */
struct vq_ledger_key vq_ledger_key_prefix(const struct vq_id *run, enum vq_record_kind kind);
struct vq_ledger_key vq_ledger_key_call(const struct vq_id *run, const struct vq_id *call);
struct vq_ledger_key vq_ledger_key_distrusted(const struct vq_id *run, const struct vq_id *call);
struct vq_ledger_key vq_ledger_key_failure(const struct vq_id *run, const struct vq_hash *request);
struct vq_ledger_key vq_ledger_key_meta(const struct vq_id *run);
struct vq_ledger_key vq_ledger_key_waiting(const struct vq_id *run, const struct vq_id *call);
struct vq_ledger_key vq_ledger_key_batch(const struct vq_id *run, const struct vq_hash *name);
/* Whether a value, of any kind and version, is the one that was written under this key. */
bool vq_record_is_whole(struct vq_span key, struct vq_span value);
/* Parses a key of the ledger: its kind and run. VQ_CORRUPT: not a valid key. */
enum vq_status vq_ledger_key_read(struct vq_span key, enum vq_record_kind *ret_kind,
                                  struct vq_id *ret_run) VQ_WARN_UNUSED;

/* Encoders clear `out` first; out->status has the result. The key is part of the checksum. */
void vq_record_answer(struct vq_buf *out, struct vq_span key, const struct vq_answer *answer);
void vq_record_call(struct vq_buf *out, struct vq_span key, const struct vq_call_row *row);
void vq_record_failure(struct vq_buf *out, struct vq_span key, const struct vq_failure_row *row);
void vq_record_meta(struct vq_buf *out, struct vq_span key, const struct vq_run_meta *meta);
/* `result`: an encoded RESULT (wire.h). */
void vq_record_waiting(struct vq_buf *out, struct vq_span key, struct vq_span result);
void vq_record_batch(struct vq_buf *out, struct vq_span key, const struct vq_batch_report *said);

/* Decoders check everything; spans of the result point into `value`. VQ_CORRUPT; VQ_VERSION:
 * written by a later vibeq. */
enum vq_status vq_record_read_answer(struct vq_span key, struct vq_span value,
                                     struct vq_answer *ret_answer) VQ_WARN_UNUSED;
enum vq_status vq_record_read_call(struct vq_span key, struct vq_span value,
                                   struct vq_call_row *ret_row) VQ_WARN_UNUSED;
enum vq_status vq_record_read_failure(struct vq_span key, struct vq_span value,
                                      struct vq_failure_row *ret_row) VQ_WARN_UNUSED;
enum vq_status vq_record_read_meta(struct vq_span key, struct vq_span value,
                                   struct vq_run_meta *ret_meta) VQ_WARN_UNUSED;
enum vq_status vq_record_read_waiting(struct vq_span key, struct vq_span value,
                                      struct vq_span *ret_result) VQ_WARN_UNUSED;
enum vq_status vq_record_read_batch(struct vq_span key, struct vq_span value,
                                    struct vq_batch_report *ret_said) VQ_WARN_UNUSED;

/* CRC-32C (Castagnoli), continued from `crc`; start with 0. */
uint32_t vq_crc32c(uint32_t crc, const void *bytes, size_t n);
uint32_t vq_crc32c_plain(uint32_t crc, const void *bytes,
                         size_t n); /* without the processor's CRC instructions */

/* Dialogues beside a run (`vibeq chat`): the file of their queries, the copies of it and of the
 * settings in the run's folder, and the finished dialogues as a file. */
#pragma once

#include "common/text/table.h"
#include "methods/chat/chat.h"
#include "methods/files/results.h"

#define VQ_CHATS_FOLDER    "chat"
#define VQ_CHATS_CHAINS    VQ_CHATS_FOLDER "/chains.jsonl"
#define VQ_CHATS_CONFIG    VQ_CHATS_FOLDER "/run.yaml"
#define VQ_CHATS_DIALOGUES VQ_CHATS_FOLDER "/dialogues.jsonl"
#define VQ_CHATS_ACCOUNT   VQ_CHATS_FOLDER "/accounting.json"
#define VQ_CHATS_BYTES_MAX ((size_t)1 << 30)

struct vq_chats {
    struct vq_table *table;
    struct vq_buf packed;
    struct vq_sample *chains; /* point into `table` and `packed` */
    uint32_t count;
};

/* JSON lines, {"system": "...", "queries": ["...", ...]}. The messages of VQ_INVALID and VQ_LIMIT
 * name file and line; VQ_NOMEM. The caller frees *ret_chats. */
enum vq_status vq_chats_read(struct vq_span text, const char *name, struct vq_chats *ret_chats,
                             struct vq_error *err) VQ_WARN_UNUSED;
void vq_chats_free(struct vq_chats *chats);

/* Call it before anything is sent: stores the queries and the settings. Removes the dialogues and
 * the accounting of other queries. */
enum vq_status vq_chats_keep(struct vq_span text, const struct vq_config *config,
                             const struct vq_run_dir *run, struct vq_error *err) VQ_WARN_UNUSED;

/* Writes dialogues.jsonl in `to->folder`, also prints it (to->json), or only compares it
 * (to->differs). *ret_ended: the number of dialogues that ended early. */
enum vq_status vq_chats_write(const struct vq_chats *chats, const struct vq_chat *said,
                              const struct vq_results *to, uint32_t *ret_ended,
                              struct vq_error *err) VQ_WARN_UNUSED;

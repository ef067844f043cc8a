/* Classifies the finish reason that a provider reports for an answer (endings.def). */
#pragma once

#include "common/base/buf.h"

enum vq_ending {
    VQ_ENDING_ORDINARY, /* also if no finish reason is reported */
    VQ_ENDING_CUT,      /* at the token limit */
    VQ_ENDING_REFUSED,  /* refused or filtered */
    VQ_ENDING_UNKNOWN   /* not in the table: the answer may be cut; never a vote */
};

/* `refusal`: the provider marked the answer as a refusal. */
enum vq_ending vq_ending_of(struct vq_span finish_reason, bool refusal);

/* Writes the message about an answer with an UNKNOWN ending; the ledger stores it. The word is cut
 * to VQ_ENDING_WORD_BYTES_MAX. */
#define VQ_ENDING_WORD_BYTES_MAX 63
void vq_ending_explain(struct vq_span word, char *ret_line, size_t cap);
/* The word in such a line; false: another line. */
bool vq_ending_explained(struct vq_span line, struct vq_span *ret_word);

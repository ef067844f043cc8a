/* What a provider's word for how an answer ended says of it (endings.def). */
#pragma once

#include "common/base/buf.h"

enum vq_ending {
    VQ_ENDING_ORDINARY, /* also where there is no word */
    VQ_ENDING_CUT,      /* at the token limit */
    VQ_ENDING_REFUSED,  /* refused or filtered */
    VQ_ENDING_UNKNOWN   /* no row: perhaps cut, perhaps stopped; never a vote */
};

/* `refusal`: the provider marked the answer as one. */
enum vq_ending vq_ending_of(struct vq_span finish_reason, bool refusal);

/* The message about an answer with an UNKNOWN ending; the ledger keeps it. The word is cut to
 * VQ_ENDING_WORD_BYTES_MAX. */
#define VQ_ENDING_WORD_BYTES_MAX 63
void vq_ending_explain(struct vq_span word, char *ret_line, size_t cap);
/* The word that such a line names; false: it is another line. */
bool vq_ending_explained(struct vq_span line, struct vq_span *ret_word);

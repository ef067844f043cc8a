/* Makes the text of a chat answer: gets an opinion from a judge, writes the verdict in the
 * requested form, and spoils the text if a fault requires it. No sockets, no clock. */
#pragma once

#include "common/base/hash.h"
#include "common/text/json.h"
#include "offline/judge/oracle.h"
#include "offline/persona/subject.h"
#include "offline/reply.h"

struct vq_answerer {
    struct vq_lexical *lexical;
    const struct vq_oracle *oracle; /* NULL: the lexical judge answers */
};

struct vq_answer_context {
    enum vq_judge_kind kind;          /* the lexical judge to use */
    const struct vq_subject *subject; /* of a request for a chat (VQ_WANTED_CHAT) */
    enum vq_fault fault;              /* only faults of stage TEXT matter here */
    const char *variant;              /* of the fault */
    uint64_t nth_try;
    const struct vq_hash *hash; /* of the body */
    uint64_t n;                 /* number of the request; makes the answer's id unique */
    int64_t created_s;
};

/* Fills status, body, tokens, outcome, verdict and paid of the reply. VQ_NOT_FOUND: the oracle does
 * not know the question; the sentence is for the client. */
enum vq_status vq_answer_make(const struct vq_answerer *answerer,
                              const struct vq_chat_request *request,
                              const struct vq_answer_context *context,
                              struct vq_offline_reply *reply, struct vq_error *err) VQ_WARN_UNUSED;

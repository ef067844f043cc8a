#include "common/judge/verdict.h"
const char *vq_outcome_name(enum vq_outcome outcome)
{
    switch (outcome) {
    case VQ_OUTCOME_NONE: return "open";
    case VQ_OUTCOME_FIRST: return "A";
    case VQ_OUTCOME_SECOND: return "B";
    case VQ_OUTCOME_EQUAL: return "equal";
    case VQ_OUTCOME_NA: return "N/A";
    case VQ_OUTCOME_UNSURE: return "unsure";
    case VQ_OUTCOME_REFUSED: return "refused";
    case VQ_OUTCOME_TRUNCATED: return "truncated";
    case VQ_OUTCOME_UNPARSEABLE: return "unparseable";
    case VQ_OUTCOME_NOT_NEEDED: return "not_needed";
    case VQ_OUTCOME_BLOCKED: return "blocked";
    case VQ_OUTCOME_ERROR: return "error";
    case VQ_OUTCOME_TOO_LONG: return "too_long";
    case VQ_OUTCOME_UNAVAILABLE: return "unavailable";
    case VQ_OUTCOME_BAD_RESPONSE: return "bad_response";
    case VQ_OUTCOME_WORKER_LOST: return "worker_lost";
    }
    return "?";
}

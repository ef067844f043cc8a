/* Decides when a judge's first calls on a pool show that the others would fail, too. Invariant: the
 * brake is never pulled after an answer that could be used, and never by failures of fewer than
 * VQ_BRAKE_ROWS rows. A different failure restarts the count: two kinds of failure in turn have no
 * single cause. Normal events of a provider (limits, refusals, retried calls) do not count either
 * way. Not its job: the consequences, and advice. */
#include "coordinator/queue/brake.h"

#include "common/text/utf8.h"

#include <ctype.h>
#include <string.h>

void vq_brake_normalise(struct vq_span text, char ret_way[VQ_BRAKE_WAY_BYTES])
{
    size_t n = 0;
    for (size_t at = 0; at < text.bytes && n + 2 < VQ_BRAKE_WAY_BYTES;) {
        size_t word = at;
        bool digit = false;
        while (word < text.bytes && (isalnum((unsigned char)text.at[word]) ||
                                     text.at[word] == '_' || text.at[word] == '-')) {
            digit = digit || isdigit((unsigned char)text.at[word]);
            word++;
        }
        if (digit) {
            ret_way[n++] = '#';
        }
        for (; !digit && at < word && n + 2 < VQ_BRAKE_WAY_BYTES; at++) {
            ret_way[n++] = (char)tolower((unsigned char)text.at[at]);
        }
        at = word;
        if (at < text.bytes && !isspace((unsigned char)text.at[at])) {
            ret_way[n++] = text.at[at++];
        } else if (at < text.bytes) {
            ret_way[n++] = ' ';
            while (at < text.bytes && isspace((unsigned char)text.at[at])) {
                at++;
            }
        }
    }
    ret_way[n] = '\0';
}

enum kind {
    NOTHING, /* does not predict the other calls */
    ANSWERED,
    FAILED
};

/* A fault of the provider or of the network counts only if the task has failed by it. An answer
 * that is paid and cannot be read counts each time. */
static enum kind kind_of(const struct vq_brake_call *call)
{
    switch (call->end) {
    case VQ_END_ANSWER:
        return vq_outcome_is_good(call->outcome) ? ANSWERED
               : call->final && (call->outcome == VQ_OUTCOME_UNPARSEABLE ||
                                 call->outcome == VQ_OUTCOME_TRUNCATED)
                   ? FAILED
                   : NOTHING;
    case VQ_END_BAD_REQUEST:
    case VQ_END_BAD_RESPONSE: return FAILED;
    case VQ_END_PROVIDER:
    case VQ_END_NETWORK:
    case VQ_END_LOST:
    case VQ_END_TOO_LONG: return call->final ? FAILED : NOTHING;
    case VQ_END_RATE:
    case VQ_END_CLOSED:
    case VQ_END_UNKNOWN:
    case VQ_END_CANCELLED:
    case VQ_END_BATCHED:
    case VQ_END__COUNT: break;
    }
    return NOTHING;
}

static void begin(struct vq_brake *brake, const struct vq_brake_call *call,
                  const char way[VQ_BRAKE_WAY_BYTES])
{
    *brake = (struct vq_brake){.end = (uint8_t)call->end, .outcome = (uint8_t)call->outcome};
    brake->outcome = call->end == VQ_END_ANSWER ? brake->outcome : 0;
    brake->http_status = call->http_status;
    memcpy(brake->way, way, sizeof(brake->way));
    vq_utf8_copy(brake->text, sizeof(brake->text), call->error);
}

bool vq_brake_saw(const struct vq_brake *brake, uint32_t row)
{
    for (uint32_t i = 0; i < brake->rows_count; i++) {
        if (brake->rows[i] == row) {
            return true;
        }
    }
    return false;
}

static void count(struct vq_brake *brake, uint32_t row)
{
    brake->failures++;
    if (!vq_brake_saw(brake, row) && brake->rows_count < VQ_BRAKE_ROWS) {
        brake->rows[brake->rows_count++] = row;
    }
}

static bool same_way(const struct vq_brake *brake, const struct vq_brake_call *call,
                     const char *way)
{
    return brake->failures > 0 && brake->end == call->end &&
           brake->http_status == call->http_status &&
           (call->end == VQ_END_ANSWER ? brake->outcome == call->outcome
                                       : strcmp(brake->way, way) == 0);
}

bool vq_brake_alike(const struct vq_brake *brake, const struct vq_brake_call *call)
{
    char way[VQ_BRAKE_WAY_BYTES];
    vq_brake_normalise(call->error, way);
    return brake->pulled && kind_of(call) == FAILED && same_way(brake, call, way);
}

bool vq_brake_see(struct vq_brake *brake, uint32_t calls, const struct vq_brake_call *call)
{
    enum kind kind = kind_of(call);
    if (brake->answered || brake->pulled || kind == NOTHING) {
        return false;
    }
    if (kind == ANSWERED) {
        *brake = (struct vq_brake){.answered = true};
        return false;
    }
    char way[VQ_BRAKE_WAY_BYTES];
    vq_brake_normalise(call->error, way);
    if (!same_way(brake, call, way)) {
        begin(brake, call, way);
    }
    count(brake, call->row);
    brake->pulled = calls > 0 && brake->failures >= calls && brake->rows_count >= VQ_BRAKE_ROWS;
    return brake->pulled;
}

void vq_brake_recall(struct vq_brake *brake, uint32_t calls, const struct vq_brake_call *call)
{
    (void)vq_brake_see(brake, 0, call);
    if (calls > 0 && brake->failures >= calls) {
        brake->failures = calls - 1;
    }
}

bool vq_brake_suspects(const struct vq_brake *brake, uint32_t calls)
{
    return !brake->answered && !brake->pulled && brake->failures > 0 &&
           brake->failures < 2 * (uint64_t)calls &&
           (brake->end == VQ_END_BAD_REQUEST || brake->end == VQ_END_BAD_RESPONSE ||
            brake->end == VQ_END_TOO_LONG || brake->end == VQ_END_ANSWER);
}

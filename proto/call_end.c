/* The words and the order of the ends of calls, from call_end.def. */
#include "proto/messages.h"

const char *vq_call_end_word(enum vq_call_end end)
{
    switch (end) {
#define VQ_CALL_END(name, number, word)                                                            \
    case VQ_END_##name:                                                                            \
        return word;
#include "proto/call_end.def"
#undef VQ_CALL_END
    case VQ_END__COUNT: break;
    }
    return "?";
}

/* The rank of an end: a record replaces another one with a lower rank. */
static int known(enum vq_call_end end)
{
    return end == VQ_END_UNKNOWN ? 0 : end == VQ_END_BATCHED ? 1 : 2;
}

bool vq_call_end_replaces(enum vq_call_end was, enum vq_call_end is)
{
    return known(is) > known(was);
}

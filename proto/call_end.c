/* Words for how a call ended, from the one table. */
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

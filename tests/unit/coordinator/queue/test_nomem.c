/* Lives of a coordinator's core, chosen by bytes as the fuzzer's are, in which one allocation
 * fails: the event says VQ_NOMEM, or vq_coord_health does, and the core can be taken apart. */
#define LIVES_OF "tests/fuzz/fuzz_coord.c"
#include "tests/unit/lives.h"

int main(void)
{
    return run_lives();
}

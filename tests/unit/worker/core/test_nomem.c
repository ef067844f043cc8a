/* Lives of a worker's core, chosen by bytes as the fuzzer's are, in which one allocation fails: the
 * step says VQ_NOMEM, or vq_work_status does, and the core can be taken apart. */
#define LIVES_OF "tests/fuzz/fuzz_work.c"
#include "tests/unit/lives.h"

int main(void)
{
    return run_lives();
}

/* The check uses characters per token: text has 1 (Chinese) to 5 (English), tables and code up to
 * about 8. Not its job: the consequences. */
#include "common/judge/context.h"

#include <stddef.h>

bool vq_context_is_cut(uint64_t chars, uint64_t tokens_in)
{
    return chars >= VQ_CONTEXT_CHARS_MIN && tokens_in > 0 &&
           tokens_in < chars / VQ_CONTEXT_CHARS_A_TOKEN;
}

const char *vq_context_share(uint64_t chars, uint64_t tokens_in)
{
    static const struct {
        double most;
        const char *words;
    } shares[] = {{1.4, "all"},        {2.5, "half"},      {3.5, "a third"},
                  {5, "a quarter"},    {7, "a sixth"},     {14, "a tenth"},
                  {30, "a twentieth"}, {70, "a fiftieth"}, {150, "a hundredth"}};
    double times =
        (double)chars / VQ_CONTEXT_CHARS_LIKELY / (double)(tokens_in > 0 ? tokens_in : 1);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        if (times < shares[i].most) {
            return shares[i].words;
        }
    }
    return "less than a hundredth";
}

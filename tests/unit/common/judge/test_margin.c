/* Margins between the labels of an answer. */
#include "tests/unit/test.h"

#include "common/judge/margin.h"

#include <math.h>

TEST(margins)
{
    static const struct {
        const char *text;
        double margin; /* negative: there is none */
    } rows[] = {
        {"A=-0.1 B=-2.4", 0.9048374180 - 0.0907179533},
        {"B=-2.4 A=-0.1", 0.9048374180 - 0.0907179533},
        {"A=-2.5 B=-0.25 equal=-2.5", 0.7788007831 - 0.0820849986},
        {"N/A=-1 unsure=-1", 0},
        {"equal=-0.5", 0.6065306597},
        {"A=0", 1},
        {"A=-0 B=-1e3", 1},
        {"", -1},
        {"A", -1},
        {"=-0.1", -1},
        {"A=", -1},
        {"A=0.1", -1}, /* a probability over 1 */
        {"A=nan", -1},
        {"A=-0.1x", -1},
        {"A=-0.1  B=-2", -1},
        {"A=-0.1 B", -1},
        {"A=-0.00000000000000000000000000000000001", -1}, /* longer than a number is */
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        double margin = -1;
        bool got = vq_label_margin(vq_span_str(rows[i].text), &margin);
        if (got != (rows[i].margin >= 0) || (got && fabs(margin - rows[i].margin) > 1e-9)) {
            fail_msg("\"%s\": %d, %.10f", rows[i].text, got, margin);
        }
    }
}

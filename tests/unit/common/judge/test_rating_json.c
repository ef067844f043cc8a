/* Ratings in JSON objects, whole and cut off. */

#include "tests/unit/test.h"

#include "common/judge/rating_json.h"

#include <string.h>

TEST(test_members)
{
    static const struct {
        const char *text, *value; /* NULL: none */
        bool closed;
    } rows[] = {
        {"{\"result\": 4}", "4", true},
        {" {\"a\": {\"Result\" : \"4/5\"}}", "4/5", true},
        {"{\"score\": 3, \"result\": 4}", "4", true},
        {"{\"score\": 3}", "3", true},
        {"{\"a\": \"\\\"result\\\": 2\", \"result\": 4, \"b", "4", true},
        {"{\"result\": 4", "4", false},
        {"{\"result\": \"4", NULL, false},
        {"{\"result\": 4, \"result\": 4}", NULL, false},
        {"{\"score\": 4, \"rating\": 4}", NULL, false},
        {"{\"result\"", NULL, false},
        {"{", NULL, false},
        {"result: 4", NULL, false},
        {"", NULL, false},
    };
    for (size_t i = 0; i < VQ_COUNT(rows); i++) {
        struct vq_span value = {0};
        bool closed = false;
        bool found = vq_rating_json(vq_span_str(rows[i].text), &value, &closed);
        bool same =
            found == (rows[i].value != NULL) &&
            (!found || (vq_span_eq(value, vq_span_str(rows[i].value)) && closed == rows[i].closed));
        if (!same) {
            fail_msg("`%s`: %d `%.*s` %d", rows[i].text, found, (int)value.bytes,
                     value.at == NULL ? "" : value.at, closed);
        }
    }
}

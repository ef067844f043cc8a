/* Which models need a pool that is not a batch, in discovery. */
#include "tests/unit/common/conf/parsing.h"

#include <stdio.h>

TEST(test_discovery_needs_an_interactive_pool)
{
    static const struct {
        const char *roles, *where;
    } wrong[] = {{"judges: [m]\n", "judges[0].model"},
                 {"judges: [n]\nproposer: {model: m}\n", "proposer.model"},
                 {"judges: [n]\nreducer: {model: m}\n", "reducer.model"}};
    for (size_t i = 0; i < VQ_COUNT(wrong); i++) {
        char yaml[512];
        struct vq_config *config = NULL;
        struct vq_error err = {.text = ""};
        (void)snprintf(yaml, sizeof(yaml),
                       "data: d.csv\nmodels: [a, b]\nmethod: discover\nembedder: none\n%spools: "
                       "[{name: p, base_url: 'https://h', models: [n, {model: m, batch: true}]}]\n",
                       wrong[i].roles);
        assert_int_equal(parse(yaml, &config, &err), VQ_INVALID);
        assert_non_null(strstr(err.text, wrong[i].where));
        assert_non_null(strstr(err.text, "one text after the other"));
    }
}

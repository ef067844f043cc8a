/* Rules of service tiers: the documented tiers of each dialect (docs/use/providers.md has pages and
 * dates). */
#include "common/conf/rules_parts.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *dialect, *words;
} tiers[] = {
    {"openai", "auto, default, flex, priority, scale, and of Groq on_demand, performance"},
    {"azure", "auto, default, flex, priority"},
    {"anthropic", "auto, standard_only"},
    {"gemini", "flex, standard, priority"},
};

/* Whether `word` is a whole word of `words`. */
static bool has_word(const char *words, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *at = strstr(words, word); at != NULL; at = strstr(at + 1, word)) {
        bool begins = at == words || at[-1] == ' ';
        if (begins && (at[bytes] == '\0' || at[bytes] == ',')) {
            return true;
        }
    }
    return false;
}

static bool fits(const char *dialect, const char *tier, const char **ret_words)
{
    *ret_words = "";
    for (size_t i = 0; i < VQ_COUNT(tiers); i++) {
        if (strcmp(tiers[i].dialect, dialect) == 0) {
            *ret_words = tiers[i].words;
        }
    }
    return has_word(*ret_words, tier);
}

enum vq_status vq_rules_tier(const struct vq_rules *r, const struct vq_conf_limits *l,
                             const char *dialect, const char *place)
{
    const char *words = "";
    if (l->service_tier == NULL) {
        return l->service_tier_price < 0
                   ? VQ_OK
                   : vq_rules_broken_at(r, place, "service_tier_price",
                                        "only with a service_tier; set it, or leave the price out");
    }
    if (!fits(dialect, l->service_tier, &words)) {
        return vq_rules_broken_at(r, place, "service_tier", "the dialect %s has the tiers %s",
                                  dialect, words);
    }
    if (strcmp(l->service_tier, "priority") == 0 && l->service_tier_price < 0 &&
        l->price_input_usd > 0) {
        return vq_rules_broken_at(r, place, "service_tier_price",
                                  "priority costs more than the ordinary tier; set the multiple of "
                                  "the other prices, such as 2");
    }
    return VQ_OK;
}

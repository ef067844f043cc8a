/* Names of models that think before they answer: they get a larger default of max_tokens. A value
 * of the user always wins. Not its job: parameters that such models refuse, which workers learn
 * from refusals. */
#include "common/conf/thinks.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define NAME_BYTES_MAX 200

/* At the beginning of the name, and not followed by a letter. */
static const char *const begins[] = {"o1", "o3", "o4", "gpt-5", "gpt-oss", "grok-4"};
/* Anywhere in the name. */
static const char *const holds[] = {"deepseek-r1", "-reasoner", "-reasoning", "thinking",
                                    "qwq",         "magistral", "gemini-2.5", "gemini-3"};

bool vq_model_thinks(const char *model)
{
    const char *slash = strrchr(model, '/');
    const char *from = slash == NULL ? model : slash + 1;
    char name[NAME_BYTES_MAX + 1];
    size_t n = 0;
    for (; from[n] != '\0' && n < NAME_BYTES_MAX; n++) {
        name[n] = (char)tolower((unsigned char)from[n]);
    }
    name[n] = '\0';
    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
        size_t bytes = strlen(begins[i]);
        if (strncmp(name, begins[i], bytes) == 0 && !isalnum((unsigned char)name[bytes])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(holds) / sizeof(*holds); i++) {
        if (strstr(name, holds[i]) != NULL) {
            return true;
        }
    }
    return false;
}

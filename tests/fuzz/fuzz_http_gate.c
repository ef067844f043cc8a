/* Headers and addresses of any bytes: a Host header that is let in names this machine or an allowed
 * name, and a page may write from its own host alone. */
#include "common/net/http_gate.h"

#include <stdlib.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"lab.example"};
    static const char *const begins[] = {"localhost", "127.0.0.1", "[::1]", "lab.example"};
    char *text = malloc(size + 1);
    VQ_ASSERT(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    if (vq_http_host_may(text, false, names, VQ_COUNT(names))) {
        bool known = false;
        for (size_t i = 0; i < VQ_COUNT(begins); i++) {
            size_t n = strlen(begins[i]);
            known = known || (strncasecmp(text, begins[i], n) == 0 && strchr(":", text[n]) != NULL);
        }
        VQ_ASSERT(known && vq_http_host_may(text, true, names, VQ_COUNT(names)));
    }
    if (vq_http_origin_may(text, "lab.example")) {
        VQ_ASSERT(strcasecmp(text, "http://lab.example") == 0 ||
                  strcasecmp(text, "https://lab.example") == 0);
    }
    struct vq_http_listen listen;
    if (vq_http_listen_parse("--http", text, &listen, NULL) == VQ_OK) {
        VQ_ASSERT(strlen(listen.address) > 1);
    }
    free(text);
    return 0;
}

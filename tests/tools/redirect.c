/* A worker that asks another server than the run names, to be preloaded into it: a worker with a
 * certificate whose answers, tokens and costs are what its owner likes.
 *
 *   LD_PRELOAD=libvq-redirect.so VIBEQ_REDIRECT=FROM:TO vibeq-worker ...
 *
 * Connections to the port FROM go to the port TO of the same address. */
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

typedef int (*connect_fn)(int fd, const struct sockaddr *address, socklen_t bytes);

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *address,
                                                   socklen_t bytes);

int connect(int fd, const struct sockaddr *address, socklen_t bytes)
{
    connect_fn real;
    void *found = dlsym(RTLD_NEXT, "connect");
    memcpy(&real, &found, sizeof(real));
    const char *rule = getenv("VIBEQ_REDIRECT");
    const char *colon = rule == NULL ? NULL : strchr(rule, ':');
    struct sockaddr_in in;
    if (colon == NULL || address->sa_family != AF_INET || bytes < sizeof(in)) {
        return real(fd, address, bytes);
    }
    memcpy(&in, address, sizeof(in));
    if (ntohs(in.sin_port) == (uint16_t)strtoul(rule, NULL, 10)) {
        in.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    }
    return real(fd, (const struct sockaddr *)&in, sizeof(in));
}

/* Binding. The address is checked as a number: a name could resolve to anything. */
#include "offline/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN_BACKLOG 4096

static bool read_address(const char *text, uint16_t port, struct sockaddr_storage *ret_address,
                         socklen_t *ret_bytes)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
    memset(ret_address, 0, sizeof(*ret_address));
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        *ret_bytes = sizeof(*v4);
        return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        *ret_bytes = sizeof(*v6);
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    }
    return false;
}

static uint16_t port_of(const struct sockaddr_storage *at)
{
    return ntohs(at->ss_family == AF_INET ? ((const struct sockaddr_in *)at)->sin_port
                                          : ((const struct sockaddr_in6 *)at)->sin6_port);
}

enum vq_status vq_listen_loopback(const char *address, uint16_t port, int *ret_fd,
                                  uint16_t *ret_port, struct vq_error *err)
{
    struct sockaddr_storage at;
    socklen_t bytes = sizeof(at);
    if (!read_address(address, port, &at, &bytes)) {
        return vq_fail(err, VQ_DENIED,
                       "%s is not a loopback address; this server is for the same machine only",
                       address);
    }
    int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return vq_fail(err, VQ_IO, "cannot open a socket: %s", strerror(errno));
    }
    int yes = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)); /* only a convenience */
    bool bound = bind(fd, (struct sockaddr *)&at, bytes) == 0 && listen(fd, LISTEN_BACKLOG) == 0;
    bytes = sizeof(at);
    if (!bound || getsockname(fd, (struct sockaddr *)&at, &bytes) != 0) {
        int why = errno;
        (void)close(fd);
        return vq_fail(err, why == EADDRINUSE ? VQ_EXISTS : VQ_IO,
                       "cannot listen on %s port %u: %s; --port 0 takes a free one", address, port,
                       strerror(why));
    }
    *ret_fd = fd;
    *ret_port = port_of(&at);
    return VQ_OK;
}

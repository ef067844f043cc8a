/* A server for bench/calls.sh that gives the same answer to every POST: one thread, epoll,
 * keep-alive. It represents an endpoint without any cost. It prints its port. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_BYTES_MAX 65536
#define FILES_MAX         65536

static const char body[] =
    "{\"id\":\"c-1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"bench\",\"choices\":["
    "{\"index\":0,"
    "\"message\":{\"role\":\"assistant\",\"content\":\"Output A spends more words on the same "
    "facts and explains each "
    "step, while Output B stays short.\\nModel: A\"},\"finish_reason\":\"stop\"}],"
    "\"usage\":{\"prompt_tokens\":600,\"completion_tokens\":30,\"total_tokens\":630}}";

struct conn {
    size_t bytes;
    char at[REQUEST_BYTES_MAX + 1];
};

static struct conn *conns[FILES_MAX];
static char response[2048];
static size_t response_bytes;

/* Answers each whole request in the buffer; false: close the connection. */
static int answer(int fd, struct conn *c)
{
    for (;;) {
        c->at[c->bytes] = '\0';
        char *head_end = strstr(c->at, "\r\n\r\n");
        if (head_end == NULL) {
            return c->bytes < REQUEST_BYTES_MAX;
        }
        *head_end = '\0';
        const char *length = strcasestr(c->at, "\r\ncontent-length:");
        *head_end = '\r';
        size_t whole =
            (size_t)(head_end - c->at) + 4 + (length == NULL ? 0 : strtoul(length + 17, NULL, 10));
        if (whole > REQUEST_BYTES_MAX) {
            return 0;
        }
        if (c->bytes < whole) {
            return 1;
        }
        if (write(fd, response, response_bytes) != (ssize_t)response_bytes) {
            return 0;
        }
        memmove(c->at, c->at + whole, c->bytes - whole);
        c->bytes -= whole;
    }
}

static int serve(int fd)
{
    struct conn *c = conns[fd];
    ssize_t got = read(fd, c->at + c->bytes, REQUEST_BYTES_MAX - c->bytes);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 1;
    }
    if (got <= 0) {
        return 0;
    }
    c->bytes += (size_t)got;
    return answer(fd, c);
}

int main(void)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    response_bytes = (size_t)snprintf(
        response, sizeof(response),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        strlen(body), body);
    int one = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t address_bytes = sizeof(address);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, 4096) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &address_bytes) != 0) {
        perror("calls_server");
        return 1;
    }
    (void)printf("%d\n", ntohs(address.sin_port));
    (void)fflush(stdout);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    (void)epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        struct epoll_event events[512];
        int count = epoll_wait(epoll, events, 512, -1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd != listener) {
                if (!serve(fd)) {
                    free(conns[fd]);
                    conns[fd] = NULL;
                    (void)close(fd);
                }
                continue;
            }
            while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                conns[fd < FILES_MAX ? fd : 0] =
                    fd < FILES_MAX ? calloc(1, sizeof(struct conn)) : NULL;
                if (fd >= FILES_MAX || conns[fd] == NULL) {
                    (void)close(fd);
                    continue;
                }
                (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
                event = (struct epoll_event){.events = EPOLLIN, .data.fd = fd};
                (void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
            }
        }
    }
}

/* An HTTP server for tests that answers by path, well or badly: a thread a connection, blocking
 * sockets. */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct toy_server {
    int fd;
    int port;
    pthread_t thread;
    atomic_int requests;
    atomic_int connections;
    atomic_int open;
    pthread_mutex_t lock;
    char head[8192]; /* of the last request */
};

struct toy_connection {
    struct toy_server *server;
    int fd;
    int requests;
    char *body;
    size_t body_bytes;
};

static inline bool toy_send(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        text += sent;
        n -= (size_t)sent;
    }
    return true;
}

static inline bool toy_say(int fd, const char *text)
{
    return toy_send(fd, text, strlen(text));
}

static inline void toy_reset(int fd)
{
    struct linger now = {1, 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

/* Waits until the client closes. */
static inline void toy_hang(int fd)
{
    char c;
    while (recv(fd, &c, 1, 0) > 0) {
    }
}

static inline bool toy_ok(int fd, const char *extra, const char *body, size_t n)
{
    char head[1024];
    (void)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n%s\r\n", n,
                   extra);
    return toy_say(fd, head) && toy_send(fd, body, n);
}

static inline bool toy_flood(int fd, size_t bytes)
{
    char block[4096];
    memset(block, 'x', sizeof(block));
    for (; bytes > 0; bytes -= bytes < sizeof(block) ? bytes : sizeof(block)) {
        if (!toy_send(fd, block, bytes < sizeof(block) ? bytes : sizeof(block))) {
            return false;
        }
    }
    return true;
}

/* Much, or in many pieces. False: the connection ends. */
static inline bool toy_answer_much(int fd, const char *path)
{
    if (strcmp(path, "/pieces") == 0) { /* chunks of a byte, without end */
        static const char chunks[] = "1\r\nx\r\n1\r\ny\r\n1\r\nz\r\n1\r\nw\r\n";
        (void)toy_say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while (toy_say(fd, chunks)) {
        }
    } else if (strcmp(path, "/large") == 0 || strcmp(path, "/large-hang") == 0) {
        (void)toy_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1500000\r\n\r\n");
        bool hang = path[6] != '\0';
        bool whole = toy_flood(fd, hang ? 1499999 : 1500000);
        if (hang) {
            toy_hang(fd);
        }
        return whole && !hang;
    }
    return false;
}

/* False: the connection ends. */
static inline bool toy_answer(struct toy_connection *c, const char *path)
{
    int fd = c->fd;
    if (strcmp(path, "/echo") == 0) {
        return toy_ok(fd, "Content-Type: text/plain\r\n", c->body, c->body_bytes);
    } else if (strcmp(path, "/429") == 0) {
        return toy_say(fd,
                       "HTTP/1.1 429 Too Many Requests\r\nRetry-After:  7 \r\n"
                       "X-RateLimit-Remaining-Requests: 0\r\nX-Secret-Thing: no\r\n"
                       "X-Gemini-Service-Tier: flex\r\nX-Goog-Upload-URL: http://h/?upload_id=1\r\n"
                       "X-Request-ID: r-1\r\nContent-Length: 4\r\n\r\nslow");
    } else if (strcmp(path, "/302") == 0) {
        return toy_say(fd, "HTTP/1.1 302 Found\r\nLocation: /echo\r\nContent-Length: 0\r\n\r\n");
    } else if (strcmp(path, "/100") == 0) {
        return toy_say(fd, "HTTP/1.1 100 Continue\r\nX-Request-Id: wrong\r\n\r\n") &&
               toy_ok(fd, "X-Request-Id: right\r\n", "fine", 4);
    } else if (strcmp(path, "/chunked") == 0) {
        return toy_say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                           "5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n");
    } else if (strcmp(path, "/hang") == 0) {
        toy_hang(fd);
    } else if (strcmp(path, "/hang-in-body") == 0) {
        (void)toy_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin");
        toy_hang(fd);
    } else if (strcmp(path, "/late") == 0) { /* longer than a slow second before the first byte */
        usleep(1500000);
        return toy_ok(fd, "", "late", 4);
    } else if (strcmp(path, "/pieces") == 0 || strncmp(path, "/large", 6) == 0) {
        return toy_answer_much(fd, path);
    } else if (strcmp(path, "/drip") == 0) {
        (void)toy_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n");
        while (toy_say(fd, ".")) {
            usleep(100000);
        }
    } else if (strcmp(path, "/unasked") == 0) { /* and an answer that nobody has asked for */
        (void)toy_ok(fd, "", "fine", 4);
        (void)usleep(30000);
        return toy_ok(fd, "", "a lie", 5);
    } else if (strcmp(path, "/close-later") == 0) { /* an idle connection, from the client's side */
        (void)toy_ok(fd, "", "fine", 4);
        (void)usleep(30000);
        return false;
    } else if (strcmp(path, "/close") == 0) {
        return false;
    } else if (strcmp(path, "/reset") == 0) {
        toy_reset(fd);
    } else if (strcmp(path, "/reset-second") == 0) {
        if (c->requests == 1) {
            return toy_ok(fd, "", "first", 5);
        }
        toy_reset(fd);
    } else if (strcmp(path, "/cut") == 0) {
        (void)toy_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    } else if (strcmp(path, "/cut-head") == 0) {
        (void)toy_say(fd, "HTTP/1.1 200 OK\r\nContent-Le");
    } else if (strcmp(path, "/big") == 0) {
        (void)toy_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
        return toy_flood(fd, 100000000);
    } else if (strcmp(path, "/big-head") == 0) {
        (void)toy_say(fd, "HTTP/1.1 200 OK\r\n");
        while (toy_say(fd, "X-Ratelimit-Limit-Requests: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n")) {
        }
    } else if (strcmp(path, "/garbage") == 0) {
        (void)toy_say(fd, "this is no HTTP at all, sorry\r\n\r\n");
    } else {
        return toy_say(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    }
    return false;
}

/* Reads one request; false at the end of the connection. */
static inline bool toy_read(struct toy_connection *c, char path[256])
{
    char head[8192];
    size_t n = 0;
    while (n < 4 || memcmp(head + n - 4, "\r\n\r\n", 4) != 0) {
        if (n + 1 >= sizeof(head) || recv(c->fd, head + n, 1, 0) != 1) {
            return false;
        }
        n++;
    }
    head[n] = '\0';
    if (sscanf(head, "%*s %255s", path) != 1) {
        return false;
    }
    const char *length = strcasestr(head, "content-length:");
    c->body_bytes = length == NULL ? 0 : strtoul(length + 15, NULL, 10);
    free(c->body);
    c->body = malloc(c->body_bytes + 1);
    for (size_t got = 0; got < c->body_bytes;) {
        ssize_t more = recv(c->fd, c->body + got, c->body_bytes - got, 0);
        if (more <= 0) {
            return false;
        }
        got += (size_t)more;
    }
    (void)pthread_mutex_lock(&c->server->lock);
    memcpy(c->server->head, head, n + 1);
    (void)pthread_mutex_unlock(&c->server->lock);
    c->requests++;
    atomic_fetch_add(&c->server->requests, 1);
    return true;
}

static inline void *toy_serve(void *ctx)
{
    struct toy_connection *c = ctx;
    char path[256];
    while (toy_read(c, path) && toy_answer(c, path)) {
    }
    (void)close(c->fd);
    atomic_fetch_sub(&c->server->open, 1);
    free(c->body);
    free(c);
    return NULL;
}

static inline void *toy_accept(void *ctx)
{
    struct toy_server *s = ctx;
    for (;;) {
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0) {
            return NULL;
        }
        struct toy_connection *c = calloc(1, sizeof(*c));
        c->server = s;
        c->fd = fd;
        atomic_fetch_add(&s->connections, 1);
        atomic_fetch_add(&s->open, 1);
        pthread_t thread;
        pthread_attr_t small;
        (void)pthread_attr_init(&small);
        (void)pthread_attr_setstacksize(&small, 256 * 1024);
        (void)pthread_attr_setdetachstate(&small, PTHREAD_CREATE_DETACHED);
        if (pthread_create(&thread, &small, toy_serve, c) != 0) {
            abort();
        }
        (void)pthread_attr_destroy(&small);
    }
}

static inline int toy_listen(int backlog, int *ret_port)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(fd, backlog) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) != 0) {
        abort();
    }
    *ret_port = ntohs(a.sin_port);
    return fd;
}

static inline void toy_start(struct toy_server *s)
{
    memset(s, 0, sizeof(*s));
    (void)pthread_mutex_init(&s->lock, NULL);
    s->fd = toy_listen(4096, &s->port);
    if (pthread_create(&s->thread, NULL, toy_accept, s) != 0) {
        abort();
    }
}

/* After the clients have closed their connections. */
static inline void toy_stop(struct toy_server *s)
{
    (void)shutdown(s->fd, SHUT_RDWR);
    (void)pthread_join(s->thread, NULL);
    (void)close(s->fd);
    for (int i = 0; i < 1000 && atomic_load(&s->open) > 0; i++) {
        usleep(10000);
    }
    (void)pthread_mutex_destroy(&s->lock);
}

/* The bare loop that bench/calls.sh compares with: libcurl multi handles of 64 calls on one epoll;
 * responses are neither parsed nor stored. Its requests have the worker's headers: libcurl writes a
 * header byte by byte, and 100 more bytes cost a fifth of all instructions. usage: calls-bare URL
 * IN_FLIGHT SECONDS BODY_FILE */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#define CALLS_PER_MULTI 64
#define BODY_BYTES_MAX  65536

struct multi {
    CURLM *curl;
    double due; /* its timer; 0: none */
    int running;
};

static int epoll_fd;
static unsigned long long done, failed;
static double until;
static char body[BODY_BYTES_MAX];

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static size_t swallow(char *at, size_t size, size_t n, void *ctx)
{
    (void)at;
    (void)ctx;
    return size * n;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *seen)
{
    struct multi *m = ctx;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    struct epoll_event event = {.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) |
                                          (what & CURL_POLL_OUT ? EPOLLOUT : 0u)};
    event.data.fd = fd; /* identifies the multi handle: owner_of */
    (void)epoll_ctl(epoll_fd, seen == NULL ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
    (void)curl_multi_assign(m->curl, fd, m);
    return 0;
}

static int on_timer(CURLM *curl, long ms, void *ctx)
{
    struct multi *m = ctx;
    (void)curl;
    m->due = ms < 0 ? 0 : now() + (double)ms / 1000 + 1e-9;
    return 0;
}

static void take_ends(struct multi *m)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(m->curl, &left)) != NULL) {
        CURL *easy = message->easy_handle;
        done++;
        failed += message->data.result == CURLE_OK ? 0 : 1;
        (void)curl_multi_remove_handle(m->curl, easy);
        if (now() < until) {
            (void)curl_multi_add_handle(m->curl, easy);
        }
    }
}

static struct multi *owner_of[1 << 16];

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
    curl_socket_t fd = socket(address->family, address->socktype, address->protocol);
    if (fd >= 0 && fd < (1 << 16)) {
        owner_of[fd] = ctx;
    }
    return fd;
}

static CURL *easy_make(struct multi *m, const char *url, struct curl_slist *headers)
{
    CURL *easy = curl_easy_init();
    (void)curl_easy_setopt(easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "vibeq/" VIBEQ_VERSION);
    (void)curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, swallow);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, m);
    return easy;
}

static void turn(struct multi *multis, int count)
{
    double next = now() + 0.1;
    for (int i = 0; i < count; i++) {
        if (multis[i].due > 0 && multis[i].due <= now()) {
            multis[i].due = 0;
            (void)curl_multi_socket_action(multis[i].curl, CURL_SOCKET_TIMEOUT, 0,
                                           &multis[i].running);
            take_ends(&multis[i]);
        }
        next = multis[i].due > 0 && multis[i].due < next ? multis[i].due : next;
    }
    struct epoll_event events[512];
    double wait = (next - now()) * 1000;
    int ready = epoll_wait(epoll_fd, events, 512, wait <= 0 ? 0 : (int)wait + 1);
    for (int i = 0; i < ready; i++) {
        int fd = events[i].data.fd;
        int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        struct multi *m = owner_of[fd];
        (void)curl_multi_socket_action(m->curl, fd, what, &m->running);
        take_ends(m);
    }
}

int main(int argc, char **argv)
{
    FILE *f = argc == 5 ? fopen(argv[4], "r") : NULL;
    if (f == NULL || fread(body, 1, sizeof(body) - 1, f) == 0) {
        (void)fprintf(stderr, "usage: calls-bare URL IN_FLIGHT SECONDS BODY_FILE\n");
        return 2;
    }
    (void)fclose(f);
    int calls = atoi(argv[2]);
    int count = (calls + CALLS_PER_MULTI - 1) / CALLS_PER_MULTI;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    (void)curl_global_init(CURL_GLOBAL_ALL);
    epoll_fd = epoll_create1(0);
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Accept: application/json");
    headers = curl_slist_append(headers, "X-Client-Request-Id: 00000000000000000000000000000001");
    headers = curl_slist_append(headers, "Expect:");
    struct multi *multis = calloc((size_t)count, sizeof(*multis));
    CURL **easies = calloc((size_t)calls, sizeof(CURL *));
    double from = now();
    until = from + atof(argv[3]);
    for (int i = 0; i < calls; i++) {
        struct multi *m = &multis[i / CALLS_PER_MULTI];
        if (m->curl == NULL) {
            m->curl = curl_multi_init();
            (void)curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
            (void)curl_multi_setopt(m->curl, CURLMOPT_SOCKETDATA, m);
            (void)curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, on_timer);
            (void)curl_multi_setopt(m->curl, CURLMOPT_TIMERDATA, m);
        }
        easies[i] = easy_make(m, argv[1], headers);
        (void)curl_multi_add_handle(m->curl, easies[i]);
    }
    while (now() < until) {
        turn(multis, count);
    }
    double seconds = now() - from;
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    (void)printf("%.0f %.2f %llu\n", (double)done / seconds,
                 cpu * 1e6 / (double)(done > 0 ? done : 1), failed);
    return 0; /* the system frees the rest */
}

/* The floor of an HTTP server: the system calls, and nothing else. Also the origin behind proxies.
 *
 * One thread and one SO_REUSEPORT socket per core, epoll, one read and one write a request. A request
 * is whatever ends with an empty line; the path /jquery.js gets 89,700 bytes, /bytes/N gets N, any other
 * 102. It reads no field but the words "HTTP/1.0" and "keep-alive", knows no file and checks nothing.
 * What a real server costs above this is what it does for its users.
 *
 *   cc -O2 -pthread -o null-http http.c && ./null-http 8099 [threads [delay_us [kept_seconds [any]]]]
 *
 * With a delay every answer waits so long (the delay is the same for all, so the first in is the first
 * out); with kept_seconds answers may be cached for that time; with "any" it listens on all addresses,
 * so that one process can be the many servers 127.0.0.1, 127.0.0.2 and so on. The path /asked tells how many requests
 * were answered so far, itself and its like not counted: whoever stands in front is checked by it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, REQUEST_MAX = 4096, SMALL = 102, LARGE = 89700, HEAD_MAX = 320, RING = 1 << 14,
       DESCRIPTORS = 1 << 16 };

static int port, kept, is_any;
static uint64_t delay; /* nanoseconds */
static atomic_ulong asked;
static char answers[2][2][HEAD_MAX + LARGE]; /* [large][keep] */
static size_t sizes[2][2];
static char filling[LARGE];

struct request {
    int fd, keep;
    unsigned born; /* which of the connections that had this descriptor */
    long bytes;    /* -1 for the small and -2 for the large answer, -3 for the count */
    uint64_t due;
};

struct waiting {
    struct request ring[RING];
    unsigned first, past;
    unsigned births[DESCRIPTORS];
};

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static size_t head_of(char *at, size_t body, int keep)
{
    char lasting[64] = "";
    if (kept)
        snprintf(lasting, sizeof lasting, "Cache-Control: max-age=%d\r\n", kept);
    return snprintf(at, HEAD_MAX,
        "HTTP/1.1 200 OK\r\nServer: null\r\nDate: Sat, 21 Nov 2026 00:00:00 GMT\r\n"
        "Content-Type: text/html\r\n%sContent-Length: %zu\r\nConnection: %s\r\n\r\n",
        lasting, body, keep ? "keep-alive" : "close");
}

static void prepare(void)
{
    memset(filling, 'x', sizeof filling);
    for (int large = 0; large < 2; large++)
        for (int keep = 0; keep < 2; keep++) {
            size_t body = large ? LARGE : SMALL;
            char *at = answers[large][keep];
            size_t head = head_of(at, body, keep);
            memset(at + head, 'x', body);
            sizes[large][keep] = head + body;
        }
}

static int send_all(int fd, const char *from, size_t left)
{
    while (left > 0) {
        ssize_t sent = send(fd, from, left, MSG_NOSIGNAL);
        if (sent <= 0)
            return 0;
        from += sent;
        left -= sent;
    }
    return 1;
}

/* Sends the answer; 0 if the connection is to be closed. */
static int answer(const struct request *request)
{
    char text[HEAD_MAX + 32];

    if (request->bytes == -3) {
        char body[32];
        int length = snprintf(body, sizeof body, "%lu\n", atomic_load(&asked));
        size_t head = head_of(text, length, request->keep);
        memcpy(text + head, body, length);
        return send_all(request->fd, text, head + length) && request->keep;
    }
    atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed);
    if (request->bytes < 0) {
        int large = request->bytes == -2;
        return send_all(request->fd, answers[large][request->keep], sizes[large][request->keep])
            && request->keep;
    }
    if (!send_all(request->fd, text, head_of(text, request->bytes, request->keep)))
        return 0;
    for (long left = request->bytes; left > 0; left -= LARGE)
        if (!send_all(request->fd, filling, left < LARGE ? left : LARGE))
            return 0;
    return request->keep;
}

/* Reads one request and answers it, or lets it wait; 0 if the connection is to be closed. */
static int take(int fd, struct waiting *waiting)
{
    char text[REQUEST_MAX + 1];
    ssize_t got = recv(fd, text, REQUEST_MAX, 0);
    struct request request = { .fd = fd, .bytes = -1 };
    char *path;

    if (got <= 0)
        return 0;
    text[got] = 0;
    if (memmem(text, got, "/jquery.js", 10) != NULL)
        request.bytes = -2;
    else if ((path = memmem(text, got, "/bytes/", 7)) != NULL)
        request.bytes = labs(atol(path + 7));
    else if (memmem(text, got, " /asked", 7) != NULL)
        request.bytes = -3;
    request.keep = memmem(text, got, "HTTP/1.0", 8) == NULL
        ? memmem(text, got, "close", 5) == NULL
        : memmem(text, got, "eep-", 4) != NULL;
    if (delay == 0 || request.bytes == -3)
        return answer(&request);
    if (waiting->past - waiting->first == RING || fd >= DESCRIPTORS)
        return 0;
    request.born = waiting->births[fd];
    request.due = now() + delay;
    waiting->ring[waiting->past++ % RING] = request;
    return 1;
}

/* Answers what is due; how many milliseconds until the next, or -1. */
static int serve_due(struct waiting *waiting)
{
    while (waiting->first != waiting->past) {
        struct request *next = &waiting->ring[waiting->first % RING];
        uint64_t time = now();
        if (next->due > time)
            return (next->due - time + 999999) / 1000000;
        waiting->first++;
        if (waiting->births[next->fd] == next->born && !answer(next)) {
            waiting->births[next->fd]++;
            close(next->fd);
        }
    }
    return -1;
}

static int listening(void)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(port) };
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1, seconds = 5;

    here.sin_addr.s_addr = htonl(is_any ? INADDR_ANY : INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) < 0 || listen(listener, 4096) < 0) {
        perror("listen");
        exit(1);
    }
    return listener;
}

static void *serve(void *unused)
{
    int listener = listening(), poller = epoll_create1(0);
    struct epoll_event events[EVENTS], event = { .events = EPOLLIN, .data.fd = listener };
    struct waiting *waiting = calloc(1, sizeof *waiting);

    (void)unused;
    if (waiting == NULL)
        exit(1);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(poller, events, EVENTS, serve_due(waiting));
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd != listener) {
                if (!take(fd, waiting)) {
                    if (fd < DESCRIPTORS)
                        waiting->births[fd]++;
                    close(fd);
                }
                continue;
            }
            while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
                /* Blocking: a large answer waits for its reader, as nothing else is measured then. */
                struct epoll_event one = { .events = EPOLLIN, .data.fd = fd };
                if (!take(fd, waiting)) {
                    if (fd < DESCRIPTORS)
                        waiting->births[fd]++;
                    close(fd);
                } else {
                    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &one);
                }
            }
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 2 && atoi(argv[2]) > 0 ? atoi(argv[2]) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t last;

    port = argc > 1 ? atoi(argv[1]) : 8099;
    delay = argc > 3 ? strtoull(argv[3], NULL, 10) * 1000 : 0;
    kept = argc > 4 ? atoi(argv[4]) : 0;
    is_any = argc > 5;
    prepare();
    for (int i = 0; i < threads; i++)
        pthread_create(&last, NULL, serve, NULL);
    pthread_join(last, NULL);
    return 0;
}

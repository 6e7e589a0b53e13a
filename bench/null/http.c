/* The floor of an HTTP server: the system calls, and nothing else.
 *
 * One thread and one SO_REUSEPORT socket per core, epoll, one read and one write a request. A request
 * is whatever ends with an empty line; the path /jquery.js gets 89,700 bytes, any other 102. It reads
 * no field but the words "HTTP/1.0" and "keep-alive", knows no file and checks nothing. What a real
 * server costs above this is what it does for its users.
 *
 *   cc -O2 -pthread -o null-http http.c && ./null-http 8099 [threads]
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 256, REQUEST_MAX = 4096, SMALL = 102, LARGE = 89700, HEAD_MAX = 256 };

static int port;
static char answers[2][2][HEAD_MAX + LARGE]; /* [large][keep] */
static size_t sizes[2][2];

static void prepare(void)
{
    for (int large = 0; large < 2; large++)
        for (int keep = 0; keep < 2; keep++) {
            size_t body = large ? LARGE : SMALL;
            char *at = answers[large][keep];
            size_t head = snprintf(at, HEAD_MAX,
                "HTTP/1.1 200 OK\r\nServer: null\r\nDate: Sat, 21 Nov 2026 00:00:00 GMT\r\n"
                "Content-Type: text/html\r\nContent-Length: %zu\r\nConnection: %s\r\n\r\n",
                body, keep ? "keep-alive" : "close");
            memset(at + head, 'x', body);
            sizes[large][keep] = head + body;
        }
}

/* Answers one request; 0 if the connection is to be closed. */
static int answer(int fd)
{
    char request[REQUEST_MAX + 1];
    ssize_t got = recv(fd, request, REQUEST_MAX, 0);

    if (got <= 0)
        return 0;
    request[got] = 0;
    int large = memmem(request, got, "/jquery.js", 10) != NULL;
    int keep = memmem(request, got, "HTTP/1.0", 8) == NULL
        ? memmem(request, got, "close", 5) == NULL
        : memmem(request, got, "eep-", 4) != NULL;
    const char *from = answers[large][keep];
    for (size_t left = sizes[large][keep]; left > 0;) {
        ssize_t sent = send(fd, from, left, MSG_NOSIGNAL);
        if (sent <= 0)
            return 0;
        from += sent;
        left -= sent;
    }
    return keep;
}

static void *serve(void *unused)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(port) };
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1, seconds = 5;
    int poller = epoll_create1(0);
    struct epoll_event events[EVENTS], event = { .events = EPOLLIN, .data.fd = listener };

    (void)unused;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) < 0 || listen(listener, 4096) < 0) {
        perror("listen");
        exit(1);
    }
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(poller, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd != listener) {
                if (!answer(fd))
                    close(fd);
                continue;
            }
            while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
                /* Blocking: a large answer waits for its reader, as nothing else is measured then. */
                struct epoll_event one = { .events = EPOLLIN, .data.fd = fd };
                if (!answer(fd))
                    close(fd);
                else
                    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &one);
            }
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t last;

    port = argc > 1 ? atoi(argv[1]) : 8099;
    prepare();
    for (int i = 0; i < threads; i++)
        pthread_create(&last, NULL, serve, NULL);
    pthread_join(last, NULL);
    return 0;
}

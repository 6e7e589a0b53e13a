/* The floor of a gateway: the system calls of passing a request on, and nothing else.
 *
 * One thread and one SO_REUSEPORT socket per core, epoll. Each client connection gets a connection to the
 * origin of its own, and what either end sends goes to the other, as it came: two reads and two writes a
 * request. It reads no byte of what it carries, chooses nothing, counts nothing and keeps no connection
 * for the next client. What a gateway costs above this is what it does for its users.
 *
 * Whoever computes between two sends finds the peer asleep at each, and pays for waking it: with a number
 * of microseconds, each request waits that long on the processor, half of it in each direction. It is the
 * floor of a gateway that computes as much.
 *
 *   cc -O2 -pthread -o null-relay relay.c && ./null-relay 8098 8099 [threads [microseconds]]
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, PIECE = 64 << 10, DESCRIPTORS = 1 << 16 };

static int port, origin;
/* Nanoseconds of each direction. */
static long computing;
/* The other end of each connection; descriptors belong to one thread at a time. */
static int other[DESCRIPTORS];

static int listening(void)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(port) };
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;

    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) < 0 || listen(listener, 4096) < 0) {
        perror("listen");
        exit(1);
    }
    return listener;
}

static int reach(void)
{
    struct sockaddr_in there = { .sin_family = AF_INET, .sin_port = htons(origin) };
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&there, sizeof there) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Pairs a client with a connection to the origin. */
static void begin(int poller, int client)
{
    int server = reach();

    if (server < 0 || client >= DESCRIPTORS || server >= DESCRIPTORS) {
        close(client);
        if (server >= 0)
            close(server);
        return;
    }
    other[client] = server;
    other[server] = client;
    for (int end = 0; end < 2; end++) {
        struct epoll_event event = { .events = EPOLLIN, .data.fd = end ? server : client };
        epoll_ctl(poller, EPOLL_CTL_ADD, event.data.fd, &event);
    }
}

static long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

/* Keeps the processor for as long as was asked for. */
static void compute(void)
{
    if (computing == 0)
        return;
    for (long until = now() + computing; now() < until;)
        ;
}

/* Carries what there is; 0 at the end of either connection. The sockets block, so a full one waits here:
 * the clients of this bench read what they ask for. */
static int carry(int from, char *piece)
{
    ssize_t got = recv(from, piece, PIECE, MSG_DONTWAIT), gone = 0;

    if (got < 0)
        return errno == EAGAIN;
    if (got > 0)
        compute();
    while (gone < got) {
        ssize_t sent = send(other[from], piece + gone, got - gone, MSG_NOSIGNAL);
        if (sent <= 0)
            return 0;
        gone += sent;
    }
    return got > 0;
}

static void *serve(void *unused)
{
    int listener = listening(), poller = epoll_create1(0);
    struct epoll_event events[EVENTS], event = { .events = EPOLLIN, .data.fd = listener };
    char *piece = malloc(PIECE);

    (void)unused;
    if (piece == NULL)
        exit(1);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(poller, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                int client = accept(listener, NULL, NULL);
                if (client >= 0)
                    begin(poller, client);
            } else if (other[fd] != 0 && !carry(fd, piece)) {
                int end = other[fd];
                other[fd] = other[end] = 0;
                close(fd);
                close(end);
            }
        }
    }
}

int main(int count, char **words)
{
    long threads = count > 3 ? atol(words[3]) : sysconf(_SC_NPROCESSORS_ONLN);

    if (count < 3) {
        fprintf(stderr, "null-relay PORT ORIGIN [threads [microseconds]]\n");
        return 2;
    }
    port = atoi(words[1]);
    origin = atoi(words[2]);
    computing = count > 4 ? atol(words[4]) * 1000 / 2 : 0;
    for (long i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, serve, NULL);
    }
    pause();
}

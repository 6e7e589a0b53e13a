/* An upstream resolver that is never the bottleneck: it answers every question after a fixed delay.
 *
 * One thread a port. Queries are taken by recvmmsg, wait in a ring (the delay is the same for all,
 * so the first in is the first out) and leave by sendmmsg. An A or AAAA question gets an address
 * made of the hash of its name, so that whoever checks can tell a right answer from a swapped one;
 * a name below "invalid" is NXDOMAIN; other types are empty. "queries.null TXT" tells at once how
 * many questions all ports were asked so far (itself not counted). Letters keep their case in the
 * answer and lose it in the hash. TCP on the same ports answers what one read brought by one
 * write, a thread a connection: enough for servers that pass a client's TCP on.
 *
 *   cc -O2 -pthread -o null-upstream upstream.c && ./null-upstream DELAY_MICROSECONDS PORT...
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, PACKET_MAX = 600, QUERY_MAX = 512, RING = 1 << 15, TTL = 3600 };

struct waiting {
    uint64_t due; /* nanoseconds of the monotonic clock */
    struct sockaddr_in client;
    uint16_t length;
    unsigned char packet[PACKET_MAX];
};

static uint64_t delay;
static atomic_ulong asked;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Turns the query in `packet` into its answer; the answer's length, or 0 for what is no query.
 * FNV-1a over the lower-case name in wire form; `*at_once` is set for the count. */
static size_t answer(unsigned char *packet, size_t length, int *at_once)
{
    static const unsigned char count_name[] = "\7queries\4null";
    uint32_t hash = 2166136261u;
    size_t end = 12, last = 12;

    *at_once = 0;
    if (length < 17 || packet[2] & 0x80)
        return 0;
    while (end < length && packet[end] != 0) {
        last = end;
        end += packet[end] + 1;
    }
    if (end + 5 > length)
        return 0;
    for (size_t i = 12; i < end; i++) {
        unsigned char byte = packet[i];
        hash = (hash ^ (byte >= 'A' && byte <= 'Z' ? byte + 32 : byte)) * 16777619u;
    }
    int type = packet[end + 1] << 8 | packet[end + 2];
    int invalid = end - last == 8 && memcmp(packet + last, "\7invalid", 8) == 0;
    int count = type == 16 && end - 12 == sizeof count_name - 1
        && memcmp(packet + 12, count_name, sizeof count_name - 1) == 0;
    end += 5;
    unsigned char *record = packet + end;
    size_t data = 0;
    if (count) {
        data = (size_t)sprintf((char *)record + 13, "%lu", atomic_load(&asked)) + 1;
        record[12] = (unsigned char)(data - 1);
        *at_once = 1;
    } else {
        atomic_fetch_add(&asked, 1);
        if (!invalid && type == 1) { /* 198.18.0.0/15 is for benchmarks, RFC 2544 */
            data = 4;
            memcpy(record + 12, (unsigned char[]){ 198, 18 | (hash >> 16 & 1), hash >> 8, hash }, 4);
        } else if (!invalid && type == 28) {
            data = 16;
            memcpy(record + 12, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0", 12);
            memcpy(record + 24, (unsigned char[]){ hash >> 24, hash >> 16, hash >> 8, hash }, 4);
        }
    }
    packet[2] = 0x80 | (packet[2] & 0x79);
    packet[3] = 0x80 | (invalid ? 3 : 0);
    memcpy(packet + 4, "\0\1\0\0\0\0\0\0", 8);
    if (data == 0)
        return end;
    packet[7] = 1;
    memcpy(record, (unsigned char[]){ 0xc0, 12, 0, (unsigned char)type, 0, 1,
        TTL >> 24, TTL >> 16 & 255, TTL >> 8 & 255, TTL & 255, 0, (unsigned char)data }, 12);
    return end + 12 + data;
}

/* Sends what is due of the ring; the number that left. */
static unsigned leave(int fd, struct waiting *ring, unsigned head, unsigned tail, uint64_t time)
{
    struct iovec vectors[BATCH];
    struct mmsghdr heads[BATCH] = { 0 };
    unsigned ready = 0;

    while (ready < BATCH && head + ready != tail && ring[(head + ready) % RING].due <= time) {
        struct waiting *one = &ring[(head + ready) % RING];
        vectors[ready] = (struct iovec){ one->packet, one->length };
        heads[ready].msg_hdr = (struct msghdr){
            .msg_name = &one->client, .msg_namelen = sizeof one->client,
            .msg_iov = &vectors[ready], .msg_iovlen = 1,
        };
        ready++;
    }
    for (unsigned sent = 0; sent < ready;) {
        int left = sendmmsg(fd, heads + sent, ready - sent, 0);
        sent += left > 0 ? (unsigned)left : 1; /* one that cannot be sent is lost, as on a network */
    }
    return ready;
}

/* Takes what has come into the ring; at its cap the datagram is dropped. */
static unsigned take(int fd, struct waiting *ring, unsigned head, unsigned tail)
{
    static __thread unsigned char packets[BATCH][PACKET_MAX];
    static __thread struct sockaddr_in clients[BATCH];
    struct iovec vectors[BATCH];
    struct mmsghdr heads[BATCH] = { 0 };
    unsigned added = 0;

    for (int i = 0; i < BATCH; i++) {
        vectors[i] = (struct iovec){ packets[i], QUERY_MAX };
        heads[i].msg_hdr = (struct msghdr){
            .msg_name = &clients[i], .msg_namelen = sizeof clients[i],
            .msg_iov = &vectors[i], .msg_iovlen = 1,
        };
    }
    int got = recvmmsg(fd, heads, BATCH, MSG_DONTWAIT, NULL);
    uint64_t due = now() + delay;
    for (int i = 0; i < got; i++) {
        int at_once;
        size_t length = answer(packets[i], heads[i].msg_len, &at_once);
        if (at_once)
            sendto(fd, packets[i], length, 0, (struct sockaddr *)&clients[i], sizeof clients[i]);
        else if (length != 0 && tail + added - head < RING) {
            struct waiting *one = &ring[(tail + added++) % RING];
            one->due = due;
            one->client = clients[i];
            one->length = (uint16_t)length;
            memcpy(one->packet, packets[i], length);
        }
    }
    return added;
}

/* One TCP connection: whole frames of what is there wait together and leave together. */
static void *converse(void *number)
{
    static __thread unsigned char in[1 << 14], out[1 << 17];
    int fd = (int)(intptr_t)number;
    size_t have = 0;

    for (ssize_t got; (got = read(fd, in + have, sizeof in - have)) > 0;) {
        size_t used = 0, made = 0;
        have += (size_t)got;
        while (have - used >= 2 && made + PACKET_MAX + 2 < sizeof out) {
            size_t length = (size_t)in[used] << 8 | in[used + 1];
            int at_once;
            if (length > QUERY_MAX)
                goto end;
            if (have - used < length + 2)
                break;
            memcpy(out + made + 2, in + used + 2, length);
            used += length + 2;
            if ((length = answer(out + made + 2, length, &at_once)) == 0)
                goto end;
            out[made] = length >> 8;
            out[made + 1] = length & 255;
            made += length + 2;
        }
        memmove(in, in + used, have -= used);
        if (made == 0)
            continue;
        usleep((useconds_t)(delay / 1000));
        for (size_t sent = 0; sent < made;) {
            ssize_t left = write(fd, out + sent, made - sent);
            if (left <= 0)
                goto end;
            sent += (size_t)left;
        }
    }
end:
    close(fd);
    return NULL;
}

static void *accept_all(void *port)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    pthread_t thread;

    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&here, sizeof here) < 0 || listen(fd, 1024) < 0) {
        perror(port);
        exit(1);
    }
    for (int client; (client = accept(fd, NULL, NULL)) >= 0;) {
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (pthread_create(&thread, NULL, converse, (void *)(intptr_t)client) == 0)
            pthread_detach(thread);
        else
            close(client);
    }
    return NULL;
}

static void *serve(void *port)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
    struct waiting *ring = calloc(RING, sizeof *ring);
    int fd = socket(AF_INET, SOCK_DGRAM, 0), poll = epoll_create1(0), size = 8 << 20;
    unsigned head = 0, tail = 0;
    struct epoll_event event = { .events = EPOLLIN };

    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (ring == NULL || bind(fd, (struct sockaddr *)&here, sizeof here) < 0) {
        perror(port);
        exit(1);
    }
    epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
    for (;;) {
        struct timespec wait = { 0, 0 }, *until = NULL;
        if (head != tail) {
            uint64_t due = ring[head % RING].due, time = now();
            uint64_t left = due > time ? due - time : 0;
            wait = (struct timespec){ (time_t)(left / 1000000000u), (long)(left % 1000000000u) };
            until = &wait;
        }
        int ready = epoll_pwait2(poll, &event, 1, until, NULL);
        if (ready > 0)
            tail += take(fd, ring, head, tail);
        uint64_t time = now();
        for (unsigned left; (left = leave(fd, ring, head, tail, time)) > 0;)
            head += left;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc < 3) {
        fprintf(stderr, "usage: %s DELAY_MICROSECONDS PORT...\n", argv[0]);
        return 2;
    }
    delay = strtoull(argv[1], NULL, 10) * 1000u;
    signal(SIGPIPE, SIG_IGN);
    for (int i = 2; i < argc; i++)
        pthread_create(&thread, NULL, accept_all, argv[i]);
    for (int i = 3; i < argc; i++)
        pthread_create(&thread, NULL, serve, argv[i]);
    serve(argv[2]);
}

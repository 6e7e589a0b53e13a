/* The floor of a UDP DNS forwarder: the system calls, and nothing else.
 *
 * Each thread has a SO_REUSEPORT socket for clients and one socket to the upstream on loopback. It
 * waits for both by poll, takes up to 64 datagrams by recvmmsg, puts a number of its own in place of
 * the client's and sends them on by sendmmsg; answers go back the same way. It checks, decides and
 * keeps nothing; whoever is not answered is forgotten after 65,536 others.
 *
 *   cc -O2 -pthread -o null-forward forward.c && ./null-forward 5399 5400 [threads]
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BATCH = 64, BYTES = 1500, NUMBERS = 65536 };

struct batch {
    struct mmsghdr heads[BATCH];
    struct iovec parts[BATCH];
    struct sockaddr_in peers[BATCH];
    unsigned char bytes[BATCH][BYTES];
};

struct worker {
    int clients, upstream;
    uint16_t next;
    struct batch batch;
    struct { struct sockaddr_in peer; uint16_t id; } waiting[NUMBERS];
};

static int open_socket(void) {
    int size = 4 << 20, yes = 1;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
    return fd;
}

static int receive(struct batch *it, int fd) {
    for (int i = 0; i < BATCH; i++) {
        it->parts[i] = (struct iovec){it->bytes[i], BYTES};
        it->heads[i].msg_hdr = (struct msghdr){.msg_iov = &it->parts[i], .msg_iovlen = 1,
            .msg_name = &it->peers[i], .msg_namelen = sizeof it->peers[i]};
    }
    int count = recvmmsg(fd, it->heads, BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < count; i++) it->parts[i].iov_len = it->heads[i].msg_len;
    return count;
}

static void ask(struct worker *it) {
    int count = receive(&it->batch, it->clients);
    for (int i = 0; i < count; i++) {
        unsigned char *message = it->batch.bytes[i];
        uint16_t number = it->next++;
        it->waiting[number].peer = it->batch.peers[i];
        memcpy(&it->waiting[number].id, message, 2);
        memcpy(message, &number, 2);
        it->batch.heads[i].msg_hdr.msg_name = NULL;
        it->batch.heads[i].msg_hdr.msg_namelen = 0;
    }
    if (count > 0) sendmmsg(it->upstream, it->batch.heads, count, 0);
}

static void answer(struct worker *it) {
    int count = receive(&it->batch, it->upstream);
    for (int i = 0; i < count; i++) {
        unsigned char *message = it->batch.bytes[i];
        uint16_t number;
        memcpy(&number, message, 2);
        memcpy(message, &it->waiting[number].id, 2);
        it->batch.peers[i] = it->waiting[number].peer;
        it->batch.heads[i].msg_hdr.msg_namelen = sizeof it->batch.peers[i];
    }
    if (count > 0) sendmmsg(it->clients, it->batch.heads, count, 0);
}

static void *work(void *given) {
    struct worker *it = given;
    struct pollfd both[] = {{it->clients, POLLIN, 0}, {it->upstream, POLLIN, 0}};
    for (;;) {
        poll(both, 2, -1);
        if (both[0].revents) ask(it);
        if (both[1].revents) answer(it);
    }
    return NULL;
}

int main(int count, char **args) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(count > 1 ? atoi(args[1]) : 5399)};
    struct sockaddr_in upstream = own;
    own.sin_addr.s_addr = upstream.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    upstream.sin_port = htons(count > 2 ? atoi(args[2]) : 5400);
    for (long i = count > 3 ? atoi(args[3]) : sysconf(_SC_NPROCESSORS_ONLN); i > 0; i--) {
        struct worker *it = calloc(1, sizeof *it);
        pthread_t thread;
        it->clients = open_socket();
        it->upstream = open_socket();
        if (bind(it->clients, (void *)&own, sizeof own) || connect(it->upstream, (void *)&upstream, sizeof upstream))
            return perror("forward"), 1;
        if (pthread_create(&thread, NULL, work, it)) return perror("forward"), 1;
    }
    pause();
}

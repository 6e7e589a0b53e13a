/* The floor of a UDP DNS server: the system calls, and nothing else.
 *
 * Takes up to 64 datagrams by recvmmsg, turns each into an answer with one fixed A record and
 * sends them by sendmmsg; one thread and one SO_REUSEPORT socket per core. It reads no name,
 * decides nothing and checks only that there is room. What a real server costs above this is what
 * it does for its users.
 *
 *   cc -O2 -pthread -o null-dns dns.c && ./null-dns 5399 [threads]
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BATCH = 64, QUERY_MAX = 512, ANSWER_BYTES = 16 };

static int port;

static void *serve(void *unused)
{
    static const unsigned char record[ANSWER_BYTES] = {
        0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1
    };
    static __thread unsigned char packets[BATCH][QUERY_MAX + ANSWER_BYTES];
    static __thread struct sockaddr_in names[BATCH];
    static __thread struct iovec vectors[BATCH];
    static __thread struct mmsghdr heads[BATCH];
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1, size = 4 << 20;

    (void)unused;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (bind(fd, (struct sockaddr *)&here, sizeof here) < 0) {
        perror("bind");
        exit(1);
    }
    for (int i = 0; i < BATCH; i++) {
        vectors[i].iov_base = packets[i];
        heads[i].msg_hdr = (struct msghdr){
            .msg_name = &names[i], .msg_iov = &vectors[i], .msg_iovlen = 1,
        };
    }
    for (int used = BATCH;;) {
        for (int i = 0; i < used; i++) { /* the kernel and we have shortened these */
            vectors[i].iov_len = QUERY_MAX;
            heads[i].msg_hdr.msg_namelen = sizeof names[i];
        }
        int got = recvmmsg(fd, heads, BATCH, MSG_WAITFORONE, NULL);
        used = got > 0 ? got : 0;
        for (int i = 0; i < got; i++) {
            unsigned char *packet = packets[i];
            size_t length = heads[i].msg_len, end = 12;
            while (end < length && packet[end] != 0)
                end += packet[end] + 1;
            end += 5; /* the root label, type and class */
            if (end > length)
                end = length < 12 ? 12 : length;
            packet[2] = 0x81; /* a response, recursion desired */
            packet[3] = 0x80; /* recursion available, no error */
            memcpy(packet + 4, "\0\1\0\1\0\0\0\0", 8);
            memcpy(packet + end, record, sizeof record);
            vectors[i].iov_len = end + sizeof record;
        }
        if (got > 0)
            sendmmsg(fd, heads, got, 0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t thread;

    port = argc > 1 ? atoi(argv[1]) : 5399;
    for (int i = 1; i < threads; i++)
        pthread_create(&thread, NULL, serve, NULL);
    serve(NULL);
}

/*
 * dns-relay: forwards DNS queries over UDP from a node's network namespace to a resolver that listens on the loopback of the machine's.
 *
 *   dns-relay ADDRESS PORT NAMESPACE RESOLVER RESOLVER_PORT
 *
 * Listens on ADDRESS:PORT of the network namespace in which it is started, then enters the one that is mounted on the file NAMESPACE and
 * sends each query to RESOLVER from there, from a port of its own. A query without an answer is forgotten after some seconds; while too many
 * wait, further ones are dropped, and clients ask again. Both addresses are IP addresses. Exit status 2: cannot start.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { QUERIES = 256, SECONDS = 10, DATAGRAM = 65536 };

/* A query that waits for its answer on `fds[index]`. */
struct query {
    struct sockaddr_storage client;
    socklen_t size;
    time_t until;
};

/* The first is the listener's. */
static struct pollfd fds[QUERIES + 1];
static struct query queries[QUERIES + 1];
static nfds_t count = 1;
static struct addrinfo *resolver;

static void fail(const char *what) {
    fprintf(stderr, "dns-relay: %s: %s\n", what, strerror(errno));
    exit(2);
}

static struct addrinfo *address_of(const char *address, const char *port) {
    struct addrinfo *found, hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    int problem = getaddrinfo(address, port, &hints, &found);
    if (problem == 0) return found;
    fprintf(stderr, "dns-relay: %s port %s: %s\n", address, port, gai_strerror(problem));
    exit(2);
}

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* The last one takes its place. */
static void forget(nfds_t index) {
    close(fds[index].fd);
    count--;
    fds[index] = fds[count];
    queries[index] = queries[count];
}

static void ask(void) {
    char bytes[DATAGRAM];
    struct query query = {.size = sizeof query.client, .until = now() + SECONDS};
    ssize_t size = recvfrom(fds[0].fd, bytes, sizeof bytes, 0, (struct sockaddr *)&query.client, &query.size);
    if (size < 0 || count > QUERIES) return;
    int fd = socket(resolver->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return;
    if (connect(fd, resolver->ai_addr, resolver->ai_addrlen) < 0 || send(fd, bytes, (size_t)size, 0) < 0) {
        close(fd);
        return;
    }
    fds[count] = (struct pollfd){.fd = fd, .events = POLLIN};
    queries[count++] = query;
}

/* An error, such as that no resolver listens there, is no answer: the client asks another one. */
static void answer(nfds_t index) {
    char bytes[DATAGRAM];
    ssize_t size = recv(fds[index].fd, bytes, sizeof bytes, 0);
    const struct query *query = &queries[index];
    if (size >= 0) sendto(fds[0].fd, bytes, (size_t)size, 0, (const struct sockaddr *)&query->client, query->size);
    forget(index);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: dns-relay ADDRESS PORT NAMESPACE RESOLVER RESOLVER_PORT\n");
        return 2;
    }
    struct addrinfo *own = address_of(argv[1], argv[2]);
    resolver = address_of(argv[4], argv[5]);
    int listener = socket(own->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0 || bind(listener, own->ai_addr, own->ai_addrlen) < 0) fail(argv[1]);
    freeaddrinfo(own);
    fds[0] = (struct pollfd){.fd = listener, .events = POLLIN};
    int namespace = open(argv[3], O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, CLONE_NEWNET) < 0) fail(argv[3]);
    close(namespace);
    fprintf(stderr, "dns-relay: forwarding %s port %s to %s port %s\n", argv[1], argv[2], argv[4], argv[5]);
    for (;;) {
        /* Without queries there is nothing to forget. */
        if (poll(fds, count, count > 1 ? 1000 : -1) < 0 && errno != EINTR) fail("poll");
        for (nfds_t index = count - 1; index > 0; index--) {
            if (fds[index].revents != 0)
                answer(index);
            else if (queries[index].until < now())
                forget(index);
        }
        if (fds[0].revents != 0) ask();
    }
}

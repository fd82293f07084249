/*
 * port-relay: forwards TCP between a node's network namespace and the machine's: to NATS, an API server or a registry outside of the node,
 * or to a port of a pod.
 *
 *   port-relay [ADDRESS:]PORT NAMESPACE HOST SERVER_PORT
 *
 * Listens on ADDRESS (an IP address; default: 127.0.0.1) and PORT of the network namespace in which it is started, then enters the one that
 * is mounted on the file NAMESPACE and connects to HOST:SERVER_PORT from there, once for each client. Bytes and the end of each direction are forwarded unchanged, with back
 * pressure. While the server cannot be reached, clients are disconnected at once, and connect again by themselves.
 *
 * Writes to standard error when it is ready, when the server becomes unreachable and when it is reachable again. Exit status 2: cannot start.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 32768, STACK = 262144, BACKLOG = 128 };
/* Seconds: limit of a connect; idle time before TCP keepalive, and its interval; TCP_USER_TIMEOUT. */
enum { CONNECT = 3, QUIET = 15, AGAIN = 5, LOST = 30 };

/* Two sockets that are joined, one thread for each direction; the last one to end closes both. */
struct link {
    int client, server;
    atomic_int directions;
};

static const char *host, *port;
static atomic_bool lost;

static void fail(const char *what) {
    fprintf(stderr, "port-relay: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* One line for each change, not for each attempt. */
static void report_reachable(void) {
    if (atomic_exchange(&lost, false)) fprintf(stderr, "port-relay: %s port %s is reachable again\n", host, port);
}

static void report_unreachable(const char *why) {
    if (!atomic_exchange(&lost, true)) fprintf(stderr, "port-relay: cannot reach %s port %s: %s\n", host, port, why);
}

static void set(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

/* Without these, connections to a machine that has disappeared would stay open for ever. */
static void prepare(int server) {
    struct timeval limit = {.tv_sec = CONNECT};
    setsockopt(server, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* of connect, too */
    set(server, IPPROTO_TCP, TCP_NODELAY, 1);
    set(server, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(server, IPPROTO_TCP, TCP_KEEPIDLE, QUIET);
    set(server, IPPROTO_TCP, TCP_KEEPINTVL, AGAIN);
    set(server, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(server, IPPROTO_TCP, TCP_USER_TIMEOUT, LOST * 1000);
}

/* Connects to the first of the server's addresses that accepts; -1 when none does. */
static int connect_server(void) {
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM};
    int problem = getaddrinfo(host, port, &hints, &found);
    if (problem != 0) {
        report_unreachable(gai_strerror(problem));
        return -1;
    }
    int server = -1, error = 0;
    for (struct addrinfo *at = found; at != NULL && server < 0; at = at->ai_next) {
        server = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (server >= 0) prepare(server);
        if (server >= 0 && connect(server, at->ai_addr, at->ai_addrlen) == 0) break;
        error = errno == EINPROGRESS ? ETIMEDOUT : errno;
        if (server >= 0) close(server);
        server = -1;
    }
    freeaddrinfo(found);
    if (server < 0) {
        report_unreachable(strerror(error));
        return -1;
    }
    /* No limit for a server that reads slowly; TCP_USER_TIMEOUT detects one that has disappeared. */
    struct timeval unlimited = {0};
    setsockopt(server, SOL_SOCKET, SO_SNDTIMEO, &unlimited, sizeof unlimited);
    report_reachable();
    return server;
}

static bool write_all(int to, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t put = write(to, bytes, size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        bytes += put, size -= (size_t)put;
    }
    return true;
}

/* Copies until `from` ends or one of the two fails. An end closes this direction only, a failure both. */
static void copy(int from, int to) {
    char bytes[BUFFER];
    ssize_t got;
    do {
        got = read(from, bytes, sizeof bytes);
    } while ((got < 0 && errno == EINTR) || (got > 0 && write_all(to, bytes, (size_t)got)));
    if (got == 0) {
        shutdown(to, SHUT_WR);
    } else {
        shutdown(from, SHUT_RDWR);
        shutdown(to, SHUT_RDWR);
    }
}

static void release(struct link *link) {
    if (atomic_fetch_sub(&link->directions, 1) > 1) return;
    close(link->client);
    if (link->server >= 0) close(link->server);
    free(link);
}

static bool start_thread(void *(*action)(void *), struct link *link) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int problem = pthread_create(&thread, &attributes, action, link);
    pthread_attr_destroy(&attributes);
    if (problem != 0) fprintf(stderr, "port-relay: cannot create a thread for a connection: %s\n", strerror(problem));
    return problem == 0;
}

static void *to_client(void *argument) {
    struct link *link = argument;
    copy(link->server, link->client);
    release(link);
    return NULL;
}

static void *serve(void *argument) {
    struct link *link = argument;
    link->server = connect_server();
    if (link->server >= 0) {
        atomic_store(&link->directions, 2);
        if (start_thread(to_client, link))
            copy(link->client, link->server);
        else
            atomic_store(&link->directions, 1);
    }
    release(link);
    return NULL;
}

/* Listens on `[ADDRESS:]PORT`. */
static int listen_on(const char *where) {
    char address[256] = "127.0.0.1";
    const char *number = strrchr(where, ':');
    if (number != NULL) snprintf(address, sizeof address, "%.*s", (int)(number - where), where);
    number = number == NULL ? where : number + 1;
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    int problem = getaddrinfo(address, number, &hints, &found);
    if (problem != 0) {
        fprintf(stderr, "port-relay: %s: %s\n", where, gai_strerror(problem));
        exit(2);
    }
    int listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0) fail("socket");
    set(listener, SOL_SOCKET, SO_REUSEADDR, 1);
    set(listener, IPPROTO_TCP, TCP_NODELAY, 1); /* accepted connections inherit it */
    if (bind(listener, found->ai_addr, found->ai_addrlen) < 0 || listen(listener, BACKLOG) < 0) fail(where);
    freeaddrinfo(found);
    return listener;
}

/* Called before the first thread is created: setns affects the calling thread and the threads that it creates later. */
static void enter(const char *namespace) {
    int file = open(namespace, O_RDONLY | O_CLOEXEC);
    if (file < 0 || setns(file, CLONE_NEWNET) < 0) fail(namespace);
    close(file);
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: port-relay [ADDRESS:]PORT NAMESPACE HOST SERVER_PORT\n");
        return 2;
    }
    host = argv[3], port = argv[4];
    signal(SIGPIPE, SIG_IGN);
    int listener = listen_on(argv[1]);
    enter(argv[2]);
    fprintf(stderr, "port-relay: forwarding %s to %s port %s\n", argv[1], host, port);
    for (;;) {
        int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0) {
            /* Out of descriptors or memory: wait until other connections have ended. */
            if (errno != EINTR && errno != ECONNABORTED) nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
            continue;
        }
        struct link *link = malloc(sizeof *link);
        if (link == NULL) {
            close(client);
            continue;
        }
        *link = (struct link){.client = client, .server = -1, .directions = 1};
        if (!start_thread(serve, link)) release(link);
    }
}

/*
 * stream-relay: forwards the bytes between a client of the node API and the runtime's streaming server.
 *
 *   stream-relay IDLE LINGER END_FIRST TO_CLIENT TO_RUNTIME
 *
 * Descriptor 3 is the connection to the client, 4 the one to the runtime; no other process reads or writes them any more.
 * What has been read from them already is on standard input: TO_CLIENT bytes for the client, then TO_RUNTIME bytes for the
 * runtime. The end of standard input ends both connections, so that no relay outlives the process that started it.
 *
 * The client's end is forwarded. When the runtime has ended and everything is on its way to the client, the client has LINGER
 * milliseconds to end its side, and what it still sends is dropped; with END_FIRST 1 it is sent the end before. After IDLE
 * milliseconds without a byte, both end.
 *
 * Whatever is sent to a runtime that has ended makes the kernel discard what the runtime wrote before and the client has not
 * received yet (RFC 9293 section 3.6.1). So while the client is slower than the runtime, what the client sends is dropped as
 * soon as the kernel's table of connections says that the runtime has ended.
 *
 * Bytes go from socket to socket within the kernel (splice). At the end, one line on standard output contains how many
 * bytes went to the runtime and to the client, and what broke the connection, if anything did. Exit status 2: it was not
 * started as above.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { OWNER = STDIN_FILENO, CLIENT = 3, RUNTIME = 4, PIPE = 262144 };

/* One direction. The pipe contains what has been read and not been written yet. */
struct way {
    int from, to, in, out;
    size_t held;
    bool ended, reported;
    unsigned long long passed;
};

static struct way to_runtime = {.from = CLIENT, .to = RUNTIME}, to_client = {.from = RUNTIME, .to = CLIENT};
/* Everything that the runtime has sent so far has been read. */
static bool all_read;
/* What broke the runtime's connection. */
static const char *broken = "";

static void end(const char *problem) {
    printf("%llu %llu %s\n", to_runtime.passed, to_client.passed, problem);
    exit(0);
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* Creates the pipe with what was read before the relay had the connection; that has to fit. */
static void take_early(struct way *way, size_t size) {
    int ends[2];
    if (pipe2(ends, O_NONBLOCK) < 0 || fcntl(ends[0], F_SETPIPE_SZ, PIPE) < 0) exit(2);
    way->out = ends[0], way->in = ends[1];
    char bytes[4096];
    while (way->held < size) {
        size_t left = size - way->held;
        ssize_t got = read(OWNER, bytes, left < sizeof bytes ? left : sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 || write(way->in, bytes, (size_t)got) != got) exit(2);
        way->held += (size_t)got;
    }
}

static int port_of(const struct sockaddr_storage *address) {
    return ntohs(address->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                                : ((const struct sockaddr_in *)address)->sin_port);
}

/* Whether a table (proc(5)) has the runtime's end of its connection: 0 no, 1 in a state in which it reads, -1 in another one. */
static int end_in(const char *table, int from, int to) {
    FILE *rows = fopen(table, "re");
    char row[512];
    int found = 0;
    while (rows != NULL && found != 1 && fgets(row, sizeof row, rows) != NULL) {
        unsigned local, remote, state;
        if (sscanf(row, " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%x %x", &local, &remote, &state) != 3) continue;
        if ((int)local != from || (int)remote != to) continue;
        found = state == 1 || state == 8 ? 1 : -1;
    }
    if (rows != NULL) fclose(rows);
    return found;
}

/* Whether the process at the runtime's end still reads; true when that end is not in this network namespace. */
static bool runtime_reads(void) {
    struct sockaddr_storage here, there;
    socklen_t size = sizeof here, other = sizeof there;
    if (getsockname(RUNTIME, (struct sockaddr *)&here, &size) < 0) return true;
    if (getpeername(RUNTIME, (struct sockaddr *)&there, &other) < 0) return false;
    int one = end_in("/proc/self/net/tcp", port_of(&there), port_of(&here));
    int two = one == 1 ? 0 : end_in("/proc/self/net/tcp6", port_of(&there), port_of(&here));
    return one == 1 || two == 1 || one + two == 0;
}

/* From here on what the client sends is dropped. */
static bool drop_input(void) {
    if ((to_runtime.to = open("/dev/null", O_WRONLY | O_CLOEXEC)) < 0) end(strerror(errno));
    return true;
}

/* Reads or writes what can be read or written now; false when that is nothing. */
static bool pass(struct way *way) {
    if (way->reported) return false;
    if (way->held == 0 && !way->ended) {
        ssize_t got = splice(way->from, NULL, way->in, NULL, PIPE, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (way == &to_client) all_read = got < 0 && errno == EAGAIN;
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            if (way->from != RUNTIME) end(strerror(errno));
            broken = strerror(errno), got = 0;
        }
        if (got < 0) return false;
        way->held = (size_t)got, way->ended = got == 0;
    }
    if (way->held > 0) {
        if (way->to == RUNTIME && !all_read && !runtime_reads()) return drop_input();
        ssize_t put = splice(way->out, NULL, way->to, NULL, way->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (put < 0 && errno != EAGAIN && errno != EINTR) {
            if (way->to != RUNTIME) end(strerror(errno));
            /* It may have written something that the client has not received yet. */
            return drop_input();
        }
        if (put < 0) return false;
        way->held -= (size_t)put, way->passed += (size_t)put;
        return put > 0;
    }
    way->reported = true;
    if (way->to == RUNTIME) shutdown(RUNTIME, SHUT_WR);
    return true;
}

static void wait_for(struct way *way, struct pollfd *from, struct pollfd *to) {
    if (way->reported) return;
    if (way->held == 0) from->events |= POLLIN;
    else to->events |= POLLOUT;
}

/* Drops what arrives until the client ends its side. */
static void linger(long long until) {
    char bytes[4096];
    for (long long left; !to_runtime.ended && (left = until - now()) > 0;) {
        struct pollfd some[2] = {{.fd = OWNER, .events = POLLIN}, {.fd = CLIENT, .events = POLLIN}};
        if (poll(some, 2, (int)left) < 0 && errno != EINTR) break;
        if (some[0].revents) break;
        if (!some[1].revents) continue;
        ssize_t got = read(CLIENT, bytes, sizeof bytes);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) break;
    }
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: stream-relay IDLE LINGER END_FIRST TO_CLIENT TO_RUNTIME\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (int side = CLIENT; side <= RUNTIME; side++)
        if (fcntl(side, F_SETFL, O_NONBLOCK) < 0) return 2;
    long long idle = atoll(argv[1]), moved = now();
    take_early(&to_client, strtoul(argv[4], NULL, 10));
    take_early(&to_runtime, strtoul(argv[5], NULL, 10));
    while (!to_client.reported) {
        if (pass(&to_client) | pass(&to_runtime)) {
            moved = now();
            struct pollfd owner = {.fd = OWNER, .events = POLLIN};
            if (poll(&owner, 1, 0) > 0) end("ended by the node");
            continue;
        }
        struct pollfd some[3] = {{.fd = OWNER, .events = POLLIN}, {.fd = CLIENT}, {.fd = RUNTIME}};
        wait_for(&to_client, &some[2], &some[1]);
        wait_for(&to_runtime, &some[1], &some[2]);
        /* A side that is not awaited would wake the process forever once it is closed. */
        for (int at = 1; at < 3; at++)
            if (some[at].events == 0) some[at].fd = -1;
        long long left = idle - (now() - moved);
        if (left <= 0) end("idle for too long");
        if (poll(some, 3, left > 60000 ? 60000 : (int)left) < 0 && errno != EINTR) end(strerror(errno));
        if (some[0].revents) end("ended by the node");
    }
    if (atoi(argv[3]) || broken[0] != '\0') shutdown(CLIENT, SHUT_WR);
    linger(now() + atoll(argv[2]));
    end(broken);
}

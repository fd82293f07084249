/*
 * cri-relay: keeps a gRPC call alive when its caller dies.
 *
 * A gRPC server cancels a call when the client's connection closes. When the caller is killed in the middle of
 * RunPodSandbox or StartContainer, the runtime would stop half way and call the container failed. So the caller connects
 * through this process, which copies bytes between both sides. When the caller's side closes, the runtime's side stays
 * open, its answers dropped, until every call that was sent completely has been answered.
 *
 *   cri-relay LISTEN RUNTIME IDLE_SECONDS
 *
 * LISTEN   unix socket to make (mode 0600); each connection to it gets one of its own to RUNTIME.
 * IDLE     a connection without its caller is closed when the runtime sends nothing for this time.
 * stdin    never read; its end means that the caller has ended or is done. stdout: one line when LISTEN is ready.
 *
 * Which calls are open is seen from the HTTP/2 frame heads that pass (RFC 9113, section 4.1); nothing else is looked at.
 * Ends when the caller has ended and no call is open; at once on SIGTERM. Exit status 2: could not start.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAX_LINKS = 64, MAX_CALLS = 1024, BUFFER = 65536, HEAD = 9, PREFACE = 24 };
enum { FRAME_DATA = 0, FRAME_HEADERS = 1, FRAME_RST_STREAM = 3, FLAG_END_STREAM = 1 };

/* One direction of a link: what was read and not yet written, and where in the sequence of frames it is. */
struct flow {
    unsigned char bytes[BUFFER];
    size_t from, to;
    unsigned char head[HEAD];
    size_t head_size, skip; /* skip: bytes of preface or payload still to pass */
    bool in_frame;
};

struct link {
    int caller, runtime; /* -1: closed */
    struct flow up, down;
    uint32_t calls[MAX_CALLS]; /* streams with a complete request and no answer yet */
    size_t call_count;
    time_t last_byte; /* when the runtime last sent something, or the caller left */
};

static struct link *links[MAX_LINKS];
static size_t link_count;
static struct sockaddr_un listen_at = {.sun_family = AF_UNIX}, runtime_at = {.sun_family = AF_UNIX};

static time_t seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static void on_term(int signal_number) {
    (void)signal_number;
    unlink(listen_at.sun_path);
    _exit(0);
}

static void call_began(struct link *link, uint32_t stream) {
    /* A call that finds no room is not held: better than holding for ever. 1024 at once do not occur. */
    if (link->call_count < MAX_CALLS) link->calls[link->call_count++] = stream;
}

static void call_ended(struct link *link, uint32_t stream) {
    for (size_t i = 0; i < link->call_count; i++) {
        if (link->calls[i] == stream) {
            link->calls[i] = link->calls[--link->call_count];
            return;
        }
    }
}

/* A whole frame has passed. A caller's END_STREAM completes a request, a runtime's completes the answer. */
static void frame_passed(struct link *link, struct flow *flow) {
    unsigned type = flow->head[3], flags = flow->head[4];
    uint32_t stream = (flow->head[5] & 0x7fu) << 24 | flow->head[6] << 16 | flow->head[7] << 8 | flow->head[8];
    bool ends = (type == FRAME_DATA || type == FRAME_HEADERS) && (flags & FLAG_END_STREAM);
    if (type == FRAME_RST_STREAM || (ends && flow == &link->down))
        call_ended(link, stream);
    else if (ends)
        call_began(link, stream);
}

static void follow(struct link *link, struct flow *flow, const unsigned char *bytes, size_t size) {
    while (size > 0 || (flow->in_frame && flow->skip == 0)) {
        if (flow->skip > 0) {
            size_t part = size < flow->skip ? size : flow->skip;
            flow->skip -= part, bytes += part, size -= part;
        } else if (flow->in_frame) {
            flow->in_frame = false;
            frame_passed(link, flow);
        } else {
            flow->head[flow->head_size++] = *bytes++, size--;
            if (flow->head_size == HEAD) {
                flow->head_size = 0, flow->in_frame = true;
                flow->skip = (size_t)flow->head[0] << 16 | flow->head[1] << 8 | flow->head[2];
            }
        }
    }
}

static void close_caller(struct link *link) {
    if (link->caller >= 0) close(link->caller);
    link->caller = -1;
    link->last_byte = seconds();
}

static void close_link(struct link *link) {
    if (link->caller >= 0) close(link->caller);
    if (link->runtime >= 0) close(link->runtime);
    link->caller = link->runtime = -1;
}

/* Reads once. False: that side has closed. */
static bool fill(struct link *link, struct flow *flow, int from) {
    ssize_t got = read(from, flow->bytes, BUFFER);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    flow->from = 0, flow->to = (size_t)got;
    follow(link, flow, flow->bytes, (size_t)got);
    return true;
}

/* Writes what it can. False: that side has closed. */
static bool drain(struct flow *flow, int to) {
    while (flow->from < flow->to) {
        ssize_t put = write(to, flow->bytes + flow->from, flow->to - flow->from);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return errno == EAGAIN;
        flow->from += (size_t)put;
    }
    return true;
}

static bool pending(const struct flow *flow) { return flow->from < flow->to; }

static void serve(struct link *link, short caller_events, short runtime_events) {
    if (runtime_events & (POLLIN | POLLHUP | POLLERR) && !pending(&link->down)) {
        link->last_byte = seconds();
        if (!fill(link, &link->down, link->runtime)) {
            close_link(link);
            return;
        }
    }
    if (link->caller >= 0 && caller_events & (POLLIN | POLLHUP | POLLERR) && !pending(&link->up))
        if (!fill(link, &link->up, link->caller)) close_caller(link);
    if (!drain(&link->up, link->runtime)) {
        close_link(link);
        return;
    }
    if (link->caller < 0)
        link->down.from = link->down.to; /* no reader is left */
    else if (!drain(&link->down, link->caller))
        link->down.from = link->down.to; /* closed; its sent data is still to be read */
}

static void accept_link(int listener) {
    int caller = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (caller < 0) return;
    int runtime = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct link *link = link_count < MAX_LINKS ? calloc(1, sizeof *link) : NULL;
    if (link == NULL || runtime < 0 || connect(runtime, (struct sockaddr *)&runtime_at, sizeof runtime_at) < 0) {
        /* The caller sees a closed connection, as if the runtime had closed it, and tries again. */
        free(link);
        close(caller);
        if (runtime >= 0) close(runtime);
        return;
    }
    link->caller = caller, link->runtime = runtime, link->up.skip = PREFACE;
    links[link_count++] = link;
}

static int start_listening(void) {
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    umask(0177);
    unlink(listen_at.sun_path);
    if (listener < 0 || bind(listener, (struct sockaddr *)&listen_at, sizeof listen_at) < 0 || listen(listener, 16) < 0)
        fail(listen_at.sun_path);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, on_term);
    signal(SIGINT, SIG_IGN);
    if (write(STDOUT_FILENO, "ready\n", 6) != 6) fail("stdout");
    return listener;
}

/* What to wait for on one side: bytes from it when there is room, room in it when there are bytes. With neither it is
   left out, because a side that has hung up would be reported for ever. */
static struct pollfd watch(int fd, const struct flow *in, const struct flow *out) {
    short events = (short)((pending(in) ? 0 : POLLIN) | (pending(out) ? POLLOUT : 0));
    return (struct pollfd){.fd = events == 0 ? -1 : fd, .events = events};
}

int main(int argc, char **argv) {
    long idle = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    if (idle <= 0 || strlen(argv[1]) >= sizeof listen_at.sun_path || strlen(argv[2]) >= sizeof runtime_at.sun_path) {
        fprintf(stderr, "usage: cri-relay LISTEN RUNTIME IDLE_SECONDS (socket paths shorter than 108 bytes)\n");
        return 2;
    }
    strcpy(listen_at.sun_path, argv[1]);
    strcpy(runtime_at.sun_path, argv[2]);
    int listener = start_listening();
    struct pollfd polled[2 + 2 * MAX_LINKS];

    while (listener >= 0 || link_count > 0) {
        polled[0] = (struct pollfd){.fd = listener >= 0 ? STDIN_FILENO : -1, .events = POLLIN};
        polled[1] = (struct pollfd){.fd = listener, .events = POLLIN};
        bool held = false;
        for (size_t i = 0; i < link_count; i++) {
            struct link *link = links[i];
            held |= link->caller < 0;
            polled[2 + 2 * i] = watch(link->caller, &link->up, &link->down);
            polled[3 + 2 * i] = watch(link->runtime, &link->down, &link->up);
        }
        size_t count = link_count;
        if (poll(polled, 2 + 2 * count, held ? 1000 : -1) < 0 && errno != EINTR) fail("poll");

        for (size_t i = 0; i < count; i++) serve(links[i], polled[2 + 2 * i].revents, polled[3 + 2 * i].revents);
        if (polled[1].revents & POLLIN) accept_link(listener);
        if (polled[0].revents) { /* the caller has ended or is done */
            close(listener), listener = -1;
            unlink(listen_at.sun_path);
            for (size_t i = 0; i < link_count; i++)
                if (links[i]->caller >= 0) shutdown(links[i]->caller, SHUT_WR);
        }
        for (size_t i = link_count; i-- > 0;) {
            struct link *link = links[i];
            bool answered = link->call_count == 0 && !pending(&link->up);
            if (link->caller < 0 && (answered || seconds() - link->last_byte >= idle)) close_link(link);
            if (link->runtime < 0) free(link), links[i] = links[--link_count];
        }
    }
    return 0;
}

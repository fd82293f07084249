/*
 * keep-service CONTROL PROGRAM [ARGUMENT...]: process 1 of a service's container. Keeps the program running: it is restarted when it ends, at
 * once, or after a back-off when it ran only for a short time. SIGTERM and SIGINT are forwarded; then keep-service exits when the program
 * does, with its exit code. Orphaned processes are reaped.
 *
 * CONTROL is a unix socket for the node's launcher (see remote-process.ts). It sends these lines to each client, the current state first:
 *
 *   started PID | ended PID code N | ended PID signal N | idle
 *
 * and takes these: `signal N` sends a signal to the program; `away` ends the program until `back`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds, as in supervisor.ts. */
enum { STABLE = 2000, FIRST_WAIT = 50, LONGEST_WAIT = 2000, GRACE = 2000 };
enum { CLIENTS = 8, LINE = 64 };

struct client {
  int fd;
  size_t length;
  char line[LINE];
};

static struct client clients[CLIENTS];
static char **program;
static pid_t child;
static long long began, next_start, kill_at;
static int wait_ms, away, ending, exit_code;
static sigset_t watched, callers_mask;

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static int fail(const char *what) {
  fprintf(stderr, "keep-service: %s: %s\n", what, strerror(errno));
  return 1;
}

static void disconnect(struct client *client) {
  close(client->fd);
  client->fd = -1;
}

/* A client that does not read is disconnected. */
static void send_line(struct client *client, const char *line) {
  size_t length = strlen(line);
  if (client->fd >= 0 && send(client->fd, line, length, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)length) disconnect(client);
}

static void broadcast(const char *line) {
  for (int i = 0; i < CLIENTS; i++) send_line(&clients[i], line);
}

static void start(void) {
  char line[LINE];
  pid_t keeper = getpid();
  began = now();
  child = fork();
  if (child == 0) {
    /* If keep-service is killed, the program must end too: a new container starts its own. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(1);
    setsid();
    sigprocmask(SIG_SETMASK, &callers_mask, NULL);
    execvp(program[0], program);
    fail(program[0]);
    _exit(127);
  }
  if (child < 0) {
    fail("fork");
    child = 0;
    next_start = now() + LONGEST_WAIT;
    return;
  }
  snprintf(line, sizeof line, "started %d\n", child);
  broadcast(line);
}

static void ended(int status) {
  char line[LINE];
  int by_signal = WIFSIGNALED(status);
  int number = by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  snprintf(line, sizeof line, "ended %d %s %d\n", child, by_signal ? "signal" : "code", number);
  if (!ending && !away) fprintf(stderr, "keep-service: the service ended (%s %d); restarting it\n", by_signal ? "signal" : "code", number);
  child = 0;
  kill_at = 0;
  exit_code = by_signal ? 128 + number : number;
  int stable = now() - began >= STABLE;
  wait_ms = stable ? 0 : wait_ms * 2 < FIRST_WAIT ? FIRST_WAIT : wait_ms * 2 > LONGEST_WAIT ? LONGEST_WAIT : wait_ms * 2;
  next_start = now() + wait_ms;
  broadcast(line);
}

static void reap(void) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
    if (pid == child) ended(status);
}

static void execute(const char *line) {
  int number;
  if (sscanf(line, "signal %d", &number) == 1) {
    if (child > 0) kill(child, number);
  } else if (strcmp(line, "away") == 0) {
    away = 1;
    if (child > 0) {
      kill(child, SIGTERM);
      kill(child, SIGCONT);
      kill_at = now() + GRACE;
    }
  } else if (strcmp(line, "back") == 0 && away) {
    away = 0;
    wait_ms = 0;
    next_start = now();
  }
}

static void receive(struct client *client) {
  ssize_t got = recv(client->fd, client->line + client->length, LINE - client->length, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    disconnect(client);
    return;
  }
  client->length += (size_t)got;
  char *end;
  while ((end = memchr(client->line, '\n', client->length)) != NULL) {
    *end = 0;
    execute(client->line);
    client->length -= (size_t)(end + 1 - client->line);
    memmove(client->line, end + 1, client->length);
  }
  if (client->length == LINE) disconnect(client);
}

static void accept_client(int listener) {
  char line[LINE];
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return;
  for (int i = 0; i < CLIENTS; i++) {
    if (clients[i].fd >= 0) continue;
    clients[i] = (struct client){ .fd = fd };
    if (child > 0) snprintf(line, sizeof line, "started %d\n", child);
    send_line(&clients[i], child > 0 ? line : "idle\n");
    return;
  }
  close(fd);
}

static void handle_signals(int signals) {
  struct signalfd_siginfo info;
  while (read(signals, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) continue;
    ending = 1;
    if (child > 0) kill(child, (int)info.ssi_signo);
  }
  reap();
}

/* Created under another name and renamed, with its mode set; the group is the folder's. */
static int listen_at(const char *path) {
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (snprintf(address.sun_path, sizeof address.sun_path, "%s.new", path) >= (int)sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  unlink(address.sun_path);
  mode_t mask = umask(0117);
  int bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, CLIENTS) == 0;
  umask(mask);
  return bound && rename(address.sun_path, path) == 0 ? fd : -1;
}

static int pause_ms(void) {
  long long until = -1;
  if (child == 0 && !away) until = next_start;
  if (child > 0 && kill_at > 0) until = kill_at;
  if (until < 0) return -1;
  long long left = until - now();
  return left > 0 ? (int)left : 0;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: keep-service CONTROL PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  program = argv + 2;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  sigaddset(&watched, SIGTERM);
  sigaddset(&watched, SIGINT);
  sigprocmask(SIG_BLOCK, &watched, &callers_mask);
  /* For containers in the machine's pid namespace, where this is not process 1. */
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  int listener = listen_at(argv[1]);
  if (signals < 0 || listener < 0) return fail(argv[1]);
  for (int i = 0; i < CLIENTS; i++) clients[i].fd = -1;
  while (!ending || child > 0) {
    if (child == 0 && !away && now() >= next_start) start();
    if (child > 0 && kill_at > 0 && now() >= kill_at) {
      kill(child, SIGKILL);
      kill_at = 0;
    }
    struct pollfd inputs[2 + CLIENTS] = { { .fd = signals, .events = POLLIN }, { .fd = listener, .events = POLLIN } };
    for (int i = 0; i < CLIENTS; i++) inputs[2 + i] = (struct pollfd){ .fd = clients[i].fd, .events = POLLIN };
    if (poll(inputs, 2 + CLIENTS, pause_ms()) < 0 && errno != EINTR) return fail("poll");
    if (inputs[0].revents) handle_signals(signals);
    for (int i = 0; i < CLIENTS; i++)
      if (inputs[2 + i].revents && clients[i].fd >= 0) receive(&clients[i]);
    if (inputs[1].revents) accept_client(listener);
  }
  unlink(argv[1]);
  return exit_code;
}

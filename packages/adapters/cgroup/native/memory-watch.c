/*
 * memory-watch FOLDER: says when a control group (cgroup v1) uses more memory than it may.
 *
 * FOLDER   of the group in the hierarchy of the memory controller
 * stdin    lines "BYTES": the watch begins anew, and ends when the group uses this much more than now
 * stdout   an empty line when it does; then nothing is watched until the next line of stdin
 *
 * The kernel tells by an eventfd (Documentation/admin-guide/cgroup-v1/memory.rst, "Memory thresholds"). Ends when stdin ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int fail(const char *what) {
  fprintf(stderr, "memory-watch: %s: %s\n", what, strerror(errno));
  return 1;
}

/* The eventfd of a new watch; -1: failed. The kernel ends the watch when it is closed. */
static int watch(int usage, int control, long long more) {
  char text[64];
  ssize_t length = pread(usage, text, sizeof text - 1, 0);
  if (length < 0) return -1;
  text[length] = 0;
  int notified = eventfd(0, EFD_CLOEXEC);
  if (notified < 0) return -1;
  length = snprintf(text, sizeof text, "%d %d %lld", notified, usage, atoll(text) + more);
  if (write(control, text, length) == length) return notified;
  close(notified);
  return -1;
}

int main(int argc, char **argv) {
  if (argc != 2) return fprintf(stderr, "usage: memory-watch FOLDER\n"), 2;
  int folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return fail(argv[1]);
  int usage = openat(folder, "memory.usage_in_bytes", O_RDONLY | O_CLOEXEC);
  if (usage < 0) return fail("memory.usage_in_bytes");
  int control = openat(folder, "cgroup.event_control", O_WRONLY | O_CLOEXEC);
  if (control < 0) return fail("cgroup.event_control");

  int notified = -1;
  size_t filled = 0;
  char line[32];
  for (;;) {
    /* A negative descriptor is passed over. */
    struct pollfd polled[] = {{.fd = 0, .events = POLLIN}, {.fd = notified, .events = POLLIN}};
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return fail("poll");
    if (polled[1].revents & POLLIN) {
      uint64_t times;
      if (read(notified, &times, sizeof times) != sizeof times || write(1, "\n", 1) != 1) return 0;
      close(notified);
      notified = -1;
    }
    if (!polled[0].revents) continue;
    char next;
    if (read(0, &next, 1) != 1) return 0;
    if (next != '\n') {
      if (filled == sizeof line - 1) return fprintf(stderr, "memory-watch: a line is too long\n"), 1;
      line[filled++] = next;
      continue;
    }
    line[filled] = 0;
    filled = 0;
    if (notified >= 0) close(notified);
    notified = watch(usage, control, atoll(line));
    if (notified < 0) return fail("the watch");
  }
}

/*
 * hold-lock FILE: waits for the exclusive lock on FILE (flock(2)), writes "locked", and holds the lock until its standard input ends, at the
 * latest with its parent process. Writes "contended" when another process opens or removes FILE.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <unistd.h>

static int fail(const char *what) {
  perror(what);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: hold-lock FILE\n");
    return 2;
  }
  int file = open(argv[1], O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return fail(argv[1]);
  if (flock(file, LOCK_EX) < 0) return fail("flock");
  int watch = inotify_init1(IN_CLOEXEC);
  if (watch < 0 || inotify_add_watch(watch, argv[1], IN_OPEN | IN_DELETE_SELF) < 0) return fail("inotify");
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("locked");
  struct pollfd inputs[] = {{.fd = 0, .events = POLLIN}, {.fd = watch, .events = POLLIN}};
  char bytes[4096];
  for (;;) {
    if (poll(inputs, 2, -1) < 0) return fail("poll");
    if (inputs[0].revents != 0 && read(0, bytes, sizeof bytes) <= 0) return 0;
    if (inputs[1].revents != 0 && read(watch, bytes, sizeof bytes) > 0) puts("contended");
  }
}

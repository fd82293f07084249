/*
 * mount-helper: makes and removes mounts, and keeps project quotas, for a process that stays, in place of a program for each.
 *
 * stdin: requests, each 4 bytes of length (little-endian) and that many bytes of seven NUL-terminated texts:
 *
 *   ID mount SOURCE TARGET TYPE FLAGS DATA    mount(2); an empty TYPE or DATA is none, FLAGS is a decimal number
 *   ID readonly - TARGET - - -                remounts the bind mount TARGET read-only, with its other flags
 *   ID unmount - TARGET - - -                 umount2(2); EOPNOTSUPP for a file system with a server, which has a program of its own
 *   ID project - TARGET - PROJECT -           the empty folder TARGET, and what is created in it, belongs to the project (project-quota.h)
 *   ID usage - TARGET - PROJECT -             what the project uses on the file system of TARGET; 0: the project of TARGET
 *   ID projects SUFFIX TARGET - - STAMP       TARGET/projid and TARGET/projects, if they are as STAMP says, are replaced by the files
 *                                             with the same names and SUFFIX; else EAGAIN
 *
 * stdout: a line "ID ERRNO" for each request when it has ended, in any order; ERRNO 0: it has succeeded. That of `usage` then is
 * "ID 0 PROJECT BYTES FILES".
 *
 * Each request runs in a process of its own, because it may hang in the kernel; a hanging one does not delay others. Ends when stdin
 * ends, and its processes end with it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "project-quota.h"

/* ANSWERED: exit code of a request that has written its line itself. */
enum { MOST = 1 << 16, FIELDS = 7, RUNNING = 256, ANSWERED = 255 };

static struct {
  pid_t pid; /* 0: free */
  char id[24];
} running[RUNNING];

static void answer(const char *id, int error) {
  char line[64];
  int length = snprintf(line, sizeof line, "%s %d\n", id, error);
  if (write(1, line, length) != length) exit(0);
}

/* Less than PIPE_BUF, so that lines of several processes do not mix. */
static int answer_usage(const char *id, const struct project_usage *usage) {
  char line[96];
  int length = snprintf(line, sizeof line, "%s 0 %u %llu %llu\n", id, usage->project, usage->bytes, usage->files);
  return write(1, line, length) == length ? ANSWERED : EIO;
}

/* NFS, SMB, CIFS, FUSE, 9P, Ceph. */
static int has_server(const char *target) {
  static const uint32_t types[] = {0x6969, 0x517B, 0xFE534D42, 0xFF534D42, 0x65735546, 0x01021997, 0x00C36400};
  struct statfs stats;
  if (statfs(target, &stats) < 0) return 0;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i] == (uint32_t)stats.f_type) return 1;
  return 0;
}

static unsigned long kept_flags(const char *target) {
  static const struct { unsigned long is, flag; } all[] = {
      {ST_NOSUID, MS_NOSUID},   {ST_NODEV, MS_NODEV},           {ST_NOEXEC, MS_NOEXEC},
      {ST_NOATIME, MS_NOATIME}, {ST_NODIRATIME, MS_NODIRATIME}, {ST_RELATIME, MS_RELATIME},
  };
  struct statvfs stats;
  unsigned long flags = 0;
  if (statvfs(target, &stats) < 0) return 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (stats.f_flag & all[i].is) flags |= all[i].flag;
  return flags;
}

static const char *none_if_empty(const char *text) {
  return *text == '\0' ? NULL : text;
}

static int perform(char *fields[FIELDS]) {
  const char *what = fields[1], *target = fields[3];
  int result;
  if (strcmp(what, "mount") == 0) {
    unsigned long flags = strtoul(fields[5], NULL, 10);
    result = mount(fields[2], target, none_if_empty(fields[4]), flags, none_if_empty(fields[6]));
  } else if (strcmp(what, "readonly") == 0) {
    result = mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | kept_flags(target), NULL);
  } else if (strcmp(what, "unmount") == 0) {
    if (has_server(target)) return EOPNOTSUPP;
    result = umount2(target, UMOUNT_NOFOLLOW);
  } else if (strcmp(what, "project") == 0) {
    result = give_project(target, strtoul(fields[5], NULL, 10));
  } else if (strcmp(what, "usage") == 0) {
    struct project_usage usage;
    if (project_usage(target, strtoul(fields[5], NULL, 10), &usage) < 0) return errno;
    return answer_usage(fields[0], &usage);
  } else if (strcmp(what, "projects") == 0) {
    result = replace_projects(target, fields[2], fields[6]);
  } else {
    return ENOSYS;
  }
  return result == 0 ? 0 : errno;
}

static void start(char *fields[FIELDS], pid_t parent) {
  size_t slot = 0;
  while (slot < RUNNING && running[slot].pid != 0) slot++;
  if (slot == RUNNING || strlen(fields[0]) >= sizeof running[slot].id) return answer(fields[0], EAGAIN);
  pid_t pid = fork();
  if (pid < 0) return answer(fields[0], errno);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(ECANCELED);
    _exit(perform(fields));
  }
  running[slot].pid = pid;
  strcpy(running[slot].id, fields[0]);
}

static void reap(void) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (size_t i = 0; i < RUNNING; i++) {
      if (running[i].pid != pid) continue;
      running[i].pid = 0;
      int code = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
      if (code != ANSWERED) answer(running[i].id, code);
    }
  }
}

/* The complete requests in the buffer; returns how many bytes are left of it. */
static size_t take(char *buffer, size_t size, pid_t parent) {
  size_t at = 0;
  while (size - at >= 4) {
    uint32_t length;
    memcpy(&length, buffer + at, 4);
    if (length == 0 || length > MOST) exit(2);
    if (size - at < 4 + (size_t)length) break;
    char *text = buffer + at + 4, *end = text + length, *fields[FIELDS];
    size_t count = 0;
    if (end[-1] != '\0') exit(2);
    for (; text < end && count < FIELDS; text += strlen(text) + 1) fields[count++] = text;
    if (count != FIELDS || text != end) exit(2);
    start(fields, parent);
    at += 4 + length;
  }
  memmove(buffer, buffer + at, size - at);
  return size - at;
}

int main(void) {
  static char buffer[2 * (MOST + 4)];
  size_t size = 0;
  sigset_t signals;
  pid_t self = getpid();
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  int ended = signalfd(-1, &signals, SFD_CLOEXEC);
  if (ended < 0) return 2;
  struct pollfd inputs[] = {{.fd = 0, .events = POLLIN}, {.fd = ended, .events = POLLIN}};
  for (;;) {
    if (poll(inputs, 2, -1) < 0 && errno != EINTR) return 2;
    if (inputs[1].revents != 0) {
      struct signalfd_siginfo ignored;
      if (read(ended, &ignored, sizeof ignored) < 0) return 2;
      reap();
    }
    if (inputs[0].revents == 0) continue;
    ssize_t got = read(0, buffer + size, sizeof buffer - size);
    if (got <= 0) return 0;
    size = take(buffer, size + got, self);
  }
}

/*
 * Project quotas of ext4 and XFS, for what a folder uses: every file of a project is counted by the kernel when it changes. Nothing is
 * enforced. Needs quotactl_fd(2), Linux 5.14; where it or the quota is missing, the error is EOPNOTSUPP.
 */
#ifndef PROJECT_QUOTA_H
#define PROJECT_QUOTA_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/dqblk_xfs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif

/* As in linux/fs.h, which cannot be included beside sys/mount.h of glibc 2.36. */
struct folder_attributes {
  uint32_t flags, extent_size, extents, project, copy_extent_size;
  unsigned char padding[8];
};
#define GET_ATTRIBUTES _IOR('X', 31, struct folder_attributes)
#define SET_ATTRIBUTES _IOW('X', 32, struct folder_attributes)
#define INHERIT_PROJECT 0x200

/* Of quota types, in glibc only since 2.35. */
enum { PROJECT_QUOTA = 2 };

struct project_usage {
  uint32_t project;
  unsigned long long bytes, files;
};

static int open_folder(const char *path) {
  return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static long quota_command(int fd, int command, uint32_t project, void *data) {
  return syscall(SYS_quotactl_fd, fd, QCMD(command, PROJECT_QUOTA), project, data);
}

static int counts_projects(int fd) {
  struct fs_quota_stat state;
  memset(&state, 0, sizeof state);
  if (quota_command(fd, Q_XGETQSTAT, 0, &state) < 0) return 0;
  return (state.qs_flags & FS_QUOTA_PDQ_ACCT) != 0;
}

/* The project of a folder whose new files inherit it; 0: none. */
static uint32_t project_of(int fd) {
  struct folder_attributes attributes;
  if (ioctl(fd, GET_ATTRIBUTES, &attributes) < 0) return 0;
  return attributes.flags & INHERIT_PROJECT ? attributes.project : 0;
}

static int project_usage(const char *folder, uint32_t project, struct project_usage *usage) {
  struct dqblk quota;
  int fd = open_folder(folder);
  if (fd < 0) return -1;
  if (project == 0) project = project_of(fd);
  if (project == 0 || !counts_projects(fd)) {
    errno = EOPNOTSUPP;
    return -1;
  }
  memset(&quota, 0, sizeof quota);
  /* XFS does not know a project without files. */
  if (quota_command(fd, Q_GETQUOTA, project, &quota) < 0 && errno != ENOENT) return -1;
  usage->project = project;
  usage->bytes = quota.dqb_curspace;
  usage->files = quota.dqb_curinodes;
  return 0;
}

static int give_project(const char *folder, uint32_t project) {
  struct folder_attributes attributes;
  int fd = open_folder(folder);
  if (fd < 0 || ioctl(fd, GET_ATTRIBUTES, &attributes) < 0) return -1;
  attributes.project = project;
  attributes.flags |= INHERIT_PROJECT;
  return ioctl(fd, SET_ATTRIBUTES, &attributes);
}

/* Inode, size, and time of the last change in nanoseconds of a plain file. */
static int stamp_of(const char *path, char stamp[80]) {
  struct stat stats;
  if (lstat(path, &stats) < 0) return -1;
  if (!S_ISREG(stats.st_mode)) {
    errno = EINVAL;
    return -1;
  }
  unsigned long long nanoseconds = stats.st_mtim.tv_sec * 1000000000ULL + stats.st_mtim.tv_nsec;
  snprintf(stamp, 80, "%llu:%llu:%llu", (unsigned long long)stats.st_ino, (unsigned long long)stats.st_size, nanoseconds);
  return 0;
}

/* Both files are locked meanwhile, in the kubelet's order. */
static int replace_projects(const char *folder, const char *suffix, const char *expected) {
  static const char *const names[] = {"projects", "projid"};
  char paths[2][PATH_MAX], made[2][PATH_MAX], stamps[2][80], stamp[168];
  for (int i = 0; i < 2; i++) {
    if (snprintf(paths[i], PATH_MAX, "%s/%s", folder, names[i]) >= PATH_MAX ||
        snprintf(made[i], PATH_MAX, "%s/%s%s", folder, names[i], suffix) >= PATH_MAX) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int fd = open(paths[i], O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX) < 0) return -1;
  }
  for (int i = 0; i < 2; i++)
    if (stamp_of(paths[i], stamps[i]) < 0) return -1;
  snprintf(stamp, sizeof stamp, "%s %s", stamps[0], stamps[1]);
  if (strcmp(stamp, expected) != 0) {
    errno = EAGAIN;
    return -1;
  }
  for (int i = 1; i >= 0; i--)
    if (rename(made[i], paths[i]) < 0) return -1;
  return 0;
}

#endif

/*
 * sd-notify SOCKET: sends each line of its standard input as one message to systemd's notification socket, with its parent's pid as the
 * sender (sd_notify(3)): systemd accepts only the service's main process. Exits at the end of its input; signals that a service manager sends
 * to all processes of a service do not end it before, since its parent has a last notification.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int send_as(int fd, const struct sockaddr_un *to, socklen_t to_len, pid_t pid, char *text) {
  struct iovec part = {text, strlen(text)};
  union {
    char bytes[CMSG_SPACE(sizeof(struct ucred))];
    struct cmsghdr align;
  } control = {0};
  struct msghdr message = {.msg_name = (void *)to, .msg_namelen = to_len, .msg_iov = &part, .msg_iovlen = 1};
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_CREDENTIALS;
  header->cmsg_len = CMSG_LEN(sizeof(struct ucred));
  struct ucred sender = {pid, getuid(), getgid()};
  memcpy(CMSG_DATA(header), &sender, sizeof sender);
  return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int main(int argc, char **argv) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  if (argc != 2 || argv[1][0] == '\0' || strlen(argv[1]) >= sizeof to.sun_path) {
    fprintf(stderr, "usage: sd-notify SOCKET\n");
    return 2;
  }
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  size_t length = strlen(argv[1]);
  memcpy(to.sun_path, argv[1], length);
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0'; /* in the abstract namespace */
  pid_t parent = getppid();
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    perror("socket");
    return 1;
  }
  char line[512];
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (send_as(fd, &to, offsetof(struct sockaddr_un, sun_path) + length, parent, line) != 0) perror(argv[1]);
  }
  return 0;
}

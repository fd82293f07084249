/* notify-receiver SOCKET: prints each message that comes to a notification socket, and the process in whose name it comes. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
  int fd = socket(AF_UNIX, SOCK_DGRAM, 0), on = 1;
  setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) return 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("listening");
  for (;;) {
    char text[512], control[CMSG_SPACE(sizeof(struct ucred))];
    struct iovec part = {text, sizeof text - 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t length = recvmsg(fd, &message, 0);
    if (length < 0) return 1;
    text[length] = '\0';
    struct ucred sender;
    memcpy(&sender, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof sender);
    printf("%d %s\n", sender.pid, text);
  }
}

/*
 * check-service http PORT PATH: exit code 0 when the TCP port PORT of the loopback answers GET PATH with status 200.
 * check-service control SOCKET: exit code 0 when the program of the keep-service that listens on SOCKET is running.
 * Else exit code 1 and the reason in one line; 2 for wrong usage.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { SECONDS = 5 };

static int unhealthy(const char *why) {
  printf("%s\n", why);
  return 1;
}

/* Connects, sends `request`, and reads the first line of the answer. Returns 0 when there is none. */
static int ask(int fd, const struct sockaddr *address, socklen_t length, const char *request, char *answer, size_t room) {
  struct timeval limit = { .tv_sec = SECONDS };
  size_t have = 0;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(fd, address, length) < 0) return 0;
  if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request)) return 0;
  while (have + 1 < room && (have == 0 || memchr(answer, '\n', have) == NULL)) {
    ssize_t got = recv(fd, answer + have, room - 1 - have, 0);
    if (got <= 0) break;
    have += (size_t)got;
  }
  answer[have] = 0;
  answer[strcspn(answer, "\r\n")] = 0;
  return have > 0;
}

static int check_http(const char *port, const char *path) {
  char request[512], answer[256];
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", path);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || !ask(fd, (struct sockaddr *)&address, sizeof address, request, answer, sizeof answer))
    return unhealthy("the service does not answer");
  return strncmp(answer, "HTTP/1.1 200", 12) == 0 ? 0 : unhealthy(answer);
}

static int check_control(const char *path) {
  char answer[256];
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  if (strlen(path) >= sizeof address.sun_path) return unhealthy("the path of the socket is too long for sun_path");
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0 || !ask(fd, (struct sockaddr *)&address, sizeof address, "", answer, sizeof answer))
    return unhealthy("process 1 (keep-service) does not answer");
  return strncmp(answer, "started ", 8) == 0 ? 0 : unhealthy(answer);
}

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "http") == 0) return check_http(argv[2], argv[3]);
  if (argc == 3 && strcmp(argv[1], "control") == 0) return check_control(argv[2]);
  fprintf(stderr, "usage: check-service http PORT PATH | check-service control SOCKET\n");
  return 2;
}

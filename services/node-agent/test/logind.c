/*
 * logind SOCKET CONFIG: a logind, and a systemd as far as it is asked to reload logind, on the bus at SOCKET, for tests. It speaks D-Bus
 * itself, with no library. SIGUSR1 begins a shutdown, SIGUSR2 cancels it. A reload reads InhibitDelayMaxSec from the file CONFIG. Prints:
 * `ready`, `inhibited`, `released`, `reloaded`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST = 16384, LOCKS = 16 };
enum { CALL = 1, RETURN = 2, SIGNAL = 4 };
enum { PATH = 1, INTERFACE = 2, MEMBER = 3, REPLY = 5, DESTINATION = 6, SENDER = 7, SIGNATURE = 8, FDS = 9 };

static int bus;
static uint32_t serial;
static uint64_t delay = 5000000;
static const char *config;
static int shutting_down;
static int locks[LOCKS];

static void die(const char *what) {
  perror(what);
  exit(1);
}

struct buffer {
  size_t length;
  unsigned char bytes[MOST];
};

static void align(struct buffer *to, size_t by) {
  while (to->length % by) to->bytes[to->length++] = 0;
}

static void put_u32(struct buffer *to, uint32_t value) {
  align(to, 4);
  memcpy(to->bytes + to->length, &value, 4);
  to->length += 4;
}

static void put_string(struct buffer *to, const char *text) {
  put_u32(to, (uint32_t)strlen(text));
  strcpy((char *)to->bytes + to->length, text);
  to->length += strlen(text) + 1;
}

static void put_signature(struct buffer *to, const char *text) {
  to->bytes[to->length++] = (unsigned char)strlen(text);
  strcpy((char *)to->bytes + to->length, text);
  to->length += strlen(text) + 1;
}

static void put_field(struct buffer *to, int code, const char *type, const char *text) {
  align(to, 8);
  to->bytes[to->length++] = (unsigned char)code;
  put_signature(to, type);
  if (*type == 'g') put_signature(to, text);
  else put_string(to, text);
}

static void put_number_field(struct buffer *to, int code, uint32_t value) {
  align(to, 8);
  to->bytes[to->length++] = (unsigned char)code;
  put_signature(to, "u");
  put_u32(to, value);
}

struct message {
  int type;
  const char *destination, *path, *interface, *member, *signature;
  uint32_t reply;
  int fd;
};

static void send_message(const struct message *what, const struct buffer *body) {
  struct buffer fields = {0}, all = {0};
  if (what->path) put_field(&fields, PATH, "o", what->path);
  if (what->interface) put_field(&fields, INTERFACE, "s", what->interface);
  if (what->member) put_field(&fields, MEMBER, "s", what->member);
  if (what->destination) put_field(&fields, DESTINATION, "s", what->destination);
  if (what->reply) put_number_field(&fields, REPLY, what->reply);
  if (what->signature) put_field(&fields, SIGNATURE, "g", what->signature);
  if (what->fd > 0) put_number_field(&fields, FDS, 1);
  unsigned char head[] = {'l', (unsigned char)what->type, 0, 1};
  memcpy(all.bytes, head, 4);
  all.length = 4;
  put_u32(&all, (uint32_t)body->length);
  put_u32(&all, ++serial);
  put_u32(&all, (uint32_t)fields.length);
  memcpy(all.bytes + all.length, fields.bytes, fields.length);
  all.length += fields.length;
  align(&all, 8);
  memcpy(all.bytes + all.length, body->bytes, body->length);
  all.length += body->length;
  struct iovec part = {all.bytes, all.length};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control = {0};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (what->fd > 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &what->fd, sizeof(int));
  }
  if (sendmsg(bus, &message, MSG_NOSIGNAL) != (ssize_t)all.length) die("sendmsg");
}

static void call_bus(const char *member, const char *name) {
  struct buffer body = {0};
  if (name) {
    put_string(&body, name);
    put_u32(&body, 4);
  }
  struct message call = {.type = CALL, .destination = "org.freedesktop.DBus", .path = "/org/freedesktop/DBus"};
  call.interface = "org.freedesktop.DBus";
  call.member = member;
  call.signature = name ? "su" : NULL;
  send_message(&call, &body);
}

static void prepare_for_shutdown(int begins) {
  struct buffer body = {0};
  shutting_down = begins;
  put_u32(&body, (uint32_t)begins);
  struct message signal = {.type = SIGNAL, .path = "/org/freedesktop/login1", .signature = "b"};
  signal.interface = "org.freedesktop.login1.Manager";
  signal.member = "PrepareForShutdown";
  send_message(&signal, &body);
}

static void answer_property(struct message *answer, const char *name) {
  struct buffer body = {0};
  answer->signature = "v";
  if (strcmp(name, "InhibitDelayMaxUSec") == 0) {
    put_signature(&body, "t");
    align(&body, 8);
    memcpy(body.bytes + body.length, &delay, 8);
    body.length += 8;
  } else {
    put_signature(&body, "b");
    put_u32(&body, (uint32_t)shutting_down);
  }
  send_message(answer, &body);
}

static void answer_inhibit(struct message *answer) {
  struct buffer body = {0};
  int pair[2];
  if (pipe(pair) != 0) die("pipe");
  answer->signature = "h";
  answer->fd = pair[1];
  put_u32(&body, 0);
  send_message(answer, &body);
  close(pair[1]);
  for (int i = 0; i < LOCKS; i++) {
    if (locks[i] != 0) continue;
    locks[i] = pair[0];
    puts("inhibited");
    return;
  }
}

static void reload(void) {
  char line[256];
  unsigned long seconds;
  FILE *file = fopen(config, "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "InhibitDelayMaxSec=%lu", &seconds) == 1) delay = seconds * 1000000;
  if (file) fclose(file);
  puts("reloaded");
}

/* Of the header's fields the sender and the member count. */
static void on_message(const unsigned char *bytes, size_t fields_length, const unsigned char *body) {
  const char *sender = NULL, *member = NULL;
  uint32_t call;
  memcpy(&call, bytes + 8, 4);
  for (size_t at = 16; at < 16 + fields_length;) {
    at = (at + 7) & ~(size_t)7;
    int code = bytes[at];
    char type = (char)bytes[at + 2];
    at += 4;
    if (type == 'g') {
      at += (size_t)bytes[at] + 2;
      continue;
    }
    uint32_t value;
    at = (at + 3) & ~(size_t)3;
    memcpy(&value, bytes + at, 4);
    if (code == SENDER) sender = (const char *)bytes + at + 4;
    if (code == MEMBER) member = (const char *)bytes + at + 4;
    at += type == 'u' ? 4 : 4 + (size_t)value + 1;
  }
  if (bytes[1] != CALL || sender == NULL || member == NULL) return;
  struct message answer = {.type = RETURN, .destination = sender, .reply = call};
  struct buffer nothing = {0};
  if (strcmp(member, "Get") == 0) {
    uint32_t interface;
    memcpy(&interface, body, 4);
    size_t name = (4 + interface + 1 + 3) & ~(size_t)3;
    answer_property(&answer, (const char *)body + name + 4);
  } else if (strcmp(member, "Inhibit") == 0) {
    answer_inhibit(&answer);
  } else if (strcmp(member, "KillUnit") == 0) {
    reload();
    send_message(&answer, &nothing);
  } else {
    send_message(&answer, &nothing);
  }
}

static void on_bus(void) {
  static unsigned char bytes[MOST] __attribute__((aligned(8)));
  static size_t length;
  ssize_t got = recv(bus, bytes + length, sizeof bytes - length, 0);
  if (got <= 0) exit(0);
  length += (size_t)got;
  for (;;) {
    uint32_t body, fields;
    if (length < 16) return;
    memcpy(&body, bytes + 4, 4);
    memcpy(&fields, bytes + 12, 4);
    size_t head = (16 + (size_t)fields + 7) & ~(size_t)7;
    if (length < head + body) return;
    on_message(bytes, fields, bytes + head);
    length -= head + body;
    memmove(bytes, bytes + head + body, length);
  }
}

static void authenticate(void) {
  char text[64], line[256];
  int length = sprintf(text, "%d", getuid());
  char hex[129] = "";
  for (int i = 0; i < length; i++) sprintf(hex + 2 * i, "%02x", text[i]);
  dprintf(bus, "%c", 0);
  dprintf(bus, "AUTH EXTERNAL %s\r\n", hex);
  if (recv(bus, line, sizeof line, 0) < 2 || memcmp(line, "OK", 2) != 0) die("AUTH");
  dprintf(bus, "NEGOTIATE_UNIX_FD\r\n");
  if (recv(bus, line, sizeof line, 0) < 5 || memcmp(line, "AGREE", 5) != 0) die("NEGOTIATE_UNIX_FD");
  dprintf(bus, "BEGIN\r\n");
}

int main(int argc, char **argv) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (argc != 3) return 2;
  config = argv[2];
  setvbuf(stdout, NULL, _IOLBF, 0);
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGUSR1);
  sigaddset(&watched, SIGUSR2);
  sigprocmask(SIG_BLOCK, &watched, NULL);
  int signals = signalfd(-1, &watched, SFD_CLOEXEC);
  strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
  bus = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(bus, (struct sockaddr *)&address, sizeof address) != 0) die(argv[1]);
  authenticate();
  call_bus("Hello", NULL);
  call_bus("RequestName", "org.freedesktop.login1");
  call_bus("RequestName", "org.freedesktop.systemd1");
  puts("ready");
  for (;;) {
    struct pollfd inputs[2 + LOCKS] = {{.fd = bus, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    for (int i = 0; i < LOCKS; i++) inputs[2 + i] = (struct pollfd){.fd = locks[i] == 0 ? -1 : locks[i], .events = POLLIN};
    if (poll(inputs, 2 + LOCKS, -1) < 0 && errno != EINTR) die("poll");
    if (inputs[0].revents) on_bus();
    if (inputs[1].revents) {
      struct signalfd_siginfo info;
      if (read(signals, &info, sizeof info) == sizeof info) prepare_for_shutdown(info.ssi_signo == SIGUSR1);
    }
    for (int i = 0; i < LOCKS; i++) {
      if (inputs[2 + i].fd < 0 || !inputs[2 + i].revents) continue;
      close(locks[i]);
      locks[i] = 0;
      puts("released");
    }
  }
}

/*
 * kubus-cni: the CNI plugin that the container runtime runs. It hands the call to cni-bridge over a unix socket and
 * prints the answer; the protocol is described in ../README.md.
 *
 * It also stands in for `loopback`, which containerd runs with a configuration of its own. So nothing comes from the
 * configuration: the socket is found through the symlink `kubus-cni.sock` beside this program.
 *
 * A bridge that restarts is waited for: calls are idempotent there, so the same request is sent again until there is an
 * answer or the time limit (KUBUS_CNI_TIMEOUT seconds) has passed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SOCKET_NAME "kubus-cni.sock"
#define MAGIC "KCN\001"
#define HEADER 8
#define FIELD_HEADER 5
#define LIMIT (4u << 20)
#define SUPPORTED "\"0.1.0\",\"0.2.0\",\"0.3.0\",\"0.3.1\",\"0.4.0\",\"1.0.0\",\"1.1.0\""
#define NEWEST "1.1.0"

/* CNI error codes (SPEC.md, "Error"). */
enum { IO_FAILURE = 5, INVALID_CONFIG = 7, TRY_AGAIN_LATER = 11, NOT_AVAILABLE = 50 };

/* Milliseconds: how long to wait for an answer (STATUS and VERSION must be quick), and between two attempts. */
enum { DEFAULT_LIMIT = 45000, STATUS_LIMIT = 3000, VERSION_LIMIT = 2000, FIRST_PAUSE = 10, LONGEST_PAUSE = 250 };

struct bytes {
	char *data;
	size_t length, room;
};

struct answer {
	struct bytes raw;
	const char *out, *err;
	size_t out_length, err_length;
	int exit_code;
};

extern char **environ;
static char cni_version[16] = "0.1.0"; /* What a configuration without a version means. */
static char reason[256] = "no attempt was made";
static int64_t deadline;

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Prints a CNI error and ends the program. */
static void fail(int code, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	printf("{\"cniVersion\":\"%s\",\"code\":%d,\"msg\":\"", cni_version, code);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c == '"' || *c == '\\' || *c < 0x20)
			printf("\\u%04x", *c);
		else
			putchar(*c);
	printf("\"}\n");
	fflush(stdout);
	_exit(1);
}

/* Notes why an attempt failed, for the error when time is up. */
static int missed(const char *what, const char *why)
{
	snprintf(reason, sizeof reason, "%s: %s", what, why);
	return 0;
}

static void append(struct bytes *to, const void *data, size_t length)
{
	if (length > LIMIT || to->length + length > LIMIT)
		fail(IO_FAILURE, "kubus-cni: the call is larger than %u bytes", LIMIT);
	if (to->length + length > to->room) {
		to->room = (to->length + length) * 2;
		if (!(to->data = realloc(to->data, to->room)))
			fail(IO_FAILURE, "kubus-cni: out of memory");
	}
	if (length)
		memcpy(to->data + to->length, data, length);
	to->length += length;
}

static void put32(unsigned char *at, uint32_t value)
{
	at[0] = value >> 24, at[1] = value >> 16, at[2] = value >> 8, at[3] = value;
}

static uint32_t get32(const char *data)
{
	const unsigned char *at = (const unsigned char *)data;
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void append_field(struct bytes *to, char tag, const void *data, size_t length)
{
	unsigned char header[FIELD_HEADER] = { (unsigned char)tag };
	put32(header + 1, (uint32_t)length);
	append(to, header, sizeof header);
	append(to, data, length);
}

static struct bytes read_stdin(void)
{
	struct bytes all = { 0 };
	char part[65536];
	ssize_t got;
	while ((got = read(STDIN_FILENO, part, sizeof part)) != 0) {
		if (got > 0)
			append(&all, part, (size_t)got);
		else if (errno != EINTR)
			fail(IO_FAILURE, "kubus-cni: reading standard input: %s", strerror(errno));
	}
	return all;
}

/* Finds the value of the outermost "cniVersion", for errors that this program prints itself. */
static void find_version(const struct bytes *config)
{
	static const char key[] = "\"cniVersion\"";
	const char *at = config->data, *end = at + config->length;
	int depth = 0;
	while (at < end) {
		const char *token = at;
		if (*at == '{' || *at == '[')
			depth++;
		else if (*at == '}' || *at == ']')
			depth--;
		if (*at++ != '"')
			continue;
		while (at < end && *at != '"')
			at += *at == '\\' ? 2 : 1;
		at++;
		if (depth != 1 || at >= end || (size_t)(at - token) != sizeof key - 1 || memcmp(token, key, sizeof key - 1))
			continue;
		while (at < end && strchr(" \t\r\n:", *at))
			at++;
		size_t length = 0;
		while (at + 1 + length < end && length < sizeof cni_version - 1 && strchr("0123456789.", at[1 + length]))
			length++;
		if (at < end && *at == '"' && length > 0) {
			memcpy(cni_version, at + 1, length);
			cni_version[length] = 0;
			return;
		}
	}
}

static struct bytes build_request(const char *name, const struct bytes *config)
{
	struct bytes request = { 0 };
	append(&request, MAGIC "\0\0\0\0", HEADER);
	append_field(&request, 'n', name, strlen(name));
	for (char **variable = environ; *variable; variable++)
		if (!strncmp(*variable, "CNI_", 4) || !strncmp(*variable, "TRACEPARENT=", 12))
			append_field(&request, 'e', *variable, strlen(*variable));
	append_field(&request, 'i', config->data, config->length);
	put32((unsigned char *)request.data + 4, (uint32_t)(request.length - HEADER));
	return request;
}

/* The folder of this program, as a descriptor: a path through it fits into sockaddr_un however long the real one is. */
static int own_folder(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	if (length < 0)
		fail(IO_FAILURE, "kubus-cni: /proc/self/exe: %s", strerror(errno));
	path[length] = 0;
	*strrchr(path, '/') = 0;
	int folder = open(*path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		fail(IO_FAILURE, "kubus-cni: %s: %s", path, strerror(errno));
	return folder;
}

/* Lets the next call on the socket last until the deadline; false when that has passed. */
static int limit_next(int fd, int option)
{
	int64_t left = deadline - now();
	struct timeval limit = { .tv_sec = left / 1000, .tv_usec = left % 1000 * 1000 };
	return left > 0 && !setsockopt(fd, SOL_SOCKET, option, &limit, sizeof limit);
}

static int receive(int fd, struct bytes *to, size_t wanted)
{
	char part[65536];
	while (to->length < wanted) {
		size_t left = wanted - to->length;
		if (!limit_next(fd, SO_RCVTIMEO))
			return missed(SOCKET_NAME, "no answer in time");
		ssize_t got = recv(fd, part, left < sizeof part ? left : sizeof part, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return missed(SOCKET_NAME, got ? strerror(errno) : "the connection ended before the answer");
		append(to, part, (size_t)got);
	}
	return 1;
}

static int parse_answer(struct answer *answer)
{
	const char *at = answer->raw.data + HEADER, *end = answer->raw.data + answer->raw.length;
	int has_code = 0;
	answer->out_length = answer->err_length = 0; /* Nothing of an earlier, broken answer. */
	while (end - at >= FIELD_HEADER) {
		char tag = *at;
		uint32_t length = get32(at + 1);
		at += FIELD_HEADER;
		if (length > (size_t)(end - at))
			return missed(SOCKET_NAME, "the answer is not whole");
		if (tag == 'x' && length == 1)
			answer->exit_code = (unsigned char)*at, has_code = 1;
		else if (tag == 'o')
			answer->out = at, answer->out_length = length;
		else if (tag == 'r')
			answer->err = at, answer->err_length = length;
		at += length;
	}
	return (has_code && at == end) || missed(SOCKET_NAME, "the answer is not whole");
}

/* One attempt; true when there is an answer. */
static int exchange(int folder, const struct bytes *request, struct answer *answer)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), done = 0;
	size_t sent = 0;
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" SOCKET_NAME, folder);
	if (fd < 0 || !limit_next(fd, SO_SNDTIMEO) || connect(fd, (struct sockaddr *)&address, sizeof address)) {
		missed(SOCKET_NAME, strerror(errno));
		goto out;
	}
	while (sent < request->length) {
		ssize_t part = send(fd, request->data + sent, request->length - sent, MSG_NOSIGNAL);
		if (part < 0 && errno != EINTR) {
			missed(SOCKET_NAME, strerror(errno));
			goto out;
		}
		sent += part > 0 ? (size_t)part : 0;
	}
	answer->raw.length = 0;
	if (!receive(fd, &answer->raw, HEADER))
		goto out;
	if (memcmp(answer->raw.data, MAGIC, 4) || get32(answer->raw.data + 4) > LIMIT - HEADER) {
		missed(SOCKET_NAME, "the answer is not of this protocol");
		goto out;
	}
	done = receive(fd, &answer->raw, HEADER + get32(answer->raw.data + 4)) && parse_answer(answer);
out:
	if (fd >= 0)
		close(fd);
	return done;
}

static void print(int fd, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t part = write(fd, data, length);
		if (part < 0 && errno != EINTR)
			_exit(1);
		data += part > 0 ? part : 0;
		length -= part > 0 ? (size_t)part : 0;
	}
}

static int64_t time_limit(const char *command)
{
	const char *override = getenv("KUBUS_CNI_TIMEOUT");
	double seconds = override ? strtod(override, NULL) : 0;
	int64_t limit = seconds > 0 && seconds < 86400 ? (int64_t)(seconds * 1000) : DEFAULT_LIMIT;
	int64_t quick = !strcmp(command, "VERSION") ? VERSION_LIMIT : !strcmp(command, "STATUS") ? STATUS_LIMIT : limit;
	return quick < limit ? quick : limit;
}

int main(int argc, char **argv)
{
	const char *variable = getenv("CNI_COMMAND"), *command = variable ? variable : "";
	const char *path = argc > 0 ? argv[0] : "kubus-cni", *slash = strrchr(path, '/');
	int is_version = !strcmp(command, "VERSION"), wait = FIRST_PAUSE;
	struct answer answer = { 0 };
	int64_t limit = time_limit(command);

	deadline = now() + limit;
	struct bytes config = read_stdin();
	find_version(&config);
	/* The bridge's own plugins carry this mark: it would be calling itself for ever. */
	if (getenv("KUBUS_OWNER"))
		fail(INVALID_CONFIG, "kubus-cni: cni-bridge runs its own shim; its plugin folder must hold the real plugins");
	struct bytes request = build_request(slash ? slash + 1 : path, &config);
	int folder = own_folder();
	while (!exchange(folder, &request, &answer)) {
		/* The list of versions must not wait for a bridge: runtimes ask for it when they start. */
		if (is_version) {
			printf("{\"cniVersion\":\"" NEWEST "\",\"supportedVersions\":[" SUPPORTED "]}\n");
			return 0;
		}
		if (now() + wait >= deadline)
			fail(!strcmp(command, "STATUS") ? NOT_AVAILABLE : TRY_AGAIN_LATER,
			     "kubus-cni: cni-bridge gave no answer within %.1f s (%s)", (double)limit / 1000, reason);
		usleep((useconds_t)wait * 1000);
		wait = wait * 2 < LONGEST_PAUSE ? wait * 2 : LONGEST_PAUSE;
	}
	print(STDERR_FILENO, answer.err, answer.err_length);
	print(STDOUT_FILENO, answer.out, answer.out_length);
	return answer.exit_code;
}

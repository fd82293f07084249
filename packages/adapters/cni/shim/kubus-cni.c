/*
 * kubus-cni: the CNI plugin that the container runtime runs. It hands the call to cni-bridge over a unix socket and
 * prints the answer; the protocol is described in ../README.md.
 *
 * It also stands in for `loopback`, which containerd runs with a configuration of its own. So nothing comes from the
 * configuration: the socket is found through the symlink `kubus-cni.sock` beside this program.
 *
 * Before its answer the bridge may have programs run here: the plugins of its chain, which this small process starts much
 * faster than the bridge could.
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
#define MOST_KEPT (1u << 20) /* Of each output of a program. */
#define SUPPORTED "\"0.1.0\",\"0.2.0\",\"0.3.0\",\"0.3.1\",\"0.4.0\",\"1.0.0\",\"1.1.0\""
#define NEWEST "1.1.0"

/* CNI error codes (SPEC.md, "Error"). */
enum { IO_FAILURE = 5, INVALID_CONFIG = 7, TRY_AGAIN_LATER = 11, NOT_AVAILABLE = 50 };

/* Milliseconds: how long to wait for an answer (STATUS and VERSION must be quick), and between two attempts. */
enum { DEFAULT_LIMIT = 45000, STATUS_LIMIT = 3000, VERSION_LIMIT = 2000, FIRST_PAUSE = 10, LONGEST_PAUSE = 250 };

extern char **environ;
static char cni_version[16] = "0.1.0"; /* What a configuration without a version means. */
static char reason[256];
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

/* Time is up in the middle of an attempt: what an earlier one met says more. */
static int late(const char *why)
{
	return *reason ? 0 : missed(SOCKET_NAME, why);
}

#include "frame.h"
#include "run-program.h"

struct answer {
	struct field out, err;
	int exit_code;
};

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
	append_field(&request, 'c', "run", 3);
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
			return late("no answer in time");
		ssize_t got = recv(fd, part, left < sizeof part ? left : sizeof part, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return late("no answer in time");
		if (got <= 0)
			return missed(SOCKET_NAME, got ? strerror(errno) : "the connection ended before the answer");
		append(to, part, (size_t)got);
	}
	return 1;
}

static int receive_frame(int fd, struct bytes *frame)
{
	frame->length = 0;
	if (!receive(fd, frame, HEADER))
		return 0;
	if (memcmp(frame->data, MAGIC, 4) || get32(frame->data + 4) > LIMIT - HEADER)
		return missed(SOCKET_NAME, "the answer is not of this protocol");
	return receive(fd, frame, HEADER + get32(frame->data + 4));
}

static int send_frame(int fd, const struct bytes *frame)
{
	for (size_t sent = 0; sent < frame->length;) {
		if (!limit_next(fd, SO_SNDTIMEO))
			return late("the bridge takes nothing in time");
		ssize_t part = send(fd, frame->data + sent, frame->length - sent, MSG_NOSIGNAL);
		if (part < 0 && errno == EAGAIN)
			return late("the bridge takes nothing in time");
		if (part < 0 && errno != EINTR)
			return missed(SOCKET_NAME, strerror(errno));
		sent += part > 0 ? (size_t)part : 0;
	}
	return 1;
}

static int parse_answer(const struct bytes *frame, struct answer *answer)
{
	struct field field;
	size_t at = HEADER;
	int has_code = 0;
	*answer = (struct answer){ 0 };
	while (next_field(frame, &at, &field))
		if (field.tag == 'x' && field.length == 1)
			answer->exit_code = (unsigned char)*field.data, has_code = 1;
		else if (field.tag == 'o')
			answer->out = field;
		else if (field.tag == 'r')
			answer->err = field;
	return (has_code && at == frame->length) || missed(SOCKET_NAME, "the answer is not whole");
}

/* Whether the frame wants a program to be run: it names one. */
static int is_run(const struct bytes *frame)
{
	struct field field;
	size_t at = HEADER;
	while (next_field(frame, &at, &field))
		if (field.tag == 'a')
			return 1;
	return 0;
}

/* The program that the frame wants. Its texts and lists lie in the frame, in `argv` and in `env`. */
static int parse_run(struct bytes *frame, struct bytes *argv, struct bytes *env, struct program *program)
{
	struct field field;
	size_t at = HEADER;
	int numbers = 0, sound = 1;
	*program = (struct program){ 0 };
	env->length = argv->length = 0;
	append(env, &(char *){ NULL }, sizeof(char *));
	while (next_field(frame, &at, &field)) {
		uint32_t number = field.length == 4 ? get32(field.data) : 0;
		field.data[-FIELD_HEADER] = 0; /* Its tag, which has been read: here the text before it ends. */
		if ((field.tag == 'a' || field.tag == 'e') && memchr(field.data, 0, field.length))
			sound = 0;
		else if (field.tag == 'a')
			append_text(argv, field.data);
		else if (field.tag == 'e')
			append_text(env, field.data);
		else if (field.tag == 'i')
			program->input = field.data, program->input_length = field.length;
		else if (field.tag == 't' && field.length == 4)
			program->until = now() + number, numbers |= 1;
		else if (field.tag == 'l' && field.length == 4)
			program->out_limit = number < MOST_KEPT ? number : MOST_KEPT, numbers |= 2;
		else if (field.tag == 'k' && field.length == 4)
			program->err_kept = number < MOST_KEPT ? number : MOST_KEPT, numbers |= 4;
	}
	frame->data[frame->length] = 0;
	if (!sound || numbers != 7 || !program->input || at != frame->length)
		return missed(SOCKET_NAME, "the program to run is not described whole");
	program->argv = (char **)argv->data, program->env = (char **)env->data;
	if (program->until > deadline)
		program->until = deadline;
	return 1;
}

/* Runs the program and reports its end to the bridge; false when the connection to the bridge is lost. */
static int serve_run(int fd, struct bytes *frame)
{
	static struct bytes argv, env, report;
	static struct ending ending;
	struct program program;
	ending.out.length = ending.err.length = report.length = 0;
	if (!parse_run(frame, &argv, &env, &program))
		return 0;
	run_program(&program, fd, &ending);
	if (ending.how == LOST)
		return missed(SOCKET_NAME, "the connection ended before the answer");
	unsigned char number = (unsigned char)ending.number;
	const char *why = strerror(ending.number);
	append(&report, MAGIC "\0\0\0\0", HEADER);
	if (ending.how == EXITED || ending.how == SIGNALLED)
		append_field(&report, (char)ending.how, &number, 1);
	else
		append_field(&report, (char)ending.how, why, ending.how == NOT_STARTED ? strlen(why) : 0);
	append_field(&report, 'o', ending.out.data, ending.out.length);
	append_field(&report, 'r', ending.err.data, ending.err.length);
	put32((unsigned char *)report.data + 4, (uint32_t)(report.length - HEADER));
	return send_frame(fd, &report);
}

/* One attempt, with any number of programs for the bridge; true when there is an answer, which is in `frame`. */
static int exchange(int folder, const struct bytes *request, struct bytes *frame, struct answer *answer)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), going, done = 0;
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" SOCKET_NAME, folder);
	going = fd >= 0 && limit_next(fd, SO_SNDTIMEO) && !connect(fd, (struct sockaddr *)&address, sizeof address);
	if (!going)
		missed(SOCKET_NAME, strerror(errno));
	for (going = going && send_frame(fd, request); going && !done;) {
		going = receive_frame(fd, frame);
		if (going && is_run(frame))
			going = serve_run(fd, frame);
		else if (going)
			going = done = parse_answer(frame, answer);
	}
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
	struct bytes frame = { 0 };
	struct answer answer;
	int64_t limit = time_limit(command);

	prepare_to_run();
	deadline = now() + limit;
	struct bytes config = read_stdin();
	find_version(&config);
	/* The bridge's own plugins carry this mark: it would be calling itself for ever. */
	if (getenv("KUBUS_OWNER"))
		fail(INVALID_CONFIG, "kubus-cni: cni-bridge runs its own shim; its plugin folder must hold the real plugins");
	struct bytes request = build_request(slash ? slash + 1 : path, &config);
	int folder = own_folder();
	while (!exchange(folder, &request, &frame, &answer)) {
		/* The list of versions must not wait for a bridge: runtimes ask for it when they start. */
		if (is_version) {
			printf("{\"cniVersion\":\"" NEWEST "\",\"supportedVersions\":[" SUPPORTED "]}\n");
			return 0;
		}
		if (now() + wait >= deadline)
			fail(!strcmp(command, "STATUS") ? NOT_AVAILABLE : TRY_AGAIN_LATER,
			     "kubus-cni: cni-bridge gave no answer within %.1f s (%s)", (double)limit / 1000, *reason ? reason : "no attempt was made");
		usleep((useconds_t)wait * 1000);
		wait = wait * 2 < LONGEST_PAUSE ? wait * 2 : LONGEST_PAUSE;
	}
	print(STDERR_FILENO, answer.err.data, answer.err.length);
	print(STDOUT_FILENO, answer.out.data, answer.out.length);
	return answer.exit_code;
}

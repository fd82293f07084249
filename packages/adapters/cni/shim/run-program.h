/*
 * Runs one program for cni-bridge, as the child of this process: in a process group of its own, without descriptors but
 * its three, and not outliving this process. A part of kubus-cni.c, which has `struct bytes`, `append` and `now`.
 */
#ifndef RUN_PROGRAM_H
#define RUN_PROGRAM_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What to run; the last of `argv` and of `env` is NULL. Sizes are bytes, times milliseconds. */
struct program {
	char **argv, **env;
	const char *input;
	size_t input_length, out_limit, err_kept;
	int64_t until;
};

/* How it ended; the letters are the tags of the protocol. LOST: the connection to the bridge is lost, and the program is not running. */
enum how { LOST = 0, EXITED = 'x', SIGNALLED = 's', NOT_STARTED = 'f', TOO_LATE = 't', TOO_MUCH = 'm' };

struct ending {
	enum how how;
	int number; /* The exit code, the signal, or the error number of the start. */
	struct bytes out, err;
};

static sigset_t callers_mask, own_mask, waiting_mask;

static void on_child_change(int signal)
{
	(void)signal; /* Being called ends the wait, which is all that is wanted. */
}

/*
 * Must be called once, first: closes descriptors that the caller left open, and blocks the end of a child outside the
 * wait for it
 * and the signal of a plugin that does not read its input.
 */
static void prepare_to_run(void)
{
	struct sigaction action = { .sa_handler = on_child_change };
#ifdef SYS_close_range
	syscall(SYS_close_range, 3u, ~0u, 0u);
#endif
	sigaction(SIGCHLD, &action, NULL);
	sigprocmask(SIG_SETMASK, NULL, &callers_mask);
	own_mask = waiting_mask = callers_mask;
	sigaddset(&own_mask, SIGCHLD);
	sigaddset(&own_mask, SIGPIPE);
	sigaddset(&waiting_mask, SIGPIPE);
	sigdelset(&waiting_mask, SIGCHLD);
	sigprocmask(SIG_SETMASK, &own_mask, NULL);
}

/* Whether the connection ended, or something came on it that is not due. */
static int has_news(int connection)
{
	struct pollfd look = { .fd = connection, .events = POLLIN | POLLRDHUP };
	return poll(&look, 1, 0) != 0;
}

/*
 * The child's process id, or -1 with *problem set. The child borrows this process's memory and stops it until it is the
 * program, so there is nothing to copy and the reason of a failure is simply left there. It also holds the connection
 * open until then: when the bridge sees the end of it, each child is either marked by its new environment or has ended.
 */
static pid_t start_program(const struct program *program, const int files[3], volatile int *problem)
{
	pid_t parent = getpid(), child = vfork();
	if (child == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127); /* The parent died before the line above, and nothing else would end this child. */
		for (int file = 0; file < 3; file++)
			dup2(files[file], file);
		sigprocmask(SIG_SETMASK, &callers_mask, NULL);
		execve(program->argv[0], program->argv, program->env);
		*problem = errno;
		_exit(127);
	}
	if (child < 0)
		*problem = errno;
	if (child > 0 && *problem)
		waitpid(child, NULL, 0);
	return *problem ? -1 : child;
}

static void close_end(int *file)
{
	if (*file >= 0)
		close(*file);
	*file = -1;
}

static void give_input(int *file, const struct program *program, size_t *given)
{
	ssize_t part = write(*file, program->input + *given, program->input_length - *given);
	if (part > 0)
		*given += (size_t)part;
	if ((part < 0 && errno != EAGAIN && errno != EINTR) || *given == program->input_length)
		close_end(file);
}

/* Reads the available bytes; false when they exceed the limit. */
static int take_output(int *file, struct bytes *to, size_t limit)
{
	char part[65536];
	ssize_t got = read(*file, part, sizeof part);
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return 1;
	if (got <= 0) {
		close_end(file);
		return 1;
	}
	size_t room = limit - to->length;
	append(to, part, (size_t)got < room ? (size_t)got : room);
	return (size_t)got <= room;
}

static int has_exited(pid_t child)
{
	siginfo_t info = { 0 };
	return !waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == child;
}

/*
 * Waits until the program has ended and nothing holds its outputs any more, or until it must be ended. The
 * loss of the bridge is no reason to end it: a plugin that is cut off in the middle of its DEL may leave what no
 * later DEL finds. The
 * next bridge ends it if it still runs then, before it does anything about the same attachment.
 */
static enum how follow(pid_t child, const struct program *program, int *connection, int ends[3], struct ending *ending)
{
	size_t given = 0;
	for (;;) {
		struct pollfd watched[] = {
			{ .fd = *connection, .events = POLLIN | POLLRDHUP },
			{ .fd = ends[0], .events = POLLOUT },
			{ .fd = ends[1], .events = POLLIN },
			{ .fd = ends[2], .events = POLLIN },
		};
		int64_t left = program->until - now();
		struct timespec limit = { .tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000 };
		if (ends[1] < 0 && ends[2] < 0 && has_exited(child))
			return EXITED;
		if (left <= 0)
			return TOO_LATE;
		if (ppoll(watched, 4, &limit, &waiting_mask) <= 0)
			continue;
		if (watched[0].revents)
			*connection = -1;
		if (watched[1].revents)
			give_input(&ends[0], program, &given);
		if (watched[2].revents && !take_output(&ends[1], &ending->out, program->out_limit))
			return TOO_MUCH;
		if (watched[3].revents)
			take_output(&ends[2], &ending->err, program->err_kept);
	}
}

/* Runs the program to its end. It is ended with its group when time is up or when it prints too much. */
static void run_program(const struct program *program, int connection, struct ending *ending)
{
	int theirs[3] = { -1, -1, -1 }, ours[3] = { -1, -1, -1 }, status = 0;
	volatile int problem = 0;
	pid_t child = -1;
	for (int file = 0; file < 3 && !problem; file++) {
		int ends[2];
		if (pipe2(ends, O_CLOEXEC))
			problem = errno;
		else
			theirs[file] = ends[file > 0], ours[file] = ends[file == 0];
	}
	/* Checked last: the successor of a bridge that has ended may be undoing its request. */
	if (!problem && has_news(connection))
		ending->how = LOST;
	else if (!problem && !fcntl(ours[0], F_SETFL, O_NONBLOCK))
		child = start_program(program, theirs, &problem);
	for (int file = 0; file < 3; file++)
		close_end(&theirs[file]);
	if (child > 0) {
		/* Too late when the bridge has ended since: its successor may have looked for programs before this was one. */
		ending->how = has_news(connection) ? LOST : follow(child, program, &connection, ours, ending);
		/* Until it is reaped, its PID is not reused for another group. */
		if (ending->how != EXITED)
			kill(-child, SIGKILL);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (connection < 0)
			ending->how = LOST;
		else if (ending->how == EXITED && WIFSIGNALED(status))
			ending->how = SIGNALLED;
		ending->number = ending->how == SIGNALLED ? WTERMSIG(status) : WEXITSTATUS(status);
	} else if (problem) {
		ending->how = NOT_STARTED;
		ending->number = problem;
	}
	for (int file = 0; file < 3; file++)
		close_end(&ours[file]);
}

#endif

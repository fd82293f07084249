/*
 * The process that holds a pod's namespaces open.
 *
 * It does two things: it ends on TERM or INT (with 0, so that a stopped pod reads as stopped in order), and, as process
 * 1 of a shared process namespace, it reaps orphaned processes there. All signals stay blocked and are taken one by one:
 * as process 1 it would otherwise never see those that have no handler.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>

int main(void) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGINT);
  sigaddset(&awaited, SIGCHLD);
  sigprocmask(SIG_BLOCK, &awaited, NULL);

  for (;;) {
    int taken = sigwaitinfo(&awaited, NULL);
    if (taken == SIGTERM || taken == SIGINT) {
      return 0;
    }
    /* One SIGCHLD may stand for several children. */
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
  }
}

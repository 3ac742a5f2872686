/* Runs a test's case in a process of its own, which is this program started again. */
#ifndef STATOR_TESTS_SUBPROCESS_H
#define STATOR_TESTS_SUBPROCESS_H

#include "check.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void wait_for(pid_t child, const char *name) {
  int how = 0;
  CHECK(waitpid(child, &how, 0) == child);
  if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
    FAIL("%s: the process ended with %s %d", name, WIFEXITED(how) ? "exit status" : "signal",
         WIFEXITED(how) ? WEXITSTATUS(how) : WTERMSIG(how));
}

/* `program NAME`, with an environment in which the loader finds nothing but what is installed. */
static inline void run_case(const char *name) {
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("LD_PRELOAD");
    execl("/proc/self/exe", "test", name, (char *)NULL);
    _exit(127);
  }
  wait_for(child, name);
  printf("ok %s\n", name);
}

#endif /* STATOR_TESTS_SUBPROCESS_H */

// Package ctest holds the C that the tests of this module need: test files cannot use cgo themselves.
package ctest

/*
#cgo pkg-config: stator
#include <stator/stator.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// What stator_module_load answers in a forked child; -1 if the child did not tell.
static int32_t load_in_child(const char *torch, const char *path) {
  int ends[2];
  int32_t code = -1;
  if (pipe(ends) != 0) return code;
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a child that hangs is a failure, not a hanging test
    stator_status *status = torch[0] != 0 ? stator_torch_load(torch) : NULL;
    stator_module *module = NULL;
    if (status == NULL) status = stator_module_load(path, NULL, &module);
    code = stator_status_code(status);
    stator_status_release(status);
    stator_module_release(module);
    _exit(write(ends[1], &code, sizeof code) == sizeof code ? 0 : 1);
  }
  close(ends[1]);
  if (child > 0) {
    if (read(ends[0], &code, sizeof code) != sizeof code) code = -1;
    waitpid(child, NULL, 0);
  }
  close(ends[0]);
  return code;
}

static void *empty(void *a, const void *b, void *c) {
  (void)a, (void)b;
  return c == a ? c : NULL;
}

// Nanoseconds per run, without Go; negative after an error.
static double run_loop(void *runtime, const void *method, void *arena, int64_t count) {
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int64_t i = 0; i < count; ++i) {
    stator_status *status = stator_runtime_run(runtime, method, arena);
    if (status != NULL) {
      stator_status_release(status);
      return -1;
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) / (double)count;
}
*/
import "C"

import (
	"unsafe"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// LoadInChild forks, loads LibTorch (unless torch is "") and a model in the child, and gives the status code seen there.
func LoadInChild(torch, path string) int {
	t, p := C.CString(torch), C.CString(path)
	defer C.free(unsafe.Pointer(t))
	defer C.free(unsafe.Pointer(p))
	return int(C.load_in_child(t, p))
}

// Empty is a call with the signature of a run that does nothing.
func Empty(runtime *c.Runtime, method *c.Method, arena *c.Arena) bool {
	return C.empty(unsafe.Pointer(runtime), unsafe.Pointer(method), unsafe.Pointer(arena)) == nil
}

// RunLoop runs many times in C and gives nanoseconds per run; negative after an error.
func RunLoop(runtime *c.Runtime, method *c.Method, arena *c.Arena, count int) float64 {
	return float64(C.run_loop(unsafe.Pointer(runtime), unsafe.Pointer(method), unsafe.Pointer(arena), C.int64_t(count)))
}

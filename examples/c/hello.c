/* The first result: runs a model's forward() on one float32 tensor of ones and prints its first output.
 *
 *   cc hello.c $(pkg-config --cflags --libs stator) -o hello
 *   ./hello model.pt 1 8
 *
 * LibTorch is looked for in the folder STATOR_TORCH_HOME names, else where Stator finds it. */
#include <stdio.h>
#include <stdlib.h>

#include <stator/stator.h>

/* Every call that can fail returns a status; NULL is success. */
static void check(stator_status *status) {
  if (status == NULL) return;
  fprintf(stderr, "%s: %s\n", stator_status_name(stator_status_code(status)), stator_status_message(status));
  stator_status_release(status);
  exit(1);
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 10) return fprintf(stderr, "usage: hello MODEL [SIZE]...\n"), 2;
  int64_t shape[8], count = 1;
  for (int i = 2; i < argc; ++i) count *= shape[i - 2] = atoll(argv[i]);
  if (getenv("STATOR_TORCH_HOME") != NULL) check(stator_torch_load(getenv("STATOR_TORCH_HOME")));

  stator_module *module = NULL;
  stator_runtime *runtime = NULL;
  stator_arena *arena = NULL;
  const stator_method *forward = NULL;
  check(stator_module_load(argv[1], NULL, &module));
  check(stator_module_find_method(module, "forward", &forward));
  check(stator_runtime_create(module, NULL, &runtime));
  check(stator_arena_create(module, NULL, &arena));

  /* Bind once; then each run costs one call. */
  void *x = NULL;
  check(stator_runtime_input(runtime, forward, 0, STATOR_FLOAT32, argc - 2, shape, &x));
  for (int64_t i = 0; i < count; ++i) ((float *)x)[i] = 1.0F;
  check(stator_runtime_run(runtime, forward, arena));

  const void *data = NULL;
  const int64_t *sizes = NULL;
  int32_t dtype = 0, ndim = 0;
  check(stator_arena_output(arena, 0, &data, &dtype, NULL, &ndim, &sizes, NULL));
  printf("%s[", stator_dtype_name(dtype));
  for (int i = 0; i < ndim; ++i) printf(i == 0 ? "%lld" : ", %lld", (long long)sizes[i]);
  printf("]");
  if (dtype == STATOR_FLOAT32 && data != NULL) printf(", the first element is %g", ((const float *)data)[0]);
  printf("\n");

  stator_arena_release(arena);
  stator_runtime_release(runtime);
  stator_module_release(module);
  return 0;
}

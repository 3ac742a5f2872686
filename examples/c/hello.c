/* Runs a model that takes one float32 tensor of shape [1, 8], as build/models/linear.pt does.
 *
 *   cc hello.c $(pkg-config --cflags --libs stator) -o hello
 *   ./hello MODEL
 *
 * LibTorch: the environment variable STATOR_TORCH_HOME names its folder, else Stator looks for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stator/stator.h>

/* Every call that can fail returns a status; NULL is success. */
static void check(stator_status *status) {
  if (status == NULL) return;
  fprintf(stderr, "%s: %s\n", stator_status_name(stator_status_code(status)), stator_status_message(status));
  stator_status_release(status);
  exit(1);
}

static void print_floats(const float *data, int64_t count) {
  for (int64_t i = 0; i < count; ++i) printf(" %.4f", (double)data[i]);
  printf("\n");
}

/* The general way: values in, values out. */
static void call(stator_runtime *runtime, const stator_method *forward, const float *features, stator_arena *arena) {
  stator_value *x = NULL, *arguments = NULL, *y = NULL;
  check(stator_value_create_tensor(features, STATOR_FLOAT32, STATOR_CPU, 2, (const int64_t[]){1, 8}, NULL, &x));
  check(stator_value_create_tuple((const stator_value *const[]){x}, 1, NULL, &arguments));
  check(stator_runtime_call(runtime, forward, arguments, NULL, arena, &y));

  const void *data = NULL;
  const int64_t *shape = NULL;
  int32_t dtype = 0, ndim = 0;
  check(stator_value_as_tensor(y, &data, &dtype, NULL, &ndim, &shape, NULL));
  printf("call:  %s[", stator_dtype_name(dtype));
  for (int32_t i = 0; i < ndim; ++i) printf(i == 0 ? "%lld" : ", %lld", (long long)shape[i]);
  printf("]");
  print_floats(data, stator_value_size(y));

  stator_value_release(y);
  stator_value_release(arguments);
  stator_value_release(x);
}

/* The fast way: bind once, run many. A run is one call, and copies and allocates nothing. */
static void run(stator_runtime *runtime, const stator_method *forward, const float *features, stator_arena *arena) {
  void *x = NULL;
  check(stator_runtime_input(runtime, forward, 0, STATOR_FLOAT32, 2, (const int64_t[]){1, 8}, &x));
  memcpy(x, features, 8 * sizeof(float));
  for (int i = 0; i < 3; ++i) {
    ((float *)x)[0] = (float)i;
    check(stator_runtime_run(runtime, forward, arena));
    const void *y = NULL; /* borrowed until the next run into this arena */
    const int64_t *shape = NULL;
    check(stator_arena_output(arena, 0, &y, NULL, NULL, NULL, &shape, NULL));
    printf("run %d:", i);
    print_floats(y, shape[1]);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return fprintf(stderr, "usage: hello MODEL\n"), 2;
  if (getenv("STATOR_TORCH_HOME") != NULL) check(stator_torch_load(getenv("STATOR_TORCH_HOME")));

  stator_module *module = NULL;
  stator_runtime *runtime = NULL;
  stator_arena *arena = NULL;
  const stator_method *forward = NULL;
  check(stator_module_load(argv[1], NULL, &module));
  check(stator_module_find_method(module, "forward", &forward));
  check(stator_runtime_create(module, NULL, &runtime));
  check(stator_arena_create(module, NULL, &arena));

  const float features[] = {1, 2, 3, 4, 5, 6, 7, 8};
  call(runtime, forward, features, arena);
  run(runtime, forward, features, arena);

  stator_arena_release(arena);
  stator_runtime_release(runtime);
  stator_module_release(module);
  return 0;
}

/* Operators that LibTorch does not bring: from a library written for LibTorch, and with kernels in C. */
#include "check.h"
#include "subprocess.h"

#include "stator/stator_experimental.h"

#include <pthread.h>
#include <stdatomic.h>

static const char *library_path(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/tests/operators/%s", from_environment("STATOR_BUILD_DIR"), name);
  return path;
}

/* --------------------------------------------------- stator_test::swish(Tensor x, float beta=1.0) -> Tensor */

static atomic_int shapes_asked, kernels_run;
static const char context_of_swish[] = "swish";

static stator_status *swish_shape(void *context, stator_op_call *call) {
  if (context != (void *)context_of_swish) return stator_status_create(STATOR_INTERNAL, "another operator's context");
  atomic_fetch_add(&shapes_asked, 1);
  const void *data = &shapes_asked;
  const int64_t *shape = NULL;
  int32_t dtype = 0, ndim = 0;
  stator_status *failed = stator_op_call_tensor(call, 0, &data, &dtype, &ndim, &shape, NULL);
  if (failed != NULL) return failed;
  if (data != NULL) return stator_status_create(STATOR_INTERNAL, "a shape callback sees data");
  if (dtype != STATOR_FLOAT32) return stator_status_create(STATOR_DTYPE_MISMATCH, "swish: expected float32");
  return stator_op_call_set_output(call, 0, dtype, ndim, shape);
}

/* Of one or two dimensions, whatever the strides. */
static stator_status *swish(void *context, stator_op_call *call) {
  (void)context;
  atomic_fetch_add(&kernels_run, 1);
  const void *data = NULL;
  void *out = NULL;
  const int64_t *shape = NULL, *strides = NULL;
  int32_t ndim = 0;
  double beta = 0;
  stator_status *failed = stator_op_call_tensor(call, 0, &data, NULL, &ndim, &shape, &strides);
  if (failed == NULL) failed = stator_op_call_float(call, 1, &beta);
  if (failed == NULL) failed = stator_op_call_output(call, 0, &out, NULL, NULL, NULL);
  if (failed != NULL) return failed;
  const int64_t rows = ndim == 2 ? shape[0] : 1, columns = shape[ndim - 1], row = ndim == 2 ? strides[0] : 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const float x = ((const float *)data)[i * row + j * strides[ndim - 1]];
      ((float *)out)[i * columns + j] = x / (1 + expf((float)-beta * x));
    }
  }
  return NULL;
}

/* ------------------- stator_test::pick(Tensor[] xs, Tensor? bias, int k, bool negate, str name) -> (Tensor, Tensor)
 * xs[k] with its bias, negated or not; and the length of the name. */

static stator_status *picked(const stator_op_call *call, stator_value **out) {
  stator_value *list = NULL;
  int64_t k = 0;
  stator_status *failed = stator_op_call_value(call, 0, &list);
  if (failed == NULL) failed = stator_op_call_int(call, 2, &k);
  if (failed == NULL) failed = stator_value_item(list, k, out);
  stator_value_release(list);
  return failed;
}

static stator_status *pick_shape(void *context, stator_op_call *call) {
  (void)context;
  stator_value *x = NULL;
  const int64_t *shape = NULL;
  int32_t dtype = 0, ndim = 0;
  stator_status *failed = picked(call, &x);
  if (failed == NULL) failed = stator_value_as_tensor(x, NULL, &dtype, NULL, &ndim, &shape, NULL);
  if (failed == NULL) failed = stator_op_call_set_output(call, 0, dtype, ndim, shape);
  if (failed == NULL) failed = stator_op_call_set_output(call, 1, STATOR_INT64, 0, NULL);
  stator_value_release(x);
  return failed;
}

static stator_status *pick(void *context, stator_op_call *call) {
  (void)context;
  stator_value *x = NULL, *name = NULL;
  const void *data = NULL, *bias = NULL;
  void *out = NULL, *length = NULL;
  const int64_t *shape = NULL;
  const char *text = NULL;
  int64_t negate = 0, size = 0;
  stator_status *failed = picked(call, &x);
  if (failed == NULL) failed = stator_value_as_tensor(x, &data, NULL, NULL, NULL, &shape, NULL);
  if (failed == NULL && stator_op_call_argument_kind(call, 1) != STATOR_KIND_NONE)
    failed = stator_op_call_tensor(call, 1, &bias, NULL, NULL, NULL, NULL);
  if (failed == NULL) failed = stator_op_call_int(call, 3, &negate);
  if (failed == NULL) failed = stator_op_call_value(call, 4, &name);
  if (failed == NULL) failed = stator_value_as_str(name, &text, &size);
  if (failed == NULL) failed = stator_op_call_output(call, 0, &out, NULL, NULL, NULL);
  if (failed == NULL) failed = stator_op_call_output(call, 1, &length, NULL, NULL, NULL);
  if (failed == NULL) {
    for (int64_t i = 0; i < shape[0]; ++i) {
      const float sum = ((const float *)data)[i] + (bias != NULL ? ((const float *)bias)[i] : 0.0F);
      ((float *)out)[i] = negate ? -sum : sum;
    }
    *(int64_t *)length = size;
  }
  stator_value_release(name);
  stator_value_release(x);
  return failed;
}

/* ---------------------------------------------------------------------------------------------------------- tests */

static void a_model_names_the_operator_that_is_missing(void) {
  stator_module *module = NULL;
  CHECK_CODE_SAYING(stator_module_load(model_path("operators_library.pt"), NULL, &module), STATOR_UNSUPPORTED,
                    "stator_library::outer");
  CHECK_CODE_SAYING(stator_module_load(model_path("operators.pt"), NULL, &module), STATOR_UNSUPPORTED,
                    "load its library first");
}

static void a_library_that_cannot_be_opened_says_why(void) {
  CHECK_CODE_SAYING(stator_op_library_load(library_path("nothing.so")), STATOR_NOT_FOUND, "nothing.so");
  CHECK_CODE_SAYING(stator_op_library_load("libthere_is_none.so"), STATOR_IO, "libthere_is_none.so");
  CHECK_CODE_SAYING(stator_op_library_load(model_path("add_mul.pt")), STATOR_IO, "add_mul.pt");
  CHECK_CODE_SAYING(stator_op_library_load(library_path("libneedy.so")), STATOR_IO, "there_is_no_such_function");
}

static void a_library_is_loaded_by_path(void) {
  CHECK_OK(stator_op_library_load(library_path("liblibrary.so")));
  CHECK_OK(stator_op_library_load(library_path("liblibrary.so")));
  session s = begin("operators_library.pt");
  float x[] = {1, 2}, y[] = {3, 4, 5};
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, 2));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, 3));
  for (int run = 0; run < 3; ++run) {
    CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
    const float *out = output_floats(s.arena, 0, 6); /* ((2 x) outer y) ** 2, flat */
    for (int i = 0; i < 6; ++i) CHECK_NEAR(out[i], 4 * x[i / 3] * x[i / 3] * y[i % 3] * y[i % 3]);
  }
  end(&s);
}

static void schemas_are_checked(void) {
  static const struct {
    const char *schema;
    int32_t code;
    const char *part;
  } rows[] = {
      {"stator_test::bad(Tensor x -> Tensor", STATOR_INVALID_ARGUMENT, "does not parse"},
      {"bad(Tensor x) -> Tensor", STATOR_INVALID_ARGUMENT, "namespace"},
      {"aten::relu(Tensor self) -> Tensor", STATOR_INVALID_ARGUMENT, "aten::relu"},
      {"stator_test::bad(Tensor(a!) x) -> Tensor", STATOR_UNSUPPORTED, "new tensors"},
      {"stator_test::bad(Tensor(a) x) -> Tensor(a)", STATOR_UNSUPPORTED, "new tensors"},
      {"stator_test::bad(Tensor x) -> int", STATOR_UNSUPPORTED, "int"},
      {"stator_test::bad(Tensor x) -> Tensor[]", STATOR_UNSUPPORTED, "List[Tensor]"},
      {"stator_test::bad(Tensor x) -> ()", STATOR_UNSUPPORTED, "no result"},
      {"stator_test::bad(Tensor x, ...) -> Tensor", STATOR_UNSUPPORTED, "..."},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    CHECK_CODE_SAYING(stator_op_register(rows[i].schema, swish_shape, swish, NULL), rows[i].code, rows[i].part);
  const char *schema = "stator_test::bad(Tensor x) -> Tensor";
  CHECK_CODE_SAYING(stator_op_register(schema, NULL, swish, NULL), STATOR_INVALID_ARGUMENT, "shape");
  CHECK_CODE_SAYING(stator_op_register(schema, swish_shape, NULL, NULL), STATOR_INVALID_ARGUMENT, "kernel");
}

static void a_name_is_registered_once(void) {
  const char *schema = "stator_test::swish(Tensor x, float beta=1.0) -> Tensor";
  CHECK_OK(stator_op_register(schema, swish_shape, swish, (void *)context_of_swish));
  CHECK_CODE_SAYING(stator_op_register(schema, swish_shape, swish, NULL), STATOR_INVALID_ARGUMENT,
                    "stator_test::swish");
  CHECK_OK(stator_op_register(
      "stator_test::pick(Tensor[] xs, Tensor? bias, int k, bool negate, str name) -> (Tensor, Tensor)", pick_shape,
      pick, NULL));
}

static float swished(float x, float beta) { return x / (1 + expf(-beta * x)); }

/* forward(x, n) = swish(2 x, 0.5) + swish(x), n times */
static void check_swish(const session *s, int64_t count) {
  float x[64];
  for (int64_t i = 0; i < count; ++i) x[i] = (float)i / 8 - 2;
  CHECK_OK(bind_floats(s->runtime, s->forward, 0, x, count));
  CHECK_OK(stator_runtime_run(s->runtime, s->forward, s->arena));
  const float *out = output_floats(s->arena, 0, count);
  for (int64_t i = 0; i < count; ++i) CHECK_NEAR(out[i], swished(2 * x[i], 0.5F) + swished(x[i], 1));
}

static void a_kernel_in_c_runs_for_every_shape(void) {
  session s = begin("operators.pt");
  const int64_t counts[] = {3, 3, 64, 5, 1, 3};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) check_swish(&s, counts[i]);
  CHECK_INT(shapes_asked, kernels_run);
  CHECK_INT(kernels_run, 12);
  end(&s);
}

static void results_of_a_kernel_are_planned(void) {
  session s = begin("operators.pt");
  stator_bytes *plan = NULL;
  CHECK_OK(stator_method_plan(s.forward, &plan));
  const char *node = strstr(stator_bytes_data(plan), "stator_test::swish");
  CHECK(node != NULL);
  const char *kind = strstr(node, "\"kind\"");
  CHECK(kind != NULL && strstr(kind, "out") != NULL && strstr(kind, "out") - kind < 20);
  stator_bytes_release(plan);
  end(&s);
}

static void a_kernel_sees_strides(void) {
  session s = begin("operators.pt");
  float x[] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[] = {3, 2}, strides[] = {1, 3};
  CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, shape, strides));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  const void *data = NULL;
  const int64_t *out_strides = NULL;
  CHECK_OK(stator_arena_output(s.arena, 0, &data, NULL, NULL, NULL, NULL, &out_strides));
  CHECK_INT(out_strides[1], 1);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) {
      const float given = x[i + 3 * j];
      CHECK_NEAR(((const float *)data)[2 * i + j], swished(2 * given, 0.5F) + swished(given, 1));
    }
  }
  end(&s);
}

static void a_status_of_a_callback_reaches_the_caller(void) {
  session s = begin("operators.pt");
  int64_t numbers[] = {1, 2}, shape[] = {2};
  CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 0, numbers, STATOR_INT64, STATOR_CPU, 1, shape, NULL));
  stator_status *status = stator_runtime_run(s.runtime, s.forward, s.arena);
  CHECK_INT(stator_status_code(status), STATOR_DTYPE_MISMATCH);
  CHECK(strstr(stator_status_message(status), "swish: expected float32") != NULL);
  CHECK_TEXT(stator_status_operator(status), "stator_test::swish");
  CHECK(strstr(stator_status_source(status), "swish") != NULL);
  stator_status_release(status);
  check_swish(&s, 4); /* and the next run is right */
  end(&s);
}

/* pick(x, y, bias, k) */
static void kernels_take_lists_options_and_give_two_results(void) {
  session s = begin("operators.pt");
  const stator_method *method = find(s.module, "pick");
  float x[] = {1, 2, 3}, y[] = {10, 20, 30}, bias[] = {0.5F, 0.5F, 0.5F};
  stator_value *none = NULL, *k = int_value(1);
  CHECK_OK(stator_value_create_none(&none));
  CHECK_OK(bind_floats(s.runtime, method, 0, x, 3));
  CHECK_OK(bind_floats(s.runtime, method, 1, y, 3));
  CHECK_OK(stator_runtime_bind_value(s.runtime, method, 2, none));
  CHECK_OK(stator_runtime_bind_value(s.runtime, method, 3, k));
  for (int with_bias = 0; with_bias < 2; ++with_bias) {
    if (with_bias) CHECK_OK(bind_floats(s.runtime, method, 2, bias, 3));
    CHECK_OK(stator_runtime_run(s.runtime, method, s.arena));
    const float *out = output_floats(s.arena, 0, 3);
    for (int i = 0; i < 3; ++i) CHECK_NEAR(out[i], -(y[i] + (with_bias ? 0.5F : 0)));
    const void *length = NULL;
    CHECK_OK(stator_arena_output(s.arena, 1, &length, NULL, NULL, NULL, NULL, NULL));
    CHECK_INT(*(const int64_t *)length, 4);
  }
  stator_value *far = int_value(7);
  CHECK_OK(stator_runtime_bind_value(s.runtime, method, 3, far));
  CHECK_CODE_SAYING(stator_runtime_run(s.runtime, method, s.arena), STATOR_INVALID_ARGUMENT, "index 7");
  stator_value_release(far);
  stator_value_release(k);
  stator_value_release(none);
  end(&s);
}

static void *run_many(void *module) {
  session s = {module, find(module, "forward"), new_runtime(module), new_arena(module)};
  for (int i = 0; i < 200; ++i) check_swish(&s, 1 + i % 7);
  stator_arena_release(s.arena);
  stator_runtime_release(s.runtime);
  return NULL;
}

static void threads_call_a_kernel_at_once(void) {
  stator_module *module = load("operators.pt");
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) CHECK_INT(pthread_create(&threads[i], NULL, run_many, module), 0);
  for (int i = 0; i < 4; ++i) CHECK_INT(pthread_join(threads[i], NULL), 0);
  stator_module_release(module);
}

/* LibTorch does not give back what it has compiled of a model that it refuses: the process in which that happens ends without a look for
   leaks. */
static void refused_in_a_process_of_its_own(void) {
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    load_torch();
    RUN(a_model_names_the_operator_that_is_missing);
    fflush(stdout);
    _exit(0);
  }
  wait_for(child, "a_model_names_the_operator_that_is_missing");
}

int main(void) {
  refused_in_a_process_of_its_own();
  load_torch();
  RUN(a_library_that_cannot_be_opened_says_why);
  RUN(a_library_is_loaded_by_path);
  RUN(schemas_are_checked);
  RUN(a_name_is_registered_once);
  RUN(a_kernel_in_c_runs_for_every_shape);
  RUN(results_of_a_kernel_are_planned);
  RUN(a_kernel_sees_strides);
  RUN(a_status_of_a_callback_reaches_the_caller);
  RUN(kernels_take_lists_options_and_give_two_results);
  RUN(threads_call_a_kernel_at_once);
  return 0;
}

/* What the tests of the C ABI share: checks that name their line, models by name, and the rule that every test leaves no handle behind. */
#ifndef STATOR_TESTS_CHECK_H
#define STATOR_TESTS_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* so this header comes first */
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stator/stator.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#else
#define UNDER_SANITIZER 0
#endif

/* From any thread, and with others running: no handlers of exit. */
#define FAIL(...)                                                    \
  do {                                                               \
    fflush(stdout);                                                  \
    fprintf(stderr, "%s:%d: in %s: ", __FILE__, __LINE__, __func__); \
    fprintf(stderr, __VA_ARGS__);                                    \
    fputc('\n', stderr);                                             \
    _Exit(1);                                                        \
  } while (0)

#define CHECK(condition)                               \
  do {                                                 \
    if (!(condition)) FAIL("expected %s", #condition); \
  } while (0)

#define CHECK_INT(got, wanted)                                                                   \
  do {                                                                                           \
    const long long got_ = (long long)(got), wanted_ = (long long)(wanted);                      \
    if (got_ != wanted_) FAIL("%s: expected %s = %lld, got %lld", #got, #wanted, wanted_, got_); \
  } while (0)

#define CHECK_TEXT(got, wanted)                                                     \
  do {                                                                              \
    const char *got_ = (got), *wanted_ = (wanted);                                  \
    if (got_ == NULL || strcmp(got_, wanted_) != 0)                                 \
      FAIL("%s: expected \"%s\", got \"%s\"", #got, wanted_, got_ ? got_ : "NULL"); \
  } while (0)

#define CHECK_NEAR(got, wanted)                                   \
  do {                                                            \
    const double got_ = (got), wanted_ = (wanted);                \
    if (!(fabs(got_ - wanted_) <= 1e-5 + 1.3e-6 * fabs(wanted_))) \
      FAIL("%s: expected %.9g, got %.9g", #got, wanted_, got_);   \
  } while (0)

#define CHECK_OK(call)                                                                                            \
  do {                                                                                                            \
    stator_status *status_ = (call);                                                                              \
    if (status_ != NULL)                                                                                          \
      FAIL("%s: %s: %s", #call, stator_status_name(stator_status_code(status_)), stator_status_message(status_)); \
  } while (0)

/* The call fails with the code, says something, and the status is released. */
#define CHECK_CODE(call, wanted) CHECK_CODE_SAYING(call, wanted, "")

/* The same, and the message holds `part`. */
#define CHECK_CODE_SAYING(call, wanted, part)                                                      \
  do {                                                                                             \
    stator_status *status_ = (call);                                                               \
    if (stator_status_code(status_) != (wanted) || stator_status_message(status_)[0] == '\0' ||    \
        strstr(stator_status_message(status_), (part)) == NULL) {                                  \
      FAIL("%s: expected %s saying \"%s\", got %s: %s", #call, stator_status_name(wanted), (part), \
           stator_status_name(stator_status_code(status_)), stator_status_message(status_));       \
    }                                                                                              \
    stator_status_release(status_);                                                                \
  } while (0)

#define CHECK_ONE_OF(call, first, second)                                                                     \
  do {                                                                                                        \
    stator_status *status_ = (call);                                                                          \
    const int32_t code_ = stator_status_code(status_);                                                        \
    if ((code_ != (first) && code_ != (second)) || stator_status_message(status_)[0] == '\0') {               \
      FAIL("%s: expected %s or %s, got %s: %s", #call, stator_status_name(first), stator_status_name(second), \
           stator_status_name(code_), stator_status_message(status_));                                        \
    }                                                                                                         \
    stator_status_release(status_);                                                                           \
  } while (0)

static int64_t handles_at_start[STATOR_HANDLE_QUEUE + 1];

static inline void remember_handles(void) {
  for (int32_t kind = STATOR_HANDLE_STATUS; kind <= STATOR_HANDLE_QUEUE; ++kind)
    handles_at_start[kind] = stator_live_handles(kind);
}

static inline void check_handles(const char *after) {
  static const char *const names[] = {"",      "status", "bytes", "options", "module", "runtime",
                                      "arena", "pool",   "value", "export",  "future", "queue"};
  for (int32_t kind = STATOR_HANDLE_STATUS; kind <= STATOR_HANDLE_QUEUE; ++kind) {
    long long extra = 0;
    /* A thread that has just finished an asynchronous run may be about to let go of its future. */
    for (int wait = 0; wait < 2000; ++wait) {
      extra = (long long)(stator_live_handles(kind) - handles_at_start[kind]);
      if (extra == 0) break;
      usleep(1000);
    }
    if (extra != 0) FAIL("%s: %lld more handles of kind %s than before", after, extra, names[kind]);
  }
}

/* One test: runs it, and every handle must be gone afterwards. */
#define RUN(test)             \
  do {                        \
    remember_handles();       \
    test();                   \
    check_handles(#test);     \
    printf("ok %s\n", #test); \
    fflush(stdout);           \
  } while (0)

static inline const char *from_environment(const char *name) {
  const char *value = getenv(name);
  if (value == NULL) FAIL("the environment variable %s is not set: run this by ctest", name);
  return value;
}

static inline void load_torch(void) { CHECK_OK(stator_torch_load(from_environment("STATOR_TORCH_HOME"))); }

/* The path of a test model; valid until the next call from the same thread. */
static inline const char *model_path(const char *name) {
  static _Thread_local char path[4096];
  snprintf(path, sizeof path, "%s/%s", from_environment("STATOR_TEST_MODELS"), name);
  return path;
}

static inline stator_module *load(const char *name) {
  stator_module *module = NULL;
  CHECK_OK(stator_module_load(model_path(name), NULL, &module));
  CHECK(module != NULL);
  return module;
}

static inline const stator_method *find(const stator_module *module, const char *name) {
  const stator_method *method = NULL;
  CHECK_OK(stator_module_find_method(module, name, &method));
  CHECK(method != NULL);
  return method;
}

static inline stator_runtime *new_runtime(stator_module *module) {
  stator_runtime *runtime = NULL;
  CHECK_OK(stator_runtime_create(module, NULL, &runtime));
  CHECK(runtime != NULL);
  return runtime;
}

static inline stator_arena *new_arena(stator_module *module) {
  stator_arena *arena = NULL;
  CHECK_OK(stator_arena_create(module, NULL, &arena));
  CHECK(arena != NULL);
  return arena;
}

/* A module with a method, a runtime and an arena: what most tests need. */
typedef struct {
  stator_module *module;
  const stator_method *forward;
  stator_runtime *runtime;
  stator_arena *arena;
} session;

static inline session begin(const char *model) {
  session s = {load(model), NULL, NULL, NULL};
  s.forward = find(s.module, "forward");
  s.runtime = new_runtime(s.module);
  s.arena = new_arena(s.module);
  return s;
}

static inline void end(session *s) {
  stator_arena_release(s->arena);
  stator_runtime_release(s->runtime);
  stator_module_release(s->module);
}

/* Binds contiguous float32 memory of one dimension. */
static inline stator_status *bind_floats(stator_runtime *runtime, const stator_method *method, int32_t index,
                                         float *data, int64_t count) {
  return stator_runtime_bind(runtime, method, index, data, STATOR_FLOAT32, STATOR_CPU, 1, &count, NULL);
}

/* Checks that the output is a contiguous float32 vector and gives its elements. */
static inline const float *output_floats(const stator_arena *arena, int32_t index, int64_t count) {
  const void *data = NULL;
  int32_t dtype = 0, device = 0, ndim = -1;
  const int64_t *shape = NULL, *strides = NULL;
  CHECK_OK(stator_arena_output(arena, index, &data, &dtype, &device, &ndim, &shape, &strides));
  CHECK_TEXT(stator_dtype_name(dtype), "float32");
  CHECK_INT(device, STATOR_CPU);
  CHECK_INT(ndim, 1);
  CHECK_INT(shape[0], count);
  CHECK_INT(strides[0], 1);
  return (const float *)data;
}

/* What add_mul.pt answers. */
static inline float add_mul(float x, float y) { return 1.0F / (1.0F + expf(-(x * y + x))); }

/* A value holding a copy of a float32 vector. */
static inline stator_value *float_vector(const float *data, int64_t count) {
  stator_value *value = NULL;
  CHECK_OK(stator_value_create_tensor(data, STATOR_FLOAT32, STATOR_CPU, 1, &count, NULL, &value));
  return value;
}

static inline stator_value *int_value(int64_t number) {
  stator_value *value = NULL;
  CHECK_OK(stator_value_create_int(number, &value));
  return value;
}

/* A tuple of values; the items are released, the tuple holds them. */
static inline stator_value *tuple_of(int64_t count, stator_value *const *items) {
  stator_value *tuple = NULL;
  CHECK_OK(stator_value_create_tuple((const stator_value *const *)items, count, NULL, &tuple));
  for (int64_t i = 0; i < count; ++i) stator_value_release(items[i]);
  return tuple;
}

#endif /* STATOR_TESTS_CHECK_H */

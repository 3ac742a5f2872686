/* Strict mode: what loads runs without a single allocation, in any thread and library; what cannot is refused with the nodes in the way.
 *
 * capi_strict                                 the tests
 * capi_strict MODEL x=float32[1,128] ...      only that this model, anywhere, keeps the promise */
#include <errno.h>
#include <stdatomic.h>

#include "check.h"

enum { kWarmRuns = 10, kCountedRuns = 10000, kMostInputs = 16, kMostDims = 8 };

/* The program's own malloc and its kin are the whole process's. A sanitizer brings its own, which cannot be counted. */
static atomic_llong allocations;

#if !UNDER_SANITIZER
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

#define VISIBLE __attribute__((visibility("default")))

VISIBLE void *malloc(size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __libc_malloc(size);
}
VISIBLE void *calloc(size_t count, size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __libc_calloc(count, size);
}
VISIBLE void *realloc(void *old, size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __libc_realloc(old, size);
}
VISIBLE void *memalign(size_t alignment, size_t size) {
  atomic_fetch_add(&allocations, 1);
  return __libc_memalign(alignment, size);
}
VISIBLE void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
VISIBLE int posix_memalign(void **out, size_t alignment, size_t size) {
  void *made = memalign(alignment, size);
  if (made == NULL) return ENOMEM;
  *out = made;
  return 0;
}
#endif

typedef struct {
  char name[64];
  int32_t dtype;
  int32_t ndim;
  int64_t shape[kMostDims];
  int64_t count;
} input_spec;

/* x=float32[1,128] */
static input_spec read_input(const char *text) {
  input_spec out = {.count = 1};
  char dtype[32];
  int used = 0;
  if (sscanf(text, "%63[^=]=%31[a-z0-9][%n", out.name, dtype, &used) != 2 || used == 0) FAIL("what is \"%s\"?", text);
  if (strcmp(dtype, "float32") != 0 && strcmp(dtype, "int64") != 0) FAIL("no dtype \"%s\" in this program", dtype);
  out.dtype = strcmp(dtype, "float32") == 0 ? STATOR_FLOAT32 : STATOR_INT64;
  char *at = NULL;
  for (const char *next = text + used; *next != '\0' && *next != ']'; next = *at == ',' ? at + 1 : at) {
    out.shape[out.ndim] = strtoll(next, &at, 10);
    out.count *= out.shape[out.ndim++];
  }
  return out;
}

static stator_options *strict_options(const char *const *inputs, int count) {
  char signature[1024] = "";
  for (int i = 0; i < count; ++i) {
    const size_t used = strlen(signature);
    const char *type = strchr(inputs[i], '=');
    snprintf(signature + used, sizeof signature - used, "%s%.*s: %s", i > 0 ? ", " : "", (int)(type - inputs[i]),
             inputs[i], type + 1);
  }
  stator_options *options = NULL;
  CHECK_OK(stator_options_create(&options));
  CHECK_OK(stator_options_set_str(options, "strict", "on"));
  CHECK_OK(stator_options_set_str(options, "signature", signature));
  return options;
}

static void fill(const input_spec *spec, void *data) {
  for (int64_t i = 0; i < spec->count; ++i) {
    if (spec->dtype == STATOR_FLOAT32) {
      ((float *)data)[i] = 0.1F * (float)(i % 13) - 0.5F;
    } else {
      ((int64_t *)data)[i] = i % 7;
    }
  }
}

static long long allocations_of_runs(stator_module *module, const char *const *inputs, int count, int threads) {
  stator_options *options = NULL;
  stator_runtime *runtime = NULL;
  stator_arena *arena = NULL;
  const stator_method *forward = NULL;
  CHECK_OK(stator_options_create(&options));
  CHECK_OK(stator_options_set_int(options, "intra_op_threads", threads));
  CHECK_OK(stator_module_find_method(module, "forward", &forward));
  CHECK_OK(stator_runtime_create(module, options, &runtime));
  CHECK_OK(stator_arena_create(module, NULL, &arena));
  CHECK_INT(stator_method_input_count(forward), count);
  for (int i = 0; i < count; ++i) {
    const input_spec spec = read_input(inputs[i]);
    void *window = NULL;
    CHECK_TEXT(stator_method_input_name(forward, i), spec.name);
    CHECK_OK(stator_runtime_input(runtime, forward, i, spec.dtype, spec.ndim, spec.shape, &window));
    fill(&spec, window);
  }
  for (int i = 0; i < kWarmRuns; ++i) CHECK_OK(stator_runtime_run(runtime, forward, arena));
  const long long before = atomic_load(&allocations);
  /* Where other processes want the processors too, threads that share work wait for each other. */
  const int runs = threads > 1 ? kCountedRuns / 10 : kCountedRuns;
  for (int i = 0; i < runs; ++i) {
    stator_status *status = stator_runtime_run(runtime, forward, arena);
    if (status != NULL) FAIL("run %d: %s", i, stator_status_message(status));
  }
  const long long made = atomic_load(&allocations) - before;
  CHECK_INT(stator_arena_output_count(arena), 1);
  stator_arena_release(arena);
  stator_runtime_release(runtime);
  stator_options_release(options);
  return made;
}

static void keeps_the_promise(const char *path, const char *const *inputs, int count) {
  stator_options *options = strict_options(inputs, count);
  stator_module *module = NULL;
  CHECK_OK(stator_module_load(path, options, &module));
  for (int threads = 1; threads <= 2; ++threads) CHECK_INT(allocations_of_runs(module, inputs, count, threads), 0);
  stator_module_release(module);
  stator_options_release(options);
}

static void runs_allocate_nothing(void) {
  const char *wide[] = {"ad_emb=float32[20,1,32]", "user_emb=float32[20,1,32]", "wide=float32[20,50]"};
  keeps_the_promise(model_path("deep_and_wide.pt"), wide, 3);
  const char *features[] = {"x=float32[1,128]"};
  keeps_the_promise(model_path("mlp.pt"), features, 1);
}

static void the_counter_counts(void) {
  if (UNDER_SANITIZER) return;
  stator_value *value = NULL;
  const long long before = atomic_load(&allocations);
  CHECK_OK(stator_value_create_int(3, &value));
  CHECK(atomic_load(&allocations) > before);
  stator_value_release(value);
}

static void refusals_name_what_is_in_the_way(void) {
  stator_module *module = NULL;
  const char *sizes[] = {"x=float32[4,4]"};
  stator_options *options = strict_options(sizes, 1);
  CHECK_CODE_SAYING(stator_module_load(model_path("slow.pt"), options, &module), STATOR_INVALID_ARGUMENT,
                    "input \"n\"");
  CHECK_OK(stator_options_set_str(options, "signature", "x: float32[?, 128]"));
  CHECK_CODE_SAYING(stator_module_load(model_path("mlp.pt"), options, &module), STATOR_INVALID_ARGUMENT,
                    "float32[?, 128]");
  CHECK_OK(stator_options_set_str(options, "signature", "x: float32[4, 4], n = 3"));
  CHECK_OK(stator_options_set_int(options, "memory_limit_bytes", 1 << 30));
  CHECK_CODE_SAYING(stator_module_load(model_path("slow.pt"), options, &module), STATOR_INVALID_ARGUMENT,
                    "memory_limit_bytes");
  stator_options_release(options);

  const char *state[] = {"x=float32[3]"};
  options = strict_options(state, 1);
  CHECK_CODE_SAYING(stator_module_load(model_path("counter.pt"), options, &module), STATOR_UNSUPPORTED, "node ");
  stator_options_release(options);

  CHECK_OK(stator_options_create(&options));
  CHECK_OK(stator_options_set_str(options, "strict", "on"));
  CHECK_CODE_SAYING(stator_module_load(model_path("mlp.pt"), options, &module), STATOR_INVALID_ARGUMENT,
                    "\"signature\"");
  stator_options_release(options);
  CHECK(module == NULL);
}

static void other_inputs_are_refused(void) {
  const char *features[] = {"x=float32[2,128]"};
  stator_options *options = strict_options(features, 1);
  stator_module *module = NULL;
  const stator_method *forward = NULL;
  stator_runtime *runtime = NULL;
  stator_arena *arena = NULL;
  static float data[4 * 128];
  CHECK_OK(stator_module_load(model_path("mlp.pt"), options, &module));
  CHECK_OK(stator_module_find_method(module, "forward", &forward));
  CHECK_OK(stator_runtime_create(module, NULL, &runtime));
  CHECK_OK(stator_arena_create(module, NULL, &arena));
  const int64_t other[] = {3, 128}, shape[] = {2, 128}, strides[] = {256, 1};
  CHECK_CODE(stator_runtime_bind(runtime, forward, 0, data, STATOR_FLOAT32, STATOR_CPU, 2, other, NULL),
             STATOR_SHAPE_MISMATCH);
  CHECK_OK(stator_runtime_bind(runtime, forward, 0, data, STATOR_FLOAT32, STATOR_CPU, 2, shape, strides));
  CHECK_CODE_SAYING(stator_runtime_run(runtime, forward, arena), STATOR_SHAPE_MISMATCH, "contiguous");
  CHECK_OK(stator_runtime_bind(runtime, forward, 0, data, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL));
  CHECK_OK(stator_runtime_run(runtime, forward, arena));
  CHECK_OK(stator_module_trim(module));
  CHECK_OK(stator_runtime_trim(runtime));
  CHECK_OK(stator_runtime_run(runtime, forward, arena));
  stator_options_release(options);
  CHECK_OK(stator_options_create(&options));
  CHECK_OK(stator_options_set_int(options, "memory_limit_bytes", 1 << 30));
  stator_runtime *limited = NULL;
  CHECK_CODE_SAYING(stator_runtime_create(module, options, &limited), STATOR_INVALID_ARGUMENT, "strict");
  stator_options_release(options);
  stator_arena_release(arena);
  stator_runtime_release(runtime);
  stator_module_release(module);
}

int main(int argc, char **argv) {
  load_torch();
  if (argc > 1) {
    keeps_the_promise(argv[1], (const char *const *)argv + 2, argc - 2);
    return 0;
  }
  RUN(the_counter_counts);
  RUN(runs_allocate_nothing);
  RUN(refusals_name_what_is_in_the_way);
  RUN(other_inputs_are_refused);
  return 0;
}

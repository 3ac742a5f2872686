/* Metrics: they count every run of every thread, keep what released runtimes counted, and cover modules and pools while they live. */
#include "check.h"

#include <pthread.h>

enum { kItems = 4, kThreads = 4, kRuns = 500 };

static float x[kItems] = {1, 2, 3, 4}, y[kItems] = {4, 3, 2, 1};

static stator_module *load_named(const char *file, const char *name) {
  stator_options *options = NULL;
  stator_module *module = NULL;
  CHECK_OK(stator_options_create(&options));
  CHECK_OK(stator_options_set_str(options, "name", name));
  CHECK_OK(stator_module_load(model_path(file), options, &module));
  stator_options_release(options);
  return module;
}

static void expect_module_says(const stator_module *module, const char *part) {
  stator_bytes *text = NULL;
  CHECK_OK(stator_module_metrics(module, &text));
  if (strstr(stator_bytes_data(text), part) == NULL)
    FAIL("expected %s in %s", part, (const char *)stator_bytes_data(text));
  stator_bytes_release(text);
}

static void expect_pool_says(const stator_pool *pool, const char *part) {
  stator_bytes *text = NULL;
  CHECK_OK(stator_pool_metrics(pool, &text));
  if (strstr(stator_bytes_data(text), part) == NULL)
    FAIL("expected %s in %s", part, (const char *)stator_bytes_data(text));
  stator_bytes_release(text);
}

static int page_says(const char *part) {
  stator_bytes *text = NULL;
  CHECK_OK(stator_metrics_prometheus(&text));
  const int found = strstr(stator_bytes_data(text), part) != NULL;
  stator_bytes_release(text);
  return found;
}

static stator_module *shared;

static void *run_in_own_runtime(void *unused) {
  (void)unused;
  const stator_method *forward = find(shared, "forward");
  stator_runtime *runtime = new_runtime(shared);
  stator_arena *arena = new_arena(shared);
  CHECK_OK(bind_floats(runtime, forward, 0, x, kItems));
  CHECK_OK(bind_floats(runtime, forward, 1, y, kItems));
  for (int i = 0; i < kRuns; ++i) CHECK_OK(stator_runtime_run(runtime, forward, arena));
  stator_runtime_release(runtime);
  stator_arena_release(arena);
  return NULL;
}

static void runs_of_all_threads_are_counted_also_when_their_runtimes_are_gone(void) {
  shared = load_named("add_mul.pt", "counted");
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, run_in_own_runtime, NULL) == 0);
  for (int i = 0; i < 20; ++i) CHECK(page_says("stator_runs_total{module=\"counted\""));
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  expect_module_says(shared, "\"runs\": 2000");
  expect_module_says(shared, "\"runtimes\": 0");
  expect_module_says(shared, "\"workspace_bytes\": 0");
  expect_module_says(shared, "\"arena_bytes\": 0");
  CHECK(page_says("# TYPE stator_run_seconds histogram"));
  stator_module_release(shared);
  CHECK(!page_says("module=\"counted\""));
}

static void failures_are_counted_by_code(void) {
  session s = begin("raises.pt");
  stator_value *n = int_value(0);
  CHECK_CODE(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_INPUT_MISSING);
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kItems));
  CHECK_OK(stator_runtime_bind_value(s.runtime, s.forward, 1, n));
  CHECK_CODE(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_MODEL_ERROR);
  CHECK_CODE(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_MODEL_ERROR);
  expect_module_says(s.module, "\"runs\": 0");
  expect_module_says(s.module, "\"INPUT_MISSING\": 1");
  expect_module_says(s.module, "\"MODEL_ERROR\": 2");
  CHECK(page_says("code=\"MODEL_ERROR\"} 2"));
  stator_value_release(n);
  end(&s);
}

static void bytes_are_those_of_living_runtimes_and_results(void) {
  session s = begin("add_mul.pt");
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kItems));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kItems));
  for (int i = 0; i < 3; ++i) CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  char wanted[64];
  snprintf(wanted, sizeof wanted, "\"arena_bytes\": %lld", (long long)stator_arena_bytes(s.arena));
  expect_module_says(s.module, wanted);
  snprintf(wanted, sizeof wanted, "\"workspace_bytes\": %lld", (long long)stator_runtime_workspace_bytes(s.runtime));
  expect_module_says(s.module, wanted);
  CHECK(stator_arena_bytes(s.arena) > 0);
  end(&s);
}

static void a_pool_tells_what_it_lends_and_refuses(void) {
  stator_module *module = load_named("add_mul.pt", "a \"quoted\" name");
  stator_options *options = NULL;
  stator_pool *pool = NULL;
  stator_runtime *runtime = NULL, *none = NULL;
  CHECK_OK(stator_options_create(&options));
  CHECK_OK(stator_options_set_int(options, "max_runtimes", 1));
  CHECK_OK(stator_pool_create(module, options, &pool));
  CHECK_OK(stator_pool_acquire(pool, 0, &runtime));
  CHECK_CODE(stator_pool_acquire(pool, 0, &none), STATOR_BUSY);
  expect_pool_says(pool, "\"lent\": 1");
  expect_pool_says(pool, "\"refused\": 1");
  expect_pool_says(pool, "\"limit\": 1");
  CHECK(page_says("stator_pool_lent{module=\"a \\\"quoted\\\" name\""));
  CHECK_OK(stator_pool_return(pool, runtime));
  expect_pool_says(pool, "\"lent\": 0");
  stator_options_release(options);
  stator_pool_release(pool);
  CHECK(!page_says("stator_pool_lent{"));
  stator_module_release(module);
}

int main(void) {
  load_torch();
  RUN(runs_of_all_threads_are_counted_also_when_their_runtimes_are_gone);
  RUN(failures_are_counted_by_code);
  RUN(bytes_are_those_of_living_runtimes_and_results);
  RUN(a_pool_tells_what_it_lends_and_refuses);
  return 0;
}

/* Every function of the header, with NULL for each handle and text that it needs: refused, and nothing else happens. */
#include "check.h"
#include "stator/stator_experimental.h"

/* One good object of each kind, for the places that are not NULL. */
static struct {
  stator_module *module;
  const stator_method *method;
  stator_runtime *runtime;
  stator_arena *arena;
  stator_pool *pool;
  stator_options *options;
  stator_value *value;
  stator_future *future;
  stator_queue *queue;
  const char *text;
} good;

static const uint64_t kPattern = 0x5a5a5a5a5a5a5a5aU;
static uint64_t untouched; /* where out parameters point */

static void expect_refused(stator_status *status, const char *function, const char *argument) {
  if (stator_status_code(status) != STATOR_INVALID_ARGUMENT) {
    FAIL("%s with %s = NULL: expected INVALID_ARGUMENT, got %s: %s", function, argument,
         stator_status_name(stator_status_code(status)), stator_status_message(status));
  }
  if (stator_status_message(status)[0] == '\0') FAIL("%s with %s = NULL: the status says nothing", function, argument);
  if (untouched != kPattern) FAIL("%s with %s = NULL: an out parameter was written", function, argument);
  stator_status_release(status);
}

#define EXPECT_REFUSED(call, function, argument) expect_refused(call, function, argument)
#include "null_handles.gen.h"

static stator_future *finished_future(void) {
  float x[2] = {1, 2};
  stator_future *future = NULL;
  stator_arena *arena = new_arena(good.module);
  CHECK_OK(bind_floats(good.runtime, good.method, 0, x, 2));
  CHECK_OK(bind_floats(good.runtime, good.method, 1, x, 2));
  CHECK_OK(stator_runtime_run_async(good.runtime, good.method, arena, NULL, 0, &future));
  CHECK_OK(stator_future_wait(future, -1));
  CHECK_OK(stator_runtime_unbind(good.runtime, NULL));
  stator_arena_release(arena);
  return future;
}

static void null_is_refused_everywhere(void) {
  untouched = kPattern;
  good.module = load("add_mul.pt");
  good.method = find(good.module, "forward");
  good.runtime = new_runtime(good.module);
  good.arena = new_arena(good.module);
  CHECK_OK(stator_pool_create(good.module, NULL, &good.pool));
  CHECK_OK(stator_options_create(&good.options));
  good.value = int_value(1);
  good.future = finished_future();
  CHECK_OK(stator_queue_create(&good.queue));
  good.text = "text";
  call_with_null_handles();
  stator_value_release(good.value);
  stator_future_release(good.future);
  stator_queue_release(good.queue);
  stator_options_release(good.options);
  stator_pool_release(good.pool);
  stator_arena_release(good.arena);
  stator_runtime_release(good.runtime);
  stator_module_release(good.module);
}

int main(void) {
  load_torch();
  RUN(null_is_refused_everywhere);
  return 0;
}

/* One module, many threads: own runtimes do not meet; one runtime or arena used twice says BUSY; anything may be released anywhere. */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { kThreads = 8, kItems = 4 };

static session shared;

static void run_all(pthread_t *threads, int count, void *(*body)(void *)) {
  for (int i = 0; i < count; ++i) CHECK(pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i) == 0);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

static void *run_own_runtime(void *argument) {
  const int number = (int)(intptr_t)argument, rounds = UNDER_SANITIZER ? 200 : 5000;
  stator_runtime *runtime = new_runtime(shared.module);
  stator_arena *arenas[2] = {new_arena(shared.module), new_arena(shared.module)};
  float x[kItems], y[kItems];
  CHECK_OK(bind_floats(runtime, shared.forward, 0, x, kItems));
  CHECK_OK(bind_floats(runtime, shared.forward, 1, y, kItems));
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kItems; ++i) x[i] = (float)(number * 3 + i) * 0.125F, y[i] = (float)(round % 11) - 5.0F;
    CHECK_OK(stator_runtime_run(runtime, shared.forward, arenas[round % 2]));
    const float *result = output_floats(arenas[round % 2], 0, kItems);
    for (int i = 0; i < kItems; ++i) CHECK_NEAR(result[i], add_mul(x[i], y[i]));
  }
  stator_runtime_release(runtime);
  stator_arena_release(arenas[0]), stator_arena_release(arenas[1]);
  return NULL;
}

static void eight_threads_run_one_module_with_their_own_runtimes(void) {
  pthread_t threads[kThreads];
  shared = begin("add_mul.pt");
  run_all(threads, kThreads, run_own_runtime);
  end(&shared);
}

/* ---------------------------------------------------------------------------------------- one runtime, two threads */

static atomic_int running;

static void *run_slowly(void *unused) {
  (void)unused;
  atomic_store(&running, 1);
  CHECK_OK(stator_runtime_run(shared.runtime, shared.forward, shared.arena));
  atomic_store(&running, 2);
  return NULL;
}

/* A run of slow.pt that lasts for `loops` products of matrices. */
static float matrix[64 * 64];
static void begin_slow(int64_t loops) {
  shared = begin("slow.pt");
  const int64_t shape[] = {64, 64};
  stator_value *n = int_value(loops);
  CHECK_OK(stator_runtime_bind(shared.runtime, shared.forward, 0, matrix, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL));
  CHECK_OK(stator_runtime_bind_value(shared.runtime, shared.forward, 1, n));
  stator_value_release(n);
  atomic_store(&running, 0);
}

/* Waits until the other thread is inside its run; 0 if that had ended before it was seen. */
static int wait_until_busy(void) {
  while (atomic_load(&running) == 0) sched_yield();
  while (atomic_load(&running) == 1) {
    stator_status *status = stator_arena_output(shared.arena, 0, NULL, NULL, NULL, NULL, NULL, NULL);
    const int32_t code = stator_status_code(status);
    stator_status_release(status);
    if (code == STATOR_BUSY) return 1;
    sched_yield();
  }
  return 0;
}

/* 1 if all of it happened while the run was under way. */
static int second_caller_is_busy(void) {
  if (!wait_until_busy()) return 0;
  float x[4] = {0};
  stator_runtime *clone = NULL, *other = new_runtime(shared.module);
  stator_value *n = int_value(1);
  const int64_t shape[] = {2, 2};
  CHECK_OK(stator_runtime_bind(other, shared.forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL));
  CHECK_OK(stator_runtime_bind_value(other, shared.forward, 1, n));
  stator_status *statuses[] = {
      stator_runtime_run(shared.runtime, shared.forward, shared.arena),
      stator_runtime_bind(shared.runtime, shared.forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL),
      stator_runtime_bind_value(shared.runtime, shared.forward, 1, n),
      stator_runtime_unbind(shared.runtime, NULL),
      stator_runtime_clone(shared.runtime, &clone),
      stator_runtime_reset_state(shared.runtime),
      stator_runtime_run(other, shared.forward, shared.arena), /* another runtime, the same arena */
      stator_arena_reset(shared.arena),
      stator_arena_output(shared.arena, 0, NULL, NULL, NULL, NULL, NULL, NULL),
  };
  const int under_way = atomic_load(&running) == 1;
  for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; ++i) {
    if (under_way && stator_status_code(statuses[i]) != STATOR_BUSY)
      FAIL("call %zu beside a run: got %s", i, stator_status_name(stator_status_code(statuses[i])));
    stator_status_release(statuses[i]);
  }
  stator_runtime_release(clone);
  stator_runtime_release(other);
  stator_value_release(n);
  return under_way;
}

static void a_second_caller_of_a_runtime_or_arena_is_busy(void) {
  for (int64_t loops = 2000;; loops *= 4) {
    begin_slow(loops);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_slowly, NULL) == 0);
    const int seen = second_caller_is_busy();
    pthread_join(thread, NULL);
    end(&shared);
    if (seen) return;
    CHECK(loops < INT64_C(1) << 30);
  }
}

static void a_runtime_released_while_it_runs_goes_when_the_run_ends(void) {
  for (int64_t loops = 2000;; loops *= 4) {
    begin_slow(loops);
    pthread_t thread;
    stator_arena_retain(shared.arena);
    CHECK(pthread_create(&thread, NULL, run_slowly, NULL) == 0);
    const int seen = wait_until_busy();
    stator_runtime_release(shared.runtime);
    stator_module_release(shared.module);
    stator_arena_release(shared.arena);
    const int under_way = seen && atomic_load(&running) == 1;
    pthread_join(thread, NULL);
    CHECK_INT(stator_arena_output_count(shared.arena), 1);
    stator_arena_release(shared.arena);
    if (under_way) return;
    CHECK(loops < INT64_C(1) << 30);
  }
}

/* ------------------------------------------------------------------------------------- releases on other threads */

static stator_arena *_Atomic mailbox[kThreads];

static void *produce(void *argument) {
  const int number = (int)(intptr_t)argument, rounds = UNDER_SANITIZER ? 100 : 3000;
  stator_runtime *runtime = new_runtime(shared.module);
  float x[kItems] = {1, 2, 3, 4};
  CHECK_OK(bind_floats(runtime, shared.forward, 0, x, kItems));
  CHECK_OK(bind_floats(runtime, shared.forward, 1, x, kItems));
  for (int round = 0; round < rounds; ++round) {
    stator_arena *arena = new_arena(shared.module);
    CHECK_OK(stator_runtime_run(runtime, shared.forward, arena));
    /* The neighbour reads and releases it, or, when its box was full, this thread the older one. */
    arena = atomic_exchange(&mailbox[(number + 1) % kThreads], arena);
    stator_arena_release(arena);
    arena = atomic_exchange(&mailbox[number], NULL);
    if (arena != NULL) {
      CHECK_NEAR(output_floats(arena, 0, kItems)[3], add_mul(4, 4));
      stator_arena_release(arena);
    }
  }
  stator_runtime_release(runtime);
  return NULL;
}

static void arenas_are_released_on_other_threads(void) {
  pthread_t threads[kThreads];
  shared = begin("add_mul.pt");
  run_all(threads, kThreads, produce);
  for (int i = 0; i < kThreads; ++i) stator_arena_release(atomic_exchange(&mailbox[i], NULL));
  end(&shared);
}

static void *load_and_describe(void *unused) {
  (void)unused;
  for (int round = 0; round < 3; ++round) {
    stator_module *module = load("deep_and_wide.pt");
    stator_bytes *text = NULL;
    CHECK_OK(stator_module_describe(module, &text));
    CHECK(stator_bytes_size(text) > 0);
    stator_bytes_release(text);
    CHECK_OK(stator_method_plan(find(shared.module, "forward"), &text)); /* a shared object, any thread */
    stator_bytes_release(text);
    stator_module_release(module);
  }
  return NULL;
}

static void modules_are_loaded_and_described_from_many_threads(void) {
  pthread_t threads[kThreads];
  shared = begin("add_mul.pt");
  run_all(threads, kThreads, load_and_describe);
  end(&shared);
}

/* The first call of all, from all threads at once; before anything else in this process has loaded LibTorch. */
static void *load_first(void *unused) {
  (void)unused;
  load_torch();
  stator_module_release(load("add_mul.pt"));
  return NULL;
}

static void the_first_calls_may_come_together(void) {
  pthread_t threads[kThreads];
  run_all(threads, kThreads, load_first);
}

int main(void) {
  RUN(the_first_calls_may_come_together);
  RUN(eight_threads_run_one_module_with_their_own_runtimes);
  RUN(a_second_caller_of_a_runtime_or_arena_is_busy);
  RUN(a_runtime_released_while_it_runs_goes_when_the_run_ends);
  RUN(arenas_are_released_on_other_threads);
  RUN(modules_are_loaded_and_described_from_many_threads);
  return 0;
}

/* Memory does not grow: after a warm-up of half the runs, as many more leave the bytes in use where they were. */
#include "check.h"

#include <malloc.h>

enum { kCount = 1000 };

static const int kRuns = UNDER_SANITIZER ? 2000 : 100000;
static session s;
static float x[kCount], y[kCount];

/* A leak of 8 bytes in each of the counted runs is 400,000; what LibTorch keeps in caches of its own is far less. */
static const int64_t kSlack = 16 * 1024;
/* Of a thousand shapes some have plans, which and how many (64 at most) changes late: so as many more runs are made, that the same leak is 4 MB,
 * and what is allowed are 64 plans of 32 KB. */
static const int kRunsOfShapes = UNDER_SANITIZER ? 2000 : 1000000;
static const int64_t kSlackOfPlans = 64 * 32 * 1024;

static int64_t bytes_in_use(void) {
  const struct mallinfo2 info = mallinfo2();
  return (int64_t)(info.uordblks + info.hblkhd);
}

static void check_flat_within(int64_t slack, int runs, const char *name, void (*once)(int run)) {
  for (int run = 0; run < runs / 2; ++run) once(run);
  const int64_t before = bytes_in_use();
  for (int run = runs / 2; run < runs; ++run) once(run);
  const int64_t after = bytes_in_use();
  printf("   %s: %lld bytes in use, then %lld\n", name, (long long)before, (long long)after);
  if (after - before > slack) FAIL("%s: grew by %lld bytes over %d runs", name, (long long)(after - before), runs / 2);
}

static void check_flat(const char *name, void (*once)(int run)) { check_flat_within(kSlack, kRuns, name, once); }

static void into_one_arena(int run) {
  x[0] = (float)run;
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
}

static stator_arena *arenas[4];
static void into_arenas_that_come_and_go(int run) {
  stator_arena_release(arenas[run % 4]);
  arenas[run % 4] = new_arena(s.module);
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, arenas[run % 4]));
}

static void with_shapes_that_change(int run) {
  const int64_t count = 1 + run % kCount;
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, count));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, count));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
}

static void with_results_as_values(int run) {
  (void)run;
  stator_value *result = NULL;
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  CHECK_OK(stator_arena_result(s.arena, &result));
  stator_value_release(result);
}

static void with_errors(int run) {
  stator_status *status =
      stator_runtime_bind(s.runtime, s.forward, 5 + run % 2, x, STATOR_FLOAT32, STATOR_CPU, 0, NULL, NULL);
  CHECK_INT(stator_status_code(status), STATOR_INVALID_ARGUMENT);
  stator_status_release(status);
}

static void bytes_in_use_stay_flat(void) {
  s = begin("add_mul.pt");
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kCount));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kCount));
  check_flat("one arena", into_one_arena);
  check_flat("arenas that come and go", into_arenas_that_come_and_go);
  check_flat("results as values", with_results_as_values);
  check_flat("errors", with_errors);
  check_flat_within(kSlackOfPlans, kRunsOfShapes, "shapes that change", with_shapes_that_change);
  for (int i = 0; i < 4; ++i) stator_arena_release(arenas[i]);
  end(&s);
}

static void modules_that_come_and_go_leave_nothing(void) {
  const int rounds = UNDER_SANITIZER ? 4 : 40;
  int64_t before = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round == rounds / 2) before = bytes_in_use();
    session one = begin("add_mul.pt");
    CHECK_OK(bind_floats(one.runtime, one.forward, 0, x, kCount));
    CHECK_OK(bind_floats(one.runtime, one.forward, 1, y, kCount));
    CHECK_OK(stator_runtime_run(one.runtime, one.forward, one.arena));
    end(&one);
  }
  const int64_t grown = bytes_in_use() - before;
  printf("   modules that come and go: %lld bytes more\n", (long long)grown);
  CHECK(grown <= 4 * kSlack);
}

int main(void) {
  load_torch();
  RUN(bytes_in_use_stay_flat);
  RUN(modules_that_come_and_go_leave_nothing);
  return 0;
}

/* Profiles: what they count, what they say, and that they can be read while runs go on. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

#include "stator/stator_experimental.h"

enum { kItems = 4, kRuns = 7 };

static float x[kItems] = {1, 2, 3, 4}, y[kItems] = {4, 3, 2, 1};

static session begin_bound(void) {
  session s = begin("add_mul.pt");
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kItems));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kItems));
  return s;
}

static void run_often(const session *s, int times) {
  for (int i = 0; i < times; ++i) CHECK_OK(stator_runtime_run(s->runtime, s->forward, s->arena));
}

typedef stator_status *(*describe_fn)(const stator_runtime *runtime, stator_bytes **out);

static int says(const stator_runtime *runtime, describe_fn describe, const char *part) {
  stator_bytes *text = NULL;
  CHECK_OK(describe(runtime, &text));
  const int found = strstr(stator_bytes_data(text), part) != NULL;
  stator_bytes_release(text);
  return found;
}

static void a_profile_counts_the_runs_between_start_and_stop(void) {
  session s = begin_bound();
  run_often(&s, 3);
  CHECK_OK(stator_profile_start(s.runtime, 2));
  run_often(&s, kRuns);
  CHECK_OK(stator_profile_stop(s.runtime));
  run_often(&s, 3);
  CHECK(says(s.runtime, stator_profile_text, "forward: 7 runs"));
  CHECK(says(s.runtime, stator_profile_json, "\"runs\": 7"));
  CHECK(says(s.runtime, stator_profile_json, "\"operator\": \"aten::sigmoid\""));
  CHECK(says(s.runtime, stator_profile_json, "\"calls\": 7"));
  CHECK(says(s.runtime, stator_profile_trace, "\"traceEvents\""));
  end(&s);
}

static void a_profile_started_again_begins_at_nothing(void) {
  session s = begin_bound();
  CHECK_OK(stator_profile_start(s.runtime, 0));
  run_often(&s, 2);
  CHECK_OK(stator_profile_start(s.runtime, 0));
  run_often(&s, 1);
  CHECK(says(s.runtime, stator_profile_json, "\"runs\": 1"));
  CHECK(says(s.runtime, stator_profile_trace, "\"traceEvents\":[]"));
  end(&s);
}

static void a_failed_run_is_no_run_of_the_profile(void) {
  session s = begin("raises.pt");
  stator_value *n = int_value(0);
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kItems));
  CHECK_OK(stator_runtime_bind_value(s.runtime, s.forward, 1, n));
  CHECK_OK(stator_profile_start(s.runtime, 0));
  CHECK_CODE(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_MODEL_ERROR);
  CHECK(says(s.runtime, stator_profile_json, "\"runs\": 0"));
  stator_value_release(n);
  end(&s);
}

static void what_cannot_be_profiled_is_refused(void) {
  session s = begin_bound();
  stator_bytes *text = NULL;
  CHECK_CODE_SAYING(stator_profile_text(s.runtime, &text), STATOR_INVALID_ARGUMENT, "stator_profile_start");
  CHECK_CODE_SAYING(stator_profile_start(s.runtime, -1), STATOR_INVALID_ARGUMENT, "event_limit");
  CHECK(text == NULL);
  end(&s);
}

static atomic_int running;

static void *run_until_told(void *argument) {
  const session *s = argument;
  while (atomic_load(&running)) run_often(s, 1);
  return NULL;
}

static void a_profile_is_read_while_runs_go_on(void) {
  session s = begin_bound();
  CHECK_OK(stator_profile_start(s.runtime, 1000));
  atomic_store(&running, 1);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, run_until_told, &s) == 0);
  while (!says(s.runtime, stator_profile_json, "aten::sigmoid")) continue;
  for (int i = 0; i < 50; ++i) {
    CHECK(says(s.runtime, stator_profile_text, "by node"));
    CHECK(says(s.runtime, stator_profile_trace, "traceEvents"));
  }
  atomic_store(&running, 0);
  pthread_join(thread, NULL);
  end(&s);
}

static void the_plan_is_drawn_with_the_sizes_of_a_run(void) {
  session s = begin_bound();
  stator_bytes *picture = NULL;
  CHECK_OK(stator_method_plan_svg(s.forward, &picture));
  CHECK(strstr(stator_bytes_data(picture), "no tensor that a run has made yet") != NULL);
  stator_bytes_release(picture);
  run_often(&s, 2);
  CHECK_OK(stator_method_plan_svg(s.forward, &picture));
  CHECK(strncmp(stator_bytes_data(picture), "<svg ", 5) == 0);
  CHECK(strstr(stator_bytes_data(picture), ": 16 bytes at offset 0, alive from ") != NULL);
  stator_bytes_release(picture);
  end(&s);
}

int main(void) {
  load_torch();
  RUN(a_profile_counts_the_runs_between_start_and_stop);
  RUN(a_profile_started_again_begins_at_nothing);
  RUN(a_failed_run_is_no_run_of_the_profile);
  RUN(what_cannot_be_profiled_is_refused);
  RUN(a_profile_is_read_while_runs_go_on);
  RUN(the_plan_is_drawn_with_the_sizes_of_a_run);
  return 0;
}

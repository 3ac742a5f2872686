/* The log: by callback and by asking, from any thread. */
#include "check.h"

#include <pthread.h>

enum { kItems = 4 };

static float x[kItems] = {1, 2, 3, 4};

static session begin_printing(void) {
  session s = begin("prints.pt");
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kItems));
  return s;
}

static void expect_record(const char *wanted, int32_t wanted_level) {
  int32_t level = 0;
  stator_bytes *message = NULL;
  CHECK_OK(stator_log_next(0, &level, &message));
  CHECK(message != NULL);
  CHECK_TEXT((const char *)stator_bytes_data(message), wanted);
  CHECK_INT(level, wanted_level);
  stator_bytes_release(message);
}

typedef struct {
  int calls;
  char last[64];
} heard;

static void hear(void *context, int32_t level, const char *message) {
  heard *h = context;
  h->calls += level == STATOR_LOG_INFO;
  snprintf(h->last, sizeof h->last, "%s", message);
  CHECK_OK(stator_log_set(hear, context, STATOR_LOG_INFO)); /* no lock is held */
}

static void what_a_model_prints_reaches_the_callback(void) {
  session s = begin_printing();
  heard h = {0};
  CHECK_OK(stator_log_set(hear, &h, STATOR_LOG_INFO));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  CHECK_INT(h.calls, 1);
  CHECK_TEXT(h.last, "items: 4");
  CHECK_OK(stator_log_set(NULL, NULL, 0));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  CHECK_INT(h.calls, 1);
  end(&s);
}

static void records_are_kept_in_order_until_they_are_asked_for(void) {
  session s = begin_printing();
  int32_t level = 0;
  stator_bytes *message = NULL;
  CHECK_OK(stator_log_collect(STATOR_LOG_INFO, 2));
  CHECK_CODE(stator_log_next(0, &level, &message), STATOR_TIMEOUT);
  CHECK_CODE(stator_log_next(1000000, &level, &message), STATOR_TIMEOUT);
  for (int i = 0; i < 5; ++i) CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  CHECK_OK(stator_log_collect(0, 0));
  expect_record("3 log records were lost: nobody asked for them in time", STATOR_LOG_WARNING);
  expect_record("items: 4", STATOR_LOG_INFO);
  expect_record("items: 4", STATOR_LOG_INFO);
  CHECK_OK(stator_log_next(-1, &level, &message));
  CHECK(message == NULL);
  end(&s);
}

static void levels_below_the_one_asked_for_are_not_kept(void) {
  session s = begin_printing();
  int32_t level = 0;
  stator_bytes *message = NULL;
  CHECK_OK(stator_log_collect(STATOR_LOG_WARNING, 10));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  CHECK_CODE(stator_log_next(0, &level, &message), STATOR_TIMEOUT);
  CHECK_OK(stator_log_collect(0, 0));
  end(&s);
}

static void *count_until_the_end(void *argument) {
  int *count = argument;
  for (;;) {
    int32_t level = 0;
    stator_bytes *message = NULL;
    CHECK_OK(stator_log_next(-1, &level, &message));
    if (message == NULL) return NULL;
    ++*count;
    stator_bytes_release(message);
  }
}

static void one_who_waits_gets_all_and_is_woken_at_the_end(void) {
  session s = begin_printing();
  int count = 0;
  pthread_t thread;
  CHECK_OK(stator_log_collect(STATOR_LOG_INFO, 1000));
  CHECK(pthread_create(&thread, NULL, count_until_the_end, &count) == 0);
  for (int i = 0; i < 100; ++i) CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  CHECK_OK(stator_log_collect(0, 0));
  pthread_join(thread, NULL);
  CHECK_INT(count, 100);
  end(&s);
}

int main(void) {
  load_torch();
  RUN(what_a_model_prints_reaches_the_callback);
  RUN(records_are_kept_in_order_until_they_are_asked_for);
  RUN(levels_below_the_one_asked_for_are_not_kept);
  RUN(one_who_waits_gets_all_and_is_woken_at_the_end);
  return 0;
}

/* Forks and asynchronous runs: by any launcher, in any order of release, into futures and queues. */
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

enum { kSize = 16, kRuns = 24 };
static const int64_t kMatrix[] = {kSize, kSize};

static float matrix[kSize * kSize];

static void fill_matrix(void) {
  for (int i = 0; i < kSize * kSize; ++i) matrix[i] = 0.1F * ((float)((i * 7919) % 101) / 101.0F - 0.5F);
}

static stator_value *arguments(int64_t n) {
  stator_value *x = NULL;
  CHECK_OK(stator_value_create_tensor(matrix, STATOR_FLOAT32, STATOR_CPU, 2, kMatrix, NULL, &x));
  return tuple_of(2, (stator_value *[]){x, int_value(n)});
}

/* The first tensor of a result of forks.pt. */
static const float *sum_of(const stator_value *result, stator_value **item) {
  const void *data = NULL;
  CHECK_INT(stator_value_size(result), 2);
  CHECK_OK(stator_value_item(result, 0, item));
  CHECK_OK(stator_value_as_tensor(*item, &data, NULL, NULL, NULL, NULL, NULL));
  return (const float *)data;
}

/* What the model gives without a fork: three calls of `work`. */
static void expected_sum(stator_module *module, int64_t n, float *sum) {
  stator_runtime *runtime = new_runtime(module);
  const stator_method *work = find(module, "work");
  memset(sum, 0, sizeof matrix);
  for (int factor = 1; factor <= 3; ++factor) {
    float scaled[kSize * kSize];
    stator_arena *arena = new_arena(module);
    for (int i = 0; i < kSize * kSize; ++i) scaled[i] = matrix[i] * (float)factor;
    stator_value *x = NULL, *result = NULL;
    const void *data = NULL;
    CHECK_OK(stator_value_create_tensor(scaled, STATOR_FLOAT32, STATOR_CPU, 2, kMatrix, NULL, &x));
    stator_value *args = tuple_of(2, (stator_value *[]){x, int_value(n)});
    CHECK_OK(stator_runtime_call(runtime, work, args, NULL, arena, &result));
    CHECK_OK(stator_value_as_tensor(result, &data, NULL, NULL, NULL, NULL, NULL));
    for (int i = 0; i < kSize * kSize; ++i) sum[i] += ((const float *)data)[i];
    stator_value_release(args), stator_value_release(result), stator_arena_release(arena);
  }
  stator_runtime_release(runtime);
}

static void check_sum(stator_value *result, const float *expected) {
  stator_value *item = NULL;
  const float *sum = sum_of(result, &item);
  for (int i = 0; i < kSize * kSize; ++i) CHECK_NEAR(sum[i], expected[i]);
  stator_value_release(item), stator_value_release(result);
}

/* ------------------------------------------------------------------------------------------------------- launchers */

static void launch_at_once(void *context, stator_task_fn run, void *task) {
  atomic_fetch_add((atomic_int *)context, 1);
  run(task);
}

typedef struct {
  stator_task_fn run;
  void *task;
} job;

static void *run_job(void *argument) {
  const job mine = *(job *)argument;
  free(argument);
  mine.run(mine.task);
  return NULL;
}

static void launch_in_a_thread(void *context, stator_task_fn run, void *task) {
  pthread_t thread;
  job *mine = malloc(sizeof *mine);
  *mine = (job){run, task};
  atomic_fetch_add((atomic_int *)context, 1);
  CHECK(pthread_create(&thread, NULL, run_job, mine) == 0);
  pthread_detach(thread);
}

/* Kept until someone runs them. */
static struct {
  pthread_mutex_t mutex;
  job jobs[256];
  int count;
} late = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void launch_late(void *context, stator_task_fn run, void *task) {
  atomic_fetch_add((atomic_int *)context, 1);
  pthread_mutex_lock(&late.mutex);
  CHECK(late.count < 256);
  late.jobs[late.count++] = (job){run, task};
  pthread_mutex_unlock(&late.mutex);
}

static void run_late_jobs(void) {
  for (int i = 0; i < late.count; ++i) late.jobs[i].run(late.jobs[i].task);
  late.count = 0;
}

static stator_runtime *runtime_with(stator_module *module, int64_t helpers, stator_launch_fn launch, void *context) {
  stator_options *options = NULL;
  stator_runtime *runtime = NULL;
  CHECK_OK(stator_options_create(&options));
  CHECK_OK(stator_options_set_int(options, "inter_op_threads", helpers));
  CHECK_OK(stator_options_set_int(options, "intra_op_threads", 1));
  CHECK_OK(stator_options_set_launcher(options, launch, context));
  CHECK_OK(stator_runtime_create(module, options, &runtime));
  stator_options_release(options);
  return runtime;
}

static void forks_come_out_right_with_any_launcher(void) {
  const struct {
    int64_t helpers;
    stator_launch_fn launch;
  } ways[] = {{0, NULL}, {1, NULL}, {4, NULL}, {0, launch_at_once}, {0, launch_in_a_thread}, {0, launch_late}};
  session s = begin("forks.pt");
  float expected[kSize * kSize];
  expected_sum(s.module, 3, expected);
  stator_value *args = arguments(3);
  for (size_t way = 0; way < sizeof ways / sizeof *ways; ++way) {
    atomic_int launched = 0;
    stator_runtime *runtime = runtime_with(s.module, ways[way].helpers, ways[way].launch, &launched);
    for (int run = 0; run < kRuns; ++run) {
      stator_value *result = NULL;
      CHECK_OK(stator_runtime_call(runtime, s.forward, args, NULL, s.arena, &result));
      check_sum(result, expected);
    }
    stator_runtime_release(runtime);
    run_late_jobs(); /* the runtime is gone */
    CHECK_INT(atomic_load(&launched), ways[way].launch ? 3 * kRuns : 0);
  }
  stator_value_release(args);
  end(&s);
}

static void an_exception_in_a_fork_comes_out_with_its_message_and_place(void) {
  session s = begin("forks.pt");
  stator_value *bad = arguments(-1), *good = arguments(1), *result = NULL;
  for (int run = 0; run < 5; ++run) {
    stator_status *status = stator_runtime_call(s.runtime, s.forward, bad, NULL, s.arena, &result);
    CHECK_INT(stator_status_code(status), STATOR_MODEL_ERROR);
    CHECK(strstr(stator_status_message(status), "n must not be negative, got -1") != NULL);
    CHECK(stator_status_source(status)[0] != '\0');
    stator_status_release(status);
    CHECK_OK(stator_runtime_call(s.runtime, s.forward, good, NULL, s.arena, &result));
    stator_value_release(result);
  }
  stator_value_release(bad), stator_value_release(good);
  end(&s);
}

static void an_attribute_that_a_fork_changes_is_state(void) {
  session s = begin("forks.pt");
  const stator_method *count = find(s.module, "count");
  stator_value *args = tuple_of(1, (stator_value *[]){float_vector(matrix, 2)});
  for (int64_t run = 1; run <= 5; ++run) {
    stator_value *result = NULL;
    int64_t calls = 0;
    CHECK_OK(stator_runtime_call(s.runtime, count, args, NULL, s.arena, &result));
    CHECK_OK(stator_value_as_int(result, &calls));
    CHECK_INT(calls, run);
    stator_value_release(result);
  }
  stator_value_release(args);
  end(&s);
}

/* --------------------------------------------------------------------------------------------------------- futures */

static void a_run_in_another_thread_gives_what_a_call_gives(void) {
  session s = begin("forks.pt");
  float expected[kSize * kSize];
  expected_sum(s.module, 2, expected);
  for (int run = 0; run < kRuns; ++run) {
    stator_value *args = arguments(2), *result = NULL;
    stator_future *future = NULL;
    CHECK_OK(stator_runtime_call_async(s.runtime, s.forward, args, NULL, s.arena, NULL, 40 + run, &future));
    stator_value_release(args); /* the run keeps what it needs */
    CHECK_OK(stator_future_wait(future, -1));
    CHECK_INT(stator_future_done(future), 1);
    CHECK_INT(stator_future_cancel(future), 0);
    CHECK_INT(stator_future_tag(future), 40 + run);
    CHECK_OK(stator_future_result(future, &result));
    check_sum(result, expected);
    stator_future_release(future);
  }
  end(&s);
}

static void bound_inputs_are_read_by_an_asynchronous_run(void) {
  session s = begin("add_mul.pt");
  float x[2] = {1, 2}, y[2] = {3, -1};
  stator_future *future = NULL;
  CHECK_CODE(stator_runtime_run_async(s.runtime, s.forward, s.arena, NULL, 0, &future), STATOR_INPUT_MISSING);
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, 2));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, 2));
  CHECK_OK(stator_runtime_run_async(s.runtime, s.forward, s.arena, NULL, 0, &future));
  CHECK_OK(stator_future_wait(future, 60000000000));
  stator_future_release(future);
  const float *result = output_floats(s.arena, 0, 2);
  for (int i = 0; i < 2; ++i) CHECK_NEAR(result[i], add_mul(x[i], y[i]));
  end(&s);
}

static void wrong_arguments_are_told_at_once_and_errors_of_the_run_by_the_future(void) {
  session s = begin("forks.pt");
  stator_value *none = tuple_of(0, NULL), *bad = arguments(-1), *result = NULL;
  stator_future *future = NULL;
  CHECK_CODE(stator_runtime_call_async(s.runtime, s.forward, none, NULL, s.arena, NULL, 0, &future),
             STATOR_INPUT_MISSING);
  CHECK_OK(stator_runtime_call_async(s.runtime, s.forward, bad, NULL, s.arena, NULL, 0, &future));
  CHECK_OK(stator_future_wait(future, -1));
  for (int i = 0; i < 2; ++i)
    CHECK_CODE_SAYING(stator_future_result(future, &result), STATOR_MODEL_ERROR, "must not be negative");
  stator_future_release(future), stator_value_release(none), stator_value_release(bad);
  end(&s);
}

/* Runs that do not begin, because nobody runs the launcher's jobs. */
static void a_run_that_has_not_begun_can_be_cancelled(void) {
  session s = begin("forks.pt");
  atomic_int launched = 0;
  stator_runtime *runtime = runtime_with(s.module, 0, launch_late, &launched);
  stator_queue *queue = NULL;
  stator_future *future = NULL, *same = NULL;
  stator_value *args = arguments(1), *result = NULL;
  CHECK_OK(stator_queue_create(&queue));
  CHECK_OK(stator_runtime_call_async(runtime, s.forward, args, NULL, s.arena, queue, 7, &future));
  CHECK_INT(stator_future_done(future), 0);
  CHECK_CODE(stator_future_wait(future, 0), STATOR_TIMEOUT);
  CHECK_CODE(stator_future_wait(future, 1000000), STATOR_TIMEOUT);
  CHECK_CODE(stator_future_result(future, &result), STATOR_BUSY);
  CHECK_CODE(stator_runtime_call(runtime, s.forward, args, NULL, s.arena, &result), STATOR_BUSY);
  CHECK_INT(stator_future_cancel(future), 1);
  CHECK_INT(stator_future_cancel(future), 0);
  CHECK_CODE(stator_future_result(future, &result), STATOR_CANCELLED);
  CHECK_OK(stator_queue_next(queue, 0, &same));
  CHECK(same == future);
  CHECK_OK(stator_runtime_call(runtime, s.forward, args, NULL, s.arena, &result)); /* the runtime is free */
  stator_value_release(result), stator_value_release(args);
  stator_future_release(future), stator_future_release(same);
  stator_queue_release(queue), stator_runtime_release(runtime);
  run_late_jobs();
  end(&s);
}

/* ---------------------------------------------------------------------------------------------------------- queues */

static int is_readable(const stator_queue *queue) {
  struct pollfd event = {.fd = stator_queue_fd(queue), .events = POLLIN};
  return poll(&event, 1, 0) == 1;
}

static void a_queue_tells_of_many_runs_and_is_readable_while_it_holds_one(void) {
  enum { kMany = 8 };
  stator_module *module = load("forks.pt");
  const stator_method *forward = find(module, "forward");
  stator_value *args = arguments(2);
  stator_queue *queue = NULL;
  float expected[kSize * kSize];
  expected_sum(module, 2, expected);
  CHECK_OK(stator_queue_create(&queue));
  CHECK_INT(is_readable(queue), 0);
  stator_future *future = NULL;
  CHECK_CODE(stator_queue_next(queue, 0, &future), STATOR_TIMEOUT);
  for (int i = 0; i < kMany; ++i) {
    stator_runtime *runtime = new_runtime(module);
    stator_arena *arena = new_arena(module);
    CHECK_OK(stator_runtime_call_async(runtime, forward, args, NULL, arena, queue, i, &future));
    stator_future_release(future), stator_runtime_release(runtime), stator_arena_release(arena);
  }
  unsigned seen = 0;
  for (int i = 0; i < kMany; ++i) {
    struct pollfd event = {.fd = stator_queue_fd(queue), .events = POLLIN};
    CHECK_INT(poll(&event, 1, 60000), 1);
    CHECK_OK(stator_queue_next(queue, -1, &future));
    seen |= 1U << stator_future_tag(future);
    stator_value *result = NULL;
    CHECK_OK(stator_future_result(future, &result));
    check_sum(result, expected);
    stator_future_release(future);
  }
  CHECK_INT(seen, (1U << kMany) - 1);
  CHECK_INT(is_readable(queue), 0);
  stator_queue_release(queue), stator_value_release(args), stator_module_release(module);
}

static void everything_may_be_released_while_a_run_is_under_way(void) {
  for (int order = 0; order < 6; ++order) {
    session s = begin("forks.pt");
    stator_queue *queue = NULL;
    stator_future *future = NULL;
    stator_value *args = arguments(200);
    CHECK_OK(stator_queue_create(&queue));
    CHECK_OK(stator_runtime_call_async(s.runtime, s.forward, args, NULL, s.arena, queue, 0, &future));
    stator_value_release(args);
    if (order % 2) stator_future_release(future), future = NULL;
    if (order % 3 == 0) stator_queue_release(queue), queue = NULL;
    end(&s);
    if (future) CHECK_OK(stator_future_wait(future, -1));
    stator_future_release(future), stator_queue_release(queue);
  }
}

static void a_lent_runtime_stays_busy_until_its_run_has_ended(void) {
  stator_module *module = load("slow.pt");
  const stator_method *forward = find(module, "forward");
  stator_pool *pool = NULL;
  stator_runtime *runtime = NULL;
  stator_arena *arena = new_arena(module);
  stator_future *future = NULL;
  stator_value *args = arguments(UNDER_SANITIZER ? 2000 : 20000);
  CHECK_OK(stator_pool_create(module, NULL, &pool));
  CHECK_OK(stator_pool_acquire(pool, 0, &runtime));
  CHECK_OK(stator_runtime_call_async(runtime, forward, args, NULL, arena, NULL, 0, &future));
  stator_status *status = stator_pool_return(pool, runtime);
  if (status != NULL) { /* it was still running */
    CHECK_CODE(status, STATOR_BUSY);
    CHECK_OK(stator_future_wait(future, -1));
    CHECK_OK(stator_pool_return(pool, runtime));
  }
  stator_future_release(future), stator_value_release(args), stator_arena_release(arena);
  stator_pool_release(pool), stator_module_release(module);
}

int main(void) {
  load_torch();
  fill_matrix();
  RUN(forks_come_out_right_with_any_launcher);
  RUN(an_exception_in_a_fork_comes_out_with_its_message_and_place);
  RUN(an_attribute_that_a_fork_changes_is_state);
  RUN(a_run_in_another_thread_gives_what_a_call_gives);
  RUN(bound_inputs_are_read_by_an_asynchronous_run);
  RUN(wrong_arguments_are_told_at_once_and_errors_of_the_run_by_the_future);
  RUN(a_run_that_has_not_begun_can_be_cancelled);
  RUN(a_queue_tells_of_many_runs_and_is_readable_while_it_holds_one);
  RUN(everything_may_be_released_while_a_run_is_under_way);
  RUN(a_lent_runtime_stays_busy_until_its_run_has_ended);
  return 0;
}

/* A pool lends runtimes: at most so many, to whoever waits, and takes them back clean. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static stator_pool *pool_of(stator_module *module, int64_t most) {
  stator_options *options = NULL;
  stator_pool *pool = NULL;
  CHECK_OK(stator_options_create(&options));
  CHECK_OK(stator_options_set_int(options, "max_runtimes", most));
  CHECK_OK(stator_pool_create(module, options, &pool));
  stator_options_release(options);
  return pool;
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void runtimes_are_made_when_needed_up_to_the_cap(void) {
  stator_module *module = load("add_mul.pt");
  stator_pool *pool = pool_of(module, 2);
  stator_runtime *one = NULL, *two = NULL, *three = NULL;
  CHECK_OK(stator_pool_acquire(pool, 0, &one));
  CHECK_INT(stator_pool_runtime_count(pool), 1);
  CHECK_OK(stator_pool_return(pool, one));
  CHECK_OK(stator_pool_acquire(pool, 0, &one));
  CHECK_INT(stator_pool_runtime_count(pool), 1);
  CHECK_OK(stator_pool_acquire(pool, 0, &two));
  CHECK(one != two);
  CHECK_INT(stator_pool_runtime_count(pool), 2);
  CHECK_CODE(stator_pool_acquire(pool, 0, &three), STATOR_BUSY);
  const int64_t before = now_ns();
  CHECK_CODE(stator_pool_acquire(pool, 30 * 1000000, &three), STATOR_TIMEOUT);
  const int64_t waited = now_ns() - before;
  CHECK(waited >= 29 * 1000000 && waited < INT64_C(20000000000));
  CHECK(three == NULL);
  CHECK_INT(stator_pool_runtime_count(pool), 2);
  CHECK_OK(stator_pool_return(pool, two));
  CHECK_OK(stator_pool_acquire(pool, 0, &three));
  CHECK_OK(stator_pool_return(pool, one));
  CHECK_OK(stator_pool_return(pool, three));
  stator_pool_release(pool);
  stator_module_release(module);
}

static void a_returned_runtime_has_nothing_bound(void) {
  session s = begin("add_mul.pt");
  stator_pool *pool = pool_of(s.module, 1);
  float x[2] = {1, 2};
  for (int round = 0; round < 3; ++round) {
    stator_runtime *lent = NULL;
    CHECK_OK(stator_pool_acquire(pool, 0, &lent));
    CHECK_CODE(stator_runtime_run(lent, s.forward, s.arena), STATOR_INPUT_MISSING);
    CHECK_OK(bind_floats(lent, s.forward, 0, x, 2));
    CHECK_OK(bind_floats(lent, s.forward, 1, x, 2));
    CHECK_OK(stator_runtime_run(lent, s.forward, s.arena));
    CHECK_OK(stator_pool_return(pool, lent));
    CHECK_NEAR(output_floats(s.arena, 0, 2)[1], add_mul(2, 2));
  }
  stator_pool_release(pool);
  end(&s);
}

static void what_was_not_lent_is_not_taken_back(void) {
  session s = begin("add_mul.pt");
  stator_pool *pool = pool_of(s.module, 2), *other = pool_of(s.module, 2);
  stator_runtime *lent = NULL;
  CHECK_CODE(stator_pool_return(pool, s.runtime), STATOR_INVALID_ARGUMENT);
  CHECK_OK(stator_pool_acquire(pool, 0, &lent));
  CHECK_CODE(stator_pool_return(other, lent), STATOR_INVALID_ARGUMENT);
  CHECK_OK(stator_pool_return(pool, lent));
  CHECK_CODE(stator_pool_return(pool, lent), STATOR_INVALID_ARGUMENT);
  stator_pool_release(pool), stator_pool_release(other);
  end(&s);
}

static void a_lent_runtime_outlives_the_pools_last_release(void) {
  session s = begin("add_mul.pt");
  stator_pool *pool = pool_of(s.module, 1);
  stator_runtime *lent = NULL;
  float x[2] = {1, 2};
  CHECK_OK(stator_pool_acquire(pool, 0, &lent));
  stator_pool_retain(pool);
  stator_pool_release(pool);
  stator_pool_release(pool);
  CHECK_OK(bind_floats(lent, s.forward, 0, x, 2));
  CHECK_OK(bind_floats(lent, s.forward, 1, x, 2));
  CHECK_OK(stator_runtime_run(lent, s.forward, s.arena));
  CHECK_OK(stator_pool_return(pool, lent));
  end(&s);
}

static void a_stateful_module_needs_the_option_state(void) {
  stator_module *module = load("counter.pt");
  stator_pool *pool = NULL;
  stator_options *options = NULL;
  CHECK_CODE_SAYING(stator_pool_create(module, NULL, &pool), STATOR_INVALID_ARGUMENT, "state");
  CHECK(pool == NULL);
  for (int i = 0; i < 2; ++i) {
    CHECK_OK(stator_options_create(&options));
    CHECK_OK(stator_options_set_str(options, "state", i == 0 ? "private" : "shared"));
    CHECK_OK(stator_pool_create(module, options, &pool));
    stator_pool_release(pool);
    stator_options_release(options);
  }
  pool = NULL;
  static const int64_t wrong[] = {0, -1, 65536};
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(stator_options_create(&options));
    stator_status *status = stator_options_set_int(options, "max_runtimes", wrong[i]);
    if (status == NULL) status = stator_options_set_str(options, "state", "private");
    if (status == NULL) status = stator_pool_create(module, options, &pool);
    CHECK_INT(stator_status_code(status), STATOR_INVALID_ARGUMENT);
    CHECK(strstr(stator_status_message(status), "max_runtimes") != NULL);
    stator_status_release(status);
    stator_options_release(options);
  }
  stator_module_release(module);
}

static stator_pool *shared_pool;
static stator_runtime *handed_over;

static void *return_later(void *unused) {
  (void)unused;
  struct timespec pause = {0, 20 * 1000000};
  nanosleep(&pause, NULL);
  CHECK_OK(stator_pool_return(shared_pool, handed_over));
  return NULL;
}

static void a_waiter_without_end_gets_what_another_thread_returns(void) {
  stator_module *module = load("add_mul.pt");
  shared_pool = pool_of(module, 1);
  pthread_t thread;
  for (int round = 0; round < 3; ++round) {
    stator_runtime *lent = NULL;
    CHECK_OK(stator_pool_acquire(shared_pool, -1, &handed_over));
    CHECK(pthread_create(&thread, NULL, return_later, NULL) == 0);
    CHECK_OK(stator_pool_acquire(shared_pool, round == 0 ? INT64_C(20000000000) : -1, &lent));
    CHECK(lent == handed_over);
    pthread_join(thread, NULL);
    CHECK_OK(stator_pool_return(shared_pool, lent));
  }
  stator_pool_release(shared_pool);
  stator_module_release(module);
}

enum { kThreads = 8 };
static session shared;
static atomic_int lent_now, lent_most;

static void *use_the_pool(void *argument) {
  const int number = (int)(intptr_t)argument, rounds = UNDER_SANITIZER ? 100 : 2000;
  stator_arena *arena = new_arena(shared.module);
  float x[4];
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 4; ++i) x[i] = (float)(number + i) * 0.25F - (float)(round % 7);
    if (round % 4 == 3) { /* the one-shot form */
      stator_value *result = NULL, *args = tuple_of(2, (stator_value *[]){float_vector(x, 4), float_vector(x, 4)});
      CHECK_OK(stator_pool_call(shared_pool, -1, shared.forward, args, NULL, arena, &result));
      stator_value_release(result), stator_value_release(args);
    } else {
      stator_runtime *lent = NULL;
      CHECK_OK(stator_pool_acquire(shared_pool, -1, &lent));
      const int now = atomic_fetch_add(&lent_now, 1) + 1;
      for (int most = atomic_load(&lent_most); now > most && !atomic_compare_exchange_weak(&lent_most, &most, now);) {
      }
      CHECK_OK(bind_floats(lent, shared.forward, 0, x, 4));
      CHECK_OK(bind_floats(lent, shared.forward, 1, x, 4));
      CHECK_OK(stator_runtime_run(lent, shared.forward, arena));
      atomic_fetch_sub(&lent_now, 1);
      CHECK_OK(stator_pool_return(shared_pool, lent));
    }
    const float *result = output_floats(arena, 0, 4);
    for (int i = 0; i < 4; ++i) CHECK_NEAR(result[i], add_mul(x[i], x[i]));
  }
  stator_arena_release(arena);
  return NULL;
}

static void eight_threads_share_three_runtimes(void) {
  shared = begin("add_mul.pt");
  shared_pool = pool_of(shared.module, 3);
  atomic_store(&lent_most, 0);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, use_the_pool, (void *)(intptr_t)i) == 0);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  CHECK(atomic_load(&lent_most) <= 3 && stator_pool_runtime_count(shared_pool) <= 3);
  stator_pool_release(shared_pool);
  end(&shared);
}

int main(void) {
  load_torch();
  RUN(runtimes_are_made_when_needed_up_to_the_cap);
  RUN(a_returned_runtime_has_nothing_bound);
  RUN(what_was_not_lent_is_not_taken_back);
  RUN(a_lent_runtime_outlives_the_pools_last_release);
  RUN(a_stateful_module_needs_the_option_state);
  RUN(a_waiter_without_end_gets_what_another_thread_returns);
  RUN(eight_threads_share_three_runtimes);
  return 0;
}

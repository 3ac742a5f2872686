/* State belongs to a runtime: one copy for all methods, from the file's values, unless the caller asks to share it. */
#include "check.h"

/* Runs counter.pt's forward on x and checks what the state has become. */
static void count(stator_runtime *runtime, const stator_method *forward, stator_arena *arena, const float *x,
                  float wanted_total, int64_t wanted_n) {
  CHECK_OK(bind_floats(runtime, forward, 0, (float *)x, 3));
  CHECK_OK(stator_runtime_run(runtime, forward, arena));
  CHECK_NEAR(output_floats(arena, 0, 3)[0], wanted_total);
  stator_value *result = NULL, *n = NULL;
  int64_t number = -1;
  CHECK_OK(stator_arena_result(arena, &result));
  CHECK_INT(stator_value_kind(result), STATOR_KIND_TUPLE);
  CHECK_INT(stator_value_size(result), 2);
  CHECK_OK(stator_value_item(result, 1, &n));
  CHECK_OK(stator_value_as_int(n, &number));
  CHECK_INT(number, wanted_n);
  stator_value_release(n), stator_value_release(result);
}

static const float kOnes[3] = {1, 1, 1};

static void state_lives_from_run_to_run_and_starts_as_in_the_file(void) {
  session s = begin("counter.pt");
  for (int i = 1; i <= 5; ++i) count(s.runtime, s.forward, s.arena, kOnes, (float)i, i);
  stator_runtime *other = new_runtime(s.module);
  count(other, s.forward, s.arena, kOnes, 1, 1);
  count(s.runtime, s.forward, s.arena, kOnes, 6, 6);
  stator_runtime_release(other);
  end(&s);
}

static void all_methods_of_a_runtime_see_one_state(void) {
  session s = begin("counter.pt");
  const stator_method *reset = find(s.module, "reset");
  stator_arena *nothing = new_arena(s.module);
  CHECK_INT(stator_method_output_count(reset), 0);
  count(s.runtime, s.forward, s.arena, kOnes, 1, 1);
  count(s.runtime, s.forward, s.arena, kOnes, 2, 2);
  CHECK_OK(stator_runtime_run(s.runtime, reset, nothing));
  CHECK_INT(stator_arena_output_count(nothing), 0);
  count(s.runtime, s.forward, s.arena, kOnes, 1, 1);
  stator_arena_release(nothing);
  end(&s);
}

static void results_do_not_change_with_the_state(void) {
  session s = begin("counter.pt");
  stator_arena *later = new_arena(s.module);
  count(s.runtime, s.forward, s.arena, kOnes, 1, 1);
  for (int i = 2; i <= 5; ++i) count(s.runtime, s.forward, later, kOnes, (float)i, i);
  CHECK_NEAR(output_floats(s.arena, 0, 3)[0], 1.0);
  stator_arena_release(later);
  end(&s);
}

static void reset_state_goes_back_to_the_file(void) {
  session s = begin("counter.pt");
  count(s.runtime, s.forward, s.arena, kOnes, 1, 1);
  CHECK_OK(stator_runtime_reset_state(s.runtime));
  count(s.runtime, s.forward, s.arena, kOnes, 1, 1);
  end(&s);
}

static void a_clone_starts_from_the_state_as_it_is_and_goes_its_own_way(void) {
  session s = begin("counter.pt");
  stator_runtime *clone = NULL;
  count(s.runtime, s.forward, s.arena, kOnes, 1, 1);
  count(s.runtime, s.forward, s.arena, kOnes, 2, 2);
  CHECK_OK(stator_runtime_clone(s.runtime, &clone));
  CHECK_CODE(stator_runtime_run(clone, s.forward, s.arena), STATOR_INPUT_MISSING);
  count(clone, s.forward, s.arena, kOnes, 3, 3);
  count(s.runtime, s.forward, s.arena, kOnes, 3, 3);
  count(clone, s.forward, s.arena, kOnes, 4, 4);
  stator_runtime_release(s.runtime);
  count(clone, s.forward, s.arena, kOnes, 5, 5);
  s.runtime = clone;
  end(&s);
}

static void runtimes_that_ask_for_it_share_one_state(void) {
  stator_options *shared = NULL;
  session s = begin("counter.pt");
  stator_runtime *one = NULL, *two = NULL;
  CHECK_OK(stator_options_create(&shared));
  CHECK_OK(stator_options_set_str(shared, "state", "shared"));
  CHECK_OK(stator_runtime_create(s.module, shared, &one));
  CHECK_OK(stator_runtime_create(s.module, shared, &two));
  count(one, s.forward, s.arena, kOnes, 1, 1);
  count(two, s.forward, s.arena, kOnes, 2, 2);
  count(one, s.forward, s.arena, kOnes, 3, 3);
  count(s.runtime, s.forward, s.arena, kOnes, 1, 1);
  stator_runtime_release(one);
  count(two, s.forward, s.arena, kOnes, 4, 4);
  stator_runtime_release(two);
  CHECK_OK(stator_options_set_str(shared, "state", "borrowed"));
  CHECK_CODE_SAYING(stator_runtime_create(s.module, shared, &one), STATOR_INVALID_ARGUMENT, "borrowed");
  stator_options_release(shared);
  end(&s);
}

int main(void) {
  load_torch();
  RUN(state_lives_from_run_to_run_and_starts_as_in_the_file);
  RUN(all_methods_of_a_runtime_see_one_state);
  RUN(results_do_not_change_with_the_state);
  RUN(reset_state_goes_back_to_the_file);
  RUN(a_clone_starts_from_the_state_as_it_is_and_goes_its_own_way);
  RUN(runtimes_that_ask_for_it_share_one_state);
  return 0;
}

/* Bind once, run many: inputs, outputs and arenas on the path that a service takes for every request. */
#include "check.h"
#include "dlpack_layout.h"

enum { kCount = 6 };

static void fill(float *data, int count, float from) {
  for (int i = 0; i < count; ++i) data[i] = from + 0.25F * (float)i;
}

static void check_add_mul(const stator_arena *arena, const float *x, const float *y) {
  const float *result = output_floats(arena, 0, kCount);
  for (int i = 0; i < kCount; ++i) CHECK_NEAR(result[i], add_mul(x[i], y[i]));
}

static void bound_inputs_are_run_and_the_output_is_described(void) {
  session s = begin("add_mul.pt");
  float x[kCount], y[kCount];
  fill(x, kCount, -1.0F), fill(y, kCount, 0.5F);
  const int64_t shape[] = {2, 3};
  CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL));
  CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 1, y, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL));
  CHECK_INT(stator_arena_output_count(s.arena), 0);
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  CHECK_INT(stator_arena_output_count(s.arena), 1);
  CHECK_INT(stator_method_output_count(s.forward), 1);

  const void *data = NULL;
  int32_t dtype = 0, device = 0, ndim = 0;
  const int64_t *sizes = NULL, *strides = NULL;
  CHECK_OK(stator_arena_output(s.arena, 0, &data, &dtype, &device, &ndim, &sizes, &strides));
  CHECK_INT(dtype, STATOR_FLOAT32);
  CHECK_INT(device, STATOR_CPU);
  CHECK_INT(ndim, 2);
  CHECK(sizes[0] == 2 && sizes[1] == 3 && strides[0] == 3 && strides[1] == 1);
  CHECK_INT((uintptr_t)data % 64, 0);
  for (int i = 0; i < kCount; ++i) CHECK_NEAR(((const float *)data)[i], add_mul(x[i], y[i]));
  CHECK_OK(stator_arena_output(s.arena, 0, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK_CODE(stator_arena_output(s.arena, 1, NULL, NULL, NULL, NULL, NULL, NULL), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_arena_output(s.arena, -1, NULL, NULL, NULL, NULL, NULL, NULL), STATOR_INVALID_ARGUMENT);
  CHECK(stator_arena_bytes(s.arena) >= (int64_t)sizeof x);
  end(&s);
}

static void every_run_reads_the_bound_memory_anew(void) {
  session s = begin("add_mul.pt");
  float x[kCount], y[kCount];
  fill(y, kCount, 0.5F);
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kCount));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kCount));
  for (int run = 0; run < 20; ++run) {
    fill(x, kCount, (float)run - 10.0F);
    CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
    check_add_mul(s.arena, x, y);
  }
  end(&s);
}

static void an_input_can_be_bound_again_with_other_memory_and_another_shape(void) {
  session s = begin("add_mul.pt");
  float x[2 * kCount], y[2 * kCount];
  fill(x, 2 * kCount, -1.0F), fill(y, 2 * kCount, 0.5F);
  for (int64_t count = 2 * kCount; count >= 1; --count) {
    float *from = x + (2 * kCount - count);
    CHECK_OK(bind_floats(s.runtime, s.forward, 0, from, count));
    CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, count));
    CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
    const float *result = output_floats(s.arena, 0, count);
    for (int64_t i = 0; i < count; ++i) CHECK_NEAR(result[i], add_mul(from[i], y[i]));
  }
  end(&s);
}

static void strided_and_empty_inputs_are_read_as_described(void) {
  session s = begin("add_mul.pt");
  float x[2 * kCount], y[kCount];
  fill(x, 2 * kCount, -1.0F), fill(y, kCount, 0.5F);
  const int64_t count = kCount, two = 2, none = 0;
  CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 1, &count, &two));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kCount));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  const float *result = NULL;
  CHECK_OK(stator_arena_output(s.arena, 0, (const void **)&result, NULL, NULL, NULL, NULL, NULL));
  for (int i = 0; i < kCount; ++i) CHECK_NEAR(result[i], add_mul(x[2 * i], y[i]));

  CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 0, NULL, STATOR_FLOAT32, STATOR_CPU, 1, &none, NULL));
  CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 1, NULL, STATOR_FLOAT32, STATOR_CPU, 1, &none, NULL));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  const void *data = x;
  const int64_t *shape = NULL;
  CHECK_OK(stator_arena_output(s.arena, 0, &data, NULL, NULL, NULL, &shape, NULL));
  CHECK(data == NULL && shape[0] == 0);
  end(&s);
}

static void a_window_is_zeroed_aligned_and_read_in_place(void) {
  session s = begin("add_mul.pt");
  float *x = NULL, *y = NULL;
  const int64_t count = kCount;
  CHECK_OK(stator_runtime_input(s.runtime, s.forward, 0, STATOR_FLOAT32, 1, &count, (void **)&x));
  CHECK_OK(stator_runtime_input(s.runtime, s.forward, 1, STATOR_FLOAT32, 1, &count, (void **)&y));
  CHECK(x != NULL && y != NULL && (uintptr_t)x % 64 == 0 && (uintptr_t)y % 64 == 0);
  for (int i = 0; i < kCount; ++i) CHECK(x[i] == 0.0F && y[i] == 0.0F);
  for (int run = 0; run < 3; ++run) {
    fill(x, kCount, (float)run), fill(y, kCount, 0.5F);
    CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
    check_add_mul(s.arena, x, y);
  }
  end(&s);
}

static void a_bound_output_is_written_and_refused_if_it_does_not_fit(void) {
  session s = begin("add_mul.pt");
  float x[kCount], y[kCount], result[kCount] = {0};
  fill(x, kCount, -1.0F), fill(y, kCount, 0.5F);
  const int64_t count = kCount, fewer = kCount - 1;
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kCount));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kCount));
  CHECK_OK(stator_runtime_bind_output(s.runtime, s.forward, 0, result, STATOR_FLOAT32, STATOR_CPU, 1, &count, NULL));
  for (int run = 0; run < 3; ++run) {
    memset(result, 0, sizeof result);
    x[0] = (float)run;
    CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
    for (int i = 0; i < kCount; ++i) CHECK_NEAR(result[i], add_mul(x[i], y[i]));
    check_add_mul(s.arena, x, y);
  }
  CHECK_OK(stator_runtime_bind_output(s.runtime, s.forward, 0, result, STATOR_FLOAT32, STATOR_CPU, 1, &fewer, NULL));
  CHECK_CODE(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_SHAPE_MISMATCH);
  CHECK_OK(stator_runtime_bind_output(s.runtime, s.forward, 0, result, STATOR_INT32, STATOR_CPU, 1, &count, NULL));
  CHECK_CODE(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_DTYPE_MISMATCH);
  CHECK_CODE(stator_runtime_bind_output(s.runtime, s.forward, 1, result, STATOR_FLOAT32, STATOR_CPU, 1, &count, NULL),
             STATOR_INVALID_ARGUMENT);
  CHECK_OK(stator_runtime_bind_output(s.runtime, s.forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 1, &count, NULL));
  CHECK_CODE_SAYING(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_INVALID_ARGUMENT, "overlaps");

  CHECK_OK(stator_runtime_unbind(s.runtime, s.forward));
  CHECK_CODE_SAYING(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_INPUT_MISSING, "x");
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kCount));
  CHECK_CODE_SAYING(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_INPUT_MISSING, "y");
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kCount));
  memset(result, 0, sizeof result);
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  check_add_mul(s.arena, x, y);
  for (int i = 0; i < kCount; ++i) CHECK(result[i] == 0.0F);
  end(&s);
}

static void the_generation_counts_runs_and_resets(void) {
  session s = begin("add_mul.pt");
  float x[kCount], y[kCount];
  fill(x, kCount, -1.0F), fill(y, kCount, 0.5F);
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kCount));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kCount));
  int64_t before = stator_arena_generation(s.arena);
  for (int run = 0; run < 3; ++run) {
    CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
    CHECK_INT(stator_arena_generation(s.arena), before + 1);
    before += 1;
  }
  CHECK_OK(stator_arena_reset(s.arena));
  CHECK(stator_arena_generation(s.arena) > before);
  CHECK_INT(stator_arena_output_count(s.arena), 0);
  CHECK_CODE(stator_arena_output(s.arena, 0, NULL, NULL, NULL, NULL, NULL, NULL), STATOR_INVALID_ARGUMENT);
  stator_value *result = NULL;
  CHECK_CODE(stator_arena_result(s.arena, &result), STATOR_INVALID_ARGUMENT);
  end(&s);
}

static void an_export_keeps_the_arena_busy_and_its_memory_alive(void) {
  session s = begin("add_mul.pt");
  float x[kCount], y[kCount];
  fill(x, kCount, -1.0F), fill(y, kCount, 0.5F);
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kCount));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kCount));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  const int64_t generation = stator_arena_generation(s.arena);
  const int64_t exports = stator_live_handles(STATOR_HANDLE_EXPORT);

  struct DLManagedTensorVersioned *exported = NULL;
  struct DLManagedTensor *older = NULL;
  stator_value *result = NULL;
  CHECK_OK(stator_arena_export(s.arena, 0, &exported));
  CHECK_INT(exported->major, 1);
  CHECK_INT(exported->flags & DLPACK_READ_ONLY, 0);
  CHECK(exported->tensor.ndim == 1 && exported->tensor.shape[0] == kCount && exported->tensor.strides[0] == 1);
  CHECK(exported->tensor.dtype.code == 2 && exported->tensor.dtype.bits == 32 && exported->tensor.dtype.lanes == 1);
  CHECK_INT(exported->tensor.device.type, 1);
  CHECK_INT(stator_live_handles(STATOR_HANDLE_EXPORT), exports + 1);
  CHECK_CODE(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_BUSY);
  CHECK_CODE(stator_arena_reset(s.arena), STATOR_BUSY);
  CHECK_INT(stator_arena_generation(s.arena), generation);
  check_add_mul(s.arena, x, y);
  exported->deleter(exported);
  CHECK_INT(stator_live_handles(STATOR_HANDLE_EXPORT), exports);
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));

  CHECK_OK(stator_arena_result(s.arena, &result));
  CHECK_CODE(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_BUSY);
  stator_value_release(result);
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));

  CHECK_CODE(stator_arena_export(s.arena, 1, &exported), STATOR_INVALID_ARGUMENT);
  CHECK_OK(stator_arena_export(s.arena, 0, &exported));
  CHECK_OK(stator_arena_export_legacy(s.arena, 0, &older));
  end(&s);
  const float *data = (const float *)((char *)exported->tensor.data + exported->tensor.byte_offset);
  for (int i = 0; i < kCount; ++i) CHECK_NEAR(data[i], add_mul(x[i], y[i]));
  exported->deleter(exported);
  data = (const float *)((char *)older->tensor.data + older->tensor.byte_offset);
  for (int i = 0; i < kCount; ++i) CHECK_NEAR(data[i], add_mul(x[i], y[i]));
  older->deleter(older);
}

static void an_arena_outlives_its_runtime_and_module(void) {
  session s = begin("add_mul.pt");
  float x[kCount], y[kCount];
  fill(x, kCount, -1.0F), fill(y, kCount, 0.5F);
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kCount));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kCount));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  stator_module_release(s.module);
  stator_runtime_release(s.runtime);
  check_add_mul(s.arena, x, y);
  stator_arena_retain(s.arena);
  stator_arena_release(s.arena);
  check_add_mul(s.arena, x, y);
  stator_arena_release(s.arena);
}

static void held_results_stay_bit_equal_over_a_thousand_runs(void) {
  enum { kHeld = 8 };
  session s = begin("add_mul.pt");
  float x[kCount], y[kCount], kept[kHeld][kCount];
  stator_arena *held[kHeld];
  fill(y, kCount, 0.5F);
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kCount));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kCount));
  for (int i = 0; i < kHeld; ++i) {
    held[i] = new_arena(s.module);
    fill(x, kCount, (float)i);
    CHECK_OK(stator_runtime_run(s.runtime, s.forward, held[i]));
    memcpy(kept[i], output_floats(held[i], 0, kCount), sizeof kept[i]);
  }
  for (int run = 0; run < 1000; ++run) {
    fill(x, kCount, -(float)run);
    CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
    if (run % 10 == 0) { /* arenas that come and go beside them */
      stator_arena *other = new_arena(s.module);
      CHECK_OK(stator_runtime_run(s.runtime, s.forward, other));
      stator_arena_release(other);
    }
  }
  for (int i = 0; i < kHeld; ++i) {
    CHECK(memcmp(kept[i], output_floats(held[i], 0, kCount), sizeof kept[i]) == 0);
    stator_arena_release(held[i]);
  }
  end(&s);
}

static int deleted;
static void count_deletion(struct DLManagedTensorVersioned *self) {
  (void)self;
  ++deleted;
}

static void a_dlpack_input_is_owned_until_it_is_replaced(void) {
  session s = begin("add_mul.pt");
  float x[kCount], y[kCount];
  fill(x, kCount, -1.0F), fill(y, kCount, 0.5F);
  int64_t shape = kCount, stride = 1;
  struct DLManagedTensorVersioned tensor = {
      .major = 1,
      .minor = 0,
      .deleter = count_deletion,
      .tensor = {.data = x, .device = {1, 0}, .ndim = 1, .dtype = {2, 32, 1}, .shape = &shape, .strides = &stride}};
  deleted = 0;
  CHECK_CODE(stator_runtime_bind_dlpack(s.runtime, s.forward, 2, &tensor), STATOR_INVALID_ARGUMENT);
  CHECK_INT(deleted, 0);
  CHECK_OK(stator_runtime_bind_dlpack(s.runtime, s.forward, 0, &tensor));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, y, kCount));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  check_add_mul(s.arena, x, y);
  CHECK_INT(deleted, 0);
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kCount));
  CHECK_INT(deleted, 1);
  CHECK_OK(stator_runtime_bind_dlpack(s.runtime, s.forward, 0, &tensor));
  CHECK_OK(stator_runtime_unbind(s.runtime, NULL));
  CHECK_INT(deleted, 2);
  tensor.major = 2;
  CHECK_ONE_OF(stator_runtime_bind_dlpack(s.runtime, s.forward, 0, &tensor), STATOR_UNSUPPORTED,
               STATOR_INVALID_ARGUMENT);
  tensor.major = 1;
  CHECK_INT(deleted, 2);
  CHECK_OK(stator_runtime_bind_dlpack(s.runtime, s.forward, 0, &tensor));
  end(&s);
  CHECK_INT(deleted, 3);
}

static void a_read_only_input_is_refused_where_the_model_writes(void) {
  session s = begin("writes.pt");
  float x[kCount];
  fill(x, kCount, 0.0F);
  int64_t shape = kCount, stride = 1;
  struct DLManagedTensorVersioned tensor = {
      .major = 1,
      .deleter = count_deletion,
      .flags = DLPACK_READ_ONLY,
      .tensor = {.data = x, .device = {1, 0}, .ndim = 1, .dtype = {2, 32, 1}, .shape = &shape, .strides = &stride}};
  CHECK_INT(stator_method_input_written(s.forward, 0), 1);
  deleted = 0;
  CHECK_CODE(stator_runtime_bind_dlpack(s.runtime, s.forward, 0, &tensor), STATOR_INVALID_ARGUMENT);
  CHECK_INT(deleted, 0);
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, kCount));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  for (int i = 0; i < kCount; ++i) CHECK_NEAR(x[i], 0.25F * (float)i + 1.0F);
  end(&s);
}

static void deep_and_wide_runs_at_two_batch_sizes(void) {
  session s = begin("deep_and_wide.pt");
  static float ad[20 * 32], user[20 * 32], wide[20 * 50];
  fill(ad, 20 * 32, -1.0F), fill(user, 20 * 32, -2.0F), fill(wide, 20 * 50, -3.0F);
  for (int round = 0; round < 4; ++round) {
    const int64_t batch = round % 2 == 0 ? 1 : 20;
    const int64_t embedding[] = {batch, 1, 32}, features[] = {batch, 50};
    CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 0, ad, STATOR_FLOAT32, STATOR_CPU, 3, embedding, NULL));
    CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 1, user, STATOR_FLOAT32, STATOR_CPU, 3, embedding, NULL));
    CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 2, wide, STATOR_FLOAT32, STATOR_CPU, 2, features, NULL));
    CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
    const float *data = NULL;
    const int64_t *shape = NULL;
    CHECK_OK(stator_arena_output(s.arena, 0, (const void **)&data, NULL, NULL, NULL, &shape, NULL));
    CHECK(shape[0] == batch && shape[1] == 1);
    for (int64_t i = 0; i < batch; ++i) CHECK(data[i] >= 0.0F && data[i] <= 1.0F);
  }
  CHECK(stator_runtime_workspace_bytes(s.runtime) > 0);
  end(&s);
}

int main(void) {
  load_torch();
  RUN(bound_inputs_are_run_and_the_output_is_described);
  RUN(every_run_reads_the_bound_memory_anew);
  RUN(an_input_can_be_bound_again_with_other_memory_and_another_shape);
  RUN(strided_and_empty_inputs_are_read_as_described);
  RUN(a_window_is_zeroed_aligned_and_read_in_place);
  RUN(a_bound_output_is_written_and_refused_if_it_does_not_fit);
  RUN(the_generation_counts_runs_and_resets);
  RUN(an_export_keeps_the_arena_busy_and_its_memory_alive);
  RUN(an_arena_outlives_its_runtime_and_module);
  RUN(held_results_stay_bit_equal_over_a_thousand_runs);
  RUN(a_dlpack_input_is_owned_until_it_is_replaced);
  RUN(a_read_only_input_is_refused_where_the_model_writes);
  RUN(deep_and_wide_runs_at_two_batch_sizes);
  return 0;
}

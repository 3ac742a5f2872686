/* What callers do wrong: each gets a status that says so, the process lives, and the next right call works. */
#include "check.h"

/* ------------------------------------------------------------------------------------------------- files */

static void *read_whole(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  rewind(file);
  void *data = aligned_alloc(64, (*size / 64 + 1) * 64);
  CHECK(data != NULL && fread(data, 1, *size, file) == *size);
  fclose(file);
  return data;
}

static void count_release(void *context) { ++*(int *)context; }

static void files_that_are_no_model_are_refused_by_name(void) {
  static const struct {
    const char *file;
    int32_t code, or_code;
  } rows[] = {
      {"there_is_no_such_file.pt", STATOR_NOT_FOUND, STATOR_NOT_FOUND},
      {"truncated.pt", STATOR_BAD_MODEL, STATOR_BAD_MODEL},
      {"not_a_model.zip", STATOR_BAD_MODEL, STATOR_BAD_MODEL},
      {"text.pt", STATOR_BAD_MODEL, STATOR_BAD_MODEL},
      {"empty.pt", STATOR_BAD_MODEL, STATOR_BAD_MODEL},
      {"saved_tensors.pt", STATOR_BAD_MODEL, STATOR_UNSUPPORTED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    stator_module *untouched = (stator_module *)&rows, *module = untouched;
    stator_status *status = stator_module_load(model_path(rows[i].file), NULL, &module);
    if (stator_status_code(status) != rows[i].code && stator_status_code(status) != rows[i].or_code) {
      FAIL("%s: expected %s, got %s: %s", rows[i].file, stator_status_name(rows[i].code),
           stator_status_name(stator_status_code(status)), stator_status_message(status));
    }
    if (strstr(stator_status_message(status), rows[i].file) == NULL)
      FAIL("the message does not name %s: %s", rows[i].file, stator_status_message(status));
    stator_status_release(status);
    CHECK(module == untouched);
    if (rows[i].code == STATOR_NOT_FOUND) continue;

    size_t size = 0;
    void *data = read_whole(model_path(rows[i].file), &size);
    int released = 0;
    CHECK_ONE_OF(stator_module_load_bytes(data, (int64_t)size, NULL, &module), rows[i].code, rows[i].or_code);
    CHECK_ONE_OF(stator_module_load_shared(data, (int64_t)size, count_release, &released, NULL, &module), rows[i].code,
                 rows[i].or_code);
    CHECK_INT(released, 1);
    CHECK(module == untouched);
    free(data);
  }
}

static void a_folder_is_no_model(void) {
  stator_module *module = NULL;
  CHECK_ONE_OF(stator_module_load(from_environment("STATOR_TEST_MODELS"), NULL, &module), STATOR_IO, STATOR_BAD_MODEL);
  CHECK_CODE(stator_module_load("", NULL, &module), STATOR_NOT_FOUND);
}

static void an_archive_cut_anywhere_is_refused(void) {
  size_t size = 0;
  void *data = read_whole(model_path("linear.pt"), &size);
  stator_module *module = NULL;
  const int cuts = UNDER_SANITIZER ? 20 : 100;
  for (int i = 0; i < cuts; ++i) {
    stator_status *status = stator_module_load_bytes(data, (int64_t)(size * (size_t)i / (size_t)cuts), NULL, &module);
    if (stator_status_code(status) != STATOR_BAD_MODEL)
      FAIL("cut %d: got %s", i, stator_status_name(stator_status_code(status)));
    stator_status_release(status);
  }
  CHECK_OK(stator_module_load_bytes(data, (int64_t)size, NULL, &module));
  free(data);
  stator_module_release(module);
}

static void bytes_are_copied_and_shared_memory_is_given_back(void) {
  size_t size = 0;
  int released = 0;
  void *data = read_whole(model_path("linear.pt"), &size);
  session copied = {0}, shared = {0};
  CHECK_OK(stator_module_load_bytes(data, (int64_t)size, NULL, &copied.module));
  CHECK_OK(stator_module_load_shared(data, (int64_t)size, count_release, &released, NULL, &shared.module));
  CHECK_INT(released, 0);
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const int64_t shape[] = {1, 8};
  const float *results[2];
  session *sessions[] = {&copied, &shared};
  for (int i = 0; i < 2; ++i) {
    session *s = sessions[i];
    s->forward = find(s->module, "forward"), s->runtime = new_runtime(s->module), s->arena = new_arena(s->module);
    CHECK_OK(stator_runtime_bind(s->runtime, s->forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL));
    CHECK_OK(stator_runtime_run(s->runtime, s->forward, s->arena));
    CHECK_OK(stator_arena_output(s->arena, 0, (const void **)&results[i], NULL, NULL, NULL, NULL, NULL));
  }
  CHECK(memcmp(results[0], results[1], 4 * sizeof(float)) == 0);
  end(&shared);
  CHECK_INT(released, 1);
  memset(data, 0xff, size);
  free(data);
  CHECK_OK(stator_runtime_run(copied.runtime, copied.forward, copied.arena));
  end(&copied);
}

/* --------------------------------------------------------------------------------------------- arguments */

static void wrong_tensors_are_refused_and_the_runtime_goes_on(void) {
  session s = begin("linear.pt");
  double doubles[16] = {0};
  float x[16] = {1, 2, 3, 4, 5, 6, 7, 8};
  const int64_t right[] = {2, 8}, size[] = {2, 7};
  CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 0, doubles, STATOR_FLOAT64, STATOR_CPU, 2, right, NULL));
  CHECK_ONE_OF(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_OPERATOR_ERROR, STATOR_DTYPE_MISMATCH);
  CHECK_INT(stator_arena_output_count(s.arena), 0);
  CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, size, NULL));
  stator_status *status = stator_runtime_run(s.runtime, s.forward, s.arena);
  CHECK(stator_status_code(status) == STATOR_OPERATOR_ERROR || stator_status_code(status) == STATOR_SHAPE_MISMATCH);
  CHECK_TEXT(stator_status_operator(status), "aten::linear");
  CHECK(strstr(stator_status_source(status), "linear") != NULL);
  stator_status_release(status);
  CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, right, NULL));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  CHECK_INT(stator_arena_output_count(s.arena), 1);
  end(&s);
}

static void a_declared_signature_is_checked_when_binding(void) {
  stator_options *options = NULL;
  session s = {0};
  CHECK_OK(stator_options_create(&options));
  CHECK_OK(stator_options_set_str(options, "signature", "x: float32[?, 8]"));
  CHECK_OK(stator_module_load(model_path("linear.pt"), options, &s.module));
  stator_options_release(options);
  s.forward = find(s.module, "forward"), s.runtime = new_runtime(s.module), s.arena = new_arena(s.module);
  double doubles[16] = {0};
  float x[16] = {0};
  const int64_t right[] = {2, 8}, size[] = {2, 7}, rank[] = {8};
  CHECK_CODE_SAYING(stator_runtime_bind(s.runtime, s.forward, 0, doubles, STATOR_FLOAT64, STATOR_CPU, 2, right, NULL),
                    STATOR_DTYPE_MISMATCH, "float64");
  CHECK_CODE(stator_runtime_bind(s.runtime, s.forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, size, NULL),
             STATOR_SHAPE_MISMATCH);
  stator_status *status = stator_runtime_bind(s.runtime, s.forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 1, rank, NULL);
  CHECK_INT(stator_status_code(status), STATOR_SHAPE_MISMATCH);
  CHECK_TEXT(stator_status_argument(status), "input \"x\" (argument 1)");
  stator_status_release(status);
  CHECK_OK(stator_runtime_bind(s.runtime, s.forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, right, NULL));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  end(&s);
}

static void nonsense_in_bind_is_refused(void) {
  session s = begin("add_mul.pt");
  float x[8] = {0};
  const int64_t shape[] = {2, 4}, negative[] = {2, -4}, huge[] = {INT64_MAX, INT64_MAX}, backwards[] = {-4, 1};
  stator_runtime *r = s.runtime;
  const stator_method *f = s.forward;
  CHECK_CODE(stator_runtime_bind(r, f, 2, x, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_runtime_bind(r, f, -1, x, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_runtime_bind(r, f, 0, NULL, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL), STATOR_INVALID_ARGUMENT);
  CHECK_ONE_OF(stator_runtime_bind(r, f, 0, x, 12345, STATOR_CPU, 2, shape, NULL), STATOR_INVALID_ARGUMENT,
               STATOR_UNSUPPORTED);
  CHECK_ONE_OF(stator_runtime_bind(r, f, 0, x, STATOR_FLOAT32, 2, 2, shape, NULL), STATOR_INVALID_ARGUMENT,
               STATOR_UNSUPPORTED);
  CHECK_CODE(stator_runtime_bind(r, f, 0, x, STATOR_FLOAT32, STATOR_CPU, 65, shape, NULL), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_runtime_bind(r, f, 0, x, STATOR_FLOAT32, STATOR_CPU, -1, shape, NULL), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_runtime_bind(r, f, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, NULL, NULL), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_runtime_bind(r, f, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, negative, NULL), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_runtime_bind(r, f, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, huge, NULL), STATOR_INVALID_ARGUMENT);
  CHECK_ONE_OF(stator_runtime_bind(r, f, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, shape, backwards),
               STATOR_INVALID_ARGUMENT, STATOR_UNSUPPORTED);
  CHECK_CODE_SAYING(stator_runtime_run(r, f, s.arena), STATOR_INPUT_MISSING, "x");
  CHECK_OK(stator_runtime_bind(r, f, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL));
  CHECK_OK(stator_runtime_bind(r, f, 1, x, STATOR_FLOAT32, STATOR_CPU, 0, NULL, NULL));
  CHECK_OK(stator_runtime_run(r, f, s.arena));
  end(&s);
}

static void arguments_of_another_type_or_count_are_refused(void) {
  session s = begin("branch.pt");
  float x[2] = {1, 2};
  stator_value *number = int_value(1), *result = NULL;
  CHECK_CODE(bind_floats(s.runtime, s.forward, 1, x, 2), STATOR_TYPE_MISMATCH);
  stator_value *text = NULL;
  CHECK_OK(stator_value_create_str("yes", 3, &text));
  stator_status *status = stator_runtime_bind_value(s.runtime, s.forward, 1, text);
  CHECK_INT(stator_status_code(status), STATOR_TYPE_MISMATCH);
  CHECK_TEXT(stator_status_argument(status), "input \"flag\" (argument 2)");
  stator_status_release(status);
  CHECK_CODE(stator_runtime_bind_value(s.runtime, s.forward, 0, number), STATOR_TYPE_MISMATCH);

  stator_value *two = tuple_of(2, (stator_value *[]){float_vector(x, 2), text});
  stator_value *three = tuple_of(3, (stator_value *[]){float_vector(x, 2), int_value(1), int_value(1)});
  stator_value *one = tuple_of(1, (stator_value *[]){float_vector(x, 2)});
  CHECK_CODE(stator_runtime_call(s.runtime, s.forward, two, NULL, s.arena, &result), STATOR_TYPE_MISMATCH);
  CHECK_CODE(stator_runtime_call(s.runtime, s.forward, three, NULL, s.arena, &result), STATOR_INVALID_ARGUMENT);
  CHECK_CODE_SAYING(stator_runtime_call(s.runtime, s.forward, one, NULL, s.arena, &result), STATOR_INPUT_MISSING,
                    "flag");
  CHECK_CODE(stator_runtime_call(s.runtime, s.forward, number, NULL, s.arena, &result), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_runtime_call(s.runtime, s.forward, one, number, s.arena, &result), STATOR_INVALID_ARGUMENT);
  CHECK(result == NULL);
  stator_value_release(one), stator_value_release(two), stator_value_release(three), stator_value_release(number);
  end(&s);
}

static void what_the_model_raises_comes_as_its_own_message(void) {
  session s = begin("raises.pt");
  float x[2] = {1, 2};
  stator_value *bad = int_value(-3), *fine = int_value(3);
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, 2));
  CHECK_OK(stator_runtime_bind_value(s.runtime, s.forward, 1, bad));
  for (int i = 0; i < 3; ++i) {
    CHECK_CODE_SAYING(stator_runtime_run(s.runtime, s.forward, s.arena), STATOR_MODEL_ERROR,
                      "n must be positive, got -3");
    CHECK_INT(stator_arena_output_count(s.arena), 0);
  }
  CHECK_OK(stator_runtime_bind_value(s.runtime, s.forward, 1, fine));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  CHECK_NEAR(output_floats(s.arena, 0, 2)[1], 6.0);
  stator_value_release(bad), stator_value_release(fine);
  end(&s);
}

static void methods_and_arenas_of_another_module_are_refused(void) {
  session one = begin("add_mul.pt"), other = begin("linear.pt");
  float x[2] = {1, 2};
  stator_value *result = NULL, *args = tuple_of(2, (stator_value *[]){float_vector(x, 2), float_vector(x, 2)});
  CHECK_CODE(bind_floats(one.runtime, other.forward, 0, x, 2), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_runtime_run(one.runtime, other.forward, one.arena), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_runtime_unbind(one.runtime, other.forward), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_runtime_call(one.runtime, other.forward, args, NULL, one.arena, &result), STATOR_INVALID_ARGUMENT);
  CHECK_OK(bind_floats(one.runtime, one.forward, 0, x, 2));
  CHECK_OK(bind_floats(one.runtime, one.forward, 1, x, 2));
  CHECK_CODE(stator_runtime_run(one.runtime, one.forward, other.arena), STATOR_INVALID_ARGUMENT);
  CHECK_OK(stator_runtime_run(one.runtime, one.forward, one.arena));
  const stator_method *method = NULL;
  CHECK_CODE_SAYING(stator_module_find_method(one.module, "froward", &method), STATOR_NOT_FOUND, "forward");
  CHECK(method == NULL && stator_module_get_method(one.module, 99) == NULL &&
        stator_module_get_method(one.module, -1) == NULL);
  CHECK(stator_method_input_name(one.forward, 2) == NULL && stator_method_input_type(one.forward, -1) == NULL);
  stator_value_release(args);
  end(&one), end(&other);
}

/* ----------------------------------------------------------------------------------------------- options */

static void unknown_and_misplaced_options_are_refused_with_the_nearest_key(void) {
  stator_options *options = NULL;
  stator_module *module = NULL;
  CHECK_OK(stator_options_create(&options));
  stator_status *status = stator_options_set_str(options, "weigths", "copy");
  if (status == NULL) status = stator_module_load(model_path("linear.pt"), options, &module);
  CHECK_INT(stator_status_code(status), STATOR_INVALID_ARGUMENT);
  CHECK(strstr(stator_status_message(status), "weigths") != NULL &&
        strstr(stator_status_message(status), "weights") != NULL);
  stator_status_release(status);
  CHECK_CODE(stator_options_set_int(options, "weights", 1), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_options_set_str(options, "max_runtimes", "2"), STATOR_INVALID_ARGUMENT);
  stator_options_release(options);

  CHECK_OK(stator_options_create(&options));
  CHECK_OK(stator_options_set_int(options, "max_runtimes", 2));
  CHECK_CODE_SAYING(stator_module_load(model_path("linear.pt"), options, &module), STATOR_INVALID_ARGUMENT,
                    "max_runtimes");
  module = load("linear.pt");
  stator_runtime *runtime = NULL;
  stator_arena *arena = NULL;
  CHECK_CODE_SAYING(stator_runtime_create(module, options, &runtime), STATOR_INVALID_ARGUMENT, "max_runtimes");
  CHECK_CODE_SAYING(stator_arena_create(module, options, &arena), STATOR_INVALID_ARGUMENT, "max_runtimes");
  CHECK(runtime == NULL && arena == NULL);
  stator_module_release(module);
  stator_options_release(options);
}

/* --------------------------------------------------------------------------------------------- lifetimes */

static void release_arena(session *s) { stator_arena_release(s->arena); }
static void release_runtime(session *s) { stator_runtime_release(s->runtime); }
static void release_module(session *s) { stator_module_release(s->module); }

static void every_order_of_release_is_legal(void) {
  static void (*const orders[6][3])(session *) = {
      {release_arena, release_runtime, release_module}, {release_arena, release_module, release_runtime},
      {release_runtime, release_arena, release_module}, {release_runtime, release_module, release_arena},
      {release_module, release_arena, release_runtime}, {release_module, release_runtime, release_arena},
  };
  for (int order = 0; order < 6; ++order) {
    session s = begin("add_mul.pt");
    float x[2] = {1, 2};
    stator_value *result = NULL;
    CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, 2));
    CHECK_OK(bind_floats(s.runtime, s.forward, 1, x, 2));
    CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
    CHECK_OK(stator_arena_result(s.arena, &result));
    for (int i = 0; i < 3; ++i) orders[order][i](&s);
    const float *data = NULL;
    CHECK_OK(stator_value_as_tensor(result, (const void **)&data, NULL, NULL, NULL, NULL, NULL));
    CHECK_NEAR(data[1], add_mul(2, 2));
    stator_value_release(result);
  }
}

int main(void) {
  load_torch();
  RUN(files_that_are_no_model_are_refused_by_name);
  RUN(a_folder_is_no_model);
  RUN(an_archive_cut_anywhere_is_refused);
  RUN(bytes_are_copied_and_shared_memory_is_given_back);
  RUN(wrong_tensors_are_refused_and_the_runtime_goes_on);
  RUN(a_declared_signature_is_checked_when_binding);
  RUN(nonsense_in_bind_is_refused);
  RUN(arguments_of_another_type_or_count_are_refused);
  RUN(what_the_model_raises_comes_as_its_own_message);
  RUN(methods_and_arenas_of_another_module_are_refused);
  RUN(unknown_and_misplaced_options_are_refused_with_the_nearest_key);
  RUN(every_order_of_release_is_legal);
  return 0;
}

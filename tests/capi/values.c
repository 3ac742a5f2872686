/* Values: built, read, kept, passed to a model and got back, written to files. */
#include "check.h"
#include "dlpack_layout.h"

#include <unistd.h>

static void scalars_are_read_as_what_they_are_and_as_nothing_else(void) {
  stator_value *none = NULL, *truth = NULL, *number = NULL, *real = NULL, *complex_ = NULL, *device = NULL;
  CHECK_OK(stator_value_create_none(&none));
  CHECK_OK(stator_value_create_bool(7, &truth));
  CHECK_OK(stator_value_create_int(INT64_MIN, &number));
  CHECK_OK(stator_value_create_float(-0.5, &real));
  CHECK_OK(stator_value_create_complex(1.5, -2.5, &complex_));
  CHECK_OK(stator_value_create_device("cpu", &device));
  CHECK_INT(stator_value_kind(none), STATOR_KIND_NONE);
  CHECK_INT(stator_value_kind(truth), STATOR_KIND_BOOL);
  CHECK_INT(stator_value_kind(number), STATOR_KIND_INT);
  CHECK_INT(stator_value_kind(real), STATOR_KIND_FLOAT);
  CHECK_INT(stator_value_kind(complex_), STATOR_KIND_COMPLEX);
  CHECK_INT(stator_value_kind(device), STATOR_KIND_DEVICE);
  int32_t flag = -1;
  int64_t whole = 0;
  double first = 0, second = 0;
  const char *text = NULL;
  CHECK_OK(stator_value_as_bool(truth, &flag));
  CHECK_INT(flag, 1);
  CHECK_OK(stator_value_as_int(number, &whole));
  CHECK_INT(whole, INT64_MIN);
  CHECK_OK(stator_value_as_float(real, &first));
  CHECK(first == -0.5);
  CHECK_OK(stator_value_as_complex(complex_, &first, &second));
  CHECK(first == 1.5 && second == -2.5);
  CHECK_OK(stator_value_as_str(device, &text, &whole));
  CHECK_TEXT(text, "cpu");
  CHECK_INT(whole, 3);
  CHECK_CODE(stator_value_as_int(truth, &whole), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_value_as_float(number, &first), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_value_as_bool(none, &flag), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_value_as_str(real, &text, &whole), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_value_as_tensor(number, NULL, NULL, NULL, NULL, NULL, NULL), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_value_create_device("toaster", &device), STATOR_INVALID_ARGUMENT);
  CHECK_INT(stator_value_size(number), 0);
  stator_value *all[] = {none, truth, number, real, complex_, device};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) stator_value_release(all[i]);
}

static void texts_are_copied_and_may_hold_nul(void) {
  char bytes[] = {'a', '\0', 'b', '!'};
  stator_value *text = NULL, *empty = NULL;
  CHECK_OK(stator_value_create_str(bytes, 3, &text));
  CHECK_OK(stator_value_create_str("", 0, &empty));
  bytes[0] = 'z';
  const char *data = NULL;
  int64_t size = -1;
  CHECK_OK(stator_value_as_str(text, &data, &size));
  CHECK_INT(size, 3);
  CHECK(memcmp(data, "a\0b", 4) == 0);
  CHECK_INT(stator_value_size(text), 3);
  CHECK_OK(stator_value_as_str(empty, &data, &size));
  CHECK(size == 0 && data != NULL && data[0] == '\0');
  stator_value *broken = NULL;
  CHECK_CODE(stator_value_create_str(bytes, -1, &broken), STATOR_INVALID_ARGUMENT);
  stator_value_release(text), stator_value_release(empty);
}

static void containers_hold_their_items_in_order(void) {
  stator_value *items[] = {int_value(10), int_value(20), int_value(30)};
  const char *const names[] = {"a", "b", "c"};
  stator_value *list = NULL, *tuple = NULL, *dict = NULL, *empty = NULL, *item = NULL, *key = NULL;
  const stator_value *const *borrowed = (const stator_value *const *)items;
  CHECK_OK(stator_value_create_list(borrowed, 3, &list));
  CHECK_OK(stator_value_create_tuple(borrowed, 3, names, &tuple));
  CHECK_OK(stator_value_create_dict((const stator_value *const[]){items[2], items[0]},
                                    (const stator_value *const[]){list, tuple}, 2, &dict));
  CHECK_OK(stator_value_create_list(NULL, 0, &empty));
  for (int i = 0; i < 3; ++i) stator_value_release(items[i]);
  stator_value_release(list), stator_value_release(tuple);

  int64_t number = 0;
  CHECK_INT(stator_value_kind(dict), STATOR_KIND_DICT);
  CHECK_INT(stator_value_size(dict), 2);
  CHECK_INT(stator_value_size(empty), 0);
  CHECK_OK(stator_value_key(dict, 0, &key));
  CHECK_OK(stator_value_as_int(key, &number));
  CHECK_INT(number, 30);
  CHECK_OK(stator_value_item(dict, 1, &tuple));
  CHECK_INT(stator_value_kind(tuple), STATOR_KIND_TUPLE);
  CHECK_TEXT(stator_value_field(tuple, 2), "c");
  CHECK(stator_value_field(tuple, 3) == NULL && stator_value_field(dict, 0) == NULL);
  CHECK_OK(stator_value_item(tuple, 1, &item));
  CHECK_OK(stator_value_as_int(item, &number));
  CHECK_INT(number, 20);
  stator_value *out = NULL;
  CHECK_CODE(stator_value_item(tuple, 3, &out), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_value_item(tuple, -1, &out), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_value_key(tuple, 0, &out), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_value_item(item, 0, &out), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_value_create_list((const stator_value *const[]){item, NULL}, 2, &out), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_value_create_list(NULL, -1, &out), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(
      stator_value_create_dict((const stator_value *const[]){empty}, (const stator_value *const[]){item}, 1, &out),
      STATOR_INVALID_ARGUMENT);
  CHECK(out == NULL);
  stator_value_release(dict);
  CHECK_OK(stator_value_as_int(item, &number));
  stator_value_retain(key), stator_value_release(key);
  stator_value_release(item), stator_value_release(tuple), stator_value_release(key), stator_value_release(empty);
}

static int freed;
static void count_free(void *context) {
  CHECK(context == &freed);
  ++freed;
}
static void count_delete(struct DLManagedTensorVersioned *self) {
  (void)self;
  ++freed;
}

static void tensors_are_copied_shared_or_taken_over(void) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[] = {3, 2}, strides[] = {1, 3};
  stator_value *copy = NULL, *shared = NULL, *taken = NULL;
  struct DLManagedTensorVersioned source = {
      .major = 1,
      .deleter = count_delete,
      .tensor = {.data = data, .device = {1, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape, .strides = strides}};
  freed = 0;
  CHECK_OK(stator_value_create_tensor(data, STATOR_FLOAT32, STATOR_CPU, 2, shape, strides, &copy));
  CHECK_OK(stator_value_create_tensor_shared(data, STATOR_FLOAT32, STATOR_CPU, 2, shape, strides, count_free, &freed,
                                             &shared));
  CHECK_OK(stator_value_from_dlpack(&source, &taken));
  const int64_t negative[] = {3, -2};
  stator_value *none = NULL;
  CHECK_CODE(
      stator_value_create_tensor_shared(data, STATOR_FLOAT32, STATOR_CPU, 2, negative, NULL, count_free, &freed, &none),
      STATOR_INVALID_ARGUMENT);
  CHECK_ONE_OF(stator_value_create_tensor(data, 77, STATOR_CPU, 2, shape, NULL, &none), STATOR_INVALID_ARGUMENT,
               STATOR_UNSUPPORTED);
  CHECK_INT(freed, 0);
  data[3] = -3;

  stator_value *all[] = {copy, shared, taken};
  for (int i = 0; i < 3; ++i) {
    const float *elements = NULL;
    const int64_t *sizes = NULL, *steps = NULL;
    int32_t dtype = 0, device = 0, ndim = 0;
    CHECK_OK(stator_value_as_tensor(all[i], (const void **)&elements, &dtype, &device, &ndim, &sizes, &steps));
    CHECK(dtype == STATOR_FLOAT32 && device == STATOR_CPU && ndim == 2 && sizes[0] == 3 && sizes[1] == 2 &&
          steps[0] == 1 && steps[1] == 3);
    CHECK((elements == data) == (i > 0));
    CHECK_NEAR(elements[3], i == 0 ? 3.0 : -3.0);
    CHECK_INT(stator_value_size(all[i]), 6);
  }
  struct DLManagedTensorVersioned *exported = NULL;
  struct DLManagedTensor *older = NULL;
  CHECK_OK(stator_value_export(shared, &exported));
  CHECK_OK(stator_value_export_legacy(copy, &older));
  for (int i = 0; i < 3; ++i) stator_value_release(all[i]);
  CHECK_INT(freed, 1); /* the one taken over; the shared one is still exported */
  CHECK_NEAR(((float *)((char *)exported->tensor.data + exported->tensor.byte_offset))[3], -3.0);
  CHECK_NEAR(((float *)((char *)older->tensor.data + older->tensor.byte_offset))[3], 3.0);
  exported->deleter(exported);
  CHECK_INT(freed, 2);
  older->deleter(older);
}

static void a_method_gets_and_gives_every_kind(void) {
  session s = begin("kinds.pt");
  float t[2] = {1, 2};
  stator_value *text = NULL, *real = NULL, *truth = NULL, *none = NULL, *result = NULL, *item = NULL;
  CHECK_OK(stator_value_create_str("hi", 2, &text));
  CHECK_OK(stator_value_create_float(2.5, &real));
  CHECK_OK(stator_value_create_bool(1, &truth));
  CHECK_OK(stator_value_create_none(&none));
  stator_value *args = tuple_of(6, (stator_value *[]){float_vector(t, 2), int_value(41), real, truth, text, none});
  CHECK_OK(stator_runtime_call(s.runtime, s.forward, args, NULL, s.arena, &result));
  CHECK_INT(stator_value_kind(result), STATOR_KIND_TUPLE);
  CHECK_INT(stator_value_size(result), 6);
  static const int32_t kinds[] = {STATOR_KIND_TENSOR, STATOR_KIND_INT, STATOR_KIND_FLOAT,
                                  STATOR_KIND_BOOL,   STATOR_KIND_STR, STATOR_KIND_NONE};
  for (int i = 0; i < 6; ++i) {
    CHECK_OK(stator_value_item(result, i, &item));
    CHECK_INT(stator_value_kind(item), kinds[i]);
    const float *data = NULL;
    int64_t whole = 0;
    double number = 0;
    int32_t flag = -1;
    const char *characters = NULL;
    if (i == 0) {
      CHECK_OK(stator_value_as_tensor(item, (const void **)&data, NULL, NULL, NULL, NULL, NULL));
      CHECK_NEAR(data[1], 5.0);
    } else if (i == 1) {
      CHECK_OK(stator_value_as_int(item, &whole));
      CHECK_INT(whole, 42);
    } else if (i == 2) {
      CHECK_OK(stator_value_as_float(item, &number));
      CHECK(number == 5.0);
    } else if (i == 3) {
      CHECK_OK(stator_value_as_bool(item, &flag));
      CHECK_INT(flag, 0);
    } else if (i == 4) {
      CHECK_OK(stator_value_as_str(item, &characters, &whole));
      CHECK_TEXT(characters, "hi!");
    }
    stator_value_release(item);
  }
  CHECK_CODE(stator_runtime_call(s.runtime, s.forward, args, NULL, s.arena, &item), STATOR_BUSY);
  stator_value_release(result), stator_value_release(args);
  end(&s);
}

static void arguments_can_be_named_and_defaults_left_out(void) {
  session s = begin("defaults.pt");
  float x[2] = {1, 2};
  stator_value *scale = NULL, *name = NULL, *wrong = NULL, *kwargs = NULL, *typo = NULL, *result = NULL;
  CHECK_OK(stator_value_create_float(10, &scale));
  CHECK_OK(stator_value_create_str("scale", 5, &name));
  CHECK_OK(stator_value_create_str("scael", 5, &wrong));
  CHECK_OK(
      stator_value_create_dict((const stator_value *const[]){name}, (const stator_value *const[]){scale}, 1, &kwargs));
  CHECK_OK(
      stator_value_create_dict((const stator_value *const[]){wrong}, (const stator_value *const[]){scale}, 1, &typo));
  stator_value *args = tuple_of(1, (stator_value *[]){float_vector(x, 2)});
  const float *data = NULL;
  for (int named = 0; named < 2; ++named) {
    CHECK_OK(stator_runtime_call(s.runtime, s.forward, args, named ? kwargs : NULL, s.arena, &result));
    CHECK_OK(stator_value_as_tensor(result, (const void **)&data, NULL, NULL, NULL, NULL, NULL));
    CHECK_NEAR(data[1], named ? 20.0 : 4.0);
    stator_value_release(result);
  }
  CHECK_CODE_SAYING(stator_runtime_call(s.runtime, s.forward, args, typo, s.arena, &result), STATOR_INVALID_ARGUMENT,
                    "scael");
  stator_value *all[] = {scale, name, wrong, kwargs, typo, args};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) stator_value_release(all[i]);
  end(&s);
}

static void a_result_outlives_arena_runtime_and_module(void) {
  session s = begin("containers.pt");
  float x[2] = {1, 2};
  stator_value *result = NULL, *list = NULL, *item = NULL;
  stator_value *args = tuple_of(2, (stator_value *[]){float_vector(x, 2), float_vector(x, 2)});
  CHECK_OK(stator_runtime_call(s.runtime, s.forward, args, NULL, s.arena, &result));
  stator_value_release(args);
  end(&s);
  CHECK_OK(stator_value_item(result, 1, &list));
  CHECK_INT(stator_value_kind(list), STATOR_KIND_LIST);
  CHECK_INT(stator_value_size(list), 3);
  CHECK_OK(stator_value_item(list, 2, &item));
  stator_value_release(list), stator_value_release(result);
  const float *data = NULL;
  CHECK_OK(stator_value_as_tensor(item, (const void **)&data, NULL, NULL, NULL, NULL, NULL));
  CHECK_NEAR(data[1], -2.0);
  stator_value_release(item);
}

static void files_give_back_what_was_written(void) {
  char folder[] = "/tmp/stator_values_XXXXXX", path[64];
  CHECK(mkdtemp(folder) != NULL);
  float data[6] = {0, 1, 2, 3, 4, 5};
  const int64_t shape[] = {2, 3};
  stator_value *tensor = NULL, *name = NULL, *dict = NULL, *back = NULL, *key = NULL, *item = NULL;
  CHECK_OK(stator_value_create_tensor(data, STATOR_FLOAT32, STATOR_CPU, 2, shape, NULL, &tensor));
  CHECK_OK(stator_value_create_str("x", 1, &name));
  CHECK_OK(
      stator_value_create_dict((const stator_value *const[]){name}, (const stator_value *const[]){tensor}, 1, &dict));
  static const char *const files[] = {"saved.pt", "saved.npz"};
  for (int i = 0; i < 2; ++i) {
    snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    CHECK_OK(stator_value_write(dict, path));
    CHECK_OK(stator_value_read(path, &back));
    CHECK_INT(stator_value_kind(back), STATOR_KIND_DICT);
    CHECK_INT(stator_value_size(back), 1);
    CHECK_OK(stator_value_key(back, 0, &key));
    CHECK_OK(stator_value_item(back, 0, &item));
    const char *text = NULL;
    int64_t size = 0;
    const float *elements = NULL;
    const int64_t *sizes = NULL;
    CHECK_OK(stator_value_as_str(key, &text, &size));
    CHECK_TEXT(text, "x");
    CHECK_OK(stator_value_as_tensor(item, (const void **)&elements, NULL, NULL, NULL, &sizes, NULL));
    CHECK(sizes[0] == 2 && sizes[1] == 3 && memcmp(elements, data, sizeof data) == 0);
    stator_value_release(item), stator_value_release(key), stator_value_release(back);
    CHECK(unlink(path) == 0);
  }
  CHECK_CODE_SAYING(stator_value_read(path, &back), STATOR_NOT_FOUND, "saved.npz");
  CHECK_CODE(stator_value_read(model_path("text.pt"), &back), STATOR_BAD_MODEL);
  CHECK_OK(stator_value_read(model_path("saved_tensors.pt"), &back));
  CHECK_INT(stator_value_size(back), 2);
  stator_value_release(back);
  snprintf(path, sizeof path, "%s/no/such/folder.pt", folder);
  CHECK_CODE(stator_value_write(dict, path), STATOR_IO);
  snprintf(path, sizeof path, "%s/number.npz", folder);
  stator_value *number = int_value(1);
  CHECK_ONE_OF(stator_value_write(number, path), STATOR_UNSUPPORTED, STATOR_INVALID_ARGUMENT);
  stator_value_release(number), stator_value_release(dict), stator_value_release(name), stator_value_release(tensor);
  CHECK(rmdir(folder) == 0);
}

int main(void) {
  load_torch();
  RUN(scalars_are_read_as_what_they_are_and_as_nothing_else);
  RUN(texts_are_copied_and_may_hold_nul);
  RUN(containers_hold_their_items_in_order);
  RUN(tensors_are_copied_shared_or_taken_over);
  RUN(a_method_gets_and_gives_every_kind);
  RUN(arguments_can_be_named_and_defaults_left_out);
  RUN(a_result_outlives_arena_runtime_and_module);
  RUN(files_give_back_what_was_written);
  return 0;
}

/* Without LibTorch: every call says so and what to do, nothing breaks, and naming its folder later puts it right. */
#include "subprocess.h"

static void count_release(void *context) { ++*(int *)context; }

static void calls_say_where_libtorch_was_searched_for(void) {
  stator_module *module = NULL;
  stator_options *options = NULL;
  stator_value *value = NULL;
  for (int i = 0; i < 2; ++i) {
    stator_status *status = stator_module_load(model_path("add_mul.pt"), NULL, &module);
    CHECK_TEXT(stator_status_name(stator_status_code(status)), "TORCH_NOT_FOUND");
    CHECK(strstr(stator_status_message(status), "libtorch_cpu.so") != NULL);
    CHECK(strstr(stator_status_message(status), "stator_torch_load") != NULL);
    CHECK(strstr(stator_status_message(status), "STATOR_TORCH_HOME") != NULL);
    CHECK_INT(stator_live_handles(STATOR_HANDLE_STATUS), 1);
    stator_status_release(status);
    CHECK_CODE(stator_options_create(&options), STATOR_TORCH_NOT_FOUND);
    CHECK_CODE(stator_value_create_int(1, &value), STATOR_TORCH_NOT_FOUND);
  }
  CHECK(module == NULL && options == NULL && value == NULL);
}

static void memory_that_was_to_be_shared_is_given_back(void) {
  int released = 0;
  stator_module *module = NULL;
  CHECK_CODE(stator_module_load_shared("", 0, count_release, &released, NULL, &module), STATOR_TORCH_NOT_FOUND);
  CHECK_INT(released, 1);
  CHECK_CODE(stator_module_load_shared("", 0, NULL, NULL, NULL, &module), STATOR_TORCH_NOT_FOUND);
}

static void getters_and_releases_do_nothing(void) {
  stator_module_release(NULL), stator_arena_retain(NULL), stator_value_release(NULL);
  CHECK_INT(stator_module_method_count(NULL), 0);
  CHECK(stator_method_name(NULL) == NULL);
  CHECK_INT(stator_value_kind(NULL), STATOR_KIND_NONE);
  CHECK_INT(stator_live_handles(99), 0);
  CHECK_INT(stator_live_handles(-1), 0);
}

static void names_and_versions_need_no_libtorch(void) {
  CHECK_INT(stator_abi_version(), STATOR_ABI_MAJOR << 16 | STATOR_ABI_MINOR);
  CHECK_TEXT(stator_dtype_name(STATOR_BFLOAT16), "bfloat16");
  CHECK(stator_dtype_name(0) == NULL);
  CHECK_TEXT(stator_status_name(STATOR_OK), "OK");
  CHECK_TEXT(stator_status_name(STATOR_BUSY), "BUSY");
  CHECK_TEXT(stator_status_name(1), "UNKNOWN");
}

static void a_folder_without_libtorch_is_named(void) {
  char folder[] = "/tmp/stator_empty_XXXXXX";
  CHECK(mkdtemp(folder) != NULL);
  CHECK_CODE_SAYING(stator_torch_load(folder), STATOR_TORCH_NOT_FOUND, folder);
  CHECK(rmdir(folder) == 0);
  CHECK_CODE_SAYING(stator_torch_load(folder), STATOR_TORCH_NOT_FOUND, folder);
  CHECK_CODE(stator_torch_load(""), STATOR_INVALID_ARGUMENT);
  CHECK_CODE(stator_torch_load(NULL), STATOR_INVALID_ARGUMENT);
}

static void naming_the_folder_later_puts_it_right(void) {
  load_torch();
  stator_module_release(load("add_mul.pt"));
  CHECK_OK(stator_torch_load("/no/such/folder")); /* it is loaded: nothing to do */
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc == 1) {
    run_case("alone");
    return 0;
  }
  RUN(calls_say_where_libtorch_was_searched_for);
  RUN(memory_that_was_to_be_shared_is_given_back);
  RUN(getters_and_releases_do_nothing);
  RUN(names_and_versions_need_no_libtorch);
  RUN(a_folder_without_libtorch_is_named);
  RUN(naming_the_folder_later_puts_it_right);
  return 0;
}

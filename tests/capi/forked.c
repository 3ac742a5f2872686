/* Fork is free before LibTorch is loaded. After it a child is told by every call, can read and release statuses, and does no harm. */
#include "subprocess.h"

#include <pthread.h>

static float x[2] = {1, 2};

static void use(void) {
  session s = begin("add_mul.pt");
  CHECK_OK(bind_floats(s.runtime, s.forward, 0, x, 2));
  CHECK_OK(bind_floats(s.runtime, s.forward, 1, x, 2));
  CHECK_OK(stator_runtime_run(s.runtime, s.forward, s.arena));
  CHECK_NEAR(output_floats(s.arena, 0, 2)[1], add_mul(2, 2));
  end(&s);
}

static void in_child(const char *name, void (*body)(void)) {
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    body();
    _exit(0);
  }
  wait_for(child, name);
}

static void load_and_use(void) {
  load_torch();
  use();
}

static void fork_before_the_first_load_is_free(void) {
  CHECK_INT(stator_abi_version(), STATOR_ABI_MAJOR << 16 | STATOR_ABI_MINOR);
  CHECK_CODE(stator_torch_load(NULL), STATOR_INVALID_ARGUMENT);
  in_child("child before the load", load_and_use);
  load_and_use();
}

static session inherited;
static stator_value *inherited_value;
static stator_options *inherited_options;
static stator_status *inherited_status;
static int released;

static void count_release(void *context) { ++*(int *)context; }

static void every_call_is_refused(void) {
  stator_module *module = NULL;
  stator_runtime *runtime = NULL;
  stator_arena *arena = NULL;
  stator_pool *pool = NULL;
  stator_value *value = NULL;
  stator_bytes *bytes = NULL;
  stator_options *options = NULL;
  const stator_method *method = NULL;
  const int64_t statuses = stator_live_handles(STATOR_HANDLE_STATUS),
                modules = stator_live_handles(STATOR_HANDLE_MODULE);
  CHECK_CODE_SAYING(stator_module_load(model_path("add_mul.pt"), NULL, &module), STATOR_FORKED, "forked");
  CHECK_CODE(stator_module_load_shared(x, 8, count_release, &released, NULL, &module), STATOR_FORKED);
  CHECK_INT(released, 1);
  CHECK_CODE(stator_torch_load(from_environment("STATOR_TORCH_HOME")), STATOR_FORKED);
  CHECK_CODE(stator_module_find_method(inherited.module, "forward", &method), STATOR_FORKED);
  CHECK_CODE(stator_runtime_create(inherited.module, NULL, &runtime), STATOR_FORKED);
  CHECK_CODE(bind_floats(inherited.runtime, inherited.forward, 0, x, 2), STATOR_FORKED);
  CHECK_CODE(stator_runtime_run(inherited.runtime, inherited.forward, inherited.arena), STATOR_FORKED);
  CHECK_CODE(stator_arena_create(inherited.module, NULL, &arena), STATOR_FORKED);
  CHECK_CODE(stator_arena_output(inherited.arena, 0, NULL, NULL, NULL, NULL, NULL, NULL), STATOR_FORKED);
  CHECK_CODE(stator_pool_create(inherited.module, NULL, &pool), STATOR_FORKED);
  CHECK_CODE(stator_value_create_int(1, &value), STATOR_FORKED);
  CHECK_CODE(stator_options_create(&options), STATOR_FORKED);
  CHECK_CODE(stator_options_set_int(inherited_options, "intra_op_threads", 1), STATOR_FORKED);
  CHECK_CODE(stator_build_info(&bytes), STATOR_FORKED);
  CHECK(!module && !runtime && !arena && !pool && !value && !bytes && !options && !method);

  /* A status made before the fork is readable, and can be released. */
  CHECK_INT(stator_status_code(inherited_status), STATOR_NOT_FOUND);
  CHECK(stator_status_message(inherited_status)[0] != '\0');
  stator_status_release(inherited_status);
  CHECK_INT(stator_live_handles(STATOR_HANDLE_STATUS), statuses - 1);

  /* Releases do nothing, so their order and number do not matter. */
  for (int i = 0; i < 3; ++i) {
    stator_module_release(inherited.module), stator_runtime_release(inherited.runtime),
        stator_arena_release(inherited.arena);
    stator_value_release(inherited_value), stator_options_release(inherited_options),
        stator_module_retain(inherited.module);
  }
  CHECK_INT(stator_live_handles(STATOR_HANDLE_MODULE), modules);
  CHECK_TEXT(stator_method_name(inherited.forward), "forward");
}

static void grandchild_is_refused_too(void) { in_child("grandchild", every_call_is_refused); }

static void *fork_here(void *unused) {
  (void)unused;
  in_child("child of another thread", every_call_is_refused);
  return NULL;
}

static void after_the_load_children_are_told_and_the_parent_goes_on(void) {
  inherited = begin("add_mul.pt");
  inherited_value = int_value(1);
  CHECK_OK(stator_options_create(&inherited_options));
  stator_module *none = NULL;
  inherited_status = stator_module_load("no such file", NULL, &none);
  CHECK_OK(bind_floats(inherited.runtime, inherited.forward, 0, x, 2));
  CHECK_OK(bind_floats(inherited.runtime, inherited.forward, 1, x, 2));
  CHECK_OK(stator_runtime_run(inherited.runtime, inherited.forward, inherited.arena));

  in_child("child after the load", every_call_is_refused);
  in_child("child with a child", grandchild_is_refused_too);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, fork_here, NULL) == 0);
  pthread_join(thread, NULL);

  CHECK_OK(stator_runtime_run(inherited.runtime, inherited.forward, inherited.arena));
  use();
  stator_status_release(inherited_status);
  stator_options_release(inherited_options);
  stator_value_release(inherited_value);
  end(&inherited);
}

int main(void) {
  RUN(fork_before_the_first_load_is_free);
  RUN(after_the_load_children_are_told_and_the_parent_goes_on);
  return 0;
}

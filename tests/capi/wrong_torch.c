/* A LibTorch of another version is refused with both versions and its path, before anything of it is used. */
#include "subprocess.h"

#include <dlfcn.h>
#include <sys/stat.h>

static char root[] = "/tmp/stator_wrong_torch_XXXXXX";
static char path[256];

/* Path below the test's own folder. */
static const char *below(const char *name) {
  snprintf(path, sizeof path, "%s/%s", root, name);
  return path;
}

static void make_folder(const char *name) { CHECK(mkdir(below(name), 0700) == 0); }

static void run_shell(const char *format, const char *first, const char *second) {
  char command[1024];
  snprintf(command, sizeof command, format, first, second);
  if (system(command) != 0) FAIL("failed: %s", command);
}

/* Builds root/FOLDER/lib/libtorch_cpu.so from one line of C. */
static void make_torch(const char *folder, const char *source, const char *flags) {
  char directory[160], code[200], command[1200];
  snprintf(directory, sizeof directory, "%s/lib", folder);
  make_folder(folder);
  make_folder(directory);
  snprintf(code, sizeof code, "%s/fake.c", folder);
  FILE *file = fopen(below(code), "w");
  CHECK(file != NULL);
  fprintf(file, "%s\n", source);
  fclose(file);
  snprintf(command, sizeof command,
           "cd '%s' && ${CC:-cc} -shared -fPIC -Wl,-soname,libtorch_cpu.so -o lib/libtorch_cpu.so fake.c %s",
           below(folder), flags);
  run_shell("%s%s", command, "");
}

static const char kVersion210[] =
    "unsigned long aoti_torch_abi_version(void) { return 2ul << 56 | 10ul << 48 | 1ul << 40; }";

static void make_all(void) {
  CHECK(mkdtemp(root) != NULL);
  make_torch("torch210", kVersion210, "");
  make_torch("ancient", "int aoti_torch_device_type_cpu(void) { return 0; }", "");
  make_folder("text"), make_folder("text/lib");
  run_shell("echo 'no library' > '%s/text/lib/libtorch_cpu.so'%s", root, "");
  /* As a wheel: site-packages/torch/lib beside site-packages/nvidia/cu13/lib, without a run path. */
  make_folder("site"), make_folder("site/nvidia"), make_folder("site/nvidia/cu13"), make_folder("site/nvidia/cu13/lib");
  run_shell(
      "cd '%s' && echo 'int cuda(void) { return 1; }' > cuda.c && ${CC:-cc} -shared -fPIC "
      "-Wl,-soname,libstatorfake.so.13 -o libstatorfake.so.13 cuda.c%s",
      root, "");
  make_torch("site/torch", kVersion210, "-Wl,--no-as-needed ../../libstatorfake.so.13");
  setenv("STATOR_TEST_FAKES", root, 1);
}

static void refused(const char *folder, int32_t code, const char *part) {
  stator_status *status = stator_torch_load(below(folder));
  if (stator_status_code(status) != code || strstr(stator_status_message(status), part) == NULL ||
      strstr(stator_status_message(status), path) == NULL) {
    FAIL("%s: expected %s naming \"%s\" and the path, got %s: %s", folder, stator_status_name(code), part,
         stator_status_name(stator_status_code(status)), stator_status_message(status));
  }
  CHECK(strstr(stator_status_message(status), "needs LibTorch 2.") != NULL || code != STATOR_TORCH_VERSION);
  stator_status_release(status);
}

static void other_versions_are_refused_and_the_right_one_still_loads(void) {
  stator_module *module = NULL;
  for (int i = 0; i < 2; ++i) {
    refused("torch210", STATOR_TORCH_VERSION, "2.10.1");
    refused("ancient", STATOR_TORCH_VERSION, "older");
    refused("text", STATOR_TORCH_NOT_FOUND, "libtorch_cpu.so");
  }
  CHECK_CODE(stator_module_load(model_path("add_mul.pt"), NULL, &module), STATOR_TORCH_NOT_FOUND);
  load_torch();
  stator_module_release(load("add_mul.pt"));
}

static void what_a_wheel_needs_is_found_beside_it(void) {
  refused("site/torch", STATOR_TORCH_NOT_FOUND, "libstatorfake.so.13");
  run_shell("mv '%s/libstatorfake.so.13' '%s/site/nvidia/cu13/lib'", root, root);
  refused("site/torch", STATOR_TORCH_VERSION, "2.10.1");
}

static void the_one_in_the_process_is_the_one_that_counts(void) {
  stator_module *module = NULL;
  CHECK(dlopen(below("torch210/lib/libtorch_cpu.so"), RTLD_NOW | RTLD_LOCAL) != NULL);
  CHECK_CODE_SAYING(stator_module_load(model_path("add_mul.pt"), NULL, &module), STATOR_TORCH_VERSION, path);
  CHECK_CODE_SAYING(stator_torch_load(from_environment("STATOR_TORCH_HOME")), STATOR_TORCH_VERSION,
                    "in this process already");
}

int main(int argc, char **argv) {
  if (argc == 1) {
    make_all();
    run_case("refused");
    run_case("dependencies");
    run_case("resident");
    run_shell("rm -r '%s'%s", root, "");
    return 0;
  }
  snprintf(root, sizeof root, "%s", from_environment("STATOR_TEST_FAKES"));
  if (strcmp(argv[1], "refused") == 0) RUN(other_versions_are_refused_and_the_right_one_still_loads);
  if (strcmp(argv[1], "dependencies") == 0) RUN(what_a_wheel_needs_is_found_beside_it);
  if (strcmp(argv[1], "resident") == 0) RUN(the_one_in_the_process_is_the_one_that_counts);
  return 0;
}

/* Voice activity detection in C: see ../README.md for the model, the files and what is timed.
 *
 *   vad_c DIR
 *
 * Binds once and runs many: a chunk is copied into the runtime's own input memory, one call runs it, and the probability lies in the output bound. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <stator/stator.h>

enum { kWarmUpPasses = 2, kPasses = 5, kCalls = 1000000 };

static void fail(const char *what, const char *why) {
  fprintf(stderr, "vad_c: %s: %s\n", what, why);
  exit(1);
}

static void check(stator_status *status) {
  if (status != NULL) fail(stator_status_name(stator_status_code(status)), stator_status_message(status));
}

static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

static const char *in_folder(const char *folder, const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

/* The whole file, with a NUL behind it. */
static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) fail(path, "cannot be read");
  *size = (size_t)ftell(file);
  rewind(file);
  char *data = malloc(*size + 1);
  if (data == NULL || fread(data, 1, *size, file) != *size) fail(path, "cannot be read");
  fclose(file);
  data[*size] = '\0';
  return data;
}

/* The whole number that follows "key": in the description of the chunks. */
static int64_t number(const char *json, const char *key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\"", key);
  const char *found = strstr(json, quoted);
  if (found == NULL || (found = strchr(found + strlen(quoted), ':')) == NULL) fail("chunks.json lacks", key);
  return strtoll(found + 1, NULL, 10);
}

/* What a call of the ABI costs that does next to nothing. */
static double abi_call_us(void) {
  const double begin = microseconds();
  for (int i = 0; i < kCalls; ++i) (void)stator_live_handles(STATOR_HANDLE_STATUS);
  return (microseconds() - begin) / kCalls;
}

int main(int argc, char **argv) {
  if (argc != 2) return fprintf(stderr, "usage: vad_c DIR\n"), 2;
  const char *folder = argv[1];
  size_t size = 0;
  char *json = read_file(in_folder(folder, "chunks.json"), &size);
  const int64_t n = number(json, "n"), chunk = number(json, "chunk"), sample_rate = number(json, "sample_rate");
  free(json);
  char *samples = read_file(in_folder(folder, "chunks.f32"), &size);
  if (n <= 0 || chunk <= 0 || size != (size_t)(n * chunk) * sizeof(float))
    fail("chunks.f32", "its size is not n * chunk floats");

  const char *torch = getenv("STATOR_TORCH_HOME");
  if (torch != NULL) check(stator_torch_load(torch));
  stator_module *module = NULL;
  check(stator_module_load(in_folder(folder, "model.pt"), NULL, &module));
  const stator_method *forward = NULL, *reset_states = NULL;
  check(stator_module_find_method(module, "forward", &forward));
  check(stator_module_find_method(module, "reset_states", &reset_states));
  stator_options *options = NULL;
  check(stator_options_create(&options));
  check(stator_options_set_int(options, "intra_op_threads", 1));
  stator_runtime *runtime = NULL;
  check(stator_runtime_create(module, options, &runtime));
  stator_options_release(options);
  stator_arena *arena = NULL;
  check(stator_arena_create(module, NULL, &arena));

  void *input = NULL;
  float probability = 0;
  stator_value *rate = NULL;
  check(stator_runtime_input(runtime, forward, 0, STATOR_FLOAT32, 2, (const int64_t[]){1, chunk}, &input));
  check(stator_value_create_int(sample_rate, &rate));
  check(stator_runtime_bind_value(runtime, forward, 1, rate));
  stator_value_release(rate);
  check(stator_runtime_bind_output(runtime, forward, 0, &probability, STATOR_FLOAT32, STATOR_CPU, 2,
                                   (const int64_t[]){1, 1}, NULL));

  float *probabilities = malloc((size_t)n * sizeof(float));
  double *fastest = malloc((size_t)n * sizeof(double));
  if (probabilities == NULL || fastest == NULL) fail("probabilities", "no memory");
  for (int64_t i = 0; i < n; ++i) fastest[i] = INFINITY;
  for (int pass = -kWarmUpPasses; pass < kPasses; ++pass) {
    check(stator_runtime_run(runtime, reset_states, arena));
    for (int64_t i = 0; i < n; ++i) {
      const double begin = microseconds();
      memcpy(input, samples + (size_t)(i * chunk) * sizeof(float), (size_t)chunk * sizeof(float));
      check(stator_runtime_run(runtime, forward, arena));
      probabilities[i] = probability;
      if (pass >= 0) fastest[i] = fmin(fastest[i], microseconds() - begin);
    }
  }
  double us_per_chunk = 0;
  for (int64_t i = 0; i < n; ++i) us_per_chunk += fastest[i] / (double)n;
  const double abi_call = abi_call_us();

  FILE *file = fopen(in_folder(folder, "c.f32"), "wb");
  if (file == NULL || fwrite(probabilities, sizeof(float), (size_t)n, file) != (size_t)n || fclose(file) != 0)
    fail("c.f32", "cannot be written");
  file = fopen(in_folder(folder, "c.json"), "w");
  if (file == NULL ||
      fprintf(file, "{\"language\": \"c\", \"passes\": %d, \"us_per_chunk\": %.3f, \"abi_call_us\": %.6f}\n", kPasses,
              us_per_chunk, abi_call) < 0 ||
      fclose(file) != 0) {
    fail("c.json", "cannot be written");
  }
  free(probabilities), free(fastest), free(samples);
  stator_arena_release(arena);
  stator_runtime_release(runtime);
  stator_module_release(module);
  return 0;
}

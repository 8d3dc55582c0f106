/* The C interface from plain C11: the header compiles, and one small problem goes through every
 * kind of call. Returns 1 if a check failed; --info prints dgrad_info instead. */
#include <dgrad/dgrad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) {                                                               \
      ++failures;                                                                     \
      fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #condition, \
              dgrad_last_error());                                                    \
    }                                                                                 \
  } while (0)

/* input 3x3, filter 2x2 and out_backprop 2x2 of one channel; sums worked out by hand. */
static const int64_t kInputSizes[4] = {1, 3, 3, 1};
static const int64_t kFilterShape[4] = {2, 2, 1, 1};
static const int64_t kOutBackpropShape[4] = {1, 2, 2, 1};
static const int64_t kStrides[4] = {1, 1, 1, 1};
static const float kFilter[4] = {1, 2, 3, 4};
static const float kOutBackprop[4] = {1, 2, 3, 4};
static const float kExpected[9] = {1, 4, 4, 6, 20, 16, 9, 24, 16};

static dgrad_arguments Arguments(void) {
  dgrad_arguments arguments;
  memset(&arguments, 0, sizeof(arguments));
  arguments.struct_size = sizeof(arguments);
  arguments.input_sizes = kInputSizes;
  arguments.input_sizes_count = 4;
  arguments.filter_shape = kFilterShape;
  arguments.filter_rank = 4;
  arguments.out_backprop_shape = kOutBackpropShape;
  arguments.out_backprop_rank = 4;
  arguments.strides = kStrides;
  arguments.strides_count = 4;
  arguments.padding = DGRAD_VALID;
  arguments.data_format = DGRAD_NHWC;
  arguments.dtype = DGRAD_FLOAT32;
  return arguments;
}

static dgrad_run_arguments RunArguments(float* in_backprop) {
  dgrad_run_arguments run;
  memset(&run, 0, sizeof(run));
  memset(in_backprop, 0xFF, sizeof(kExpected));
  run.struct_size = sizeof(run);
  run.filter = kFilter;
  run.filter_bytes = sizeof(kFilter);
  run.out_backprop = kOutBackprop;
  run.out_backprop_bytes = sizeof(kOutBackprop);
  run.in_backprop = in_backprop;
  run.in_backprop_bytes = sizeof(kExpected);
  return run;
}

static int IsExpected(const float* in_backprop) {
  int i;
  for (i = 0; i < 9; ++i) {
    if (in_backprop[i] != kExpected[i]) return 0;
  }
  return 1;
}

static int32_t SerialFor(void* user, int64_t count, dgrad_task task, void* context) {
  int64_t i;
  ++*(int*)user;
  for (i = count - 1; i >= 0; --i) task(context, i);
  return 0;
}

static int32_t CountPolls(void* user) {
  ++*(int*)user;
  return 0;
}

static void TestProblem(void) {
  const dgrad_arguments arguments = Arguments();
  dgrad_problem* problem = NULL;
  dgrad_problem* parsed = NULL;
  dgrad_problem_info info;
  char text[128] = "";
  uint64_t size = 0;
  CHECK(dgrad_problem_create(&arguments, &problem) == DGRAD_OK);
  CHECK(dgrad_problem_to_string(problem, text, sizeof(text), &size) == DGRAD_OK);
  CHECK(size == strlen(text) + 1);
  CHECK(strcmp(text, "h3w3c1_k2x2_oc1") == 0);

  CHECK(dgrad_problem_from_string("n1_h3w3c1_k2x2_oc1_nhwc_f32", &parsed) == DGRAD_OK);
  memset(&info, 0xFF, sizeof(info));
  info.struct_size = sizeof(info);
  CHECK(dgrad_problem_get_info(parsed, &info) == DGRAD_OK);
  CHECK(memcmp(info.in_backprop_shape, kInputSizes, sizeof(kInputSizes)) == 0);
  CHECK(memcmp(info.out_backprop_shape, kOutBackpropShape, sizeof(kOutBackpropShape)) == 0);
  CHECK(memcmp(info.filter_shape, kFilterShape, sizeof(kFilterShape)) == 0);
  CHECK(info.strides[0] == 1 && info.strides[1] == 1);
  CHECK(info.dilations[0] == 1 && info.dilations[1] == 1);
  CHECK(info.paddings[0] == 0 && info.paddings[1] == 0);
  CHECK(info.paddings[2] == 0 && info.paddings[3] == 0);
  CHECK(info.groups == 1);
  CHECK(info.in_backprop_bytes == 36);
  CHECK(info.out_backprop_bytes == 16 && info.filter_bytes == 16);
  CHECK(info.multiply_adds == 16.0);
  CHECK(info.data_format == DGRAD_NHWC && info.dtype == DGRAD_FLOAT32);
  dgrad_problem_destroy(parsed);
  dgrad_problem_destroy(problem);
  dgrad_problem_destroy(NULL);
}

static void TestRuns(void) {
  const dgrad_arguments arguments = Arguments();
  dgrad_problem* problem = NULL;
  dgrad_plan* plan = NULL;
  dgrad_packed_filter* packed = NULL;
  dgrad_plan_options options;
  dgrad_plan_info info;
  dgrad_run_arguments run;
  dgrad_executor executor;
  float in_backprop[9];
  char* text;
  uint64_t size = 0;
  void* workspace;
  int loops = 0;
  int polls = 0;
  int32_t cancel = 0;

  CHECK(dgrad_problem_create(&arguments, &problem) == DGRAD_OK);
  memset(in_backprop, 0xFF, sizeof(in_backprop));
  CHECK(dgrad_reference(problem, kFilter, sizeof(kFilter), kOutBackprop, sizeof(kOutBackprop),
                        in_backprop, sizeof(in_backprop)) == DGRAD_OK);
  CHECK(IsExpected(in_backprop));

  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.threads = 2;
  options.accuracy = DGRAD_STRICT;
  CHECK(dgrad_plan_create(problem, &options, &plan) == DGRAD_OK);
  memset(&info, 0, sizeof(info));
  info.struct_size = sizeof(info);
  CHECK(dgrad_plan_get_info(plan, &info) == DGRAD_OK);
  CHECK(info.algorithm != NULL && info.algorithm[0] != '\0');
  CHECK(info.isa > DGRAD_ISA_AUTO && info.isa <= DGRAD_ISA_AVX512);
  CHECK(info.threads >= 1);

  /* With a filter and the library's own memory and threads. */
  run = RunArguments(in_backprop);
  CHECK(dgrad_run(plan, &run) == DGRAD_OK);
  CHECK(IsExpected(in_backprop));

  /* With everything given: packed filter, workspace, threads, cancel flag, poll function. */
  CHECK(dgrad_packed_filter_create(plan, kFilter, sizeof(kFilter), NULL, 0, &packed) == DGRAD_OK);
  workspace = malloc(info.workspace_bytes + 1);
  memset(&executor, 0, sizeof(executor));
  executor.struct_size = sizeof(executor);
  executor.user = &loops;
  executor.concurrency = 2;
  executor.parallel_for = SerialFor;
  run = RunArguments(in_backprop);
  run.filter = NULL;
  run.filter_bytes = 0;
  run.packed_filter = packed;
  run.workspace = workspace;
  run.workspace_bytes = info.workspace_bytes;
  run.executor = &executor;
  run.cancel = &cancel;
  run.poll = CountPolls;
  run.poll_user = &polls;
  CHECK(dgrad_run(plan, &run) == DGRAD_OK);
  CHECK(IsExpected(in_backprop));
  CHECK(polls > 0);

  cancel = 1;
  CHECK(dgrad_run(plan, &run) == DGRAD_CANCELLED);
  CHECK(strlen(dgrad_last_error()) > 0);

  CHECK(dgrad_plan_explain(plan, NULL, 0, &size) == DGRAD_OK);
  CHECK(size > 1);
  text = (char*)malloc(size);
  CHECK(dgrad_plan_explain(plan, text, size, NULL) == DGRAD_OK);
  CHECK(strlen(text) == size - 1);
  CHECK(strstr(text, info.algorithm) != NULL);

  run = RunArguments(in_backprop);
  CHECK(dgrad_conv2d_backprop_input(&arguments, NULL, &run) == DGRAD_OK);
  CHECK(IsExpected(in_backprop));

  free(text);
  free(workspace);
  dgrad_packed_filter_destroy(packed);
  dgrad_packed_filter_destroy(NULL);
  dgrad_plan_destroy(plan);
  dgrad_plan_destroy(NULL);
  dgrad_problem_destroy(problem);
}

static void TestAlgorithms(void) {
  dgrad_problem* problem = NULL;
  char reason[512];
  int32_t i;
  int accepted = 0;
  const int32_t count = dgrad_algorithm_count();
  CHECK(count > 0);
  CHECK(dgrad_algorithm_name(-1) == NULL);
  CHECK(dgrad_algorithm_name(count) == NULL);
  CHECK(dgrad_problem_from_string("n1_h3w3c1_k2x2_oc1", &problem) == DGRAD_OK);
  for (i = 0; i < count; ++i) {
    const char* name = dgrad_algorithm_name(i);
    CHECK(name != NULL);
    CHECK(dgrad_algorithm_refusal(problem, NULL, name, reason, sizeof(reason), NULL) == DGRAD_OK);
    if (reason[0] == '\0') ++accepted;
  }
  CHECK(accepted > 0);
  dgrad_problem_destroy(problem);
}

static void TestLibrary(void) {
  char version[32];
  const int32_t automatic = dgrad_get_num_threads();
  snprintf(version, sizeof(version), "%d.%d.%d", DGRAD_VERSION_MAJOR, DGRAD_VERSION_MINOR,
           DGRAD_VERSION_PATCH);
  CHECK(strcmp(dgrad_version(), version) == 0);
  CHECK(automatic >= 1);
  CHECK(dgrad_set_num_threads(3) == DGRAD_OK);
  CHECK(dgrad_get_num_threads() == 3);
  CHECK(dgrad_set_num_threads(0) == DGRAD_OK);
  CHECK(dgrad_get_num_threads() == automatic);
  dgrad_trim();
}

static int PrintInfo(void) {
  uint64_t size = 0;
  char* text;
  if (dgrad_info(NULL, 0, &size) != DGRAD_OK) return 1;
  text = (char*)malloc(size);
  if (text == NULL || dgrad_info(text, size, NULL) != DGRAD_OK) return 1;
  puts(text);
  free(text);
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--info") == 0) return PrintInfo();
  CHECK(strcmp(dgrad_last_error(), "") == 0);
  TestProblem();
  TestRuns();
  TestAlgorithms();
  TestLibrary();
  if (failures == 0) puts("ok");
  return failures == 0 ? 0 : 1;
}

/* dgrad: the gradient of a 2-D convolution with respect to its input.
 *
 * The C interface. Everything the library exports is declared here; the C++ header dgrad.hpp, the
 * Python package and the command line are built on it alone.
 *
 *   in_backprop[n, h, w, c] = sum over kh, kw, oh, ow, oc of
 *                             filter[kh, kw, c, oc] * out_backprop[n, oh, ow, oc]
 *                             for oh * stride_h + kh * dilation_h - pad_top = h, the same in w
 *
 * with groups: c and oc run inside one group. This is TensorFlow's conv2d_backprop_input and
 * equally the forward pass of a transposed convolution.
 *
 * Conventions
 *   - Every function returns a dgrad_status (a few return nothing). The text of the last failure on
 *     the calling thread is dgrad_last_error(). Outputs are written only on DGRAD_OK, except that
 *     the contents of in_backprop are unspecified after a failed run.
 *   - Structs begin with struct_size = sizeof(the struct); fields added later read as zero.
 *   - Tensors are dense, row-major, of element alignment; sizes are elements, *_bytes are bytes.
 *   - Handles may be used by many threads at once, except while they are destroyed.
 *   - Nothing prints, aborts or throws across this interface. */
#ifndef DGRAD_DGRAD_H_
#define DGRAD_DGRAD_H_

#include <stdint.h>

#define DGRAD_VERSION_MAJOR 0
#define DGRAD_VERSION_MINOR 1
#define DGRAD_VERSION_PATCH 0

#if defined(_WIN32) || defined(DGRAD_STATIC)
#define DGRAD_API
#else
#define DGRAD_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---------------------------------------------------------------------------------- */

typedef int32_t dgrad_status;
enum {
  DGRAD_OK = 0,
  DGRAD_INVALID_ARGUMENT = 1, /* the message names the argument, what was given, what is legal */
  DGRAD_UNIMPLEMENTED = 2,    /* legal in TensorFlow's words, but in no implementation */
  DGRAD_OUT_OF_MEMORY = 3,
  DGRAD_CANCELLED = 4, /* the cancel flag was set or the poll function asked for it */
  DGRAD_INTERNAL = 5   /* a bug of the library or a failure of the caller's parallel_for */
};

/* Text of the last failure on this thread, "" if there was none. Valid until the next call of the
 * library on this thread. Never NULL. */
DGRAD_API const char* dgrad_last_error(void);

/* ---- Words ----------------------------------------------------------------------------------- */

typedef int32_t dgrad_dtype;
enum {
  DGRAD_FLOAT16 = 1,
  DGRAD_BFLOAT16 = 2,
  DGRAD_FLOAT32 = 3,
  DGRAD_FLOAT64 = 4,
  DGRAD_INT32 = 5 /* exact modulo 2^32 */
};

typedef int32_t dgrad_data_format; /* layout of in_backprop and out_backprop; the filter is HWIO */
enum { DGRAD_NHWC = 0, DGRAD_NCHW = 1 };

typedef int32_t dgrad_padding;
enum { DGRAD_VALID = 0, DGRAD_SAME = 1, DGRAD_EXPLICIT = 2 };

typedef int32_t dgrad_accuracy;
enum {
  DGRAD_FAST = 0,  /* the default; relative L2 error at most twice that of sequential float32 */
  DGRAD_STRICT = 1 /* direct summation only, in partial sums of at most 256 terms */
};

typedef int32_t dgrad_isa; /* an upper bound for the instruction set; the best below it is used */
enum {
  DGRAD_ISA_AUTO = 0, /* what the machine has, capped by the environment variable DGRAD_ISA */
  DGRAD_ISA_SCALAR = 1,
  DGRAD_ISA_SSE4 = 2,
  DGRAD_ISA_NEON = 3,
  DGRAD_ISA_AVX2 = 4,
  DGRAD_ISA_AVX512 = 5
};

/* ---- Problem: what to compute ---------------------------------------------------------------- */

/* TensorFlow's arguments. Shapes, strides, dilations and pads are in data_format order, the filter
 * shape is [rows, columns, in channels / groups, out channels]. The number of groups is
 * input_sizes' channels / filter_shape[2]. */
typedef struct dgrad_arguments {
  uint64_t struct_size;
  const int64_t* input_sizes; /* 4 elements, or 2: [height, width], the rest from the tensors */
  uint64_t input_sizes_count;
  const int64_t* filter_shape;
  uint64_t filter_rank;
  const int64_t* out_backprop_shape; /* NULL: computed (then input_sizes needs 4 elements) */
  uint64_t out_backprop_rank;
  const int64_t* strides;
  uint64_t strides_count;
  const int64_t* dilations; /* NULL: all 1 */
  uint64_t dilations_count;
  const int64_t* explicit_paddings; /* 8: before and after per dimension; only DGRAD_EXPLICIT */
  uint64_t explicit_paddings_count;
  dgrad_padding padding;
  dgrad_data_format data_format;
  dgrad_dtype dtype;
  int32_t reserved; /* 0 */
} dgrad_arguments;

typedef struct dgrad_problem dgrad_problem;

/* Checks everything; nothing is allocated, multiplied or divided before it is known to be legal. */
DGRAD_API dgrad_status dgrad_problem_create(const dgrad_arguments* arguments,
                                            dgrad_problem** problem);

/* A problem string such as n8_h56w56c64_k3x3_oc128_s2x2_p1,1,1,1_d1x1_g1_nhwc_f32
 * (docs/semantics.md has the grammar; defaults may be left out). */
DGRAD_API dgrad_status dgrad_problem_from_string(const char* text, dgrad_problem** problem);

/* Writes the problem string, zero-terminated, defaults left out. *size receives the bytes needed
 * with the zero; a buffer that is too small (or NULL) is left alone and is no error if size is
 * given. */
DGRAD_API dgrad_status dgrad_problem_to_string(const dgrad_problem* problem, char* buffer,
                                               uint64_t buffer_bytes, uint64_t* size);

typedef struct dgrad_problem_info {
  uint64_t struct_size;
  int64_t in_backprop_shape[4];  /* data_format order */
  int64_t out_backprop_shape[4]; /* data_format order */
  int64_t filter_shape[4];
  int64_t strides[2];   /* rows, columns */
  int64_t dilations[2]; /* rows, columns */
  int64_t paddings[4];  /* top, bottom, left, right; SAME and VALID resolved */
  int64_t groups;
  uint64_t in_backprop_bytes;
  uint64_t out_backprop_bytes;
  uint64_t filter_bytes;
  double multiply_adds; /* of the direct algorithm, clipped taps included */
  dgrad_data_format data_format;
  dgrad_dtype dtype;
} dgrad_problem_info;

/* Fills *info; set info->struct_size first. */
DGRAD_API dgrad_status dgrad_problem_get_info(const dgrad_problem* problem,
                                              dgrad_problem_info* info);
DGRAD_API void dgrad_problem_destroy(dgrad_problem* problem); /* NULL is allowed */

/* ---- Execution ------------------------------------------------------------------------------- */

typedef void (*dgrad_task)(void* context, int64_t index);

/* The caller's threads. parallel_for must call task(context, i) once for every i in [0, count), in
 * any order, on any threads, one after the other if it likes, return when all are done, and return
 * 0; anything else is reported as DGRAD_INTERNAL. */
typedef struct dgrad_executor {
  uint64_t struct_size;
  void* user;
  int32_t concurrency; /* how many tasks may run at once, > 0 */
  int32_t reserved;    /* 0 */
  int32_t (*parallel_for)(void* user, int64_t count, dgrad_task task, void* context);
} dgrad_executor;

/* The tensors of one run. Buffers must not overlap in_backprop or the workspace. */
typedef struct dgrad_packed_filter dgrad_packed_filter;
typedef struct dgrad_run_arguments {
  uint64_t struct_size;
  const void* out_backprop;
  uint64_t out_backprop_bytes; /* at least the tensor's size; checked */
  const void* filter;          /* the filter, or NULL with packed_filter */
  uint64_t filter_bytes;
  const dgrad_packed_filter* packed_filter; /* or NULL with filter */
  void* in_backprop;                        /* every element is written */
  uint64_t in_backprop_bytes;
  void* workspace; /* NULL: from the library's pool, as the packing of a filter. Any alignment. */
  uint64_t workspace_bytes;
  const dgrad_executor* executor; /* NULL: the library's own threads */
  const int32_t* cancel;          /* NULL, or a flag polled between tasks: non-zero cancels */
  int32_t (*poll)(void* user);    /* NULL, or called now and then on the calling thread only; */
  void* poll_user;                /* non-zero cancels */
} dgrad_run_arguments;

/* ---- Plan: how to compute it, chosen once ---------------------------------------------------- */

typedef struct dgrad_plan_options {
  uint64_t struct_size;
  int32_t threads; /* 0: the default number of threads */
  dgrad_accuracy accuracy;
  dgrad_isa isa;
  int32_t filter_packed;    /* non-zero: the filter will come packed, so packing costs nothing */
  uint64_t workspace_limit; /* bytes of a run's scratch memory, the packed filter apart; 0: the
                               library's own bound */
  const char* algorithm;    /* NULL: the best one; a name forces it (dgrad_algorithm_name) */
} dgrad_plan_options;

typedef struct dgrad_plan dgrad_plan;

/* options may be NULL. The result of a run is bit-identical for any number of threads. */
DGRAD_API dgrad_status dgrad_plan_create(const dgrad_problem* problem,
                                         const dgrad_plan_options* options, dgrad_plan** plan);

typedef struct dgrad_plan_info {
  uint64_t struct_size;
  uint64_t workspace_bytes;     /* scratch of a run, without the packed filter */
  uint64_t packed_filter_bytes; /* storage for dgrad_packed_filter_create */
  const char* algorithm;        /* static text */
  dgrad_isa isa;                /* the instruction set in use, never AUTO */
  int32_t threads;
} dgrad_plan_info;

/* Fills *info; set info->struct_size first. */
DGRAD_API dgrad_status dgrad_plan_get_info(const dgrad_plan* plan, dgrad_plan_info* info);

/* A description for people: geometry, the choice, its blocking, and why the others were refused.
 * The buffer works as in dgrad_problem_to_string. */
DGRAD_API dgrad_status dgrad_plan_explain(const dgrad_plan* plan, char* buffer,
                                          uint64_t buffer_bytes, uint64_t* size);
DGRAD_API void dgrad_plan_destroy(dgrad_plan* plan); /* NULL is allowed */

/* Packs a filter for the plan's geometry, algorithm and instruction set; it serves every plan with
 * the same three. storage: NULL (the library allocates) or at least packed_filter_bytes, any
 * alignment, which the caller keeps alive as long as the handle. */
DGRAD_API dgrad_status dgrad_packed_filter_create(const dgrad_plan* plan, const void* filter,
                                                  uint64_t filter_bytes, void* storage,
                                                  uint64_t storage_bytes,
                                                  dgrad_packed_filter** packed_filter);
DGRAD_API void dgrad_packed_filter_destroy(dgrad_packed_filter* packed_filter);

DGRAD_API dgrad_status dgrad_run(const dgrad_plan* plan, const dgrad_run_arguments* run);

/* One call for everything; plans are cached inside, filters are not. options may be NULL. */
DGRAD_API dgrad_status dgrad_conv2d_backprop_input(const dgrad_arguments* arguments,
                                                   const dgrad_plan_options* options,
                                                   const dgrad_run_arguments* run);

/* The definition as plain loops, sums in double (int32: modulo 2^32): slow, for checking. */
DGRAD_API dgrad_status dgrad_reference(const dgrad_problem* problem, const void* filter,
                                       uint64_t filter_bytes, const void* out_backprop,
                                       uint64_t out_backprop_bytes, void* in_backprop,
                                       uint64_t in_backprop_bytes);

/* ---- Algorithms ------------------------------------------------------------------------------ */

DGRAD_API int32_t dgrad_algorithm_count(void);
DGRAD_API const char* dgrad_algorithm_name(int32_t index); /* NULL outside [0, count) */

/* Why the named algorithm can't serve the problem under the options; "" if it can. */
DGRAD_API dgrad_status dgrad_algorithm_refusal(const dgrad_problem* problem,
                                               const dgrad_plan_options* options,
                                               const char* algorithm, char* buffer,
                                               uint64_t buffer_bytes, uint64_t* size);

/* ---- The library ----------------------------------------------------------------------------- */

/* The default number of threads of plans made later: min(affinity, cgroup quota), DGRAD_NUM_THREADS
 * or this call. 0 restores the automatic choice. */
DGRAD_API dgrad_status dgrad_set_num_threads(int32_t threads);
DGRAD_API int32_t dgrad_get_num_threads(void);

/* Empties the plan cache and the workspace pool. */
DGRAD_API void dgrad_trim(void);

DGRAD_API const char* dgrad_version(void); /* "0.1.0" */

/* JSON: version, CPU, instruction sets found and compiled, caches, threads, compiler. The buffer
 * works as in dgrad_problem_to_string. */
DGRAD_API dgrad_status dgrad_info(char* buffer, uint64_t buffer_bytes, uint64_t* size);

#ifdef __cplusplus
}
#endif

#endif /* DGRAD_DGRAD_H_ */

/**
 * @file stator_experimental.h
 * What may still change from release to release. The rules at the top of stator.h hold here as well; the symbols have a version node of
 * their own (STATOR_EXPERIMENTAL), and no promise of compatibility.
 */
#ifndef STATOR_STATOR_EXPERIMENTAL_H
#define STATOR_STATOR_EXPERIMENTAL_H

#include "stator/stator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------------------------------- operators
 *
 * A model may call operators that LibTorch does not bring. They come from a library written for LibTorch (TORCH_LIBRARY), or from
 * kernels in C that are registered here. Both must be there before a model that calls them is loaded.
 */

/** One call of a registered operator, lent to its callbacks. */
typedef struct stator_op_call stator_op_call;

/**
 * A callback of a registered operator. Called from any thread, by several at once, with no lock of Stator's held; must not unwind, and must
 * not keep `call` or anything read from it.
 *
 * Returns NULL, or a status that Stator takes over: stator_status_create() makes one, those of the functions below are passed on as they are.
 * Code and message reach the caller of the run.
 */
typedef stator_status *(*stator_op_fn)(void *context, stator_op_call *call);

/**
 * Loads a library of operators written for LibTorch (TORCH_LIBRARY). It stays loaded; loading it again does nothing.
 *
 * The library's own initializers run, with all that they may do to the process: load what you trust. One that registers an operator or a
 * namespace which exists already ends the process: LibTorch throws then, and C++ cannot throw out of dlopen().
 *
 * @param path  the file, as dlopen() takes it
 * @return NULL, or a status: INVALID_ARGUMENT, NOT_FOUND, IO (it cannot be opened, or needs symbols or libraries that are not there: the
 *         message is the loader's), FORKED, TORCH_NOT_FOUND, TORCH_VERSION
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_op_library_load(const char *path);

/**
 * Registers an operator with LibTorch's dispatcher, for the life of the process. Models that call it can be loaded from then on, and its
 * results go into planned memory.
 *
 * @code
 *   static stator_status *swish_shape(void *context, stator_op_call *call) {
 *     const int64_t *shape = NULL; int32_t dtype = 0, ndim = 0;
 *     stator_status *failed = stator_op_call_tensor(call, 0, NULL, &dtype, &ndim, &shape, NULL);
 *     return failed != NULL ? failed : stator_op_call_set_output(call, 0, dtype, ndim, shape);
 *   }
 *   stator_op_register("my::swish(Tensor x, float beta=1.0) -> Tensor", swish_shape, swish, NULL);
 * @endcode
 *
 * @param schema   as LibTorch writes it, with a namespace. Every result is a Tensor, new and contiguous; no argument is written or returned.
 *                 Calls with equal arguments must give equal results: Stator may compute once what does not change.
 * @param shape    says dtype and shape of every result with stator_op_call_set_output(). Tensors have no data for it.
 * @param kernel   fills the results
 * @param context  passed to both; must live as long as the process
 * @return NULL, or a status: INVALID_ARGUMENT (a NULL, a schema that does not parse, a name that is taken), UNSUPPORTED (a schema that
 *         writes, returns or aliases arguments, or has other results than tensors), FORKED, TORCH_NOT_FOUND, TORCH_VERSION
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_op_register(const char *schema, stator_op_fn shape,
                                                              stator_op_fn kernel, void *context);

/**
 * Makes a status, for a callback to return.
 *
 * @param code     STATOR_OPERATOR_ERROR, STATOR_SHAPE_MISMATCH or whichever fits; not STATOR_OK
 * @param message  what was expected and what came; copied
 * @return the status, owned by the caller, never NULL; INVALID_ARGUMENT if the code or the message is none
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_status_create(int32_t code, const char *message);

/**
 * The number of arguments, those of the schema; defaults are filled in.
 *
 * @param call  NULL gives 0
 * @return the count
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_op_call_argument_count(const stator_op_call *call);

/**
 * The kind of an argument: of an optional one, whether it is there.
 *
 * @param call   the call
 * @param index  from 0
 * @return STATOR_KIND_*; STATOR_KIND_NONE for an index out of range too
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_op_call_argument_kind(const stator_op_call *call, int32_t index);

/**
 * Reads a tensor argument. Every out parameter may be NULL.
 *
 * @param call     the call
 * @param index    from 0
 * @param data     lent for the call; NULL in a shape callback, or if the tensor has no elements
 * @param dtype    STATOR_FLOAT32 and its kin
 * @param ndim     number of dimensions
 * @param shape    `ndim` sizes, lent for the call
 * @param strides  `ndim` strides in elements, lent for the call; tensors come as they are, also not contiguous
 * @return NULL, or a status: INVALID_ARGUMENT (an index out of range, another kind)
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_op_call_tensor(const stator_op_call *call, int32_t index,
                                                                 const void **data, int32_t *dtype, int32_t *ndim,
                                                                 const int64_t **shape, const int64_t **strides);

/**
 * Reads an int or bool argument.
 *
 * @param call   the call
 * @param index  from 0
 * @param out    the number
 * @return as stator_op_call_tensor()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_op_call_int(const stator_op_call *call, int32_t index, int64_t *out);

/**
 * Reads a float or int argument.
 *
 * @param call   the call
 * @param index  from 0
 * @param out    the number
 * @return as stator_op_call_tensor()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_op_call_float(const stator_op_call *call, int32_t index, double *out);

/**
 * Reads an argument of any type, as a value: lists, texts, complex numbers.
 *
 * @param call   the call
 * @param index  from 0
 * @param out    a value owned by the callback, to be released before it returns
 * @return NULL, or a status: INVALID_ARGUMENT (an index out of range)
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_op_call_value(const stator_op_call *call, int32_t index,
                                                                stator_value **out);

/**
 * Says dtype and shape of a result. Only in a shape callback, which must say it of every result.
 *
 * @param call   the call
 * @param index  from 0
 * @param dtype  STATOR_FLOAT32 and its kin
 * @param ndim   number of dimensions
 * @param shape  `ndim` sizes, copied
 * @return NULL, or a status: INVALID_ARGUMENT (an index out of range, no such dtype or shape, not in a shape callback)
 * @threads one per call
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_op_call_set_output(stator_op_call *call, int32_t index, int32_t dtype,
                                                                     int32_t ndim, const int64_t *shape);

/**
 * Where a result is to be written: contiguous memory of the dtype and shape that the shape callback said, not overlapping any argument, its
 * elements undefined. Only in a kernel callback. Every out parameter may be NULL.
 *
 * @param call   the call
 * @param index  from 0
 * @param data   lent for the call; NULL if the tensor has no elements
 * @param dtype  STATOR_FLOAT32 and its kin
 * @param ndim   number of dimensions
 * @param shape  `ndim` sizes, lent for the call
 * @return NULL, or a status: INVALID_ARGUMENT (an index out of range, not in a kernel callback)
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_op_call_output(stator_op_call *call, int32_t index, void **data,
                                                                 int32_t *dtype, int32_t *ndim, const int64_t **shape);

/* ------------------------------------------------------------------------------------------------ profile */

/**
 * Profiles the runtime's runs from here on, afresh: how often each node ran, and how long it took. A run without a profile pays nothing; one
 * with it reads a clock after each instruction.
 *
 * @param runtime      not running; what is recorded goes with it
 * @param event_limit  how many single executions are kept for stator_profile_trace(), the first ones; 0 keeps none. 32 bytes each, at most 2^26.
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY, OUT_OF_MEMORY, FORKED
 * @threads one per runtime
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_profile_start(stator_runtime *runtime, int64_t event_limit);

/**
 * Ends profiling. What was recorded stays readable.
 *
 * @param runtime  not running
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY, FORKED
 * @threads one per runtime
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_profile_stop(stator_runtime *runtime);

/**
 * The profile as tables for people, slowest first: by operator, then by node.
 *
 * @param runtime  profiled, and running meanwhile if it likes
 * @param out      bytes owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT (no profile was started), OUT_OF_MEMORY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_profile_text(const stator_runtime *runtime, stator_bytes **out);

/**
 * The profile as JSON: `methods`, each with `method`, `runs`, `total_ns` (of whole runs), `operators` (`operator`, `kind`, `nodes`, `calls`,
 * `total_ns`; slowest first) and `nodes` in the plan's order (`node`, `operator`, `kind`, `calls`, `total_ns`, `source`). `kind` is as in
 * stator_method_plan(). A node "" stands for instructions of no node.
 *
 * @param runtime  profiled, and running meanwhile if it likes
 * @param out      bytes owned by the caller
 * @return as stator_profile_text()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_profile_json(const stator_runtime *runtime, stator_bytes **out);

/**
 * The events kept, in Chrome's trace format, for chrome://tracing or Perfetto.
 *
 * @param runtime  profiled, and running meanwhile if it likes
 * @param out      bytes owned by the caller
 * @return as stator_profile_text()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_profile_trace(const stator_runtime *runtime, stator_bytes **out);

/**
 * A picture of the memory that the method's plan gives its tensors: time from left to right, offset upwards, one box a tensor with its name,
 * bytes and lifetime. Sizes are those of the runs so far; a tensor that none of them made has no box.
 *
 * @param method  a method
 * @param out     an SVG document, owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, UNSUPPORTED (the method cannot run), OUT_OF_MEMORY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_method_plan_svg(const stator_method *method, stator_bytes **out);

#ifdef __cplusplus
}
#endif

#endif /* STATOR_STATOR_EXPERIMENTAL_H */

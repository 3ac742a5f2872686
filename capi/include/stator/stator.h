/**
 * @file stator.h
 * Stator runs PyTorch models on CPUs. This is its whole stable interface.
 *
 * First result:
 * @code
 *   stator_module *module = NULL; stator_runtime *runtime = NULL; stator_arena *arena = NULL;
 *   const stator_method *forward = NULL; const void *data = NULL;
 *   stator_module_load("model.pt", NULL, &module);
 *   stator_module_find_method(module, "forward", &forward);
 *   stator_runtime_create(module, NULL, &runtime);
 *   stator_arena_create(module, NULL, &arena);
 *   stator_runtime_bind(runtime, forward, 0, x, STATOR_FLOAT32, STATOR_CPU, 2, (int64_t[]){1, 128}, NULL);
 *   stator_runtime_run(runtime, forward, arena);
 *   stator_arena_output(arena, 0, &data, NULL, NULL, NULL, NULL, NULL);
 * @endcode
 *
 * Rules that hold for every function:
 * - A call that can fail returns `stator_status *`: NULL is success, anything else is an error owned by the caller.
 * - Out parameters come last and are written only on success; the handles in them are owned by the caller.
 * - `retain` and `release` count references. Any order of release is legal, from any thread; `release(NULL)` does nothing.
 * - `const char *` is UTF-8 and ends in NUL. A returned `const char *` is borrowed from the object it was asked of.
 * - No call throws, aborts, prints, reads the environment or changes the process's threads, locale, signals or floating point mode.
 * - In a process forked after the first call that needed LibTorch, every call that returns a status gives STATOR_FORKED and `release` does nothing.
 * - `@threads any`: safe from any thread on a shared object. `@threads one`: one at a time per object named; a second caller gets STATOR_BUSY.
 */
#ifndef STATOR_STATOR_H
#define STATOR_STATOR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define STATOR_API __attribute__((visibility("default")))
#define STATOR_NODISCARD __attribute__((warn_unused_result))
#else
#define STATOR_API
#define STATOR_NODISCARD
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define STATOR_ABI_MAJOR 0
#define STATOR_ABI_MINOR 1

/** Handles. All are opaque; all but stator_method are counted. */
typedef struct stator_status stator_status;
typedef struct stator_bytes stator_bytes;
typedef struct stator_options stator_options;
typedef struct stator_module stator_module;
typedef struct stator_method stator_method;
typedef struct stator_runtime stator_runtime;
typedef struct stator_arena stator_arena;
typedef struct stator_pool stator_pool;
typedef struct stator_value stator_value;
typedef struct stator_future stator_future;
typedef struct stator_queue stator_queue;

/** DLPack's structures, as <dlpack/dlpack.h> defines them. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* ------------------------------------------------------------------------------------------------ constants */

/** Status codes. The numbers are frozen. */
#define STATOR_OK 0
#define STATOR_INVALID_ARGUMENT \
  100                             /**< a NULL handle, an index out of range, an unknown option, a wrong kind of value */
#define STATOR_NOT_FOUND 101      /**< no such method, file or key */
#define STATOR_BUSY 102           /**< the object is in use by another caller, or results of it are still exported */
#define STATOR_TIMEOUT 103        /**< a wait ended before its event */
#define STATOR_FORKED 104         /**< the process was forked after LibTorch was loaded */
#define STATOR_INPUT_MISSING 105  /**< fewer inputs than the method requires */
#define STATOR_SHAPE_MISMATCH 106 /**< a tensor's rank or sizes are not what the signature or the operator takes */
#define STATOR_DTYPE_MISMATCH 107 /**< a tensor's dtype is not what the signature or the operator takes */
#define STATOR_TYPE_MISMATCH 108  /**< an argument has another type than the method declares */
#define STATOR_CANCELLED 109      /**< a run that was cancelled before it began */
#define STATOR_IO 200             /**< a file could not be read or written */
#define STATOR_BAD_MODEL 201      /**< the file is damaged or holds no model */
#define STATOR_UNSUPPORTED 202    /**< a valid model or value that this version cannot run or carry */
#define STATOR_TORCH_NOT_FOUND 300 /**< no LibTorch was found */
#define STATOR_TORCH_VERSION 301   /**< the LibTorch found is not the one that this build needs */
#define STATOR_MODEL_ERROR 400     /**< raised by the model itself; the message is the model's */
#define STATOR_OPERATOR_ERROR 401  /**< an operator refused its arguments */
#define STATOR_MEMORY_LIMIT 500    /**< the cap set on the module would be exceeded */
#define STATOR_OUT_OF_MEMORY 501   /**< the system has no more memory */
#define STATOR_INTERNAL 600        /**< a defect of Stator; please report it */

/** Kinds of handle, for stator_live_handles(). */
#define STATOR_HANDLE_STATUS 1
#define STATOR_HANDLE_BYTES 2
#define STATOR_HANDLE_OPTIONS 3
#define STATOR_HANDLE_MODULE 4
#define STATOR_HANDLE_RUNTIME 5
#define STATOR_HANDLE_ARENA 6
#define STATOR_HANDLE_POOL 7
#define STATOR_HANDLE_VALUE 8
#define STATOR_HANDLE_EXPORT 9 /**< DLPack exports whose deleter has not run */
#define STATOR_HANDLE_FUTURE 10
#define STATOR_HANDLE_QUEUE 11

/** Element types: DLPack's type code in bits 0-7, bits of an element in bits 8-15. */
#define STATOR_INT8 0x0800
#define STATOR_INT16 0x1000
#define STATOR_INT32 0x2000
#define STATOR_INT64 0x4000
#define STATOR_UINT8 0x0801
#define STATOR_UINT16 0x1001
#define STATOR_UINT32 0x2001
#define STATOR_UINT64 0x4001
#define STATOR_FLOAT16 0x1002
#define STATOR_FLOAT32 0x2002
#define STATOR_FLOAT64 0x4002
#define STATOR_BFLOAT16 0x1004
#define STATOR_COMPLEX32 0x2005
#define STATOR_COMPLEX64 0x4005
#define STATOR_COMPLEX128 0x8005
#define STATOR_BOOL 0x0806
#define STATOR_FLOAT8_E4M3FN 0x080a
#define STATOR_FLOAT8_E4M3FNUZ 0x080b
#define STATOR_FLOAT8_E5M2 0x080c
#define STATOR_FLOAT8_E5M2FNUZ 0x080d
#define STATOR_FLOAT8_E8M0FNU 0x080e

/** Devices: DLPack's device type in bits 0-15, its index in bits 16-31. Only the CPU is accepted today. */
#define STATOR_CPU 1

/** Kinds of value. */
#define STATOR_KIND_NONE 0
#define STATOR_KIND_BOOL 1
#define STATOR_KIND_INT 2
#define STATOR_KIND_FLOAT 3
#define STATOR_KIND_COMPLEX 4
#define STATOR_KIND_STR 5
#define STATOR_KIND_TENSOR 6
#define STATOR_KIND_LIST 7
#define STATOR_KIND_TUPLE 8
#define STATOR_KIND_DICT 9
#define STATOR_KIND_DEVICE 10
#define STATOR_KIND_OBJECT 11 /**< anything else a model returns; it can only be passed back */

/** Log levels. */
#define STATOR_LOG_DEBUG 10
#define STATOR_LOG_INFO 20
#define STATOR_LOG_WARNING 30
#define STATOR_LOG_ERROR 40

/* -------------------------------------------------------------------------------------------------- library */

/**
 * The version of the interface: major in the upper 16 bits, minor in the lower.
 *
 * @return the version that the library implements; callers need an equal major and at least their own minor
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_abi_version(void);

/**
 * Loads LibTorch from a place of the caller's choice. Without this call it is searched for on first use: a libtorch_cpu that the
 * process holds already, then a place relative to this library, then the loader's own search.
 *
 * @param path  the folder of LibTorch (it holds `lib/libtorch_cpu.so`; for a Python wheel, the installed `torch` folder)
 * @return NULL, or a status: INVALID_ARGUMENT, TORCH_NOT_FOUND, TORCH_VERSION (the message names both versions and the path).
 *         A second call with LibTorch loaded succeeds and changes nothing.
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_torch_load(const char *path);

/**
 * What this build is: JSON with `stator`, `abi`, `torch_built`, `torch_loaded`, `torch_path`, `cpu_capability`, `compiler`.
 *
 * @param out  bytes owned by the caller
 * @return NULL, or a status: TORCH_NOT_FOUND, TORCH_VERSION, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_build_info(stator_bytes **out);

/**
 * How many handles of a kind are alive in the process; for tests of leaks.
 *
 * @param kind  STATOR_HANDLE_*
 * @return the count, 0 for an unknown kind
 * @threads any
 * @since 0.1
 */
STATOR_API int64_t stator_live_handles(int32_t kind);

/** A log callback. It may be called from any thread, with no lock of Stator's held, and must not unwind. `message` is valid during the call. */
typedef void (*stator_log_fn)(void *context, int32_t level, const char *message);

/**
 * Sets the process's log callback. Warnings of LibTorch during Stator's calls and what a model prints go there.
 *
 * @param callback  NULL silences the log (the default)
 * @param context   passed to each call; must live until another callback is set and calls under way have ended
 * @param level     the least level that is reported, STATOR_LOG_*
 * @return NULL, or a status: TORCH_NOT_FOUND, TORCH_VERSION, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_log_set(stator_log_fn callback, void *context, int32_t level);

/**
 * Keeps log records for stator_log_next(), for languages that would rather ask than be called. Independent of the callback.
 *
 * @param level     the least level that is kept, STATOR_LOG_*
 * @param capacity  how many records are kept until they are asked for; then the oldest are lost, and a warning says how many. 0 keeps no
 *                  more (the default) and wakes who waits; those kept can still be taken.
 * @return NULL, or a status: INVALID_ARGUMENT, TORCH_NOT_FOUND, TORCH_VERSION, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_log_collect(int32_t level, int64_t capacity);

/**
 * Takes the oldest record kept. With several callers, each record goes to one of them.
 *
 * @param timeout_ns  how long to wait for one; 0 does not wait, -1 waits without end
 * @param level       its level, STATOR_LOG_*
 * @param message     text owned by the caller; NULL if there is none and records are not kept, or no longer
 * @return NULL, or a status: INVALID_ARGUMENT, TIMEOUT (none came in time), FORKED, TORCH_NOT_FOUND, TORCH_VERSION
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_log_next(int64_t timeout_ns, int32_t *level, stator_bytes **message);

/**
 * The metrics of all living modules and pools in Prometheus' text format (version 0.0.4), for a service's /metrics.
 *
 * Counters: `stator_runs_total`, `stator_failures_total` (by `code`), `stator_plan_cache_{hits,misses,builds,evictions}_total`, and for pools
 * `stator_pool_{runs,refused}_total`. Histogram: `stator_run_seconds`. Gauges: `stator_runtimes`, `stator_workspace_bytes`,
 * `stator_arena_bytes`, `stator_weight_bytes`, `stator_pool_{runtimes,lent,limit}`. Labels: `module` (the option `name`) and `id`, which tells
 * apart modules (or pools) of one name.
 *
 * @param out  bytes owned by the caller
 * @return NULL, or a status: TORCH_NOT_FOUND, TORCH_VERSION, OUT_OF_MEMORY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_metrics_prometheus(stator_bytes **out);

/**
 * The name of an element type, as PyTorch spells it without `torch.`: "float32", "bfloat16".
 *
 * @param dtype  STATOR_FLOAT32 and its kin
 * @return a static string, NULL for an unknown type
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_dtype_name(int32_t dtype);

/* --------------------------------------------------------------------------------------------------- status */

/**
 * The code of a status.
 *
 * @param status  NULL is allowed
 * @return STATOR_OK for NULL, else the code
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_status_code(const stator_status *status);

/**
 * What happened, what was expected and what came.
 *
 * @param status  NULL is allowed
 * @return text borrowed from the status, "" for NULL
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_status_message(const stator_status *status);

/**
 * Where it happened: the operator, as in "aten::bmm".
 *
 * @param status  NULL is allowed
 * @return text borrowed from the status, "" where no operator is concerned
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_status_operator(const stator_status *status);

/**
 * Where it happened: the node of the plan, as `stator plan` numbers it.
 *
 * @param status  NULL is allowed
 * @return text borrowed from the status, "" where no node is concerned
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_status_node(const stator_status *status);

/**
 * Where it happened: the model's own source line, as in `model.py:41 "torch.bmm(a, b)"`.
 *
 * @param status  NULL is allowed
 * @return text borrowed from the status, "" where the file holds none
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_status_source(const stator_status *status);

/**
 * Which argument is concerned, as in `input "user_emb" (argument 2)`.
 *
 * @param status  NULL is allowed
 * @return text borrowed from the status, "" where no argument is concerned
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_status_argument(const stator_status *status);

/**
 * The type of the exception that the model raised, as in "ValueError" (`raise ValueError("...")`) or "AssertionError".
 *
 * @param status  NULL is allowed
 * @return text borrowed from the status, "" where the model raised nothing
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_status_exception(const stator_status *status);

/**
 * The name of a code, as in "SHAPE_MISMATCH".
 *
 * @param code  STATOR_OK and its kin
 * @return a static string, "UNKNOWN" for other numbers
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_status_name(int32_t code);

/**
 * Releases a status.
 *
 * @param status  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_status_release(stator_status *status);

/* ---------------------------------------------------------------------------------------------------- bytes */

/**
 * The first byte. Text made by the library ends in a NUL that stator_bytes_size() does not count.
 *
 * @param bytes  NULL gives NULL
 * @return memory borrowed from `bytes`
 * @threads any
 * @since 0.1
 */
STATOR_API const void *stator_bytes_data(const stator_bytes *bytes);

/**
 * The number of bytes.
 *
 * @param bytes  NULL gives 0
 * @return the size
 * @threads any
 * @since 0.1
 */
STATOR_API int64_t stator_bytes_size(const stator_bytes *bytes);

/**
 * Releases bytes.
 *
 * @param bytes  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_bytes_release(stator_bytes *bytes);

/* -------------------------------------------------------------------------------------------------- options */

/**
 * Makes an empty set of options. Calls read options while they run and keep nothing of them.
 *
 * Keys, by the call that takes them:
 * - stator_module_load and its kin: `weights` ("copy", the default; "map", the default of planned files: weights are mapped privately from
 *   the file, which must then be replaced by rename and never in place); `signature` (what the inputs of `forward` must be, checked at bind and call, as in
 *   `x: float32[?, 1, 32], mask: bool[?], steps = 3`; `?` is any size); `name` (what metrics call the module; default: the file's name, "" for
 *   bytes); `memory_planner` ("standard", the default; "naive": a place of its own for every tensor; "none": nothing is planned, every tensor
 *   is allocated by itself); `memory_limit_bytes` (at least 1; default: no limit); `plans` ("signature", the default: besides
 *   the plan for all shapes, bound plans for shapes that are seen again; "eager": for shapes as soon as they are seen; "dynamic": only the one
 *   for all, with LibTorch's kernels and no repacked weights); `strict` ("off", the default; "on": `forward` runs only on what `signature`
 *   declares, with dtype and all sizes of every input; the plan is made at load, which fails with a list of the nodes that have no bound
 *   kernel or must allocate; then runs of bound inputs, outputs not bound, allocate nothing once runtime and arena have been used with each other a few times).
 * - stator_runtime_create, stator_pool_create: `intra_op_threads` (threads inside one run, at least 1; default: the processors that
 *   affinity and quota allow for a runtime, 1 in a pool); `inter_op_threads` (how many threads of the process's own
 *   may run a run's forks beside the caller, at least 0; with 0 forks run where they are waited for; default: one less than the processors
 *   for a runtime, 0 in a pool); `memory_limit_bytes` (for each runtime); `latencies` ("on", the default; "off": how long
 *   runs take is not measured for metrics, which saves some 20 ns a run); `state` ("private": each runtime has its own copy of the module's state, the
 *   default of stator_runtime_create; "shared": all runtimes that ask for it share one state, one run at a time).
 *   stator_pool_create refuses a stateful module unless `state` is given.
 * - stator_pool_create: `max_runtimes` (1 to 65535, default 128).
 *
 * `intra_op_threads` holds for the calling thread and the run alone. The threads are LibTorch's OpenMP's: they sleep when there is no work, but
 * wait actively for the next for some milliseconds; OMP_WAIT_POLICY=passive, set before the process starts, ends that too. Matrix products,
 * convolutions and recurrent layers of less than some million multiplications run in one thread, whatever is asked for.
 *
 * `memory_limit_bytes` of a module limits what all its runtimes, arenas and plans hold together: workspaces, results, signature plans and
 * what these have repacked of the weights (a quarter of the limit at most: where that is too little, the plan for all shapes runs), and,
 * while a run is under way, the tensors that its operators return elsewhere and its state. That of a runtime limits its workspace and those
 * tensors, its state and its results while it runs. It is checked before planned memory grows and after each instruction: what a kernel
 * of LibTorch takes in passing and the first copy of one result are not counted before they exist, nor are weights, inputs or windows of
 * stator_runtime_input(). A run that would exceed it fails with MEMORY_LIMIT; its runtime and its arena, then empty, stay usable. Without a limit
 * nothing is checked.
 *
 * @param out  options owned by the caller
 * @return NULL, or a status: TORCH_NOT_FOUND, TORCH_VERSION, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_options_create(stator_options **out);

/**
 * Sets a whole number.
 *
 * @param options  changed by this call
 * @param key      a key of the list above
 * @param value    its value
 * @return NULL, or a status: INVALID_ARGUMENT (unknown key: the message names the nearest; or the key takes another type), FORKED
 * @threads one per options
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_options_set_int(stator_options *options, const char *key,
                                                                  int64_t value);

/**
 * Sets a real number.
 *
 * @param options  changed by this call
 * @param key      a key of the list above
 * @param value    its value
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED
 * @threads one per options
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_options_set_double(stator_options *options, const char *key,
                                                                     double value);

/**
 * Sets a text.
 *
 * @param options  changed by this call
 * @param key      a key of the list above
 * @param value    its value, copied
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED
 * @threads one per options
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_options_set_str(stator_options *options, const char *key,
                                                                  const char *value);

/** Runs a task that stator_launch_fn was given. To be called once, from any thread, at any time: also when the runtime is gone. */
typedef void (*stator_task_fn)(void *task);

/**
 * A launcher: hands a task to a thread of the caller's, which calls `run(task)`. It may be called from any thread, also by a task, with no lock
 * of Stator's held, and must not unwind. It may be late: whoever waits for a fork runs it if nobody has begun.
 */
typedef void (*stator_launch_fn)(void *context, stator_task_fn run, void *task);

/**
 * Sets the launcher of forks and of asynchronous runs, for stator_runtime_create and stator_pool_create. Without one they run on the process's
 * own threads, which are made when first needed, as many as processors or as `inter_op_threads` asks for, and sleep when idle.
 *
 * @param options  changed by this call
 * @param launch   NULL means the process's own threads; with a launcher `inter_op_threads` is not regarded: each fork is offered to it
 * @param context  passed to each call; must live until the runtimes made with it are gone and their tasks have run
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED
 * @threads one per options
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_options_set_launcher(stator_options *options, stator_launch_fn launch,
                                                                       void *context);

/**
 * Releases options.
 *
 * @param options  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_options_release(stator_options *options);

/* --------------------------------------------------------------------------------------------------- module */

/**
 * Loads an archive of `torch.jit.save` (`.pt`) or `torch.export.save` (`.pt2`), told apart by what they hold, and plans every method of it.
 * TorchScript modules are put in eval mode; an exported program has the one method `forward`, and its inputs are checked against what it was
 * exported for. A planned file, of stator_module_save(), loads faster: its weights are mapped, and the plans in it need no runs.
 *
 * @param path     the file
 * @param options  NULL, or keys of stator_module_load; borrowed for the call
 * @param out      a module owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, NOT_FOUND (no such file), IO, BAD_MODEL (damaged, or no model), UNSUPPORTED (a valid file of
 *         another kind; the message names it), MEMORY_LIMIT, OUT_OF_MEMORY, TORCH_NOT_FOUND, TORCH_VERSION, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_module_load(const char *path, const stator_options *options,
                                                              stator_module **out);

/**
 * Loads an archive from memory, which is copied.
 *
 * @param data     the bytes of the file, borrowed for the call
 * @param size     how many
 * @param options  NULL, or keys of stator_module_load; `weights` = "map" is refused
 * @param out      a module owned by the caller
 * @return as stator_module_load()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_module_load_bytes(const void *data, int64_t size,
                                                                    const stator_options *options, stator_module **out);

/** Called once when borrowed memory is no longer used, from any thread; must not unwind. */
typedef void (*stator_release_fn)(void *context);

/**
 * Loads an archive from memory that the module borrows: weights point into it and it must not change until `release` is called.
 *
 * @param data     the bytes of the file, aligned to 64
 * @param size     how many
 * @param release  called when the last use of `data` has ended, also when this call fails; NULL if the caller keeps it for the process's life
 * @param context  passed to `release`
 * @param options  NULL, or keys of stator_module_load
 * @param out      a module owned by the caller
 * @return as stator_module_load()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_module_load_shared(const void *data, int64_t size,
                                                                     stator_release_fn release, void *context,
                                                                     const stator_options *options,
                                                                     stator_module **out);

/**
 * Adds a reference.
 *
 * @param module  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_module_retain(stator_module *module);

/**
 * Drops a reference. Runtimes, arenas and pools keep their module alive.
 *
 * @param module  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_module_release(stator_module *module);

/**
 * How many methods the module has.
 *
 * @param module  NULL gives 0
 * @return the count
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_module_method_count(const stator_module *module);

/**
 * A method by its place, in the order of the file.
 *
 * @param module  NULL gives NULL
 * @param index   from 0
 * @return a method borrowed from the module, NULL if there is none
 * @threads any
 * @since 0.1
 */
STATOR_API const stator_method *stator_module_get_method(const stator_module *module, int32_t index);

/**
 * A method by its name.
 *
 * @param module  a module
 * @param name    "forward", or any exported method
 * @param out     a method borrowed from the module: valid while the module or anything made from it lives
 * @return NULL, or a status: INVALID_ARGUMENT, NOT_FOUND (the message lists the methods), FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_module_find_method(const stator_module *module, const char *name,
                                                                     const stator_method **out);

/**
 * What the module is, as JSON: format, methods with inputs (name, type, default, declared dtype and shape) and outputs, state (name, type),
 * inputs that a method writes, training flag of the file, bytes of weights, bytes of memory that count against its limit, and the limit; of a
 * planned file `planned`: who made it, how many of its plans were `restored` and how many `made_anew`, and why (`outdated`).
 *
 * @param module  a module
 * @param out     bytes owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_module_describe(const stator_module *module, stator_bytes **out);

/**
 * Forgets what earlier runs have shown: the sizes that memory is planned for, and the plans for signatures. After one run on large inputs the
 * next ones need no longer be prepared for another; with stator_runtime_trim() or stator_pool_trim() its memory goes too. Runs under way are
 * not disturbed; each method's next run is as slow as its first.
 *
 * @param module  a module
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_module_trim(stator_module *module);

/**
 * Makes the plan for inputs of these shapes before anybody runs on them, so that the first request is as fast as the next. One run is made, on
 * zeros and on a copy of the file's state; metrics count it. The plan stands in the module as any other: bounded in number, shared by
 * all runtimes, dropped by stator_module_trim(). With the option `plans` = "dynamic" only sizes are learnt.
 *
 * @param module     a module
 * @param method     one of its methods
 * @param signature  dtype and all sizes of each tensor, as in `x: float32[8, 128], steps = 3, mask = none`; an input that is not
 *                   named has its default
 * @param options    NULL, or keys of stator_runtime_create: those of the runtimes that will run, since plans for one thread and for several may
 *                   differ; `intra_op_threads` is 1 by default, as in a pool
 * @return NULL, or a status: INVALID_ARGUMENT, INPUT_MISSING, what stator_runtime_call returns, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_module_warm_up(stator_module *module, const stator_method *method,
                                                                 const char *signature, const stator_options *options);

/**
 * Writes the module to a planned file (`.stator` by custom): what loading has made of the program, its weights, those in forms for kernels
 * too, and the plans that the module has now, made by stator_module_warm_up(), strict mode or runs. Processes that load it map the same
 * pages. What runs have done to state is not in it. Loading it elsewhere, with another version of Stator or LibTorch or for another kind of
 * CPU, makes the plans anew, which takes a run each, and says so in the log; only this format's own number must be the same.
 *
 * @param module   a module; stays as it is
 * @param path     the file, replaced by rename if it exists
 * @param options  NULL; there are none yet
 * @return NULL, or a status: INVALID_ARGUMENT, IO, UNSUPPORTED (what it holds has no form in a file; the message names it), FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_module_save(const stator_module *module, const char *path,
                                                              const stator_options *options);

/**
 * What the runs of the module have come to, as JSON: `name`, `id`, `runtimes` (alive), `runs` (that succeeded), `failures` (by code),
 * `latency` (`sum_ns`, estimates `p50_ns`, `p90_ns`, `p99_ns`, and `buckets`: pairs of upper bound in ns and count, empty ones left out; two for
 * each doubling), `workspace_bytes`, `arena_bytes`, `weight_bytes`, `plan_cache` (`hits`, `misses`, `builds`, `evictions`; of signature plans).
 * Refused calls count as failures if they reached a runtime.
 *
 * @param module  a module
 * @param out     bytes owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, OUT_OF_MEMORY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_module_metrics(const stator_module *module, stator_bytes **out);

/* --------------------------------------------------------------------------------------------------- method */

/**
 * The name.
 *
 * @param method  NULL gives NULL
 * @return text borrowed from the module
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_method_name(const stator_method *method);

/**
 * How many inputs the method takes, those with defaults included.
 *
 * @param method  NULL gives 0
 * @return the count
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_method_input_count(const stator_method *method);

/**
 * The name of an input.
 *
 * @param method  NULL gives NULL
 * @param index   from 0
 * @return text borrowed from the module, NULL if out of range
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_method_input_name(const stator_method *method, int32_t index);

/**
 * The type of an input, as TorchScript spells it: "Tensor", "int", "Optional[Tensor]", "List[Tensor]".
 *
 * @param method  NULL gives NULL
 * @param index   from 0
 * @return text borrowed from the module, NULL if out of range
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_method_input_type(const stator_method *method, int32_t index);

/**
 * Whether the method writes into the caller's tensor at this input.
 *
 * @param method  NULL gives 0
 * @param index   from 0
 * @return 1 or 0
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_method_input_written(const stator_method *method, int32_t index);

/**
 * How many tensors the result holds, counted depth first.
 *
 * @param method  NULL gives 0
 * @return the count, -1 if it depends on the run (lists, dicts, Optional)
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_method_output_count(const stator_method *method);

/**
 * The method's graph after all passes, as text.
 *
 * @param method  a method
 * @param out     bytes owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_method_graph(const stator_method *method, stator_bytes **out);

/**
 * The method's dynamic plan, as JSON: every node with its operator, source line, the kind of implementation chosen ("bound", "out", "native",
 * "fallback", "control") and why not a better one; buffers with lifetimes and groups; bytes of the workspace and of the outputs seen so far.
 *
 * @param method  a method
 * @param out     bytes owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_method_plan(const stator_method *method, stator_bytes **out);

/* -------------------------------------------------------------------------------------------------- runtime */

/**
 * Makes a runtime: the workspace, the bound inputs and one copy of the module's state. It serves all methods of the module.
 *
 * @param module   kept alive by the runtime
 * @param options  NULL, or keys of stator_runtime_create
 * @param out      a runtime owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, MEMORY_LIMIT, OUT_OF_MEMORY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_create(stator_module *module, const stator_options *options,
                                                                 stator_runtime **out);

/**
 * Makes a runtime with a copy of another's state as it is now; nothing is bound in it.
 *
 * @param runtime  not running
 * @param out      a runtime owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY, OUT_OF_MEMORY, FORKED
 * @threads one per runtime
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_clone(stator_runtime *runtime, stator_runtime **out);

/**
 * Sets the state back to the file's.
 *
 * @param runtime  not running
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY, OUT_OF_MEMORY, FORKED
 * @threads one per runtime
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_reset_state(stator_runtime *runtime);

/**
 * Adds a reference.
 *
 * @param runtime  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_runtime_retain(stator_runtime *runtime);

/**
 * Drops a reference. If a run is under way in another thread, the memory goes when it ends.
 *
 * @param runtime  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_runtime_release(stator_runtime *runtime);

/**
 * Binds memory of the caller's to an input. Each run reads it anew until it is bound again, unbound, or the runtime is released.
 *
 * @param runtime  not running
 * @param method   of the runtime's module
 * @param index    of the input, from 0; its type is Tensor or Optional[Tensor]
 * @param data     borrowed until bound again or unbound; may be NULL if the tensor has no elements; written only by a method that writes this input
 * @param dtype    STATOR_FLOAT32 and its kin
 * @param device   STATOR_CPU
 * @param ndim     number of dimensions, 0 to 64
 * @param shape    `ndim` sizes, copied; may be NULL if `ndim` is 0
 * @param strides  `ndim` strides in elements, copied; NULL means contiguous
 * @return NULL, or a status: INVALID_ARGUMENT, TYPE_MISMATCH, SHAPE_MISMATCH, DTYPE_MISMATCH, UNSUPPORTED, BUSY, FORKED
 * @threads one per runtime
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_bind(stator_runtime *runtime, const stator_method *method,
                                                               int32_t index, void *data, int32_t dtype, int32_t device,
                                                               int32_t ndim, const int64_t *shape,
                                                               const int64_t *strides);

/**
 * Binds a DLPack tensor and takes it over: its deleter is called when it is bound again, unbound or released.
 *
 * @param runtime  not running
 * @param method   of the runtime's module
 * @param index    of the input
 * @param tensor   owned by the runtime after success, by the caller after an error. A read-only one is refused where the method writes.
 * @return as stator_runtime_bind()
 * @threads one per runtime
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_bind_dlpack(stator_runtime *runtime,
                                                                      const stator_method *method, int32_t index,
                                                                      struct DLManagedTensorVersioned *tensor);

/**
 * Binds any value: the way for inputs that are no tensors.
 *
 * @param runtime  not running
 * @param method   of the runtime's module
 * @param index    of the input
 * @param value    retained until bound again, unbound or released
 * @return NULL, or a status: INVALID_ARGUMENT, TYPE_MISMATCH, SHAPE_MISMATCH, DTYPE_MISMATCH, BUSY, FORKED
 * @threads one per runtime
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_bind_value(stator_runtime *runtime,
                                                                     const stator_method *method, int32_t index,
                                                                     const stator_value *value);

/**
 * Binds an input to memory that the runtime owns and gives a window onto it: write there, then run. Nothing is copied.
 *
 * @param runtime  not running
 * @param method   of the runtime's module
 * @param index    of the input
 * @param dtype    STATOR_FLOAT32 and its kin
 * @param ndim     number of dimensions
 * @param shape    `ndim` sizes, copied
 * @param out      contiguous memory, aligned to 64, zeroed; valid until the input is bound again or unbound or the runtime is released
 * @return as stator_runtime_bind(), and OUT_OF_MEMORY
 * @threads one per runtime
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_input(stator_runtime *runtime, const stator_method *method,
                                                                int32_t index, int32_t dtype, int32_t ndim,
                                                                const int64_t *shape, void **out);

/**
 * Binds memory of the caller's to an output: each run writes the tensor there. A run whose result has another dtype or shape fails and names both.
 *
 * @param runtime  not running
 * @param method   of the runtime's module
 * @param index    of the output, counted as stator_arena_output() does
 * @param data     borrowed until bound again or unbound; must not overlap an input
 * @param dtype    STATOR_FLOAT32 and its kin
 * @param device   STATOR_CPU
 * @param ndim     number of dimensions
 * @param shape    `ndim` sizes, copied
 * @param strides  `ndim` strides in elements, copied; NULL means contiguous
 * @return NULL, or a status: INVALID_ARGUMENT, UNSUPPORTED, BUSY, FORKED
 * @threads one per runtime
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_bind_output(stator_runtime *runtime,
                                                                      const stator_method *method, int32_t index,
                                                                      void *data, int32_t dtype, int32_t device,
                                                                      int32_t ndim, const int64_t *shape,
                                                                      const int64_t *strides);

/**
 * Forgets what is bound to the inputs and outputs of a method.
 *
 * @param runtime  not running
 * @param method   of the runtime's module; NULL means all methods
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY, FORKED
 * @threads one per runtime
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_unbind(stator_runtime *runtime, const stator_method *method);

/**
 * Runs `method` once on the inputs bound to it and puts its outputs into `arena`.
 *
 * The outputs are read with stator_arena_output() and stay as they are until the arena is reset, released or filled by another run.
 * After an error the runtime is usable and `arena` is empty; state is as TorchScript's interpreter would leave it.
 *
 * @param runtime  in use by one caller at a time
 * @param method   of the runtime's module
 * @param arena    any arena of the same module; if it holds results they are recycled
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY (runtime or arena in use, or an export of the arena's results alive), INPUT_MISSING,
 *         SHAPE_MISMATCH, DTYPE_MISMATCH, MEMORY_LIMIT, OUT_OF_MEMORY, MODEL_ERROR (raised by the model itself; the message is the model's),
 *         OPERATOR_ERROR (an operator refused its arguments), FORKED
 * @threads one per runtime and per arena
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_run(stator_runtime *runtime, const stator_method *method,
                                                              stator_arena *arena);

/**
 * Runs `method` on values: the general path, for any types. What is bound stays bound and is not read.
 *
 * Values are fitted to the declared types as TorchScript does: any number but a complex one for a float, an int or bool for an int, a tensor
 * of one element for a number, a tuple for a list and the reverse, an empty list or dict for any. The text of its name stands for a member of
 * an enumeration. `torch.dtype`, `layout` and `memory_format` are ints, as in TorchScript. Containers and objects are copied in and out,
 * tensors are not: what the model does to a list of the caller's shows in its result only. Tensors that are sparse, quantized or not on
 * the CPU cannot cross (UNSUPPORTED).
 *
 * @param runtime  in use by one caller at a time
 * @param method   of the runtime's module
 * @param args     a tuple or list of positional arguments, or NULL
 * @param kwargs   a dict with text keys, or NULL
 * @param arena    holds the tensors of the result; as in stator_runtime_run()
 * @param out      the result, owned by the caller; its tensors keep the arena's results alive: release it before the arena is used again
 * @return as stator_runtime_run(), and TYPE_MISMATCH
 * @threads one per runtime and per arena
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_call(stator_runtime *runtime, const stator_method *method,
                                                               const stator_value *args, const stator_value *kwargs,
                                                               stator_arena *arena, stator_value **out);

/**
 * Gives back to the system what the runtime keeps between runs: its workspace and the plans it has made ready. State and bindings stay; the
 * next run takes the memory again.
 *
 * @param runtime  a runtime
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY, FORKED
 * @threads one per runtime
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_trim(stator_runtime *runtime);

/**
 * The bytes of the runtime's workspace.
 *
 * @param runtime  NULL gives 0
 * @return bytes kept between runs for intermediate tensors
 * @threads any
 * @since 0.1
 */
STATOR_API int64_t stator_runtime_workspace_bytes(const stator_runtime *runtime);

/* ---------------------------------------------------------------------------------------------------- arena */

/**
 * Makes an empty arena: the place for the outputs of one run.
 *
 * @param module   kept alive by the arena
 * @param options  NULL; no keys today
 * @param out      an arena owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, OUT_OF_MEMORY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_arena_create(stator_module *module, const stator_options *options,
                                                               stator_arena **out);

/**
 * Adds a reference.
 *
 * @param arena  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_arena_retain(stator_arena *arena);

/**
 * Drops a reference. Exports and values taken from the arena keep the memory until the last of them is gone.
 *
 * @param arena  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_arena_release(stator_arena *arena);

/**
 * Empties the arena and keeps its memory for the next run.
 *
 * @param arena  an arena
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY (running, or results exported), FORKED
 * @threads one per arena
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_arena_reset(stator_arena *arena);

/**
 * Empties the arena and gives its memory back to the system; the next run takes it again.
 *
 * @param arena  an arena
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY (a run is under way, or an export lives; nothing is changed), FORKED
 * @threads one per arena
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_arena_trim(stator_arena *arena);

/**
 * Counts the runs and resets of this arena: a borrowed view is valid while the number stays.
 *
 * @param arena  NULL gives 0
 * @return the generation
 * @threads any
 * @since 0.1
 */
STATOR_API int64_t stator_arena_generation(const stator_arena *arena);

/**
 * The bytes that the arena holds, filled or not.
 *
 * @param arena  NULL gives 0
 * @return bytes
 * @threads any
 * @since 0.1
 */
STATOR_API int64_t stator_arena_bytes(const stator_arena *arena);

/**
 * How many tensors the result holds, counted depth first.
 *
 * @param arena  NULL gives 0
 * @return the count, 0 if empty
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_arena_output_count(const stator_arena *arena);

/**
 * Reads an output tensor. Every out parameter may be NULL.
 *
 * @param arena    filled
 * @param index    from 0
 * @param data     borrowed until the arena is reset, released or filled again; NULL if the tensor has no elements
 * @param dtype    STATOR_FLOAT32 and its kin
 * @param device   STATOR_CPU
 * @param ndim     number of dimensions
 * @param shape    `ndim` sizes, borrowed as `data`
 * @param strides  `ndim` strides in elements, borrowed as `data`
 * @return NULL, or a status: INVALID_ARGUMENT (no such output), BUSY (a run into the arena is under way), FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_arena_output(const stator_arena *arena, int32_t index,
                                                               const void **data, int32_t *dtype, int32_t *device,
                                                               int32_t *ndim, const int64_t **shape,
                                                               const int64_t **strides);

/**
 * The whole result as a value, with its structure. Its tensors keep the arena's results alive: while the value lives the arena is BUSY.
 *
 * @param arena  filled
 * @param out    a value owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT (empty), BUSY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_arena_result(const stator_arena *arena, stator_value **out);

/**
 * Exports an output as DLPack 1.x. While the export lives the arena is BUSY for run and reset; released, the memory stays until the deleter runs.
 *
 * @param arena  filled
 * @param index  from 0
 * @param out    owned by the caller; call its deleter once
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_arena_export(const stator_arena *arena, int32_t index,
                                                               struct DLManagedTensorVersioned **out);

/**
 * Exports an output in DLPack's older form, for consumers that know no other.
 *
 * @param arena  filled
 * @param index  from 0
 * @param out    owned by the caller; call its deleter once
 * @return as stator_arena_export()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_arena_export_legacy(const stator_arena *arena, int32_t index,
                                                                      struct DLManagedTensor **out);

/* ----------------------------------------------------------------------------------------------------- pool */

/**
 * Makes a pool of runtimes. Runtimes are made when first needed, up to `max_runtimes`.
 *
 * @param module   kept alive by the pool
 * @param options  NULL, or keys of stator_pool_create
 * @param out      a pool owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT (also: a stateful module without the option `state`), FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_pool_create(stator_module *module, const stator_options *options,
                                                              stator_pool **out);

/**
 * Adds a reference.
 *
 * @param pool  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_pool_retain(stator_pool *pool);

/**
 * Drops a reference. Runtimes that are lent stay valid until they are returned.
 *
 * @param pool  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_pool_release(stator_pool *pool);

/**
 * Lends a runtime. No lock is taken.
 *
 * @param pool        a pool
 * @param timeout_ns  how long to wait for one: 0 not at all, -1 without end
 * @param out         a runtime; give it back with stator_pool_return(), do not release it
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY (none free and `timeout_ns` is 0), TIMEOUT, OUT_OF_MEMORY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_pool_acquire(stator_pool *pool, int64_t timeout_ns,
                                                               stator_runtime **out);

/**
 * Takes a runtime back. Its inputs and outputs are unbound.
 *
 * @param pool     the pool that lent it
 * @param runtime  not running; not to be used afterwards
 * @return NULL, or a status: INVALID_ARGUMENT (not lent by this pool), BUSY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_pool_return(stator_pool *pool, stator_runtime *runtime);

/**
 * Acquires a runtime, calls a method as stator_runtime_call() does, and returns the runtime.
 *
 * @param pool        a pool
 * @param timeout_ns  as in stator_pool_acquire()
 * @param method      of the pool's module
 * @param args        a tuple or list of positional arguments, or NULL
 * @param kwargs      a dict with text keys, or NULL
 * @param arena       holds the tensors of the result
 * @param out         the result, owned by the caller
 * @return as stator_pool_acquire() and stator_runtime_call()
 * @threads any (one per arena)
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_pool_call(stator_pool *pool, int64_t timeout_ns,
                                                            const stator_method *method, const stator_value *args,
                                                            const stator_value *kwargs, stator_arena *arena,
                                                            stator_value **out);

/**
 * What the runs in the pool's runtimes have come to, as JSON: as stator_module_metrics(), without `arena_bytes`, `weight_bytes` and
 * `plan_cache`'s `evictions`, which are the module's; and `limit` (`max_runtimes`), `lent` (now), `refused` (calls that got no runtime in time).
 *
 * @param pool  a pool
 * @param out   bytes owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, OUT_OF_MEMORY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_pool_metrics(const stator_pool *pool, stator_bytes **out);

/**
 * stator_runtime_trim() for every runtime that is not lent. While it works a call may find none free.
 *
 * @param pool  a pool
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_pool_trim(stator_pool *pool);

/**
 * How many runtimes the pool has made.
 *
 * @param pool  NULL gives 0
 * @return the count, at most `max_runtimes`
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_pool_runtime_count(const stator_pool *pool);

/* -------------------------------------------------------------------------------- asynchronous runs: futures */

/**
 * Runs `method` on what is bound, as stator_runtime_run() does, in another thread: one of the process's own, or the launcher's.
 *
 * Arguments are checked before the call returns. Until the future is done the runtime is BUSY for everyone else, and the run keeps the runtime,
 * the arena and the queue alive: all of them may be released at any time. What the caller has bound must stay. A process should not exit
 * while runs are under way.
 *
 * @param runtime  as in stator_runtime_run()
 * @param method   of the runtime's module
 * @param arena    as in stator_runtime_run(); not to be used by another run meanwhile
 * @param queue    gets the future when it is done; NULL means none
 * @param tag      any number, for stator_future_tag()
 * @param out      a future owned by the caller; its result is that of stator_arena_result()
 * @return NULL, or a status: INVALID_ARGUMENT, BUSY (the runtime), INPUT_MISSING, OUT_OF_MEMORY (no thread), FORKED. Errors of the run itself
 *         come out of stator_future_result().
 * @threads one per runtime and per arena
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_run_async(stator_runtime *runtime,
                                                                    const stator_method *method, stator_arena *arena,
                                                                    stator_queue *queue, int64_t tag,
                                                                    stator_future **out);

/**
 * Runs `method` on values, as stator_runtime_call() does, in another thread; all else as in stator_runtime_run_async().
 *
 * @code
 *   stator_future *future = NULL; stator_value *result = NULL;
 *   stator_runtime_call_async(runtime, forward, args, NULL, arena, NULL, 0, &future);
 *   stator_future_wait(future, -1);
 *   stator_future_result(future, &result);
 * @endcode
 *
 * @param runtime  as in stator_runtime_call()
 * @param method   of the runtime's module
 * @param args     a tuple or list of positional arguments, or NULL
 * @param kwargs   a dict with text keys, or NULL
 * @param arena    holds the tensors of the result; not to be used by another run meanwhile
 * @param queue    gets the future when it is done; NULL means none
 * @param tag      any number, for stator_future_tag()
 * @param out      a future owned by the caller
 * @return as stator_runtime_run_async(), and TYPE_MISMATCH, SHAPE_MISMATCH, DTYPE_MISMATCH
 * @threads one per runtime and per arena
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_runtime_call_async(
    stator_runtime *runtime, const stator_method *method, const stator_value *args, const stator_value *kwargs,
    stator_arena *arena, stator_queue *queue, int64_t tag, stator_future **out);

/**
 * Adds a reference.
 *
 * @param future  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_future_retain(stator_future *future);

/**
 * Drops a reference. The run goes on: use stator_future_cancel() if it need not.
 *
 * @param future  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_future_release(stator_future *future);

/**
 * Waits until the run has ended, one way or another.
 *
 * @param future      a future
 * @param timeout_ns  how long to wait; 0 does not wait, -1 waits without end
 * @return NULL, or a status: INVALID_ARGUMENT, TIMEOUT, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_future_wait(stator_future *future, int64_t timeout_ns);

/**
 * Whether the run has ended. The runtime is then free again.
 *
 * @param future  NULL gives 0
 * @return 1 or 0
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_future_done(const stator_future *future);

/**
 * What the run came to.
 *
 * @param future  done
 * @param out     the result, owned by the caller; its tensors keep the arena's results alive, as the future itself does: release both before
 *                the arena is used again
 * @return NULL, or the run's own status, each time anew: as stator_runtime_run(), CANCELLED; or BUSY if the run has not ended, INVALID_ARGUMENT,
 *         FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_future_result(const stator_future *future, stator_value **out);

/**
 * Cancels a run that has not begun: the future is done, with CANCELLED, and the runtime is free. A run that has begun goes on.
 *
 * @param future  NULL gives 0
 * @return 1 if this call cancelled the run, else 0
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_future_cancel(stator_future *future);

/**
 * The number given when the run was asked for.
 *
 * @param future  NULL gives 0
 * @return the tag
 * @threads any
 * @since 0.1
 */
STATOR_API int64_t stator_future_tag(const stator_future *future);

/**
 * Makes a queue, into which futures go when they are done: the way to learn of many runs in one thread or event loop.
 *
 * @param out  a queue owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, OUT_OF_MEMORY (no file descriptor), TORCH_NOT_FOUND, TORCH_VERSION, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_queue_create(stator_queue **out);

/**
 * Adds a reference.
 *
 * @param queue  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_queue_retain(stator_queue *queue);

/**
 * Drops a reference. With the last one go the futures in it; runs under way keep theirs.
 *
 * @param queue  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_queue_release(stator_queue *queue);

/**
 * Takes the future that was done first. With several callers, each goes to one of them.
 *
 * @param queue       a queue
 * @param timeout_ns  how long to wait for one; 0 does not wait, -1 waits without end
 * @param out         a future owned by the caller, who may have another reference to it
 * @return NULL, or a status: INVALID_ARGUMENT, TIMEOUT (none came in time), FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_queue_next(stator_queue *queue, int64_t timeout_ns,
                                                             stator_future **out);

/**
 * A file descriptor that is readable (poll, epoll, asyncio) while a future is in the queue. Neither read from it nor close it.
 *
 * @param queue  NULL gives -1
 * @return a descriptor that is valid while the queue lives
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_queue_fd(const stator_queue *queue);

/* --------------------------------------------------------------------------------------------------- values */

/**
 * Makes None.
 *
 * @param out  a value owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED, TORCH_NOT_FOUND, TORCH_VERSION
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_none(stator_value **out);

/**
 * Makes a bool.
 *
 * @param value  0 is False, anything else True
 * @param out    a value owned by the caller
 * @return as stator_value_create_none()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_bool(int32_t value, stator_value **out);

/**
 * Makes an int.
 *
 * @param value  the number
 * @param out    a value owned by the caller
 * @return as stator_value_create_none()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_int(int64_t value, stator_value **out);

/**
 * Makes a float.
 *
 * @param value  the number
 * @param out    a value owned by the caller
 * @return as stator_value_create_none()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_float(double value, stator_value **out);

/**
 * Makes a complex number.
 *
 * @param real  its real part
 * @param imag  its imaginary part
 * @param out   a value owned by the caller
 * @return as stator_value_create_none()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_complex(double real, double imag, stator_value **out);

/**
 * Makes a text.
 *
 * @param data  UTF-8, copied; may hold NUL
 * @param size  bytes
 * @param out   a value owned by the caller
 * @return as stator_value_create_none()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_str(const char *data, int64_t size, stator_value **out);

/**
 * Makes a device, as in "cpu".
 *
 * @param name  as PyTorch spells it
 * @param out   a value owned by the caller
 * @return as stator_value_create_none()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_device(const char *name, stator_value **out);

/**
 * Makes a tensor with a copy of the caller's elements.
 *
 * @param data     borrowed for the call; may be NULL if the tensor has no elements
 * @param dtype    STATOR_FLOAT32 and its kin
 * @param device   STATOR_CPU
 * @param ndim     number of dimensions
 * @param shape    `ndim` sizes
 * @param strides  `ndim` strides in elements; NULL means contiguous. The copy has the same strides.
 * @param out      a value owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_tensor(const void *data, int32_t dtype, int32_t device,
                                                                      int32_t ndim, const int64_t *shape,
                                                                      const int64_t *strides, stator_value **out);

/**
 * Makes a tensor over the caller's memory, without a copy.
 *
 * @param data     borrowed until `release` is called
 * @param dtype    STATOR_FLOAT32 and its kin
 * @param device   STATOR_CPU
 * @param ndim     number of dimensions
 * @param shape    `ndim` sizes, copied
 * @param strides  `ndim` strides in elements, copied; NULL means contiguous
 * @param release  called once the last use of `data` has ended (not when this call fails); NULL if the caller sees to that by other means
 * @param context  passed to `release`
 * @param out      a value owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, UNSUPPORTED, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_tensor_shared(void *data, int32_t dtype, int32_t device,
                                                                             int32_t ndim, const int64_t *shape,
                                                                             const int64_t *strides,
                                                                             stator_release_fn release, void *context,
                                                                             stator_value **out);

/**
 * Makes a tensor from DLPack and takes it over, without a copy.
 *
 * @param tensor  owned by the value after success, by the caller after an error
 * @param out     a value owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, UNSUPPORTED, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_from_dlpack(struct DLManagedTensorVersioned *tensor,
                                                                    stator_value **out);

/**
 * The same for DLPack's older form.
 *
 * @param tensor  owned by the value after success, by the caller after an error
 * @param out     a value owned by the caller
 * @return as stator_value_from_dlpack()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_from_dlpack_legacy(struct DLManagedTensor *tensor,
                                                                           stator_value **out);

/**
 * Makes a list.
 *
 * @param items  `count` values, retained
 * @param count  how many
 * @param out    a value owned by the caller
 * @return as stator_value_create_none()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_list(const stator_value *const *items, int64_t count,
                                                                    stator_value **out);

/**
 * Makes a tuple.
 *
 * @param items  `count` values, retained
 * @param count  how many
 * @param names  `count` field names, or NULL
 * @param out    a value owned by the caller
 * @return as stator_value_create_none()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_tuple(const stator_value *const *items, int64_t count,
                                                                     const char *const *names, stator_value **out);

/**
 * Makes a dict, which keeps the order given.
 *
 * @param keys   `count` values: bool, int, float, complex, str or tensor
 * @param items  `count` values, retained
 * @param count  how many
 * @param out    a value owned by the caller
 * @return as stator_value_create_none()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_create_dict(const stator_value *const *keys,
                                                                    const stator_value *const *items, int64_t count,
                                                                    stator_value **out);

/**
 * Adds a reference. Values never change.
 *
 * @param value  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_value_retain(stator_value *value);

/**
 * Drops a reference.
 *
 * @param value  NULL does nothing
 * @threads any
 * @since 0.1
 */
STATOR_API void stator_value_release(stator_value *value);

/**
 * The kind of a value.
 *
 * @param value  NULL gives STATOR_KIND_NONE
 * @return STATOR_KIND_*
 * @threads any
 * @since 0.1
 */
STATOR_API int32_t stator_value_kind(const stator_value *value);

/**
 * The number of items of a list, tuple or dict, of bytes of a str, of elements of a tensor.
 *
 * @param value  any
 * @return the number, 0 for other kinds
 * @threads any
 * @since 0.1
 */
STATOR_API int64_t stator_value_size(const stator_value *value);

/**
 * An item of a list or tuple, or the item of a dict's pair.
 *
 * @param value  a list, tuple or dict
 * @param index  from 0
 * @param out    a value owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_item(const stator_value *value, int64_t index,
                                                             stator_value **out);

/**
 * The key of a dict's pair.
 *
 * @param value  a dict
 * @param index  from 0
 * @param out    a value owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_key(const stator_value *value, int64_t index,
                                                            stator_value **out);

/**
 * The name of a named tuple's field.
 *
 * @param value  any
 * @param index  from 0
 * @return text borrowed from the value, NULL if it has no names or the index is out of range
 * @threads any
 * @since 0.1
 */
STATOR_API const char *stator_value_field(const stator_value *value, int64_t index);

/**
 * Reads a bool.
 *
 * @param value  a bool
 * @param out    0 or 1
 * @return NULL, or a status: INVALID_ARGUMENT (another kind), FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_as_bool(const stator_value *value, int32_t *out);

/**
 * Reads an int.
 *
 * @param value  an int
 * @param out    the number
 * @return as stator_value_as_bool()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_as_int(const stator_value *value, int64_t *out);

/**
 * Reads a float.
 *
 * @param value  a float
 * @param out    the number
 * @return as stator_value_as_bool()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_as_float(const stator_value *value, double *out);

/**
 * Reads a complex number.
 *
 * @param value  a complex number
 * @param real   its real part
 * @param imag   its imaginary part
 * @return as stator_value_as_bool()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_as_complex(const stator_value *value, double *real,
                                                                   double *imag);

/**
 * Reads a str or a device.
 *
 * @param value  a str or device
 * @param data   UTF-8 borrowed from the value; ends in a NUL that `size` does not count, and may hold others
 * @param size   bytes
 * @return as stator_value_as_bool()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_as_str(const stator_value *value, const char **data,
                                                               int64_t *size);

/**
 * Reads a tensor. Every out parameter may be NULL.
 *
 * @param value    a tensor
 * @param data     borrowed from the value; NULL if the tensor has no elements
 * @param dtype    STATOR_FLOAT32 and its kin
 * @param device   STATOR_CPU
 * @param ndim     number of dimensions
 * @param shape    `ndim` sizes, borrowed from the value
 * @param strides  `ndim` strides in elements, borrowed from the value
 * @return as stator_value_as_bool()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_as_tensor(const stator_value *value, const void **data,
                                                                  int32_t *dtype, int32_t *device, int32_t *ndim,
                                                                  const int64_t **shape, const int64_t **strides);

/**
 * Exports a tensor value as DLPack 1.x; the export keeps the memory alive.
 *
 * @param value  a tensor
 * @param out    owned by the caller; call its deleter once
 * @return NULL, or a status: INVALID_ARGUMENT, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_export(const stator_value *value,
                                                               struct DLManagedTensorVersioned **out);

/**
 * Exports a tensor value in DLPack's older form.
 *
 * @param value  a tensor
 * @param out    owned by the caller; call its deleter once
 * @return as stator_value_export()
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_export_legacy(const stator_value *value,
                                                                      struct DLManagedTensor **out);

/**
 * Reads a value from a file: what `torch.save` wrote of tensors, numbers, texts, lists, tuples and dicts; or `.npz` (a dict in the file's order).
 *
 * @param path  the file
 * @param out   a value owned by the caller
 * @return NULL, or a status: INVALID_ARGUMENT, NOT_FOUND, IO, BAD_MODEL (damaged), UNSUPPORTED (what it holds), FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_read(const char *path, stator_value **out);

/**
 * Writes a value to a file: `.npz` if the name ends so (a tensor, or a list, tuple or dict of tensors), else what `torch.load` reads.
 *
 * @param value  any but an object
 * @param path   the file, replaced if it exists
 * @return NULL, or a status: INVALID_ARGUMENT, IO, UNSUPPORTED, FORKED
 * @threads any
 * @since 0.1
 */
STATOR_API STATOR_NODISCARD stator_status *stator_value_write(const stator_value *value, const char *path);

#ifdef __cplusplus
}
#endif

#endif /* STATOR_STATOR_H */

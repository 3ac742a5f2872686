// Package c is the only place that knows the C ABI: every function here is one call of libstator.
//
// Nothing is checked and nothing is kept here. Handles are plain pointers, a nil *Status means success.
//
// There is no #cgo noescape: Go 1.26's cgo heeds it only together with nocallback, which would end the process when a log
// callback written in Go runs. What must not allocate passes memory that is on the heap already, or gets a struct by value.
package c

/*
#cgo pkg-config: stator
#include <stdlib.h>
#include <stator/stator.h>
#include <stator/stator_experimental.h>

#if STATOR_ABI_MAJOR != 0
#error "this Go binding is for major 0 of Stator's ABI; stator.h has another one: use the binding of the same release"
#endif
#if STATOR_ABI_MINOR < 1
#error "this Go binding needs minor 1 of Stator's ABI; stator.h is older: use the binding of the same release"
#endif

// Out parameters in Go memory would be heap allocations; a struct by value is none.
typedef struct {
  stator_status *status;
  const void *data;
  const int64_t *shape, *strides;
  int32_t dtype, device, ndim;
} tensor_view;

static tensor_view arena_output(const stator_arena *arena, int32_t index) {
  tensor_view v = {0};
  v.status = stator_arena_output(arena, index, &v.data, &v.dtype, &v.device, &v.ndim, &v.shape, &v.strides);
  return v;
}

static tensor_view value_as_tensor(const stator_value *value) {
  tensor_view v = {0};
  v.status = stator_value_as_tensor(value, &v.data, &v.dtype, &v.device, &v.ndim, &v.shape, &v.strides);
  return v;
}
*/
import "C"

import "unsafe"

// The handles of the ABI. They point to C memory; Go's collector does not see them.
type (
	Status  = C.stator_status
	Options = C.stator_options
	Module  = C.stator_module
	Method  = C.stator_method
	Runtime = C.stator_runtime
	Arena   = C.stator_arena
	Pool    = C.stator_pool
	Value   = C.stator_value
	Future  = C.stator_future
	Queue   = C.stator_queue
)

// The version of the interface in the header that this package was compiled with.
const (
	ABIMajor = C.STATOR_ABI_MAJOR
	ABIMinor = C.STATOR_ABI_MINOR
)

// Status codes.
const (
	InvalidArgument = C.STATOR_INVALID_ARGUMENT
	NotFound        = C.STATOR_NOT_FOUND
	Busy            = C.STATOR_BUSY
	Timeout         = C.STATOR_TIMEOUT
	Forked          = C.STATOR_FORKED
	InputMissing    = C.STATOR_INPUT_MISSING
	ShapeMismatch   = C.STATOR_SHAPE_MISMATCH
	DTypeMismatch   = C.STATOR_DTYPE_MISMATCH
	TypeMismatch    = C.STATOR_TYPE_MISMATCH
	Cancelled       = C.STATOR_CANCELLED
	IO              = C.STATOR_IO
	BadModel        = C.STATOR_BAD_MODEL
	Unsupported     = C.STATOR_UNSUPPORTED
	TorchNotFound   = C.STATOR_TORCH_NOT_FOUND
	TorchVersion    = C.STATOR_TORCH_VERSION
	ModelError      = C.STATOR_MODEL_ERROR
	OperatorError   = C.STATOR_OPERATOR_ERROR
	MemoryLimit     = C.STATOR_MEMORY_LIMIT
	OutOfMemory     = C.STATOR_OUT_OF_MEMORY
	Internal        = C.STATOR_INTERNAL
)

// Kinds of handle, for LiveHandles.
const (
	HandleStatus  = C.STATOR_HANDLE_STATUS
	HandleBytes   = C.STATOR_HANDLE_BYTES
	HandleOptions = C.STATOR_HANDLE_OPTIONS
	HandleModule  = C.STATOR_HANDLE_MODULE
	HandleRuntime = C.STATOR_HANDLE_RUNTIME
	HandleArena   = C.STATOR_HANDLE_ARENA
	HandlePool    = C.STATOR_HANDLE_POOL
	HandleValue   = C.STATOR_HANDLE_VALUE
	HandleExport  = C.STATOR_HANDLE_EXPORT
	HandleFuture  = C.STATOR_HANDLE_FUTURE
	HandleQueue   = C.STATOR_HANDLE_QUEUE
)

// Log levels.
const (
	LogDebug   = C.STATOR_LOG_DEBUG
	LogInfo    = C.STATOR_LOG_INFO
	LogWarning = C.STATOR_LOG_WARNING
	LogError   = C.STATOR_LOG_ERROR
)

// Element types.
const (
	Int8          = C.STATOR_INT8
	Int16         = C.STATOR_INT16
	Int32         = C.STATOR_INT32
	Int64         = C.STATOR_INT64
	UInt8         = C.STATOR_UINT8
	UInt16        = C.STATOR_UINT16
	UInt32        = C.STATOR_UINT32
	UInt64        = C.STATOR_UINT64
	Float16       = C.STATOR_FLOAT16
	Float32       = C.STATOR_FLOAT32
	Float64       = C.STATOR_FLOAT64
	BFloat16      = C.STATOR_BFLOAT16
	Complex32     = C.STATOR_COMPLEX32
	Complex64     = C.STATOR_COMPLEX64
	Complex128    = C.STATOR_COMPLEX128
	Bool          = C.STATOR_BOOL
	Float8E4M3FN  = C.STATOR_FLOAT8_E4M3FN
	Float8E4M3UZ  = C.STATOR_FLOAT8_E4M3FNUZ
	Float8E5M2    = C.STATOR_FLOAT8_E5M2
	Float8E5M2UZ  = C.STATOR_FLOAT8_E5M2FNUZ
	Float8E8M0FNU = C.STATOR_FLOAT8_E8M0FNU
)

// Kinds of value.
const (
	KindNone    = C.STATOR_KIND_NONE
	KindBool    = C.STATOR_KIND_BOOL
	KindInt     = C.STATOR_KIND_INT
	KindFloat   = C.STATOR_KIND_FLOAT
	KindComplex = C.STATOR_KIND_COMPLEX
	KindStr     = C.STATOR_KIND_STR
	KindTensor  = C.STATOR_KIND_TENSOR
	KindList    = C.STATOR_KIND_LIST
	KindTuple   = C.STATOR_KIND_TUPLE
	KindDict    = C.STATOR_KIND_DICT
	KindDevice  = C.STATOR_KIND_DEVICE
	KindObject  = C.STATOR_KIND_OBJECT
)

// View is a tensor in native memory, borrowed from the arena or value that it was read from.
type View struct {
	Data           unsafe.Pointer
	DType          int32
	Shape, Strides []int64
}

func view(v C.tensor_view) (View, *Status) {
	if v.status != nil {
		return View{}, v.status
	}
	return View{v.data, int32(v.dtype), sizes(v.shape, v.ndim), sizes(v.strides, v.ndim)}, nil
}

func sizes(p *C.int64_t, n C.int32_t) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(p)), int(n))
}

// text makes a C string in Go memory: it needs no free.
func text(s string) *C.char {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return (*C.char)(unsafe.Pointer(&b[0]))
}

func numbers(s []int64) *C.int64_t { return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(s))) }

func takeBytes(bytes *C.stator_bytes, status *Status) (string, *Status) {
	if status != nil {
		return "", status
	}
	defer C.stator_bytes_release(bytes)
	return string(unsafe.Slice((*byte)(C.stator_bytes_data(bytes)), int(C.stator_bytes_size(bytes)))), nil
}

// Library ----------------------------------------------------------------------------------------------------------

func ABIVersion() int32 { return int32(C.stator_abi_version()) }

func TorchLoad(path string) *Status { return C.stator_torch_load(text(path)) }

func BuildInfo() (string, *Status) {
	var out *C.stator_bytes
	status := C.stator_build_info(&out)
	return takeBytes(out, status)
}

func LiveHandles(kind int32) int64 { return int64(C.stator_live_handles(C.int32_t(kind))) }

// DTypeName is "" for an unknown type.
func DTypeName(dtype int32) string { return C.GoString(C.stator_dtype_name(C.int32_t(dtype))) }

func LogCollect(level int32, capacity int64) *Status {
	return C.stator_log_collect(C.int32_t(level), C.int64_t(capacity))
}

// LogNext says false where there is no record and none will come.
func LogNext(timeout int64) (level int32, message string, ok bool, status *Status) {
	var number C.int32_t
	var out *C.stator_bytes
	status = C.stator_log_next(C.int64_t(timeout), &number, &out)
	ok = status == nil && out != nil
	if ok {
		message, status = takeBytes(out, nil)
	}
	return int32(number), message, ok, status
}

func MetricsPrometheus() (string, *Status) {
	var out *C.stator_bytes
	status := C.stator_metrics_prometheus(&out)
	return takeBytes(out, status)
}

// Status -----------------------------------------------------------------------------------------------------------

func StatusCode(s *Status) int32      { return int32(C.stator_status_code(s)) }
func StatusMessage(s *Status) string  { return C.GoString(C.stator_status_message(s)) }
func StatusOperator(s *Status) string { return C.GoString(C.stator_status_operator(s)) }
func StatusNode(s *Status) string     { return C.GoString(C.stator_status_node(s)) }
func StatusSource(s *Status) string   { return C.GoString(C.stator_status_source(s)) }
func StatusArgument(s *Status) string { return C.GoString(C.stator_status_argument(s)) }
func StatusException(s *Status) string {
	return C.GoString(C.stator_status_exception(s))
}
func StatusName(code int32) string { return C.GoString(C.stator_status_name(C.int32_t(code))) }
func StatusRelease(s *Status)      { C.stator_status_release(s) }

// Options ----------------------------------------------------------------------------------------------------------

func OptionsCreate() (*Options, *Status) {
	var out *Options
	status := C.stator_options_create(&out)
	return out, status
}

func OptionsSetInt(o *Options, key string, value int64) *Status {
	return C.stator_options_set_int(o, text(key), C.int64_t(value))
}

func OptionsSetDouble(o *Options, key string, value float64) *Status {
	return C.stator_options_set_double(o, text(key), C.double(value))
}

func OptionsSetStr(o *Options, key, value string) *Status {
	return C.stator_options_set_str(o, text(key), text(value))
}

func OptionsRelease(o *Options) { C.stator_options_release(o) }

// Module -----------------------------------------------------------------------------------------------------------

func ModuleLoad(path string, o *Options) (*Module, *Status) {
	var out *Module
	status := C.stator_module_load(text(path), o, &out)
	return out, status
}

func ModuleLoadBytes(data []byte, o *Options) (*Module, *Status) {
	var out *Module
	status := C.stator_module_load_bytes(unsafe.Pointer(unsafe.SliceData(data)), C.int64_t(len(data)), o, &out)
	return out, status
}

func ModuleRelease(m *Module)           { C.stator_module_release(m) }
func ModuleMethodCount(m *Module) int32 { return int32(C.stator_module_method_count(m)) }

func ModuleGetMethod(m *Module, index int32) *Method {
	return C.stator_module_get_method(m, C.int32_t(index))
}

func ModuleFindMethod(m *Module, name string) (*Method, *Status) {
	var out *Method
	status := C.stator_module_find_method(m, text(name), &out)
	return out, status
}

func ModuleWarmUp(m *Module, method *Method, signature string, o *Options) *Status {
	return C.stator_module_warm_up(m, method, text(signature), o)
}

func ModuleSave(m *Module, path string) *Status {
	return C.stator_module_save(m, text(path), nil)
}

func ModuleTrim(m *Module) *Status { return C.stator_module_trim(m) }

func ModuleDescribe(m *Module) (string, *Status) {
	var out *C.stator_bytes
	status := C.stator_module_describe(m, &out)
	return takeBytes(out, status)
}

func ModuleMetrics(m *Module) (string, *Status) {
	var out *C.stator_bytes
	status := C.stator_module_metrics(m, &out)
	return takeBytes(out, status)
}

// Method -----------------------------------------------------------------------------------------------------------

func MethodName(m *Method) string       { return C.GoString(C.stator_method_name(m)) }
func MethodInputCount(m *Method) int32  { return int32(C.stator_method_input_count(m)) }
func MethodOutputCount(m *Method) int32 { return int32(C.stator_method_output_count(m)) }

func MethodInputName(m *Method, index int32) string {
	return C.GoString(C.stator_method_input_name(m, C.int32_t(index)))
}

func MethodInputType(m *Method, index int32) string {
	return C.GoString(C.stator_method_input_type(m, C.int32_t(index)))
}

func MethodInputWritten(m *Method, index int32) bool {
	return C.stator_method_input_written(m, C.int32_t(index)) != 0
}

func MethodGraph(m *Method) (string, *Status) {
	var out *C.stator_bytes
	status := C.stator_method_graph(m, &out)
	return takeBytes(out, status)
}

func MethodPlan(m *Method) (string, *Status) {
	var out *C.stator_bytes
	status := C.stator_method_plan(m, &out)
	return takeBytes(out, status)
}

func MethodPlanSVG(m *Method) (string, *Status) {
	var out *C.stator_bytes
	status := C.stator_method_plan_svg(m, &out)
	return takeBytes(out, status)
}

// Profile ----------------------------------------------------------------------------------------------------------

func ProfileStart(r *Runtime, events int64) *Status {
	return C.stator_profile_start(r, C.int64_t(events))
}

func ProfileStop(r *Runtime) *Status { return C.stator_profile_stop(r) }

func ProfileText(r *Runtime) (string, *Status) {
	var out *C.stator_bytes
	status := C.stator_profile_text(r, &out)
	return takeBytes(out, status)
}

func ProfileJSON(r *Runtime) (string, *Status) {
	var out *C.stator_bytes
	status := C.stator_profile_json(r, &out)
	return takeBytes(out, status)
}

func ProfileTrace(r *Runtime) (string, *Status) {
	var out *C.stator_bytes
	status := C.stator_profile_trace(r, &out)
	return takeBytes(out, status)
}

// Runtime ----------------------------------------------------------------------------------------------------------

func RuntimeCreate(m *Module, o *Options) (*Runtime, *Status) {
	var out *Runtime
	status := C.stator_runtime_create(m, o, &out)
	return out, status
}

func RuntimeClone(r *Runtime) (*Runtime, *Status) {
	var out *Runtime
	status := C.stator_runtime_clone(r, &out)
	return out, status
}

func RuntimeResetState(r *Runtime) *Status        { return C.stator_runtime_reset_state(r) }
func RuntimeTrim(r *Runtime) *Status              { return C.stator_runtime_trim(r) }
func RuntimeRelease(r *Runtime)                   { C.stator_runtime_release(r) }
func RuntimeWorkspaceBytes(r *Runtime) int64      { return int64(C.stator_runtime_workspace_bytes(r)) }
func RuntimeUnbind(r *Runtime, m *Method) *Status { return C.stator_runtime_unbind(r, m) }

// RuntimeBind takes nil strides for contiguous data. What shape and strides point to must be on the heap if this is not to allocate.
func RuntimeBind(r *Runtime, m *Method, index int32, data unsafe.Pointer, dtype int32, shape, strides []int64) *Status {
	return C.stator_runtime_bind(r, m, C.int32_t(index), data, C.int32_t(dtype), C.STATOR_CPU, C.int32_t(len(shape)), numbers(shape), numbers(strides))
}

// RuntimeBindOutput is as RuntimeBind.
func RuntimeBindOutput(r *Runtime, m *Method, index int32, data unsafe.Pointer, dtype int32, shape, strides []int64) *Status {
	return C.stator_runtime_bind_output(r, m, C.int32_t(index), data, C.int32_t(dtype), C.STATOR_CPU, C.int32_t(len(shape)), numbers(shape), numbers(strides))
}

func RuntimeBindValue(r *Runtime, m *Method, index int32, v *Value) *Status {
	return C.stator_runtime_bind_value(r, m, C.int32_t(index), v)
}

func RuntimeInput(r *Runtime, m *Method, index, dtype int32, shape []int64) (unsafe.Pointer, *Status) {
	var out unsafe.Pointer
	status := C.stator_runtime_input(r, m, C.int32_t(index), C.int32_t(dtype), C.int32_t(len(shape)), numbers(shape), &out)
	return out, status
}

func RuntimeRun(r *Runtime, m *Method, a *Arena) *Status { return C.stator_runtime_run(r, m, a) }

func RuntimeCall(r *Runtime, m *Method, args, kwargs *Value, a *Arena) (*Value, *Status) {
	var out *Value
	status := C.stator_runtime_call(r, m, args, kwargs, a, &out)
	return out, status
}

func RuntimeRunAsync(r *Runtime, m *Method, a *Arena, q *Queue, tag int64) (*Future, *Status) {
	var out *Future
	status := C.stator_runtime_run_async(r, m, a, q, C.int64_t(tag), &out)
	return out, status
}

func RuntimeCallAsync(r *Runtime, m *Method, args, kwargs *Value, a *Arena, q *Queue, tag int64) (*Future, *Status) {
	var out *Future
	status := C.stator_runtime_call_async(r, m, args, kwargs, a, q, C.int64_t(tag), &out)
	return out, status
}

// Future and queue -------------------------------------------------------------------------------------------------

func FutureRetain(f *Future)  { C.stator_future_retain(f) }
func FutureRelease(f *Future) { C.stator_future_release(f) }

func FutureWait(f *Future, timeoutNS int64) *Status {
	return C.stator_future_wait(f, C.int64_t(timeoutNS))
}
func FutureDone(f *Future) bool   { return C.stator_future_done(f) != 0 }
func FutureCancel(f *Future) bool { return C.stator_future_cancel(f) != 0 }
func FutureTag(f *Future) int64   { return int64(C.stator_future_tag(f)) }

func FutureResult(f *Future) (*Value, *Status) {
	var out *Value
	status := C.stator_future_result(f, &out)
	return out, status
}

func QueueCreate() (*Queue, *Status) {
	var out *Queue
	status := C.stator_queue_create(&out)
	return out, status
}

func QueueRetain(q *Queue)  { C.stator_queue_retain(q) }
func QueueRelease(q *Queue) { C.stator_queue_release(q) }
func QueueFD(q *Queue) int  { return int(C.stator_queue_fd(q)) }

func QueueNext(q *Queue, timeoutNS int64) (*Future, *Status) {
	var out *Future
	status := C.stator_queue_next(q, C.int64_t(timeoutNS), &out)
	return out, status
}

// Arena ------------------------------------------------------------------------------------------------------------

func ArenaCreate(m *Module) (*Arena, *Status) {
	var out *Arena
	status := C.stator_arena_create(m, nil, &out)
	return out, status
}

func ArenaRelease(a *Arena)           { C.stator_arena_release(a) }
func ArenaReset(a *Arena) *Status     { return C.stator_arena_reset(a) }
func ArenaTrim(a *Arena) *Status      { return C.stator_arena_trim(a) }
func ArenaGeneration(a *Arena) int64  { return int64(C.stator_arena_generation(a)) }
func ArenaBytes(a *Arena) int64       { return int64(C.stator_arena_bytes(a)) }
func ArenaOutputCount(a *Arena) int32 { return int32(C.stator_arena_output_count(a)) }

func ArenaOutput(a *Arena, index int32) (View, *Status) {
	return view(C.arena_output(a, C.int32_t(index)))
}

func ArenaResult(a *Arena) (*Value, *Status) {
	var out *Value
	status := C.stator_arena_result(a, &out)
	return out, status
}

// Pool -------------------------------------------------------------------------------------------------------------

func PoolCreate(m *Module, o *Options) (*Pool, *Status) {
	var out *Pool
	status := C.stator_pool_create(m, o, &out)
	return out, status
}

func PoolRelease(p *Pool)            { C.stator_pool_release(p) }
func PoolTrim(p *Pool) *Status       { return C.stator_pool_trim(p) }
func PoolRuntimeCount(p *Pool) int32 { return int32(C.stator_pool_runtime_count(p)) }

func PoolAcquire(p *Pool, timeoutNS int64) (*Runtime, *Status) {
	var out *Runtime
	status := C.stator_pool_acquire(p, C.int64_t(timeoutNS), &out)
	return out, status
}

func PoolReturn(p *Pool, r *Runtime) *Status { return C.stator_pool_return(p, r) }

func PoolCall(p *Pool, timeoutNS int64, m *Method, args, kwargs *Value, a *Arena) (*Value, *Status) {
	var out *Value
	status := C.stator_pool_call(p, C.int64_t(timeoutNS), m, args, kwargs, a, &out)
	return out, status
}

// Values -----------------------------------------------------------------------------------------------------------

func ValueNone() (*Value, *Status) {
	var out *Value
	status := C.stator_value_create_none(&out)
	return out, status
}

func ValueBool(v bool) (*Value, *Status) {
	var out *Value
	var number C.int32_t
	if v {
		number = 1
	}
	status := C.stator_value_create_bool(number, &out)
	return out, status
}

func ValueInt(v int64) (*Value, *Status) {
	var out *Value
	status := C.stator_value_create_int(C.int64_t(v), &out)
	return out, status
}

func ValueFloat(v float64) (*Value, *Status) {
	var out *Value
	status := C.stator_value_create_float(C.double(v), &out)
	return out, status
}

func ValueComplex(v complex128) (*Value, *Status) {
	var out *Value
	status := C.stator_value_create_complex(C.double(real(v)), C.double(imag(v)), &out)
	return out, status
}

func ValueStr(v string) (*Value, *Status) {
	var out *Value
	status := C.stator_value_create_str(text(v), C.int64_t(len(v)), &out)
	return out, status
}

func ValueDevice(name string) (*Value, *Status) {
	var out *Value
	status := C.stator_value_create_device(text(name), &out)
	return out, status
}

// ValueTensor copies the elements.
func ValueTensor(data unsafe.Pointer, dtype int32, shape, strides []int64) (*Value, *Status) {
	var out *Value
	status := C.stator_value_create_tensor(data, C.int32_t(dtype), C.STATOR_CPU, C.int32_t(len(shape)), numbers(shape), numbers(strides), &out)
	return out, status
}

// ValueTensorShared borrows the elements: the caller keeps them pinned as long as the value may be used.
func ValueTensorShared(data unsafe.Pointer, dtype int32, shape, strides []int64) (*Value, *Status) {
	var out *Value
	status := C.stator_value_create_tensor_shared(data, C.int32_t(dtype), C.STATOR_CPU, C.int32_t(len(shape)), numbers(shape), numbers(strides), nil, nil, &out)
	return out, status
}

func ValueList(items []*Value) (*Value, *Status) {
	var out *Value
	status := C.stator_value_create_list(unsafe.SliceData(items), C.int64_t(len(items)), &out)
	return out, status
}

// ValueTuple takes nil names for a tuple without.
func ValueTuple(items []*Value, names []string) (*Value, *Status) {
	var out *Value
	if names == nil {
		status := C.stator_value_create_tuple(unsafe.SliceData(items), C.int64_t(len(items)), nil, &out)
		return out, status
	}
	fields := C.malloc(C.size_t(len(names)+1) * C.size_t(unsafe.Sizeof(uintptr(0))))
	defer C.free(fields)
	pointers := unsafe.Slice((**C.char)(fields), len(names))
	for i, name := range names {
		pointers[i] = C.CString(name)
	}
	status := C.stator_value_create_tuple(unsafe.SliceData(items), C.int64_t(len(items)), (**C.char)(fields), &out)
	for _, p := range pointers {
		C.free(unsafe.Pointer(p))
	}
	return out, status
}

func ValueDict(keys, items []*Value) (*Value, *Status) {
	var out *Value
	status := C.stator_value_create_dict(unsafe.SliceData(keys), unsafe.SliceData(items), C.int64_t(len(items)), &out)
	return out, status
}

func ValueRetain(v *Value)     { C.stator_value_retain(v) }
func ValueRelease(v *Value)    { C.stator_value_release(v) }
func ValueKind(v *Value) int32 { return int32(C.stator_value_kind(v)) }
func ValueSize(v *Value) int64 { return int64(C.stator_value_size(v)) }

func ValueItem(v *Value, index int64) (*Value, *Status) {
	var out *Value
	status := C.stator_value_item(v, C.int64_t(index), &out)
	return out, status
}

func ValueKey(v *Value, index int64) (*Value, *Status) {
	var out *Value
	status := C.stator_value_key(v, C.int64_t(index), &out)
	return out, status
}

// ValueField is false if the value has no names or the index is out of range.
func ValueField(v *Value, index int64) (string, bool) {
	name := C.stator_value_field(v, C.int64_t(index))
	return C.GoString(name), name != nil
}

func ValueAsBool(v *Value) (bool, *Status) {
	var out C.int32_t
	status := C.stator_value_as_bool(v, &out)
	return out != 0, status
}

func ValueAsInt(v *Value) (int64, *Status) {
	var out C.int64_t
	status := C.stator_value_as_int(v, &out)
	return int64(out), status
}

func ValueAsFloat(v *Value) (float64, *Status) {
	var out C.double
	status := C.stator_value_as_float(v, &out)
	return float64(out), status
}

func ValueAsComplex(v *Value) (complex128, *Status) {
	var re, im C.double
	status := C.stator_value_as_complex(v, &re, &im)
	return complex(float64(re), float64(im)), status
}

func ValueAsStr(v *Value) (string, *Status) {
	var data *C.char
	var size C.int64_t
	if status := C.stator_value_as_str(v, &data, &size); status != nil {
		return "", status
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(data)), int(size))), nil
}

func ValueAsTensor(v *Value) (View, *Status) { return view(C.value_as_tensor(v)) }

func ValueRead(path string) (*Value, *Status) {
	var out *Value
	status := C.stator_value_read(text(path), &out)
	return out, status
}

func ValueWrite(v *Value, path string) *Status { return C.stator_value_write(v, text(path)) }

func OpLibraryLoad(path string) *Status { return C.stator_op_library_load(text(path)) }

func PoolMetrics(p *Pool) (string, *Status) {
	var out *C.stator_bytes
	status := C.stator_pool_metrics(p, &out)
	return takeBytes(out, status)
}

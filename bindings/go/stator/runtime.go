package stator

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// Runtime runs the methods of a module: the workspace, what is bound to inputs and outputs, and a copy of the module's
// state. One goroutine at a time; a second gets ErrBusy.
type Runtime struct{ h *runtimeHandle }

type runtimeHandle struct {
	handle
	ptr    *c.Runtime
	module *moduleHandle // for comparing only; the runtime keeps its module alive by itself
	pool   *Pool         // that lent the runtime, or nil

	slots          []slot
	spare          *runtime.Pinner
	shape, strides [64]int64 // what Bind passes on, here because it would be allocated elsewhere
}

// slot is Go memory that is bound.
type slot struct {
	method *c.Method
	index  int32
	output bool
	pinner *runtime.Pinner
}

func newRuntime(ptr *c.Runtime, module *moduleHandle, pool *Pool) *Runtime {
	h := &runtimeHandle{ptr: ptr, module: module, pool: pool, spare: new(runtime.Pinner)}
	h.release = h.free
	r := &Runtime{h}
	runtime.AddCleanup(r, (*handle).forget, &h.handle)
	return r
}

func (h *runtimeHandle) free() error {
	var err error
	if h.pool == nil {
		c.RuntimeRelease(h.ptr)
	} else {
		err = check(c.PoolReturn(h.pool.h.ptr, h.ptr))
		h.pool.done() // of Acquire
	}
	h.unpin(nil)
	return err
}

func (r *Runtime) lock() (*c.Runtime, error) {
	if r == nil || r.h == nil {
		return nil, nil
	}
	if err := r.h.enterAlone(); err != nil {
		return nil, err
	}
	return r.h.ptr, nil
}

func (r *Runtime) unlock() {
	if r != nil && r.h != nil {
		r.h.leaveAlone()
	}
	runtime.KeepAlive(r)
}

func (r *Runtime) module() *moduleHandle {
	if r == nil || r.h == nil {
		return nil
	}
	return r.h.module
}

// Close gives the runtime up and unbinds everything; one that a pool lent goes back to it. While a run is under way Close
// returns at once, and this happens when the run ends.
func (r *Runtime) Close() error {
	if r == nil || r.h == nil {
		return nil
	}
	defer runtime.KeepAlive(r)
	return r.h.close()
}

// Run runs a method once on what is bound to its inputs and puts the outputs into the arena; what the arena held is gone.
// It allocates nothing.
func (r *Runtime) Run(method *Method, arena *Arena) error {
	ptr, err := r.lock()
	if err != nil {
		return err
	}
	defer r.unlock()
	owner := r.module()
	m, err := method.use(owner)
	if err != nil {
		return err
	}
	defer method.done(owner)
	a, err := arena.use()
	if err != nil {
		return err
	}
	defer arena.done()
	return check(c.RuntimeRun(ptr, m, a))
}

// Call runs a method on any values, see [Module.Call]. What is bound stays bound and is not read. The arena holds the
// tensors of the result too, for [Output].
func (r *Runtime) Call(method *Method, args []any, kwargs map[string]any, arena *Arena) (any, error) {
	ptr, err := r.lock()
	if err != nil {
		return nil, err
	}
	defer r.unlock()
	owner := r.module()
	m, err := method.use(owner)
	if err != nil {
		return nil, err
	}
	defer method.done(owner)
	a, err := arena.use()
	if err != nil {
		return nil, err
	}
	defer arena.done()
	return call(method, args, kwargs, func(args, kwargs *c.Value) (*c.Value, error) {
		return made(c.RuntimeCall(ptr, m, args, kwargs, a))
	})
}

// Bind binds a slice to a tensor input, without a copy: each run reads it anew. The slice is pinned until the input is
// bound again, unbound, or the runtime is closed. A failed Bind leaves bound what was.
func Bind[T Element](r *Runtime, method *Method, index int, data []T, shape ...int64) error {
	if err := checkLength("Bind", len(data), shape); err != nil {
		return err
	}
	return r.bind(method, index, false, pointer(data), DTypeOf[T](), shape, nil)
}

// BindOutput binds a slice to an output: each run writes the tensor there. Outputs are counted as [Output] does. The slice is
// pinned as by [Bind].
func BindOutput[T Element](r *Runtime, method *Method, index int, data []T, shape ...int64) error {
	if err := checkLength("BindOutput", len(data), shape); err != nil {
		return err
	}
	return r.bind(method, index, true, pointer(data), DTypeOf[T](), shape, nil)
}

// BindTensor binds a tensor's memory to an input, as [Bind] does.
func (r *Runtime) BindTensor(method *Method, index int, t *Tensor) error {
	if t == nil {
		return failed(ErrInvalidArgument, "BindTensor: the tensor is nil; BindValue binds None")
	}
	return r.bind(method, index, false, t.data, t.dtype, t.shape, t.strides)
}

func (r *Runtime) bind(method *Method, index int, output bool, data unsafe.Pointer, dtype DType, shape, strides []int64) error {
	ptr, err := r.lock()
	if err != nil {
		return err
	}
	defer r.unlock()
	owner := r.module()
	m, err := method.use(owner)
	if err != nil {
		return err
	}
	defer method.done(owner)

	call := c.RuntimeBind
	if output {
		call = c.RuntimeBindOutput
	}
	if ptr == nil {
		return check(call(nil, m, index32(index), nil, int32(dtype), nil, nil))
	}
	h := r.h
	if len(shape) > len(h.shape) {
		return failed(ErrInvalidArgument, "shape has %d dimensions, at most %d are possible", len(shape), len(h.shape))
	}
	if data != nil {
		h.spare.Pin(data)
	}
	sizes, steps := h.shape[:copy(h.shape[:], shape)], h.strides[:copy(h.strides[:], strides)]
	if strides == nil {
		steps = nil
	}
	if status := call(ptr, m, index32(index), data, int32(dtype), sizes, steps); status != nil {
		h.spare.Unpin()
		return check(status)
	}
	h.spare = h.pin(m, index32(index), output, h.spare)
	return nil
}

// BindValue binds any value to an input: the way for inputs that are no tensors. Tensors in it are copied.
func (r *Runtime) BindValue(method *Method, index int, value any) error {
	ptr, err := r.lock()
	if err != nil {
		return err
	}
	defer r.unlock()
	owner := r.module()
	m, err := method.use(owner)
	if err != nil {
		return err
	}
	defer method.done(owner)
	v, err := new(builder).build(value)
	if err != nil {
		return err
	}
	defer c.ValueRelease(v)
	if status := c.RuntimeBindValue(ptr, m, index32(index), v); status != nil {
		return check(status)
	}
	r.h.unpinOne(m, index32(index))
	return nil
}

// Input binds an input to memory that the runtime owns and gives it to write to before each run. The window is valid until
// the input is bound again or unbound or the runtime is closed.
func Input[T Element](r *Runtime, method *Method, index int, shape ...int64) ([]T, error) {
	ptr, err := r.lock()
	if err != nil {
		return nil, err
	}
	defer r.unlock()
	owner := r.module()
	m, err := method.use(owner)
	if err != nil {
		return nil, err
	}
	defer method.done(owner)
	data, status := c.RuntimeInput(ptr, m, index32(index), int32(DTypeOf[T]()), shape)
	if status != nil {
		return nil, check(status)
	}
	r.h.unpinOne(m, index32(index))
	n, _ := elements(shape)
	return unsafe.Slice((*T)(data), int(n)), nil
}

// Unbind forgets what is bound to the inputs and outputs of a method; nil means all methods.
func (r *Runtime) Unbind(method *Method) error {
	ptr, err := r.lock()
	if err != nil {
		return err
	}
	defer r.unlock()
	owner := r.module()
	m, err := method.use(owner)
	if err != nil {
		return err
	}
	defer method.done(owner)
	if status := c.RuntimeUnbind(ptr, m); status != nil {
		return check(status)
	}
	r.h.unpin(m)
	return nil
}

// ResetState sets the state back to the file's.
func (r *Runtime) ResetState() error {
	ptr, err := r.lock()
	if err != nil {
		return err
	}
	defer r.unlock()
	return check(c.RuntimeResetState(ptr))
}

// Trim gives back to the system what is kept between runs; state and what is bound stay.
func (r *Runtime) Trim() error {
	ptr, err := r.lock()
	if err != nil {
		return err
	}
	defer r.unlock()
	return check(c.RuntimeTrim(ptr))
}

// Clone makes a runtime with a copy of this one's state as it is now; nothing is bound in it.
func (r *Runtime) Clone() (*Runtime, error) {
	ptr, err := r.lock()
	if err != nil {
		return nil, err
	}
	defer r.unlock()
	clone, status := c.RuntimeClone(ptr)
	if status != nil {
		return nil, check(status)
	}
	return newRuntime(clone, r.module(), nil), nil
}

// WorkspaceBytes is the memory kept between runs for intermediate tensors; 0 after Close.
func (r *Runtime) WorkspaceBytes() int64 {
	if r == nil || r.h == nil || r.h.enter() != nil {
		return 0
	}
	defer r.h.leave()
	defer runtime.KeepAlive(r)
	return c.RuntimeWorkspaceBytes(r.h.ptr)
}

// pin notes what holds the memory of a slot and gives back the pinner that held the one before, unpinned.
func (h *runtimeHandle) pin(method *c.Method, index int32, output bool, pinner *runtime.Pinner) *runtime.Pinner {
	for i := range h.slots {
		s := &h.slots[i]
		if s.method == method && s.index == index && s.output == output {
			old := s.pinner
			s.pinner = pinner
			old.Unpin()
			return old
		}
	}
	h.slots = append(h.slots, slot{method, index, output, pinner})
	return new(runtime.Pinner)
}

// unpinOne lets go of an input's slice, after something else was bound there.
func (h *runtimeHandle) unpinOne(method *c.Method, index int32) {
	for _, s := range h.slots {
		if s.method == method && s.index == index && !s.output {
			s.pinner.Unpin()
		}
	}
}

// unpin lets go of the slices of a method; nil means all.
func (h *runtimeHandle) unpin(method *c.Method) {
	h.slots = slices.DeleteFunc(h.slots, func(s slot) bool {
		if method != nil && s.method != method {
			return false
		}
		s.pinner.Unpin()
		return true
	})
}

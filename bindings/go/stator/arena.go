package stator

import (
	"runtime"
	"unsafe"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// Arena holds the outputs of one run until it is filled again, reset or closed. It outlives its runtime and module. Any
// number of goroutines may read a filled arena.
type Arena struct{ h *arenaHandle }

type arenaHandle struct {
	handle
	ptr *c.Arena
}

func newArena(ptr *c.Arena) *Arena {
	h := &arenaHandle{ptr: ptr}
	h.release = h.free
	a := &Arena{h}
	runtime.AddCleanup(a, (*handle).forget, &h.handle)
	return a
}

func (h *arenaHandle) free() error {
	c.ArenaRelease(h.ptr)
	return nil
}

func (a *Arena) use() (*c.Arena, error) {
	if a == nil || a.h == nil {
		return nil, nil
	}
	if err := a.h.enter(); err != nil {
		return nil, err
	}
	return a.h.ptr, nil
}

func (a *Arena) done() {
	if a != nil && a.h != nil {
		a.h.leave()
	}
	runtime.KeepAlive(a)
}

// Close gives the arena up: what [Output] gave of it must not be used any more.
func (a *Arena) Close() error {
	if a == nil || a.h == nil {
		return nil
	}
	defer runtime.KeepAlive(a)
	return a.h.close()
}

// Reset empties the arena and keeps its memory for the next run.
func (a *Arena) Reset() error {
	ptr, err := a.use()
	if err != nil {
		return err
	}
	defer a.done()
	return check(c.ArenaReset(ptr))
}

// Trim empties the arena and gives its memory back to the system.
func (a *Arena) Trim() error {
	ptr, err := a.use()
	if err != nil {
		return err
	}
	defer a.done()
	return check(c.ArenaTrim(ptr))
}

// Generation counts the runs and resets: what [Output] gave is valid while the number stays. It is 0 after Close.
func (a *Arena) Generation() int64 { return number(a, c.ArenaGeneration) }

// Bytes is the memory of the arena, filled or not; 0 after Close.
func (a *Arena) Bytes() int64 { return number(a, c.ArenaBytes) }

// OutputCount is the number of tensors in the result, counted depth first; 0 if the arena is empty or closed.
func (a *Arena) OutputCount() int { return int(number(a, c.ArenaOutputCount)) }

func number[N int32 | int64](a *Arena, get func(*c.Arena) N) N {
	ptr, err := a.use()
	if err != nil {
		return 0
	}
	defer a.done()
	return get(ptr)
}

// Output gives an output's elements where they lie, without a copy: they are borrowed until the arena is filled again, reset
// or closed, and must not be used after that. The element type must be the tensor's, and the tensor contiguous;
// [Arena.Tensor] takes any.
func Output[T Element](a *Arena, index int) ([]T, error) {
	ptr, err := a.use()
	if err != nil {
		return nil, err
	}
	defer a.done()
	return output[T](ptr, index)
}

// CopyOutput appends a copy of an output's elements to a slice.
func CopyOutput[T Element](to []T, a *Arena, index int) ([]T, error) {
	ptr, err := a.use()
	if err != nil {
		return to, err
	}
	defer a.done()
	data, err := output[T](ptr, index)
	return append(to, data...), err
}

func output[T Element](ptr *c.Arena, index int) ([]T, error) {
	v, status := c.ArenaOutput(ptr, index32(index))
	if status != nil {
		return nil, check(status)
	}
	if want := DTypeOf[T](); want != DType(v.DType) {
		return nil, failed(ErrDTypeMismatch, "output %d is %v, asked for %v", index, DType(v.DType), want)
	}
	if !isContiguous(v.Shape, v.Strides) {
		return nil, failed(ErrUnsupported, "output %d of shape %v has strides %v and is not contiguous: read it by Arena.Tensor", index, v.Shape, v.Strides)
	}
	n, _ := elements(v.Shape)
	return unsafe.Slice((*T)(v.Data), int(n)), nil
}

// Shape gives a copy of an output's sizes.
func (a *Arena) Shape(index int) ([]int64, error) {
	ptr, err := a.use()
	if err != nil {
		return nil, err
	}
	defer a.done()
	v, status := c.ArenaOutput(ptr, index32(index))
	if status != nil {
		return nil, check(status)
	}
	return append([]int64{}, v.Shape...), nil
}

// Tensor gives a copy of an output.
func (a *Arena) Tensor(index int) (*Tensor, error) {
	ptr, err := a.use()
	if err != nil {
		return nil, err
	}
	defer a.done()
	v, status := c.ArenaOutput(ptr, index32(index))
	if status != nil {
		return nil, check(status)
	}
	return copyView(v), nil
}

// Result gives a copy of the whole result with its structure, as [Module.Call] does.
func (a *Arena) Result() (any, error) {
	ptr, err := a.use()
	if err != nil {
		return nil, err
	}
	defer a.done()
	v, status := c.ArenaResult(ptr)
	if status != nil {
		return nil, check(status)
	}
	defer c.ValueRelease(v)
	return read(v)
}

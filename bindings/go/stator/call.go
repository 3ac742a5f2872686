package stator

import (
	"context"
	"errors"
	"runtime"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// Call runs the method forward on positional arguments; [Module.CallMethod] says more.
func (m *Module) Call(ctx context.Context, args ...any) (any, error) {
	forward, err := m.forward()
	if err != nil {
		return nil, err
	}
	return m.CallMethod(ctx, forward, args, nil)
}

func (m *Module) forward() (*Method, error) {
	if m == nil || m.h == nil {
		return nil, nil
	}
	if known := m.h.forward.Load(); known != nil {
		return known, nil
	}
	found, err := m.Method("forward")
	if err == nil {
		m.h.forward.Store(found)
	}
	return found, err
}

// CallMethod runs a method on any values, with a runtime and an arena that the module keeps for such calls.
//
// Arguments: nil, bool, integers, floats, complex numbers, string, [Device], *[Tensor], []any and other slices (lists), [Tuple],
// [NamedTuple], *[Dict] and maps with string keys, *[Object]. Results: nil, bool, int64, float64, complex128, string, Device,
// *Tensor, []any, Tuple, NamedTuple, *Dict, *Object; their tensors are copies, in Go memory.
//
// Calls of a module without state run at the same time. A module with state has one state for all of them, and they wait
// for each other. The context ends the wait for a runtime, not a run.
func (m *Module) CallMethod(ctx context.Context, method *Method, args []any, kwargs map[string]any) (any, error) {
	ptr, err := m.use()
	if err != nil {
		return nil, err
	}
	defer m.done()
	if ptr == nil {
		return poolCall(ctx, nil, nil, nil, args, kwargs, nil)
	}
	ours, err := method.use(m.h)
	if err != nil {
		return nil, err
	}
	defer method.done(m.h)
	pool, arena, err := m.h.convenience()
	if err != nil {
		return nil, err
	}
	defer m.h.giveBack(arena)
	return poolCall(ctx, pool, method, ours, args, kwargs, arena)
}

// convenience gives the pool and an arena for one call.
func (h *moduleHandle) convenience() (*c.Pool, *c.Arena, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.pool == nil {
		pool, err := convenientPool(h.ptr)
		if err != nil {
			return nil, nil, err
		}
		h.pool = pool
	}
	if n := len(h.arenas); n > 0 {
		arena := h.arenas[n-1]
		h.arenas = h.arenas[:n-1]
		return h.pool, arena, nil
	}
	arena, status := c.ArenaCreate(h.ptr)
	return h.pool, arena, check(status)
}

// convenientPool lends one runtime only if the module has state: a pool without the option refuses such a module.
func convenientPool(module *c.Module) (*c.Pool, error) {
	pool, status := c.PoolCreate(module, nil)
	err := check(status)
	if !errors.Is(err, ErrInvalidArgument) {
		return pool, err
	}
	err = withOptions([]Option{WithState("private"), WithMaxRuntimes(1)}, func(o *c.Options) error {
		pool, status = c.PoolCreate(module, o)
		return check(status)
	})
	return pool, err
}

func (h *moduleHandle) giveBack(arena *c.Arena) {
	if status := c.ArenaReset(arena); status != nil { // a result that is an Object holds it
		c.StatusRelease(status)
		c.ArenaRelease(arena)
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(h.arenas) >= runtime.GOMAXPROCS(0) {
		c.ArenaRelease(arena)
		return
	}
	h.arenas = append(h.arenas, arena)
}

func poolCall(ctx context.Context, pool *c.Pool, method *Method, ptr *c.Method, args []any, kwargs map[string]any, arena *c.Arena) (any, error) {
	return call(method, args, kwargs, func(args, kwargs *c.Value) (out *c.Value, err error) {
		err = wait(ctx, func(timeout int64) (status *c.Status) {
			out, status = c.PoolCall(pool, timeout, ptr, args, kwargs, arena)
			return status
		})
		return out, err
	})
}

// call makes values of the arguments, runs, and reads the result.
func call(method *Method, args []any, kwargs map[string]any, run func(args, kwargs *c.Value) (*c.Value, error)) (any, error) {
	b := &builder{}
	defer b.pinner.Unpin()
	a, err := b.arguments(method, args)
	if err != nil {
		return nil, err
	}
	defer c.ValueRelease(a)
	k, err := b.keywords(method, kwargs)
	if err != nil {
		return nil, err
	}
	defer c.ValueRelease(k)
	result, err := run(a, k)
	if err != nil {
		return nil, err
	}
	defer c.ValueRelease(result)
	return read(result)
}

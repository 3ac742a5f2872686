package stator

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// Pool lends runtimes of a module to any number of goroutines.
type Pool struct{ h *poolHandle }

type poolHandle struct {
	handle
	ptr    *c.Pool
	module *moduleHandle
}

func newPool(ptr *c.Pool, module *moduleHandle) *Pool {
	h := &poolHandle{ptr: ptr, module: module}
	h.release = h.free
	p := &Pool{h}
	runtime.AddCleanup(p, (*handle).forget, &h.handle)
	return p
}

func (h *poolHandle) free() error {
	c.PoolRelease(h.ptr)
	return nil
}

func (p *Pool) use() (*c.Pool, error) {
	if p == nil || p.h == nil {
		return nil, nil
	}
	if err := p.h.enter(); err != nil {
		return nil, err
	}
	return p.h.ptr, nil
}

func (p *Pool) done() {
	if p != nil && p.h != nil {
		p.h.leave()
	}
	runtime.KeepAlive(p)
}

// Close gives the pool up. Runtimes that are lent stay valid until they are closed.
func (p *Pool) Close() error {
	if p == nil || p.h == nil {
		return nil
	}
	defer runtime.KeepAlive(p)
	return p.h.close()
}

// Acquire lends a runtime and waits for one if need be, until the context ends. Close gives it back.
func (p *Pool) Acquire(ctx context.Context) (*Runtime, error) {
	return p.acquire(func(ptr *c.Pool) (out *c.Runtime, err error) {
		err = wait(ctx, func(timeout int64) (status *c.Status) {
			out, status = c.PoolAcquire(ptr, timeout)
			return status
		})
		return out, err
	})
}

// TryAcquire lends a runtime if one is free, else the error is ErrBusy.
func (p *Pool) TryAcquire() (*Runtime, error) {
	return p.acquire(func(ptr *c.Pool) (*c.Runtime, error) {
		out, status := c.PoolAcquire(ptr, 0)
		return out, check(status)
	})
}

func (p *Pool) acquire(lend func(*c.Pool) (*c.Runtime, error)) (*Runtime, error) {
	ptr, err := p.use()
	if err != nil {
		return nil, err
	}
	out, err := lend(ptr)
	if err != nil {
		p.done()
		return nil, err
	}
	return newRuntime(out, p.h.module, p), nil // whose release calls done
}

// Call acquires a runtime, calls a method as [Runtime.Call] does, and returns the runtime. The context ends the wait for a
// runtime, not a run.
func (p *Pool) Call(ctx context.Context, method *Method, args []any, kwargs map[string]any, arena *Arena) (any, error) {
	ptr, err := p.use()
	if err != nil {
		return nil, err
	}
	defer p.done()
	var owner *moduleHandle
	if ptr != nil {
		owner = p.h.module
	}
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
	return poolCall(ctx, ptr, method, m, args, kwargs, a)
}

// Trim gives back what the runtimes that are not lent keep between runs.
func (p *Pool) Trim() error {
	ptr, err := p.use()
	if err != nil {
		return err
	}
	defer p.done()
	return check(c.PoolTrim(ptr))
}

// RuntimeCount is the number of runtimes that the pool has made; 0 after Close.
func (p *Pool) RuntimeCount() int {
	ptr, err := p.use()
	if err != nil {
		return 0
	}
	defer p.done()
	return int(c.PoolRuntimeCount(ptr))
}

// The longest wait inside libstator before the context is asked again.
const patience = 10 * time.Millisecond

// wait tries with timeouts in nanoseconds until try succeeds, fails, or the context ends.
func wait(ctx context.Context, try func(timeout int64) *c.Status) error {
	if ctx.Done() == nil {
		return check(try(-1))
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		timeout := patience
		if deadline, ok := ctx.Deadline(); ok {
			timeout = max(min(timeout, time.Until(deadline)), 1)
		}
		if err := check(try(int64(timeout))); !errors.Is(err, ErrTimeout) {
			return err
		}
	}
}

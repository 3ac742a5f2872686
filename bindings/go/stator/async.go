package stator

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// Future is a run in a thread of libstator's own: [Runtime.CallAsync] and [Runtime.RunAsync] make it. Any number of goroutines
// may use it, and none need.
type Future struct {
	done   chan struct{}
	result any
	err    error

	mutex  sync.Mutex
	ptr    *c.Future // until the run has ended
	finish func(*c.Future) (any, error)
	leave  func() // gives back what the run used
}

// Done is closed when the run has ended, one way or another. The runtime is then free again.
func (f *Future) Done() <-chan struct{} { return f.done }

// Wait waits for the run and gives its result, or its error. If the context ends first, a run that has not begun is
// cancelled; one that has goes on.
func (f *Future) Wait(ctx context.Context) (any, error) {
	select {
	case <-f.done:
		return f.result, f.err
	default:
	}
	select {
	case <-f.done:
		return f.result, f.err
	case <-ctx.Done():
		f.Cancel()
		return nil, ctx.Err()
	}
}

// Cancel cancels a run that has not begun, which then ends with [ErrCancelled], and says whether it did.
func (f *Future) Cancel() bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.ptr != nil && c.FutureCancel(f.ptr)
}

// CallAsync runs a method on any values as [Runtime.Call] does, in a thread of libstator's. Wrong arguments are told at once,
// errors of the run by the future. Runtime and arena are in use until the run has ended, and may be closed before.
func (r *Runtime) CallAsync(method *Method, args []any, kwargs map[string]any, arena *Arena) (*Future, error) {
	b := &builder{}
	future, err := r.start(method, arena, func(ptr *c.Runtime, m *c.Method, a *c.Arena, queue *c.Queue, tag int64) (*c.Future, error) {
		positional, err := b.arguments(method, args)
		if err != nil {
			return nil, err
		}
		defer c.ValueRelease(positional)
		named, err := b.keywords(method, kwargs)
		if err != nil {
			return nil, err
		}
		defer c.ValueRelease(named)
		started, status := c.RuntimeCallAsync(ptr, m, positional, named, a, queue, tag)
		return started, check(status)
	}, func(done *c.Future) (any, error) {
		defer b.pinner.Unpin()
		result, err := made(c.FutureResult(done))
		if err != nil {
			return nil, err
		}
		defer c.ValueRelease(result)
		return read(result)
	})
	if err != nil {
		b.pinner.Unpin()
	}
	return future, err
}

// RunAsync runs a method once on what is bound, as [Runtime.Run] does, in a thread of libstator's; the outputs are in the arena
// when the future is done, and the future's result is nil. All else is as in [Runtime.CallAsync].
func (r *Runtime) RunAsync(method *Method, arena *Arena) (*Future, error) {
	return r.start(method, arena, func(ptr *c.Runtime, m *c.Method, a *c.Arena, queue *c.Queue, tag int64) (*c.Future, error) {
		started, status := c.RuntimeRunAsync(ptr, m, a, queue, tag)
		return started, check(status)
	}, func(done *c.Future) (any, error) {
		result, err := made(c.FutureResult(done))
		c.ValueRelease(result)
		return nil, err
	})
}

type starter func(*c.Runtime, *c.Method, *c.Arena, *c.Queue, int64) (*c.Future, error)

// start keeps what the run uses from being released until it has ended.
func (r *Runtime) start(method *Method, arena *Arena, begin starter, result func(*c.Future) (any, error)) (*Future, error) {
	ptr, err := r.lock()
	if err != nil {
		return nil, err
	}
	owner := r.module()
	m, err := method.use(owner)
	if err != nil {
		r.unlock()
		return nil, err
	}
	a, err := arena.use()
	if err != nil {
		method.done(owner)
		r.unlock()
		return nil, err
	}
	leave := func() {
		arena.done()
		method.done(owner)
		r.unlock()
	}
	future := &Future{done: make(chan struct{})}
	future.finish, future.leave = result, leave
	err = ended.expect(future, func(queue *c.Queue, tag int64) (*c.Future, error) { return begin(ptr, m, a, queue, tag) })
	if err != nil {
		leave()
		return nil, err
	}
	return future, nil
}

// ended learns of all runs that end. While there are any, one goroutine waits for them.
var ended endings

type endings struct {
	mutex   sync.Mutex
	queue   *c.Queue
	waiting map[int64]*Future
	tags    int64
}

// How long the goroutine stays when no run is under way.
const linger = 50 * time.Millisecond

func (e *endings) expect(f *Future, begin func(*c.Queue, int64) (*c.Future, error)) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.queue == nil {
		queue, status := c.QueueCreate()
		if status != nil {
			return check(status)
		}
		e.queue, e.waiting = queue, map[int64]*Future{}
		go e.serve(queue)
	}
	e.tags++
	started, err := begin(e.queue, e.tags)
	if err != nil {
		return err
	}
	f.ptr = started
	e.waiting[e.tags] = f
	return nil
}

func (e *endings) serve(queue *c.Queue) {
	for {
		done, status := c.QueueNext(queue, int64(linger))
		if err := check(status); err == nil {
			e.take(c.FutureTag(done)).end(done)
		} else if !errors.Is(err, ErrTimeout) || e.idle() {
			c.QueueRelease(queue)
			return
		}
	}
}

// idle gives the queue up if nothing is waited for.
func (e *endings) idle() bool {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if len(e.waiting) > 0 {
		return false
	}
	e.queue = nil
	return true
}

func (e *endings) take(tag int64) *Future {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	f := e.waiting[tag]
	delete(e.waiting, tag)
	return f
}

func (f *Future) end(done *c.Future) {
	f.mutex.Lock()
	c.FutureRelease(f.ptr)
	f.ptr = nil
	f.mutex.Unlock()
	f.result, f.err = f.finish(done)
	c.FutureRelease(done) // it holds the arena's results
	f.leave()
	close(f.done)
}

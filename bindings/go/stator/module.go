package stator

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// Module is a loaded model, shared by any number of goroutines.
type Module struct{ h *moduleHandle }

type moduleHandle struct {
	handle
	ptr *c.Module

	// What Call uses, made when first needed.
	forward atomic.Pointer[Method]
	mutex   sync.Mutex
	pool    *c.Pool
	arenas  []*c.Arena // free
}

// Load reads a TorchScript archive (.pt) and plans its methods.
func Load(path string, options ...Option) (*Module, error) {
	if err := noNUL("path", path); err != nil {
		return nil, err
	}
	return newModule(options, func(o *c.Options) (*c.Module, *c.Status) { return c.ModuleLoad(path, o) })
}

// LoadBytes reads an archive from memory, which is copied.
func LoadBytes(data []byte, options ...Option) (*Module, error) {
	return newModule(options, func(o *c.Options) (*c.Module, *c.Status) { return c.ModuleLoadBytes(data, o) })
}

func newModule(options []Option, load func(*c.Options) (*c.Module, *c.Status)) (*Module, error) {
	h := &moduleHandle{}
	h.release = h.free
	err := withOptions(options, func(o *c.Options) error {
		var status *c.Status
		h.ptr, status = load(o)
		return check(status)
	})
	if err != nil {
		return nil, err
	}
	m := &Module{h}
	runtime.AddCleanup(m, (*handle).forget, &h.handle)
	return m, nil
}

func (h *moduleHandle) free() error {
	for _, arena := range h.arenas {
		c.ArenaRelease(arena)
	}
	c.PoolRelease(h.pool)
	c.ModuleRelease(h.ptr)
	return nil
}

// use keeps the module alive until done. A nil module is a NULL handle, which libstator refuses.
func (m *Module) use() (*c.Module, error) {
	if m == nil || m.h == nil {
		return nil, nil
	}
	if err := m.h.enter(); err != nil {
		return nil, err
	}
	return m.h.ptr, nil
}

func (m *Module) done() {
	if m != nil && m.h != nil {
		m.h.leave()
	}
	runtime.KeepAlive(m)
}

// Close gives the module up. Runtimes, arenas and pools made from it go on working; its methods do on runtimes that are open.
func (m *Module) Close() error {
	if m == nil || m.h == nil {
		return nil
	}
	defer runtime.KeepAlive(m)
	return m.h.close()
}

// Method finds a method by its name: "forward", or any exported one.
func (m *Module) Method(name string) (*Method, error) {
	if err := noNUL("method", name); err != nil {
		return nil, err
	}
	ptr, err := m.use()
	if err != nil {
		return nil, err
	}
	defer m.done()
	method, status := c.ModuleFindMethod(ptr, name)
	if status != nil {
		return nil, check(status)
	}
	return newMethod(m.h, method), nil
}

// Methods gives all methods, in the order of the file.
func (m *Module) Methods() ([]*Method, error) {
	ptr, err := m.use()
	if err != nil {
		return nil, err
	}
	defer m.done()
	var methods []*Method
	for i := range c.ModuleMethodCount(ptr) {
		methods = append(methods, newMethod(m.h, c.ModuleGetMethod(ptr, i)))
	}
	return methods, nil
}

// Describe says what the module is, as JSON: methods with their inputs and outputs, state, bytes of weights.
func (m *Module) Describe() (string, error) {
	ptr, err := m.use()
	if err != nil {
		return "", err
	}
	defer m.done()
	text, status := c.ModuleDescribe(ptr)
	return text, check(status)
}

// Save writes the module with the plans that it has to a planned file, which loads faster; processes that load it share its pages.
func (m *Module) Save(path string) error {
	if err := noNUL("path", path); err != nil {
		return err
	}
	ptr, err := m.use()
	if err != nil {
		return err
	}
	defer m.done()
	return check(c.ModuleSave(ptr, path))
}

// Trim forgets the sizes and signatures of earlier runs, so that one on large inputs does not prepare the next ones for another.
func (m *Module) Trim() error {
	ptr, err := m.use()
	if err != nil {
		return err
	}
	defer m.done()
	return check(c.ModuleTrim(ptr))
}

// NewRuntime makes a runtime: workspace, bound inputs and a copy of the module's state. It serves all methods.
func (m *Module) NewRuntime(options ...Option) (*Runtime, error) {
	ptr, err := m.use()
	if err != nil {
		return nil, err
	}
	defer m.done()
	var out *c.Runtime
	err = withOptions(options, func(o *c.Options) error {
		var status *c.Status
		out, status = c.RuntimeCreate(ptr, o)
		return check(status)
	})
	if err != nil {
		return nil, err
	}
	return newRuntime(out, m.h, nil), nil
}

// NewArena makes an empty arena: the place for the outputs of one run.
func (m *Module) NewArena() (*Arena, error) {
	ptr, err := m.use()
	if err != nil {
		return nil, err
	}
	defer m.done()
	arena, status := c.ArenaCreate(ptr)
	if status != nil {
		return nil, check(status)
	}
	return newArena(arena), nil
}

// NewPool makes a pool of runtimes, which are made when first needed.
func (m *Module) NewPool(options ...Option) (*Pool, error) {
	ptr, err := m.use()
	if err != nil {
		return nil, err
	}
	defer m.done()
	var out *c.Pool
	err = withOptions(options, func(o *c.Options) error {
		var status *c.Status
		out, status = c.PoolCreate(ptr, o)
		return check(status)
	})
	if err != nil {
		return nil, err
	}
	return newPool(out, m.h), nil
}

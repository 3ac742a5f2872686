package stator

import "github.com/stator-runtime/stator/bindings/go/stator/internal/c"

// Raw gives the handles to tests that call C themselves.
func Raw(r *Runtime, m *Method, a *Arena) (*c.Runtime, *c.Method, *c.Arena) {
	return r.h.ptr, m.ptr, a.h.ptr
}

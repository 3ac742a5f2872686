package stator

import (
	"runtime"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// StartProfile profiles the runtime's runs from here on, afresh: how often each node ran, and how long it took. The first
// events executions of nodes are kept for [Runtime.ProfileTrace].
func (r *Runtime) StartProfile(events int64) error {
	ptr, err := r.lock()
	if err != nil {
		return err
	}
	defer r.unlock()
	return check(c.ProfileStart(ptr, events))
}

// StopProfile ends profiling; what was recorded stays readable.
func (r *Runtime) StopProfile() error {
	ptr, err := r.lock()
	if err != nil {
		return err
	}
	defer r.unlock()
	return check(c.ProfileStop(ptr))
}

// ProfileText is the profile as tables, slowest first. Like its kin it may be called while a run is under way.
func (r *Runtime) ProfileText() (string, error) { return r.read(c.ProfileText) }

// ProfileJSON is the profile as stator_experimental.h describes it.
func (r *Runtime) ProfileJSON() (string, error) { return r.read(c.ProfileJSON) }

// ProfileTrace is in the format of chrome://tracing and Perfetto.
func (r *Runtime) ProfileTrace() (string, error) { return r.read(c.ProfileTrace) }

func (r *Runtime) read(call func(*c.Runtime) (string, *c.Status)) (string, error) {
	var ptr *c.Runtime
	if r != nil && r.h != nil {
		if err := r.h.enter(); err != nil {
			return "", err
		}
		defer runtime.KeepAlive(r)
		defer r.h.leave()
		ptr = r.h.ptr
	}
	text, status := call(ptr)
	return text, check(status)
}

package stator

import (
	"math"
	"sync/atomic"
)

// handle guards one reference of the ABI: calls that are under way keep it alive, and Close waits for none of them.
//
// State: bit 0 is set by Close, bit 1 by a caller who must be alone among his kind, the rest counts shared callers.
type handle struct {
	state   atomic.Int64
	release func() error // called once, when the handle is closed and the last call has ended
}

const (
	closed = 1
	alone  = 2
	shared = 4
)

var errBusy = &Error{Code: ErrBusy, Message: "in use by another goroutine; take a runtime for each, or a Pool"}

func (h *handle) enter() error {
	for {
		state := h.state.Load()
		if state&closed != 0 {
			return ErrClosed
		}
		if h.state.CompareAndSwap(state, state+shared) {
			return nil
		}
	}
}

func (h *handle) leave() {
	if h.state.Add(-shared) == closed {
		_ = h.release()
	}
}

func (h *handle) enterAlone() error {
	for {
		state := h.state.Load()
		if state&closed != 0 {
			return ErrClosed
		}
		if state&alone != 0 {
			return errBusy
		}
		if h.state.CompareAndSwap(state, state|alone) {
			return nil
		}
	}
}

func (h *handle) leaveAlone() {
	if h.state.Add(-alone) == closed {
		_ = h.release()
	}
}

func (h *handle) close() error {
	for {
		state := h.state.Load()
		if state&closed != 0 {
			return nil
		}
		if h.state.CompareAndSwap(state, state|closed) {
			if state == 0 {
				return h.release()
			}
			return nil
		}
	}
}

// forget is what runtime.AddCleanup calls for an object that nobody closed.
func (h *handle) forget() { _ = h.close() }

// index32 keeps an index that does not fit the ABI's 32 bits out of range.
func index32(i int) int32 {
	if i < 0 || i > math.MaxInt32 {
		return -1
	}
	return int32(i)
}

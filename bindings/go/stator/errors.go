package stator

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// Code says what kind of error happened. Codes are errors themselves, for errors.Is:
//
//	if errors.Is(err, stator.ErrBusy) { ... }
type Code int32

// The codes of libstator, as stator.h describes them.
const (
	// ErrInvalidArgument is a nil handle, an index out of range, an unknown option, a wrong kind of value.
	ErrInvalidArgument Code = c.InvalidArgument
	// ErrNotFound means that there is no such method, file or key.
	ErrNotFound Code = c.NotFound
	// ErrBusy means that the object is in use by another caller.
	ErrBusy Code = c.Busy
	// ErrTimeout means that a wait ended before its event.
	ErrTimeout Code = c.Timeout
	// ErrForked means that the process was forked after LibTorch was loaded.
	ErrForked Code = c.Forked
	// ErrInputMissing means that fewer inputs came than the method requires.
	ErrInputMissing Code = c.InputMissing
	// ErrShapeMismatch is a tensor of other rank or sizes than the signature or the operator takes.
	ErrShapeMismatch Code = c.ShapeMismatch
	// ErrDTypeMismatch is a tensor of another dtype than the signature, the operator or the caller takes.
	ErrDTypeMismatch Code = c.DTypeMismatch
	// ErrTypeMismatch is an argument of another type than the method declares.
	ErrTypeMismatch Code = c.TypeMismatch
	// ErrCancelled is a run that was cancelled before it began.
	ErrCancelled Code = c.Cancelled
	// ErrIO means that a file could not be read or written.
	ErrIO Code = c.IO
	// ErrBadModel is a file that is damaged or holds no model.
	ErrBadModel Code = c.BadModel
	// ErrUnsupported is a valid model or value that this version cannot run or carry.
	ErrUnsupported Code = c.Unsupported
	// ErrTorchNotFound means that no LibTorch was found.
	ErrTorchNotFound Code = c.TorchNotFound
	// ErrTorchVersion means that the LibTorch found is not the one that libstator needs.
	ErrTorchVersion Code = c.TorchVersion
	// ErrModel was raised by the model itself; the message is the model's.
	ErrModel Code = c.ModelError
	// ErrOperator means that an operator refused its arguments.
	ErrOperator Code = c.OperatorError
	// ErrMemoryLimit means that the cap set on the module would be exceeded.
	ErrMemoryLimit Code = c.MemoryLimit
	// ErrOutOfMemory means that the system has no more memory.
	ErrOutOfMemory Code = c.OutOfMemory
	// ErrInternal is a defect of Stator; please report it.
	ErrInternal Code = c.Internal
)

// ErrClosed is returned by every call on an object after its Close.
var ErrClosed = errors.New("stator: used after Close")

// Name is the code's name as stator.h spells it without STATOR_: "SHAPE_MISMATCH".
func (code Code) Name() string { return c.StatusName(int32(code)) }

// Error is the name with the package in front.
func (code Code) Error() string { return "stator: " + code.Name() }

// Error is what a call of libstator reports. errors.Is compares its Code.
type Error struct {
	Code     Code
	Message  string // what happened, what was expected and what came
	Operator string // the operator concerned, as in "aten::bmm", or ""
	Node     string // the node of the plan, or ""
	Source   string // the model's own source line, or ""
	Argument string // the argument concerned, as in `input "x" (argument 1)`, or ""

	Exception string // the type of the exception that the model raised, as in "ValueError", or ""
}

// Error gives the code's name and the message.
func (e *Error) Error() string { return e.Code.Error() + ": " + e.Message }

// Unwrap gives the code.
func (e *Error) Unwrap() error { return e.Code }

// check turns a status into an error and releases it.
func check(status *c.Status) error {
	if status == nil {
		return nil
	}
	defer c.StatusRelease(status)
	return &Error{
		Code:     Code(c.StatusCode(status)),
		Message:  c.StatusMessage(status),
		Operator: c.StatusOperator(status),
		Node:     c.StatusNode(status),
		Source:   c.StatusSource(status),
		Argument: c.StatusArgument(status),

		Exception: c.StatusException(status),
	}
}

func failed(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// noNUL refuses a text that a C string would cut short.
func noNUL(what, s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return failed(ErrInvalidArgument, "%s %q holds a NUL byte", what, s)
	}
	return nil
}

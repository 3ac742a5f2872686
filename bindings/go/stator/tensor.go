package stator

import (
	"slices"
	"unsafe"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// Tensor is a tensor in Go memory: an argument or result of the general path.
type Tensor struct {
	dtype   DType
	shape   []int64
	strides []int64        // in elements
	data    unsafe.Pointer // nil if there are no elements
}

// NewTensor makes a contiguous tensor over a slice, which it shares. No sizes make a tensor of rank 0, for one element.
func NewTensor[T Element](data []T, shape ...int64) (*Tensor, error) {
	if err := checkLength("the tensor", len(data), shape); err != nil {
		return nil, err
	}
	return &Tensor{DTypeOf[T](), slices.Clone(shape), contiguous(shape), pointer(data)}, nil
}

// NewStridedTensor makes a tensor over a slice, which it shares; strides are in elements.
func NewStridedTensor[T Element](data []T, shape, strides []int64) (*Tensor, error) {
	needed, ok := span(shape, strides)
	if !ok {
		return nil, failed(ErrInvalidArgument, "shape %v and strides %v: expected two lists of one length, with no number below 0", shape, strides)
	}
	if int64(len(data)) < needed {
		return nil, failed(ErrInvalidArgument, "shape %v and strides %v need %d elements, the slice has %d", shape, strides, needed, len(data))
	}
	t := &Tensor{DTypeOf[T](), slices.Clone(shape), slices.Clone(strides), nil}
	if needed > 0 {
		t.data = pointer(data)
	}
	return t, nil
}

// NewRawTensor makes a tensor of any element type over bytes, which it shares: also of those that Go has no type for. Strides are
// in elements; nil means contiguous.
func NewRawTensor(dtype DType, data []byte, shape, strides []int64) (*Tensor, error) {
	if strides == nil {
		strides = contiguous(shape)
	}
	needed, ok := span(shape, strides)
	if !ok {
		return nil, failed(ErrInvalidArgument, "shape %v and strides %v: expected two lists of one length, with no number below 0", shape, strides)
	}
	if dtype.Size() == 0 || int64(len(data))/int64(dtype.Size()) < needed {
		return nil, failed(ErrInvalidArgument, "%v of shape %v and strides %v needs %d elements of %d bytes, the slice has %d bytes",
			dtype, shape, strides, needed, dtype.Size(), len(data))
	}
	t := &Tensor{dtype, slices.Clone(shape), slices.Clone(strides), nil}
	if needed > 0 {
		t.data = pointer(data)
	}
	return t, nil
}

// DType is the type of the elements.
func (t *Tensor) DType() DType { return t.dtype }

// Shape is the sizes; do not change it.
func (t *Tensor) Shape() []int64 { return t.shape }

// Strides is the distance between neighbours along each dimension, in elements; do not change it.
func (t *Tensor) Strides() []int64 { return t.strides }

// Len is the number of elements.
func (t *Tensor) Len() int {
	n, _ := elements(t.shape)
	return int(n)
}

// Bytes is the memory of the tensor, from its first element to its last in memory.
func (t *Tensor) Bytes() []byte {
	n, _ := span(t.shape, t.strides)
	return unsafe.Slice((*byte)(t.data), int(n)*t.dtype.Size())
}

// Values gives the elements in row-major order: the tensor's own memory if it is contiguous, else a copy. The element
// type must be the tensor's.
func Values[T Element](t *Tensor) ([]T, error) {
	if want := DTypeOf[T](); want != t.dtype {
		return nil, failed(ErrDTypeMismatch, "the tensor is %v, asked for %v", t.dtype, want)
	}
	n, _ := span(t.shape, t.strides)
	memory := unsafe.Slice((*T)(t.data), int(n))
	if isContiguous(t.shape, t.strides) {
		return memory, nil
	}
	return gather(make([]T, 0, t.Len()), memory, t.shape, t.strides), nil
}

func gather[T Element](to, from []T, shape, strides []int64) []T {
	if len(shape) == 0 {
		return append(to, from[0])
	}
	for i := range shape[0] {
		to = gather(to, from[i*strides[0]:], shape[1:], strides[1:])
	}
	return to
}

// copyView copies a native tensor as it lies in memory.
func copyView(v c.View) *Tensor {
	t := &Tensor{DType(v.DType), slices.Clone(v.Shape), slices.Clone(v.Strides), nil}
	if n, _ := span(v.Shape, v.Strides); n > 0 {
		bytes := int(n) * t.dtype.Size()
		words := make([]uint64, (bytes+7)/8) // words, so that every element type is aligned
		t.data = unsafe.Pointer(&words[0])
		copy(unsafe.Slice((*byte)(t.data), bytes), unsafe.Slice((*byte)(v.Data), bytes))
	}
	return t
}

func pointer[T Element](data []T) unsafe.Pointer {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(data))
}

// elements is the product of the sizes; false if one is negative or the product does not fit.
func elements(shape []int64) (int64, bool) {
	n := int64(1)
	for _, size := range shape {
		if size < 0 {
			return 0, false
		}
		if size > 0 && n > (1<<62)/size {
			return 0, false
		}
		n *= size
	}
	return n, true
}

// span is the number of elements from the first to the last in memory; false if the lists make no tensor.
func span(shape, strides []int64) (int64, bool) {
	n, ok := elements(shape)
	if !ok || len(shape) != len(strides) {
		return 0, false
	}
	last := int64(0)
	for i, stride := range strides {
		if stride < 0 || (shape[i] > 1 && stride > ((1<<62)-last)/(shape[i]-1)) {
			return 0, false
		}
		last += max(shape[i]-1, 0) * stride
	}
	if n == 0 {
		return 0, true
	}
	return last + 1, true
}

// checkLength keeps a shape from reaching past a slice.
func checkLength(what string, length int, shape []int64) error {
	if n, ok := elements(shape); !ok || n != int64(length) {
		return failed(ErrInvalidArgument, "%s: shape %v does not fit a slice of %d elements", what, slices.Clone(shape), length)
	}
	return nil
}

func contiguous(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	stride := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = stride
		stride *= max(shape[i], 1)
	}
	return strides
}

func isContiguous(shape, strides []int64) bool {
	n, _ := elements(shape)
	stride := int64(1)
	for i := len(shape) - 1; i >= 0 && n != 0; i-- {
		if shape[i] != 1 && strides[i] != stride {
			return false
		}
		stride *= shape[i]
	}
	return true
}

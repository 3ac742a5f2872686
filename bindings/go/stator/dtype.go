package stator

import "github.com/stator-runtime/stator/bindings/go/stator/internal/c"

// DType is the type of a tensor's elements.
type DType int32

// The element types of libstator.
const (
	Int8           DType = c.Int8
	Int16          DType = c.Int16
	Int32          DType = c.Int32
	Int64          DType = c.Int64
	UInt8          DType = c.UInt8
	UInt16         DType = c.UInt16
	UInt32         DType = c.UInt32
	UInt64         DType = c.UInt64
	Float16        DType = c.Float16
	Float32        DType = c.Float32
	Float64        DType = c.Float64
	BFloat16       DType = c.BFloat16
	Complex32      DType = c.Complex32
	Complex64      DType = c.Complex64
	Complex128     DType = c.Complex128
	Bool           DType = c.Bool
	Float8E4M3FN   DType = c.Float8E4M3FN
	Float8E4M3FNUZ DType = c.Float8E4M3UZ
	Float8E5M2     DType = c.Float8E5M2
	Float8E5M2FNUZ DType = c.Float8E5M2UZ
	Float8E8M0FNU  DType = c.Float8E8M0FNU
)

// String is the name as PyTorch spells it without "torch.": "float32".
func (d DType) String() string {
	if name := c.DTypeName(int32(d)); name != "" {
		return name
	}
	return "unknown"
}

// Size is the number of bytes of one element.
func (d DType) Size() int { return int(d>>8) / 8 }

// Half holds the bits of a float16 element; Go has no such type.
type Half uint16

// BHalf holds the bits of a bfloat16 element: the upper half of a float32's.
type BHalf uint16

// Element is a Go type that a tensor's elements can be read and written as.
type Element interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | complex64 | complex128 | bool | Half | BHalf
}

// DTypeOf is the element type that belongs to a Go type.
func DTypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return UInt8
	case uint16:
		return UInt16
	case uint32:
		return UInt32
	case uint64:
		return UInt64
	case float32:
		return Float32
	case float64:
		return Float64
	case complex64:
		return Complex64
	case complex128:
		return Complex128
	case bool:
		return Bool
	case Half:
		return Float16
	default: // BHalf, the last of Element
		return BFloat16
	}
}

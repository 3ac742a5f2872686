package stator_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stator-runtime/stator/bindings/go/stator"
)

// The table that all languages run, and its format: tests/conformance/README.md.
const tableFile = "../../../tests/conformance/cases.json"

type table struct {
	Format     int
	Tolerances map[string][2]float64
	Signatures []struct {
		Model, Method string
		Inputs        []stator.InputInfo
		Outputs       int
	}
	Cases []tableCase
}

type tableCase struct {
	Name, Model string
	Options     map[string]string
	Error       *tableError
	Steps       []tableStep
	Bindable    bool
}

type tableStep struct {
	Method  string
	Args    []tableValue
	Kwargs  []pair[string, tableValue]
	Result  *tableValue
	Error   *tableError
	Written []pair[int, tableValue]
}

type tableError struct {
	Codes, Message, Argument, Operator, Source []string
}

type tableValue struct {
	None    bool
	Bool    *bool
	Int     *int64
	Float   *num
	Complex []num
	Str     *string
	Device  *string
	Object  bool
	Result  *int // as an argument: the object that an earlier step gave
	Tensor  *tableTensor
	List    *[]tableValue
	Tuple   *[]tableValue
	Names   []string
	Dict    *[]pair[tableValue, tableValue]
}

type tableTensor struct {
	DType          string
	Shape, Strides []int64
	Data           []num
	Bits           []uint64
}

// num is a JSON number, or a text that names one.
type num string

func (n *num) UnmarshalJSON(data []byte) error {
	*n = num(strings.Trim(string(data), `"`))
	return nil
}

func (n num) float() float64 { return must(strconv.ParseFloat(string(n), 64)) }
func (n num) int() int64     { return must(strconv.ParseInt(string(n), 10, 64)) }

// pair is a JSON list of two.
type pair[A, B any] struct {
	a A
	b B
}

func (p *pair[A, B]) UnmarshalJSON(data []byte) error {
	both := []any{&p.a, &p.b}
	if err := json.Unmarshal(data, &both); err != nil {
		return err
	}
	if len(both) != 2 {
		return fmt.Errorf("%s is no pair", data)
	}
	return nil
}

func readTable(t *testing.T) *table {
	t.Helper()
	found := &table{}
	decoder := json.NewDecoder(strings.NewReader(string(must(os.ReadFile(tableFile)))))
	decoder.DisallowUnknownFields()
	ok(t, decoder.Decode(found))
	if found.Format != 1 || len(found.Cases) == 0 || len(found.Signatures) == 0 {
		t.Fatalf("the table has format %d, %d cases and %d signatures", found.Format, len(found.Cases), len(found.Signatures))
	}
	return found
}

func TestConformance(t *testing.T) {
	table := readTable(t)
	for _, s := range table.Signatures {
		t.Run("signature/"+s.Model+"/"+s.Method, func(t *testing.T) {
			method, err := load(t, s.Model).Method(s.Method)
			ok(t, err)
			wantValues(t, method.Inputs(), s.Inputs)
			if method.OutputCount() != s.Outputs {
				t.Errorf("%d outputs, want %d", method.OutputCount(), s.Outputs)
			}
		})
	}
	for _, c := range table.Cases {
		t.Run(c.Name, func(t *testing.T) { table.run(t, c) })
	}
}

func (table *table) run(t *testing.T, c tableCase) {
	noLeaks(t)
	var options []stator.Option
	for key, value := range c.Options {
		options = append(options, stator.WithOption(key, value))
	}
	module, err := stator.Load(filepath.Join(models, c.Model), options...)
	if c.Error != nil {
		_ = module.Close()
		ok(t, c.Error.compare(err))
		return
	}
	ok(t, err)
	defer module.Close()

	ways := map[string]way{"call": callWay}
	if c.Bindable {
		ways["bind"] = bindWay
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			rt, err := module.NewRuntime()
			ok(t, err)
			defer rt.Close()
			arena, err := module.NewArena()
			ok(t, err)
			defer arena.Close()
			objects := make([]any, len(c.Steps)) // what steps gave, if it was an object
			for i, step := range c.Steps {
				if err := table.step(module, rt, arena, step, objects, i, way, name == "bind"); err != nil {
					t.Errorf("step %d: %v", i, err)
				}
			}
			for _, object := range objects {
				if object, is := object.(*stator.Object); is {
					ok(t, object.Close())
				}
			}
		})
	}
}

type way func(rt *stator.Runtime, method *stator.Method, args []any, kwargs map[string]any, arena *stator.Arena) (any, error)

func callWay(rt *stator.Runtime, method *stator.Method, args []any, kwargs map[string]any, arena *stator.Arena) (any, error) {
	return rt.Call(method, args, kwargs, arena)
}

func bindWay(rt *stator.Runtime, method *stator.Method, args []any, _ map[string]any, arena *stator.Arena) (any, error) {
	if err := rt.Unbind(method); err != nil {
		return nil, err
	}
	for i, arg := range args {
		var err error
		if tensor, is := arg.(*stator.Tensor); is {
			err = rt.BindTensor(method, i, tensor)
		} else {
			err = rt.BindValue(method, i, arg)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := rt.Run(method, arena); err != nil {
		return nil, err
	}
	return arena.Result()
}

func (table *table) step(module *stator.Module, rt *stator.Runtime, arena *stator.Arena, step tableStep, objects []any, place int, way way, bound bool) error {
	var args []any
	for _, arg := range step.Args {
		if arg.Result != nil {
			args = append(args, objects[*arg.Result])
		} else {
			args = append(args, arg.value())
		}
	}
	kwargs := map[string]any{}
	for _, pair := range step.Kwargs {
		kwargs[pair.a] = pair.b.value()
	}
	method, err := module.Method(step.Method)
	var result any
	if err == nil {
		result, err = way(rt, method, args, kwargs, arena)
	}
	if step.Error != nil {
		return step.Error.compare(err)
	}
	if err != nil {
		return err
	}
	if err := table.compare(result, *step.Result, "result"); err != nil {
		return err
	}
	if step.Result.Object {
		objects[place] = result
	}
	for _, pair := range step.Written {
		if !bound {
			break
		}
		if err := table.compare(args[pair.a], pair.b, fmt.Sprintf("argument %d", pair.a)); err != nil {
			return err
		}
	}
	return nil
}

func (want *tableError) compare(err error) error {
	if err == nil {
		return fmt.Errorf("no error, want %v", want.Codes)
	}
	var e *stator.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%v is of another type", err)
	}
	if !slices.Contains(want.Codes, e.Code.Name()) {
		return fmt.Errorf("got %v, want one of %v", err, want.Codes)
	}
	for part, texts := range map[string][]string{e.Message: want.Message, e.Argument: want.Argument, e.Operator: want.Operator, e.Source: want.Source} {
		for _, text := range texts {
			if !strings.Contains(part, text) {
				return fmt.Errorf("%q does not say %q (%+v)", part, text, e)
			}
		}
	}
	return nil
}

// value makes Go's value.
func (v tableValue) value() any {
	switch {
	case v.Bool != nil:
		return *v.Bool
	case v.Int != nil:
		return *v.Int
	case v.Float != nil:
		return v.Float.float()
	case v.Complex != nil:
		return complex(v.Complex[0].float(), v.Complex[1].float())
	case v.Str != nil:
		return *v.Str
	case v.Device != nil:
		return stator.Device(*v.Device)
	case v.Tensor != nil:
		return v.Tensor.value()
	case v.List != nil:
		return values(*v.List)
	case v.Tuple != nil && v.Names != nil:
		return stator.NamedTuple{Names: v.Names, Items: values(*v.Tuple)}
	case v.Tuple != nil:
		return stator.Tuple(values(*v.Tuple))
	case v.Dict != nil:
		dict := &stator.Dict{}
		for _, pair := range *v.Dict {
			dict.Keys = append(dict.Keys, pair.a.value())
			dict.Items = append(dict.Items, pair.b.value())
		}
		return dict
	default:
		return nil
	}
}

func values(list []tableValue) []any {
	made := make([]any, len(list))
	for i, v := range list {
		made[i] = v.value()
	}
	return made
}

// rawTypes are those that Go has no type for, with one of the same size that holds their bits.
var rawTypes = map[string]struct{ dtype, bits stator.DType }{
	"complex32":       {stator.Complex32, stator.UInt32},
	"float8_e4m3fn":   {stator.Float8E4M3FN, stator.UInt8},
	"float8_e4m3fnuz": {stator.Float8E4M3FNUZ, stator.UInt8},
	"float8_e5m2":     {stator.Float8E5M2, stator.UInt8},
	"float8_e5m2fnuz": {stator.Float8E5M2FNUZ, stator.UInt8},
	"float8_e8m0fnu":  {stator.Float8E8M0FNU, stator.UInt8},
}

func (t *tableTensor) value() *stator.Tensor {
	switch t.DType {
	case "float32":
		return lay(t, each(t.Data, func(n num) float32 { return float32(n.float()) }))
	case "float64":
		return lay(t, each(t.Data, num.float))
	case "bfloat16":
		return lay(t, each(t.Data, func(n num) stator.BHalf { return stator.BHalf(math.Float32bits(float32(n.float())) >> 16) }))
	case "float16":
		return lay(t, each(t.Bits, func(bits uint64) stator.Half { return stator.Half(bits) }))
	case "complex64":
		return lay(t, each(t.complexes(), func(z complex128) complex64 { return complex64(z) }))
	case "complex128":
		return lay(t, t.complexes())
	case "int64":
		return lay(t, each(t.Data, num.int))
	case "int32":
		return lay(t, each(t.Data, func(n num) int32 { return int32(n.int()) }))
	case "int16":
		return lay(t, each(t.Data, func(n num) int16 { return int16(n.int()) }))
	case "int8":
		return lay(t, each(t.Data, func(n num) int8 { return int8(n.int()) }))
	case "uint64":
		return lay(t, each(t.Data, func(n num) uint64 { return uint64(n.int()) }))
	case "uint32":
		return lay(t, each(t.Data, func(n num) uint32 { return uint32(n.int()) }))
	case "uint16":
		return lay(t, each(t.Data, func(n num) uint16 { return uint16(n.int()) }))
	case "uint8":
		return lay(t, each(t.Data, func(n num) uint8 { return uint8(n.int()) }))
	case "bool":
		return lay(t, each(t.Data, func(n num) bool { return n.int() != 0 }))
	}
	raw, known := rawTypes[t.DType]
	if !known {
		panic("the table has a new dtype: " + t.DType)
	}
	var bits *stator.Tensor
	if raw.bits == stator.UInt32 {
		bits = lay(t, each(t.Bits, func(bits uint64) uint32 { return uint32(bits) }))
	} else {
		bits = lay(t, each(t.Bits, func(bits uint64) uint8 { return uint8(bits) }))
	}
	return reinterpreted(bits, raw.dtype)
}

func reinterpreted(t *stator.Tensor, dtype stator.DType) *stator.Tensor {
	return must(stator.NewRawTensor(dtype, t.Bytes(), t.Shape(), t.Strides()))
}

func each[From, To any](from []From, to func(From) To) []To {
	made := make([]To, len(from))
	for i, x := range from {
		made[i] = to(x)
	}
	return made
}

// complexes gives the numbers in pairs.
func (t *tableTensor) complexes() []complex128 {
	made := make([]complex128, len(t.Data)/2)
	for i := range made {
		made[i] = complex(t.Data[2*i].float(), t.Data[2*i+1].float())
	}
	return made
}

// lay puts the elements, which come in row-major order, where the strides say.
func lay[T stator.Element](t *tableTensor, elements []T) *stator.Tensor {
	strides := t.steps()
	length := 1
	for d, size := range t.Shape {
		if size == 0 {
			return must(stator.NewTensor([]T{}, t.Shape...))
		}
		length += int((size - 1) * strides[d])
	}
	data := make([]T, length)
	for i, x := range elements {
		at := int64(0)
		for rest, d := int64(i), len(t.Shape)-1; d >= 0; d-- {
			at += rest % t.Shape[d] * strides[d]
			rest /= t.Shape[d]
		}
		data[at] = x
	}
	return must(stator.NewStridedTensor(data, t.Shape, strides))
}

// numbers gives what numbers() gives of a tensor of these elements.
func (t *tableTensor) numbers() []float64 {
	if t.Bits != nil {
		return each(t.Bits, func(bits uint64) float64 { return float64(bits) })
	}
	return each(t.Data, num.float)
}

func (t *tableTensor) steps() []int64 {
	if t.Strides != nil || len(t.Shape) == 0 {
		return t.Strides
	}
	strides := make([]int64, len(t.Shape))
	for d, step := len(t.Shape)-1, int64(1); d >= 0; d-- {
		strides[d] = step
		step *= max(t.Shape[d], 1)
	}
	return strides
}

// compare says where a result differs.
func (table *table) compare(got any, want tableValue, place string) error {
	if got, is := got.(*stator.Tensor); is && want.Tensor != nil {
		return table.compareTensors(got, want.Tensor, place)
	}
	if got, is := got.([]any); is && want.List != nil {
		return table.compareAll(got, *want.List, place)
	}
	if got, is := got.(stator.Tuple); is && want.Tuple != nil && want.Names == nil {
		return table.compareAll(got, *want.Tuple, place)
	}
	if got, is := got.(stator.NamedTuple); is && want.Tuple != nil && slices.Equal(got.Names, want.Names) {
		return table.compareAll(got.Items, *want.Tuple, place)
	}
	if got, is := got.(*stator.Dict); is && want.Dict != nil {
		var keys, items []tableValue
		for _, pair := range *want.Dict {
			keys, items = append(keys, pair.a), append(items, pair.b)
		}
		return errors.Join(table.compareAll(got.Keys, keys, place+"'s keys"), table.compareAll(got.Items, items, place))
	}
	if got, is := got.(complex128); is && want.Complex != nil {
		if table.close(real(got), want.Complex[0].float(), "float64") && table.close(imag(got), want.Complex[1].float(), "float64") {
			return nil
		}
	}
	if got, is := got.(float64); is && want.Float != nil && table.close(got, want.Float.float(), "float64") {
		return nil
	}
	if _, is := got.(*stator.Object); is && want.Object {
		return nil
	}
	if !want.Object && want.Float == nil && want.Complex == nil && want.Tensor == nil && want.List == nil && want.Tuple == nil && want.Dict == nil && got == want.value() {
		return nil
	}
	return fmt.Errorf("%s: got %T %v, want %+v", place, got, got, want.value())
}

func (table *table) compareAll(got []any, want []tableValue, place string) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s: got %d items, want %d", place, len(got), len(want))
	}
	for i := range got {
		if err := table.compare(got[i], want[i], fmt.Sprintf("%s[%d]", place, i)); err != nil {
			return err
		}
	}
	return nil
}

func (table *table) compareTensors(got *stator.Tensor, want *tableTensor, place string) error {
	if got.DType().String() != want.DType || !slices.Equal(got.Shape(), want.Shape) {
		return fmt.Errorf("%s: got %v%v, want %v%v", place, got.DType(), got.Shape(), want.DType, want.Shape)
	}
	for d, stride := range want.steps() {
		if want.Shape[d] > 1 && len(want.numbers()) > 0 && got.Strides()[d] != stride {
			return fmt.Errorf("%s: got strides %v, want %v", place, got.Strides(), want.steps())
		}
	}
	wanted := want.numbers()
	for i, number := range numbers(got) {
		expected := wanted[i]
		if !table.close(number, expected, want.DType) {
			return fmt.Errorf("%s: element %d is %v, want %v", place, i, number, expected)
		}
	}
	return nil
}

// numbers gives the elements in row-major order: two for a complex one, the bits of those that the table has as bits.
func numbers(t *stator.Tensor) []float64 {
	if raw, is := rawTypes[t.DType().String()]; is {
		t = reinterpreted(t, raw.bits)
	}
	switch t.DType() {
	case stator.Float32:
		return convert(t, func(x float32) float64 { return float64(x) })
	case stator.Float64:
		return convert(t, func(x float64) float64 { return x })
	case stator.BFloat16:
		return convert(t, func(x stator.BHalf) float64 { return float64(math.Float32frombits(uint32(x) << 16)) })
	case stator.Float16:
		return convert(t, func(x stator.Half) float64 { return float64(x) })
	case stator.Complex64:
		return parts(convert(t, func(x complex64) complex128 { return complex128(x) }))
	case stator.Complex128:
		return parts(convert(t, func(x complex128) complex128 { return x }))
	case stator.Int64:
		return convert(t, func(x int64) float64 { return float64(x) })
	case stator.Int32:
		return convert(t, func(x int32) float64 { return float64(x) })
	case stator.Int16:
		return convert(t, func(x int16) float64 { return float64(x) })
	case stator.Int8:
		return convert(t, func(x int8) float64 { return float64(x) })
	case stator.UInt64:
		return convert(t, func(x uint64) float64 { return float64(x) })
	case stator.UInt32:
		return convert(t, func(x uint32) float64 { return float64(x) })
	case stator.UInt16:
		return convert(t, func(x uint16) float64 { return float64(x) })
	case stator.UInt8:
		return convert(t, func(x uint8) float64 { return float64(x) })
	default:
		return convert(t, func(x bool) float64 { return map[bool]float64{true: 1}[x] })
	}
}

func parts(numbers []complex128) []float64 {
	var made []float64
	for _, z := range numbers {
		made = append(made, real(z), imag(z))
	}
	return made
}

func convert[T stator.Element, To any](t *stator.Tensor, to func(T) To) []To {
	return each(must(stator.Values[T](t)), to)
}

func (table *table) close(got, want float64, dtype string) bool {
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return true
	}
	t, floating := table.Tolerances[dtype]
	return floating && !math.IsInf(want, 0) && math.Abs(got-want) <= t[1]+t[0]*math.Abs(want)
}

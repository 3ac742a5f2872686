package stator

import (
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// Tuple is a tuple without names.
type Tuple []any

// NamedTuple is a tuple whose fields have names.
type NamedTuple struct {
	Names []string
	Items []any
}

// Field gives the item of a name.
func (t NamedTuple) Field(name string) (any, bool) {
	i := slices.Index(t.Names, name)
	if i < 0 || i >= len(t.Items) {
		return nil, false
	}
	return t.Items[i], true
}

// Dict is a dict in its order: Keys[i] belongs to Items[i].
type Dict struct {
	Keys  []any
	Items []any
}

// Get gives the item of a key that is no tensor.
func (d *Dict) Get(key any) (any, bool) {
	for i, k := range d.Keys {
		if k == key && i < len(d.Items) {
			return d.Items[i], true
		}
	}
	return nil, false
}

// Device is a device as PyTorch spells it: "cpu".
type Device string

// Object is anything else that a model returns: it can only be passed back. Close it when done.
type Object struct{ h *objectHandle }

type objectHandle struct {
	handle
	ptr *c.Value
}

func newObject(ptr *c.Value) *Object {
	h := &objectHandle{ptr: ptr}
	h.release = h.free
	o := &Object{h}
	runtime.AddCleanup(o, (*handle).forget, &h.handle)
	return o
}

func (h *objectHandle) free() error {
	c.ValueRelease(h.ptr)
	return nil
}

// Close gives the object up.
func (o *Object) Close() error {
	if o == nil || o.h == nil {
		return nil
	}
	defer runtime.KeepAlive(o)
	return o.h.close()
}

// ReadValue reads what torch.save wrote of tensors, numbers, texts, lists, tuples and dicts, or an .npz file.
func ReadValue(path string) (any, error) {
	if err := noNUL("path", path); err != nil {
		return nil, err
	}
	if err := needTorch(); err != nil {
		return nil, err
	}
	v, status := c.ValueRead(path)
	if status != nil {
		return nil, check(status)
	}
	defer c.ValueRelease(v)
	return read(v)
}

// WriteValue writes a file: .npz if the name ends so, else what torch.load reads.
func WriteValue(value any, path string) error {
	if err := noNUL("path", path); err != nil {
		return err
	}
	if err := needTorch(); err != nil {
		return err
	}
	v, err := new(builder).build(value)
	if err != nil {
		return err
	}
	defer c.ValueRelease(v)
	return check(c.ValueWrite(v, path))
}

// builder makes values of the ABI from Go's.
//
// Tensors are copied, because a model may keep them longer than the call; only where the method writes into an argument does
// it get the caller's own memory, pinned for the call.
type builder struct {
	borrow bool
	pinner runtime.Pinner
}

func (b *builder) arguments(method *Method, args []any) (*c.Value, error) {
	items := make([]*c.Value, 0, len(args))
	defer func() { release(items) }()
	for i, arg := range args {
		b.borrow = method.writes(i, "")
		item, err := b.build(arg)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return made(c.ValueTuple(items, nil))
}

func (b *builder) keywords(method *Method, kwargs map[string]any) (*c.Value, error) {
	if len(kwargs) == 0 {
		return nil, nil
	}
	var keys, items []*c.Value
	defer func() { release(keys); release(items) }()
	for _, name := range slices.Sorted(maps.Keys(kwargs)) {
		key, status := c.ValueStr(name)
		if status != nil {
			return nil, check(status)
		}
		keys = append(keys, key)
		b.borrow = method.writes(-1, name)
		item, err := b.build(kwargs[name])
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return made(c.ValueDict(keys, items))
}

func (b *builder) build(value any) (*c.Value, error) {
	switch v := value.(type) {
	case nil:
		return made(c.ValueNone())
	case *Tensor:
		if v == nil {
			return made(c.ValueNone())
		}
		return b.tensor(v)
	case Device:
		if err := noNUL("device", string(v)); err != nil {
			return nil, err
		}
		return made(c.ValueDevice(string(v)))
	case []any:
		return b.list(v)
	case Tuple:
		return b.tuple(v, nil)
	case NamedTuple:
		return b.tuple(v.Items, v.Names)
	case *Dict:
		if v == nil {
			return made(c.ValueNone())
		}
		return b.dict(v.Keys, v.Items)
	case *Object:
		return b.object(v)
	}
	return b.other(reflect.ValueOf(value))
}

// other takes what Go has many types of.
func (b *builder) other(v reflect.Value) (*c.Value, error) {
	switch {
	case v.Kind() == reflect.Bool:
		return made(c.ValueBool(v.Bool()))
	case v.CanInt():
		return made(c.ValueInt(v.Int()))
	case v.CanUint() && v.Uint() <= 1<<63-1:
		return made(c.ValueInt(int64(v.Uint())))
	case v.CanFloat():
		return made(c.ValueFloat(v.Float()))
	case v.CanComplex():
		return made(c.ValueComplex(v.Complex()))
	case v.Kind() == reflect.String:
		return made(c.ValueStr(v.String()))
	case v.Kind() == reflect.Slice:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = v.Index(i).Interface()
		}
		return b.list(items)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		return b.stringMap(v)
	}
	return nil, failed(ErrInvalidArgument, "a Go %v is no value for a model; Module.CallMethod lists what is", v.Type())
}

// stringMap orders the keys, because Go's order changes from run to run.
func (b *builder) stringMap(v reflect.Value) (*c.Value, error) {
	names := v.MapKeys()
	slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	keys, items := make([]any, len(names)), make([]any, len(names))
	for i, name := range names {
		keys[i], items[i] = name.String(), v.MapIndex(name).Interface()
	}
	return b.dict(keys, items)
}

func (b *builder) tensor(t *Tensor) (*c.Value, error) {
	if !b.borrow {
		return made(c.ValueTensor(t.data, int32(t.dtype), t.shape, t.strides))
	}
	if t.data != nil {
		b.pinner.Pin(t.data)
	}
	return made(c.ValueTensorShared(t.data, int32(t.dtype), t.shape, t.strides))
}

func (b *builder) list(values []any) (*c.Value, error) {
	items, err := b.all(values)
	defer release(items)
	if err != nil {
		return nil, err
	}
	return made(c.ValueList(items))
}

func (b *builder) tuple(values []any, names []string) (*c.Value, error) {
	if names != nil && len(names) != len(values) {
		return nil, failed(ErrInvalidArgument, "a named tuple has %d names and %d items", len(names), len(values))
	}
	for _, name := range names {
		if err := noNUL("field "+strconv.Quote(name), name); err != nil {
			return nil, err
		}
	}
	items, err := b.all(values)
	defer release(items)
	if err != nil {
		return nil, err
	}
	return made(c.ValueTuple(items, names))
}

func (b *builder) dict(keys, items []any) (*c.Value, error) {
	if len(keys) != len(items) {
		return nil, failed(ErrInvalidArgument, "a dict has %d keys and %d items", len(keys), len(items))
	}
	k, err := b.all(keys)
	defer release(k)
	if err != nil {
		return nil, err
	}
	v, err := b.all(items)
	defer release(v)
	if err != nil {
		return nil, err
	}
	return made(c.ValueDict(k, v))
}

func (b *builder) object(o *Object) (*c.Value, error) {
	if o == nil || o.h == nil {
		return made(c.ValueNone())
	}
	if err := o.h.enter(); err != nil {
		return nil, err
	}
	defer o.h.leave()
	defer runtime.KeepAlive(o)
	c.ValueRetain(o.h.ptr)
	return o.h.ptr, nil
}

// all gives what it made even with an error, to be released.
func (b *builder) all(values []any) ([]*c.Value, error) {
	made := make([]*c.Value, 0, len(values))
	for _, value := range values {
		v, err := b.build(value)
		if err != nil {
			return made, err
		}
		made = append(made, v)
	}
	return made, nil
}

func made(v *c.Value, status *c.Status) (*c.Value, error) { return v, check(status) }

func release(values []*c.Value) {
	for _, v := range values {
		c.ValueRelease(v)
	}
}

// read makes Go's value of one of the ABI, which stays the caller's.
func read(v *c.Value) (any, error) {
	switch c.ValueKind(v) {
	case c.KindNone:
		return nil, nil
	case c.KindBool:
		return got(c.ValueAsBool(v))
	case c.KindInt:
		return got(c.ValueAsInt(v))
	case c.KindFloat:
		return got(c.ValueAsFloat(v))
	case c.KindComplex:
		return got(c.ValueAsComplex(v))
	case c.KindStr:
		return got(c.ValueAsStr(v))
	case c.KindDevice:
		name, status := c.ValueAsStr(v)
		return got(Device(name), status)
	case c.KindTensor:
		view, status := c.ValueAsTensor(v)
		if status != nil {
			return nil, check(status)
		}
		return copyView(view), nil
	case c.KindList:
		items, err := readAll(v, c.ValueItem)
		return items, err
	case c.KindTuple:
		return readTuple(v)
	case c.KindDict:
		return readDict(v)
	default:
		c.ValueRetain(v)
		return newObject(v), nil
	}
}

func got[T any](v T, status *c.Status) (any, error) {
	if status != nil {
		return nil, check(status)
	}
	return v, nil
}

func readAll(v *c.Value, get func(*c.Value, int64) (*c.Value, *c.Status)) ([]any, error) {
	items := make([]any, 0, c.ValueSize(v))
	for i := range c.ValueSize(v) {
		item, status := get(v, i)
		if status != nil {
			return nil, check(status)
		}
		value, err := read(item)
		c.ValueRelease(item)
		if err != nil {
			return nil, err
		}
		items = append(items, value)
	}
	return items, nil
}

func readTuple(v *c.Value) (any, error) {
	items, err := readAll(v, c.ValueItem)
	if err != nil {
		return nil, err
	}
	if _, named := c.ValueField(v, 0); !named {
		return Tuple(items), nil
	}
	names := make([]string, len(items))
	for i := range names {
		names[i], _ = c.ValueField(v, int64(i))
	}
	return NamedTuple{names, items}, nil
}

func readDict(v *c.Value) (any, error) {
	keys, err := readAll(v, c.ValueKey)
	if err != nil {
		return nil, err
	}
	items, err := readAll(v, c.ValueItem)
	if err != nil {
		return nil, err
	}
	return &Dict{keys, items}, nil
}

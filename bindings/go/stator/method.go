package stator

import "github.com/stator-runtime/stator/bindings/go/stator/internal/c"

// Method is one entry point of a module. It needs no Close, and what it says of itself stays readable after the module's.
type Method struct {
	module  *moduleHandle
	ptr     *c.Method // belongs to the module
	name    string
	inputs  []InputInfo
	outputs int
}

func newMethod(module *moduleHandle, ptr *c.Method) *Method {
	m := &Method{module: module, ptr: ptr, name: c.MethodName(ptr), outputs: int(c.MethodOutputCount(ptr))}
	for i := range c.MethodInputCount(ptr) {
		m.inputs = append(m.inputs, InputInfo{c.MethodInputName(ptr, i), c.MethodInputType(ptr, i), c.MethodInputWritten(ptr, i)})
	}
	return m
}

// InputInfo describes an input of a method.
type InputInfo struct {
	Name    string
	Type    string // as TorchScript spells it: "Tensor", "int", "Optional[Tensor]"
	Written bool   // the method writes into the caller's tensor
}

// Name is the method's name.
func (m *Method) Name() string { return m.name }

// Inputs describes the inputs, those with defaults included; do not change it.
func (m *Method) Inputs() []InputInfo { return m.inputs }

// OutputCount is the number of tensors in the result, counted depth first; -1 if it depends on the run.
func (m *Method) OutputCount() int { return m.outputs }

// Graph is the method's graph after all passes, as text.
func (m *Method) Graph() (string, error) { return m.read(c.MethodGraph) }

// Plan is the method's dynamic plan, as JSON: every node, what was chosen for it and why, and the memory.
func (m *Method) Plan() (string, error) { return m.read(c.MethodPlan) }

// WarmUp makes the plan for inputs of these shapes before anybody runs on them, by one run on zeros and a copy of the state. The signature gives
// dtype and all sizes of each tensor, as in "x: float32[8, 128], steps = 3, mask = none". Options are those of the runtimes
// that will run, as WithIntraOpThreads; by default those of Call and of pools.
func (m *Method) WarmUp(signature string, options ...Option) error {
	if err := noNUL("signature", signature); err != nil {
		return err
	}
	ptr, err := m.use(nil)
	if err != nil {
		return err
	}
	defer m.done(nil)
	var module *c.Module
	if ptr != nil {
		module = m.module.ptr
	}
	return withOptions(options, func(o *c.Options) error {
		return check(c.ModuleWarmUp(module, ptr, signature, o))
	})
}

// PlanSVG is a picture of the memory that the plan gives its tensors, as the runs so far have sized them.
func (m *Method) PlanSVG() (string, error) { return m.read(c.MethodPlanSVG) }

func (m *Method) read(call func(*c.Method) (string, *c.Status)) (string, error) {
	ptr, err := m.use(nil)
	if err != nil {
		return "", err
	}
	defer m.done(nil)
	text, status := call(ptr)
	return text, check(status)
}

// use gives the handle, alive until done. The owner's own methods live as long as the owner, others as their module.
func (m *Method) use(owner *moduleHandle) (*c.Method, error) {
	if m == nil || m.module == nil {
		return nil, nil
	}
	if m.module != owner {
		if err := m.module.enter(); err != nil {
			return nil, err
		}
	}
	return m.ptr, nil
}

func (m *Method) done(owner *moduleHandle) {
	if m != nil && m.module != nil && m.module != owner {
		m.module.leave()
	}
}

// writes says whether the method writes into an input, by its place or its name.
func (m *Method) writes(index int, name string) bool {
	if m == nil {
		return false
	}
	for i, input := range m.inputs {
		if i == index || input.Name == name {
			return input.Written
		}
	}
	return false
}

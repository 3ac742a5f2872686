package stator_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stator-runtime/stator/bindings/go/stator"
	"github.com/stator-runtime/stator/bindings/go/stator/internal/ctest"
)

func TestFilesThatAreNoModelsAreRefused(t *testing.T) {
	for name, want := range map[string]error{
		"there_is_no_such_file.pt": stator.ErrNotFound,
		"truncated.pt":             stator.ErrBadModel,
		"not_a_model.zip":          stator.ErrBadModel,
		"text.pt":                  stator.ErrBadModel,
		"empty.pt":                 stator.ErrBadModel,
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			module, err := stator.Load(filepath.Join(models, name))
			wantError(t, err, want, name)
			if module != nil {
				t.Error("a module came with the error")
			}
			if data, err := os.ReadFile(filepath.Join(models, name)); err == nil {
				_, err = stator.LoadBytes(data)
				wantError(t, err, want)
			}
		})
	}
}

func TestNULInATextIsRefused(t *testing.T) {
	_, err := stator.Load("a\x00b")
	wantError(t, err, stator.ErrInvalidArgument, "NUL")
	s := open(t, "add_mul.pt")
	_, err = s.module.Method("forward\x00")
	wantError(t, err, stator.ErrInvalidArgument, "NUL")
}

func TestUnknownOptionIsRefused(t *testing.T) {
	noLeaks(t)
	_, err := stator.Load(filepath.Join(models, "add_mul.pt"), stator.WithOption("weigths", "copy"))
	wantError(t, err, stator.ErrInvalidArgument, "weights")
	_, err = stator.Load(filepath.Join(models, "add_mul.pt"), stator.WithOption("weights", []int{1}))
	wantError(t, err, stator.ErrInvalidArgument, "[]int")
}

func TestUnknownMethodIsRefused(t *testing.T) {
	_, err := load(t, "counter.pt").Method("resett")
	wantError(t, err, stator.ErrNotFound, "forward", "reset")
}

func TestTensorsOffTheSignatureAreRefused(t *testing.T) {
	s := open(t, "linear.pt", stator.WithSignature("x: float32[?, 8]"))
	refuse := func(err, want error) {
		t.Helper()
		if err == nil {
			err = s.rt.Run(s.forward, s.arena)
		}
		wantError(t, err, want)
		var e *stator.Error
		if !errors.As(err, &e) || e.Argument != `input "x" (argument 1)` {
			t.Errorf("the argument is not named: %+v", e)
		}
	}
	refuse(stator.Bind(s.rt, s.forward, 0, make([]float64, 8), 1, 8), stator.ErrDTypeMismatch)
	refuse(stator.Bind(s.rt, s.forward, 0, make([]float32, 8), 8), stator.ErrShapeMismatch)
	refuse(stator.Bind(s.rt, s.forward, 0, make([]float32, 7), 1, 7), stator.ErrShapeMismatch)
	_, err := s.rt.Call(s.forward, []any{must(stator.NewTensor(make([]float64, 8), 1, 8))}, nil, s.arena)
	refuse(err, stator.ErrDTypeMismatch)

	ok(t, stator.Bind(s.rt, s.forward, 0, make([]float32, 8), 1, 8))
	ok(t, s.rt.Run(s.forward, s.arena))
}

func TestWrongCountOfInputsIsRefused(t *testing.T) {
	s := open(t, "add_mul.pt")
	x := must(stator.NewTensor([]float32{1, 2}, 2))
	wantError(t, s.rt.Run(s.forward, s.arena), stator.ErrInputMissing, "x")
	_, err := s.rt.Call(s.forward, []any{x}, nil, s.arena)
	wantError(t, err, stator.ErrInputMissing, "y")
	_, err = s.rt.Call(s.forward, []any{x, x, x}, nil, s.arena)
	wantError(t, err, stator.ErrInvalidArgument)
	_, err = s.rt.Call(s.forward, []any{x, x}, map[string]any{"z": x}, s.arena)
	wantError(t, err, stator.ErrInvalidArgument, "z")
	for _, index := range []int{-1, 2, 1 << 40} {
		wantError(t, stator.Bind(s.rt, s.forward, index, []float32{1, 2}, 2), stator.ErrInvalidArgument)
	}
	_, err = s.rt.Call(s.forward, []any{x, x}, nil, s.arena)
	ok(t, err)
}

func TestShapeMustFitTheSlice(t *testing.T) {
	s := open(t, "add_mul.pt")
	for _, shape := range [][]int64{{3}, {2, 2}, {-1}, {-1, -2}, {1 << 40, 1 << 40}, {0}, {}} {
		wantError(t, stator.Bind(s.rt, s.forward, 0, []float32{1, 2}, shape...), stator.ErrInvalidArgument)
		_, err := stator.NewTensor([]float32{1, 2}, shape...)
		wantError(t, err, stator.ErrInvalidArgument)
	}
	_, err := stator.NewStridedTensor(make([]float32, 5), []int64{2, 3}, []int64{3, 1})
	wantError(t, err, stator.ErrInvalidArgument, "need 6", "has 5")
	_, err = stator.NewStridedTensor(make([]float32, 5), []int64{2}, []int64{-1})
	wantError(t, err, stator.ErrInvalidArgument)
	wantError(t, stator.Bind(s.rt, s.forward, 0, []float32{1}, make([]int64, 65)...), stator.ErrInvalidArgument)
}

func TestGoValuesThatAreNoArgumentsAreRefused(t *testing.T) {
	s := open(t, "add_mul.pt")
	for _, bad := range []any{struct{}{}, make(chan int), map[int]int{}, uint64(1) << 63, []any{struct{}{}}, stator.NamedTuple{Names: []string{"a"}}} {
		_, err := s.rt.Call(s.forward, []any{bad, nil}, nil, s.arena)
		wantError(t, err, stator.ErrInvalidArgument)
	}
}

func TestNilObjectsAreNullHandles(t *testing.T) {
	s, _ := openAddMul(t)
	var (
		module *stator.Module
		rt     *stator.Runtime
		arena  *stator.Arena
		pool   *stator.Pool
		method *stator.Method
	)
	failing := map[string]func() error{
		"Module.Method":     func() error { _, err := module.Method("forward"); return err },
		"Module.Describe":   func() error { _, err := module.Describe(); return err },
		"Module.NewRuntime": func() error { _, err := module.NewRuntime(); return err },
		"Module.NewArena":   func() error { _, err := module.NewArena(); return err },
		"Module.NewPool":    func() error { _, err := module.NewPool(); return err },
		"Module.Call":       func() error { _, err := module.Call(context.Background()); return err },
		"Method.Graph":      func() error { _, err := method.Graph(); return err },
		"Method.Plan":       func() error { _, err := method.Plan(); return err },
		"Runtime.Run":       func() error { return rt.Run(s.forward, s.arena) },
		"Run method":        func() error { return s.rt.Run(nil, s.arena) },
		"Run arena":         func() error { return s.rt.Run(s.forward, nil) },
		"Runtime.Call":      func() error { _, err := rt.Call(s.forward, nil, nil, s.arena); return err },
		"Call method":       func() error { _, err := s.rt.Call(nil, nil, nil, s.arena); return err },
		"Call arena":        func() error { _, err := s.rt.Call(s.forward, nil, nil, nil); return err },
		"Bind runtime":      func() error { return stator.Bind(rt, s.forward, 0, []float32{1}, 1) },
		"Bind method":       func() error { return stator.Bind(s.rt, nil, 0, []float32{1}, 1) },
		"BindOutput":        func() error { return stator.BindOutput(rt, s.forward, 0, []float32{1}, 1) },
		"BindTensor":        func() error { return s.rt.BindTensor(s.forward, 0, nil) },
		"BindValue":         func() error { return rt.BindValue(s.forward, 0, 1) },
		"Input":             func() error { _, err := stator.Input[float32](rt, s.forward, 0, 1); return err },
		"Unbind":            func() error { return rt.Unbind(nil) },
		"ResetState":        func() error { return rt.ResetState() },
		"Clone":             func() error { _, err := rt.Clone(); return err },
		"Arena.Reset":       func() error { return arena.Reset() },
		"Arena.Result":      func() error { _, err := arena.Result(); return err },
		"Arena.Tensor":      func() error { _, err := arena.Tensor(0); return err },
		"Output":            func() error { _, err := stator.Output[float32](arena, 0); return err },
		"Pool.TryAcquire":   func() error { _, err := pool.TryAcquire(); return err },
		"Pool.Acquire":      func() error { _, err := pool.Acquire(context.Background()); return err },
		"Pool.Call":         func() error { _, err := pool.Call(context.Background(), s.forward, nil, nil, s.arena); return err },
	}
	for name, call := range failing {
		t.Run(name, func(t *testing.T) { wantError(t, call(), stator.ErrInvalidArgument) })
	}
	if rt.WorkspaceBytes() != 0 || arena.Bytes() != 0 || arena.Generation() != 0 || arena.OutputCount() != 0 || pool.RuntimeCount() != 0 {
		t.Error("a nil object has numbers")
	}
	for _, closer := range []interface{ Close() error }{module, rt, arena, pool, &stator.Runtime{}} {
		ok(t, closer.Close())
	}
	ok(t, s.rt.Run(s.forward, s.arena))
}

func TestCloseTwiceIsNothing(t *testing.T) {
	s, _ := openAddMul(t)
	pool := must(s.module.NewPool())
	lent := must(pool.Acquire(context.Background()))
	for _, closer := range []interface{ Close() error }{lent, pool, s.rt, s.arena, s.module} {
		for range 3 {
			ok(t, closer.Close())
		}
	}
}

func TestUseAfterCloseIsErrClosed(t *testing.T) {
	s, _ := openAddMul(t)
	pool := must(s.module.NewPool())
	lent := must(pool.Acquire(context.Background()))
	other := must(s.module.NewArena())
	ok(t, other.Close())
	wantError(t, s.rt.Run(s.forward, other), stator.ErrClosed)
	ok(t, s.rt.Run(s.forward, s.arena))

	for _, closer := range []interface{ Close() error }{lent, pool, s.rt, s.arena, s.module} {
		ok(t, closer.Close())
	}
	ctx := context.Background()
	for name, call := range map[string]func() error{
		"Run":          func() error { return s.rt.Run(s.forward, s.arena) },
		"lent Run":     func() error { return lent.Run(s.forward, s.arena) },
		"Runtime.Call": func() error { _, err := s.rt.Call(s.forward, nil, nil, s.arena); return err },
		"Bind":         func() error { return stator.Bind(s.rt, s.forward, 0, []float32{1}, 1) },
		"BindOutput":   func() error { return stator.BindOutput(s.rt, s.forward, 0, []float32{1}, 1) },
		"BindValue":    func() error { return s.rt.BindValue(s.forward, 0, 1) },
		"Input":        func() error { _, err := stator.Input[float32](s.rt, s.forward, 0, 1); return err },
		"Unbind":       func() error { return s.rt.Unbind(nil) },
		"ResetState":   func() error { return s.rt.ResetState() },
		"Clone":        func() error { _, err := s.rt.Clone(); return err },
		"Output":       func() error { _, err := stator.Output[float32](s.arena, 0); return err },
		"CopyOutput":   func() error { _, err := stator.CopyOutput[float32](nil, s.arena, 0); return err },
		"Tensor":       func() error { _, err := s.arena.Tensor(0); return err },
		"Shape":        func() error { _, err := s.arena.Shape(0); return err },
		"Result":       func() error { _, err := s.arena.Result(); return err },
		"Reset":        func() error { return s.arena.Reset() },
		"Acquire":      func() error { _, err := pool.Acquire(ctx); return err },
		"TryAcquire":   func() error { _, err := pool.TryAcquire(); return err },
		"Pool.Call":    func() error { _, err := pool.Call(ctx, s.forward, nil, nil, s.arena); return err },
		"Module.Call":  func() error { _, err := s.module.Call(ctx); return err },
		"Method":       func() error { _, err := s.module.Method("forward"); return err },
		"Methods":      func() error { _, err := s.module.Methods(); return err },
		"Describe":     func() error { _, err := s.module.Describe(); return err },
		"NewRuntime":   func() error { _, err := s.module.NewRuntime(); return err },
		"NewArena":     func() error { _, err := s.module.NewArena(); return err },
		"NewPool":      func() error { _, err := s.module.NewPool(); return err },
		"Graph":        func() error { _, err := s.forward.Graph(); return err },
		"Plan":         func() error { _, err := s.forward.Plan(); return err },
	} {
		t.Run(name, func(t *testing.T) { wantError(t, call(), stator.ErrClosed) })
	}
	if s.forward.Name() != "forward" || len(s.forward.Inputs()) != 2 {
		t.Error("a method forgot its name or inputs")
	}
}

func TestMethodOfAnotherModuleIsRefused(t *testing.T) {
	s, _ := openAddMul(t)
	other := load(t, "add_mul.pt")
	forward := must(other.Method("forward"))
	wantError(t, s.rt.Run(forward, s.arena), stator.ErrInvalidArgument)
	ok(t, other.Close())
	wantError(t, s.rt.Run(forward, s.arena), stator.ErrClosed)
}

// startSlow runs for a while in another goroutine and returns when the run has begun; the channel gives its error.
func startSlow(t *testing.T, s *session) chan error {
	t.Helper()
	x := make([]float32, 64*64)
	ok(t, stator.Bind(s.rt, s.forward, 0, x, 64, 64))
	ok(t, s.rt.BindValue(s.forward, 1, 10000))
	done := make(chan error, 1)
	go func() {
		for { // the look below may be in the way of the start
			if err := s.rt.Run(s.forward, s.arena); !errors.Is(err, stator.ErrBusy) {
				done <- err
				return
			}
		}
	}()
	for deadline := time.Now().Add(10 * time.Second); !errors.Is(s.rt.ResetState(), stator.ErrBusy); {
		if time.Now().After(deadline) {
			t.Fatal("the run never began")
		}
		time.Sleep(time.Millisecond)
	}
	return done
}

func TestSecondCallerIsBusy(t *testing.T) {
	s := open(t, "slow.pt")
	second := must(s.module.NewRuntime())
	defer second.Close()
	done := startSlow(t, s)

	elsewhere := must(s.module.NewArena())
	defer elsewhere.Close()
	wantError(t, s.rt.Run(s.forward, elsewhere), stator.ErrBusy)
	wantError(t, stator.Bind(s.rt, s.forward, 0, []float32{1}, 1, 1), stator.ErrBusy)
	wantError(t, s.rt.Unbind(nil), stator.ErrBusy)
	_, err := s.rt.Clone()
	wantError(t, err, stator.ErrBusy)

	wantError(t, s.arena.Reset(), stator.ErrBusy) // libstator's own guard, as the next three
	ok(t, stator.Bind(second, s.forward, 0, []float32{1}, 1, 1))
	ok(t, second.BindValue(s.forward, 1, 1))
	wantError(t, second.Run(s.forward, s.arena), stator.ErrBusy)
	_, err = stator.Output[float32](s.arena, 0)
	wantError(t, err, stator.ErrBusy)

	select {
	case err := <-done:
		t.Fatalf("the slow run was over before the test: %v", err)
	default:
	}
	ok(t, <-done)
	ok(t, s.rt.Run(s.forward, elsewhere))
}

func TestCloseDuringARunReturnsAtOnce(t *testing.T) {
	runtimes := stator.LiveHandles(stator.RuntimeHandles)
	s := open(t, "slow.pt")
	done := startSlow(t, s)
	ok(t, s.rt.Close())
	ok(t, s.arena.Close())
	ok(t, s.module.Close())
	wantError(t, s.rt.Run(s.forward, s.arena), stator.ErrClosed)
	select {
	case err := <-done:
		t.Fatalf("Close waited for the run, or the run was over before: %v", err)
	default:
	}
	if got := stator.LiveHandles(stator.RuntimeHandles); got != runtimes+1 {
		t.Errorf("%d runtimes live during the run, want %d", got, runtimes+1)
	}
	ok(t, <-done)
	if got := stator.LiveHandles(stator.RuntimeHandles); got != runtimes {
		t.Errorf("%d runtimes live after the run, want %d", got, runtimes)
	}
}

func TestForkedChildIsRefused(t *testing.T) {
	load(t, "add_mul.pt")
	if got := stator.Code(ctest.LoadInChild("", filepath.Join(models, "add_mul.pt"))); got != stator.ErrForked {
		t.Errorf("a child forked after the first load got %v", got)
	}
}

// runChild runs the test binary anew, without any LibTorch in its environment.
func runChild(t *testing.T, task string, environment ...string) string {
	t.Helper()
	command := exec.Command(must(os.Executable()))
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		switch name {
		case "STATOR_TORCH_HOME":
			continue
		case "LD_LIBRARY_PATH":
			variable = name + "=" + withoutTorch(value)
		}
		command.Env = append(command.Env, variable)
	}
	command.Env = append(append(command.Env, childVariable+"="+task), environment...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("the child ended with %v: %s", err, out)
	}
	return string(out)
}

func withoutTorch(path string) string {
	var kept []string
	for _, folder := range strings.Split(path, ":") {
		if _, err := os.Stat(filepath.Join(folder, "libtorch_cpu.so")); err != nil {
			kept = append(kept, folder)
		}
	}
	return strings.Join(kept, ":")
}

func wantChild(t *testing.T, out, code string, texts ...string) {
	t.Helper()
	for _, text := range append(texts, code) {
		if !strings.Contains(out, text) {
			t.Errorf("%q does not say %q", out, text)
		}
	}
}

func TestForkBeforeTheFirstLoadIsFree(t *testing.T) {
	wantChild(t, runChild(t, "fork first", "STATOR_TORCH_HOME="+os.Getenv("STATOR_TORCH_HOME")), "OK")
}

func TestTorchHomeOfTheEnvironmentIsUsed(t *testing.T) {
	wantChild(t, runChild(t, "load", "STATOR_TORCH_HOME="+os.Getenv("STATOR_TORCH_HOME")), "OK")
}

func TestNoTorchIsAStatus(t *testing.T) {
	wantChild(t, runChild(t, "load"), "TORCH_NOT_FOUND")
	empty := t.TempDir()
	wantChild(t, runChild(t, "load", "STATOR_TORCH_HOME="+empty), "TORCH_NOT_FOUND", empty)
}

func TestWrongTorchIsAStatusThatNamesBothVersions(t *testing.T) {
	home := t.TempDir()
	lib := filepath.Join(home, "lib")
	ok(t, os.Mkdir(lib, 0o755))
	source := filepath.Join(home, "fake.c")
	ok(t, os.WriteFile(source, []byte("unsigned long long aoti_torch_abi_version(void) { return (2ULL << 56) | (10ULL << 48); }\n"), 0o644))
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "gcc"
	}
	for _, name := range []string{"libc10.so", "libtorch_cpu.so"} {
		out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", filepath.Join(lib, name), source).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	wantChild(t, runChild(t, "load", "STATOR_TORCH_HOME="+home), "TORCH_VERSION", "2.10", builtWith(t), home)
}

// builtWith is the minor version of LibTorch that libstator needs: "2.15".
func builtWith(t *testing.T) string {
	t.Helper()
	var info struct {
		Torch string `json:"torch_built"`
	}
	ok(t, json.Unmarshal([]byte(must(stator.BuildInfo())), &info))
	numbers := strings.Split(info.Torch, ".")
	if len(numbers) < 2 {
		t.Fatalf("torch_built is %q", info.Torch)
	}
	return numbers[0] + "." + numbers[1]
}

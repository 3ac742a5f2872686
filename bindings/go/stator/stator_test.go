package stator_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stator-runtime/stator/bindings/go/stator"
)

var background = context.Background()

func repeat[T any](value T, count int) []T { return slices.Repeat([]T{value}, count) }

// Module and method ------------------------------------------------------------------------------------------------

func TestModuleLoadsFromBytes(t *testing.T) {
	noLeaks(t)
	module, err := stator.LoadBytes(must(os.ReadFile(filepath.Join(models, "add_mul.pt"))))
	ok(t, err)
	defer module.Close()
	x := must(stator.NewTensor([]float32{0, 0}, 2))
	result, err := module.Call(background, x, x)
	ok(t, err)
	wantValues(t, must(stator.Values[float32](result.(*stator.Tensor))), []float32{0.5, 0.5})
}

func TestModuleDescribesItselfAsJSON(t *testing.T) {
	m := load(t, "counter.pt")
	for name, text := range map[string]string{"Describe": must(m.Describe()), "Plan": must(must(m.Method("forward")).Plan()), "BuildInfo": must(stator.BuildInfo())} {
		if !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON: %s", name, text)
		}
	}
	if text := must(must(m.Method("forward")).Graph()); text == "" {
		t.Error("the graph is empty")
	}
}

func TestMethodsTellTheirInputs(t *testing.T) {
	methods := must(load(t, "counter.pt").Methods())
	if len(methods) != 2 || methods[0].Name() != "forward" || methods[1].Name() != "reset" {
		t.Fatalf("got %v", methods)
	}
	wantValues(t, methods[0].Inputs(), []stator.InputInfo{{Name: "x", Type: "Tensor"}})
	wantValues(t, must(load(t, "writes.pt").Method("forward")).Inputs(), []stator.InputInfo{{Name: "x", Type: "Tensor", Written: true}})
}

func TestAnyOrderOfCloseIsFine(t *testing.T) {
	noLeaks(t)
	for order := range 24 {
		module := must(stator.Load(filepath.Join(models, "add_mul.pt")))
		closers := []interface{ Close() error }{module, must(module.NewRuntime()), must(module.NewArena()), must(module.NewPool())}
		for n := len(closers); n > 0; n-- {
			i := order % n
			ok(t, closers[i].Close())
			closers = slices.Delete(closers, i, i+1)
			order /= n
		}
	}
}

func TestCollectorReleasesWhatWasForgotten(t *testing.T) {
	noLeaks(t)
	func() {
		module := must(stator.Load(filepath.Join(models, "add_mul.pt")))
		rt := must(module.NewRuntime())
		ok(t, stator.Bind(rt, must(module.Method("forward")), 0, make([]float32, 4), 4))
		must(module.NewArena())
		must(must(module.NewPool()).Acquire(background))
	}()
}

// The hot path -----------------------------------------------------------------------------------------------------

func TestRunReadsBoundMemoryAnew(t *testing.T) {
	s, x := openAddMul(t)
	for _, value := range []float32{0, 100, -100, 0} {
		for i := range x {
			x[i] = value
		}
		ok(t, s.rt.Run(s.forward, s.arena))
		want := map[float32]float32{0: 0.5, 100: 1, -100: 0}[value]
		for _, got := range must(stator.Output[float32](s.arena, 0)) {
			if got != want && !(want == 0 && got < 1e-30) {
				t.Fatalf("sigmoid of %v is %v", value, got)
			}
		}
	}
	wantValues(t, must(s.arena.Shape(0)), []int64{2, 3})
	if s.arena.OutputCount() != 1 || s.arena.Bytes() < 24 || s.rt.WorkspaceBytes() < 0 {
		t.Errorf("outputs %d, bytes %d, workspace %d", s.arena.OutputCount(), s.arena.Bytes(), s.rt.WorkspaceBytes())
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	s, x := openAddMul(t)
	var failure error
	note := func(err error) {
		if err != nil {
			failure = err
		}
	}
	for name, call := range map[string]func(){
		"Run": func() { note(s.rt.Run(s.forward, s.arena)) },
		"Output": func() {
			_, err := stator.Output[float32](s.arena, 0)
			note(err)
		},
		"Bind":       func() { note(stator.Bind(s.rt, s.forward, 0, x, 2, 3)) },
		"Generation": func() { s.arena.Generation() },
	} {
		note(s.rt.Run(s.forward, s.arena))
		if got := testing.AllocsPerRun(1000, call); got != 0 {
			t.Errorf("%s allocates %v times", name, got)
		}
		ok(t, failure)
	}
}

func TestInputIsAWindow(t *testing.T) {
	s := open(t, "add_mul.pt")
	x := must(stator.Input[float32](s.rt, s.forward, 0, 4))
	y := must(stator.Input[float32](s.rt, s.forward, 1, 4))
	wantValues(t, x, make([]float32, 4))
	ok(t, s.rt.Run(s.forward, s.arena))
	wantValues(t, must(stator.Output[float32](s.arena, 0)), repeat[float32](0.5, 4))
	for i := range x {
		x[i], y[i] = 100, 1
	}
	ok(t, s.rt.Run(s.forward, s.arena))
	wantValues(t, must(stator.Output[float32](s.arena, 0)), repeat[float32](1, 4))
}

func TestBoundOutputIsWritten(t *testing.T) {
	s, _ := openAddMul(t)
	mine := make([]float32, 6)
	ok(t, stator.BindOutput(s.rt, s.forward, 0, mine, 2, 3))
	ok(t, s.rt.Run(s.forward, s.arena))
	wantValues(t, mine, repeat[float32](0.5, 6))

	ok(t, stator.BindOutput(s.rt, s.forward, 0, mine[:4], 2, 2))
	if err := s.rt.Run(s.forward, s.arena); err == nil {
		t.Error("a result of another shape was accepted")
	}
	ok(t, s.rt.Unbind(s.forward))
	wantError(t, s.rt.Run(s.forward, s.arena), stator.ErrInputMissing)
}

func TestBoundSlicesLiveUntilUnbound(t *testing.T) {
	s := open(t, "add_mul.pt")
	bind := func() {
		for index, value := range []float32{100, 1} {
			ok(t, stator.Bind(s.rt, s.forward, index, repeat(value, 1<<12), 1<<12))
		}
	}
	for range 5 {
		bind()
		runtime.GC()
		clutter := repeat[float32](-7, 1<<16)
		ok(t, s.rt.Run(s.forward, s.arena))
		wantValues(t, must(stator.Output[float32](s.arena, 0)), repeat[float32](1, 1<<12))
		runtime.KeepAlive(clutter)
	}
}

func TestMethodWritesIntoBoundMemory(t *testing.T) {
	s := open(t, "writes.pt")
	x := []float32{1, 2, 3}
	ok(t, stator.Bind(s.rt, s.forward, 0, x, 3))
	ok(t, s.rt.Run(s.forward, s.arena))
	wantValues(t, x, []float32{2, 3, 4})
	_, err := s.rt.Call(s.forward, []any{must(stator.NewTensor(x, 3))}, nil, s.arena)
	ok(t, err)
	wantValues(t, x, []float32{3, 4, 5})
}

// Arenas -----------------------------------------------------------------------------------------------------------

func TestArenaOutlivesItsRuntimeAndModule(t *testing.T) {
	s, _ := openAddMul(t)
	ok(t, s.rt.Run(s.forward, s.arena))
	ok(t, s.rt.Close())
	ok(t, s.module.Close())
	wantValues(t, must(stator.Output[float32](s.arena, 0)), repeat[float32](0.5, 6))
}

func TestHeldArenasKeepTheirResults(t *testing.T) {
	s, x := openAddMul(t)
	ok(t, s.rt.Run(s.forward, s.arena))
	held := must(stator.CopyOutput[float32](nil, s.arena, 0))
	other := must(s.module.NewArena())
	defer other.Close()
	for i := range 1000 {
		x[i%6] = float32(i)
		ok(t, s.rt.Run(s.forward, other))
	}
	wantValues(t, must(stator.Output[float32](s.arena, 0)), held)
}

func TestGenerationCountsRunsAndResets(t *testing.T) {
	s, _ := openAddMul(t)
	last := s.arena.Generation()
	for _, change := range []func() error{
		func() error { return s.rt.Run(s.forward, s.arena) },
		func() error { return s.rt.Run(s.forward, s.arena) },
		s.arena.Reset,
	} {
		ok(t, change())
		if now := s.arena.Generation(); now <= last {
			t.Errorf("the generation went from %d to %d", last, now)
		} else {
			last = now
		}
	}
	_, err := stator.Output[float32](s.arena, 0)
	wantError(t, err, stator.ErrInvalidArgument)
}

func TestTrimGivesMemoryBack(t *testing.T) {
	s, _ := openAddMul(t)
	for range 2 {
		ok(t, s.rt.Run(s.forward, s.arena))
	}
	for _, trim := range []func() error{s.rt.Trim, s.arena.Trim, s.module.Trim} {
		ok(t, trim())
	}
	if s.rt.WorkspaceBytes() != 0 || s.arena.Bytes() != 0 {
		t.Errorf("%d and %d bytes are left", s.rt.WorkspaceBytes(), s.arena.Bytes())
	}
	ok(t, s.rt.Run(s.forward, s.arena))
	wantValues(t, must(stator.Output[float32](s.arena, 0)), []float32{0.5, 0.5, 0.5, 0.5, 0.5, 0.5})
}

func TestWarmUpMakesThePlanBeforeTheFirstRun(t *testing.T) {
	forward := must(load(t, "mlp.pt").Method("forward"))
	wantError(t, forward.WarmUp("x: float32[?, 128]"), stator.ErrInvalidArgument, "all of its sizes")
	wantError(t, (*stator.Method)(nil).WarmUp("x: float32[2, 128]"), stator.ErrInvalidArgument, "module")
	ok(t, forward.WarmUp("x: float32[2, 128]", stator.WithIntraOpThreads(1)))
	var plan struct{ Signatures []struct{ Inputs []string } }
	ok(t, json.Unmarshal([]byte(must(forward.Plan())), &plan))
	if len(plan.Signatures) != 1 {
		t.Fatalf("got %v", plan)
	}
	wantValues(t, plan.Signatures[0].Inputs, []string{"float32[2, 128]"})
}

func TestSavedModulesKeepTheirPlans(t *testing.T) {
	model := load(t, "mlp.pt")
	ok(t, must(model.Method("forward")).WarmUp("x: float32[2, 128]"))
	path := filepath.Join(t.TempDir(), "mlp.stator")
	ok(t, model.Save(path))
	wantError(t, model.Save("a\x00b"), stator.ErrInvalidArgument, "path")
	again := must(stator.Load(path))
	defer again.Close()
	var about struct{ Planned struct{ Restored int } }
	ok(t, json.Unmarshal([]byte(must(again.Describe())), &about))
	if about.Planned.Restored != 1 {
		t.Fatalf("got %v", about)
	}
}

func TestStrictModuleRefusesOtherShapes(t *testing.T) {
	s := open(t, "mlp.pt", stator.WithSignature("x: float32[2, 128]"), stator.WithStrict())
	_, err := stator.Input[float32](s.rt, s.forward, 0, 3, 128)
	wantError(t, err, stator.ErrShapeMismatch, "instead of 2")
	_, err = stator.Input[float32](s.rt, s.forward, 0, 2, 128)
	ok(t, err)
	ok(t, s.rt.Run(s.forward, s.arena))
	_, err = stator.Load(filepath.Join(models, "counter.pt"), stator.WithSignature("x: float32[3]"), stator.WithStrict())
	wantError(t, err, stator.ErrUnsupported, "node")
}

func TestMemoryLimitIsAnError(t *testing.T) {
	s := open(t, "add_mul.pt", stator.WithMemoryLimit(64))
	for input := range 2 {
		_, err := stator.Input[float32](s.rt, s.forward, input, 1000)
		ok(t, err)
	}
	wantError(t, s.rt.Run(s.forward, s.arena), stator.ErrMemoryLimit, "memory_limit_bytes")
}

func TestOutputIsTyped(t *testing.T) {
	s, _ := openAddMul(t)
	ok(t, s.rt.Run(s.forward, s.arena))
	_, err := stator.Output[float64](s.arena, 0)
	wantError(t, err, stator.ErrDTypeMismatch, "float32", "float64")
	_, err = stator.Output[float32](s.arena, 1)
	wantError(t, err, stator.ErrInvalidArgument)
	wantValues(t, must(stator.CopyOutput([]float32{9}, s.arena, 0)), []float32{9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5})
	copied := must(s.arena.Tensor(0))
	ok(t, s.arena.Reset())
	wantValues(t, must(stator.Values[float32](copied)), repeat[float32](0.5, 6))
}

func TestArenasMayBeClosedByOthers(t *testing.T) {
	s, _ := openAddMul(t)
	filled := make(chan *stator.Arena, 4)
	var readers sync.WaitGroup
	for range 4 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for arena := range filled {
				got, err := stator.Output[float32](arena, 0)
				if err != nil || !slices.Equal(got, repeat[float32](0.5, 6)) {
					t.Errorf("got %v, %v", got, err)
				}
				if err := arena.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	for range 200 {
		arena := must(s.module.NewArena())
		ok(t, s.rt.Run(s.forward, arena))
		filled <- arena
	}
	close(filled)
	readers.Wait()
}

// State ------------------------------------------------------------------------------------------------------------

func TestStateBelongsToARuntime(t *testing.T) {
	s := open(t, "counter.pt")
	ones := []float32{1, 1, 1}
	count := func(rt *stator.Runtime, want int64) {
		t.Helper()
		ok(t, stator.Bind(rt, s.forward, 0, ones, 3))
		ok(t, rt.Run(s.forward, s.arena))
		result := must(s.arena.Result()).(stator.Tuple)
		if result[1] != want {
			t.Fatalf("the counter is %v, want %d", result[1], want)
		}
		wantValues(t, must(stator.Values[float32](result[0].(*stator.Tensor))), repeat(float32(want), 3))
	}
	count(s.rt, 1)
	count(s.rt, 2)

	fresh, clone := must(s.module.NewRuntime()), must(s.rt.Clone())
	defer fresh.Close()
	defer clone.Close()
	count(fresh, 1)
	count(clone, 3)
	count(s.rt, 3)

	ok(t, s.rt.Run(must(s.module.Method("reset")), s.arena)) // another method, the same state
	count(s.rt, 1)
	ok(t, s.rt.ResetState())
	count(s.rt, 1)
}

func TestConvenienceCallsShareOneState(t *testing.T) {
	module := load(t, "counter.pt")
	x := must(stator.NewTensor([]float32{1, 1, 1}, 3))
	var callers sync.WaitGroup
	for range 8 {
		callers.Add(1)
		go func() {
			defer callers.Done()
			if _, err := module.Call(background, x); err != nil {
				t.Error(err)
			}
		}()
	}
	callers.Wait()
	if result := must(module.Call(background, x)).(stator.Tuple); result[1] != int64(9) {
		t.Errorf("the counter is %v after 9 calls", result[1])
	}
}

// The general path -------------------------------------------------------------------------------------------------

func TestValuesGoInAndComeBack(t *testing.T) {
	module := load(t, "kinds.pt")
	x := must(stator.NewTensor([]float32{1, 2}, 2))
	for range 3 { // arenas are used again
		result := must(module.Call(background, x, 7, 0.5, true, "a\x00b", nil)).(stator.Tuple)
		wantValues(t, must(stator.Values[float32](result[0].(*stator.Tensor))), []float32{0.5, 1})
		wantValues(t, []any(result[1:]), []any{int64(8), 1.0, false, "a\x00b!", nil})
	}
	forward := must(module.Method("forward"))
	result := must(module.CallMethod(background, forward, []any{x, int8(1)}, map[string]any{"f": float32(2), "b": false, "s": "", "o": x})).(stator.Tuple)
	wantValues(t, must(stator.Values[float32](result[5].(*stator.Tensor))), []float32{2, 4})

	nested := load(t, "nested.pt")
	total := must(nested.Call(background, []*stator.Tensor{x, x}, map[string]*stator.Tensor{"a": x}, stator.Tuple{x, 2})).(*stator.Tensor)
	wantValues(t, must(stator.Values[float32](total)), []float32{5, 10})

	containers := must(load(t, "containers.pt").Call(background, x, x)).(stator.Tuple)
	named := containers[0].(*stator.Dict)
	sum, found := named.Get("sum")
	if !found || len(containers[1].([]any)) != 3 {
		t.Fatalf("got %v", containers)
	}
	wantValues(t, must(stator.Values[float32](sum.(*stator.Tensor))), []float32{2, 4})

	point := must(load(t, "named.pt").Call(background, x, x)).(stator.NamedTuple)
	wantValues(t, point.Names, []string{"x", "y"})
	if _, found := point.Field("y"); !found {
		t.Error("a named tuple lost a field")
	}
}

func TestModelsOwnErrorsComeThrough(t *testing.T) {
	s := open(t, "raises.pt")
	x := must(stator.NewTensor([]float32{1, 2}, 2))
	_, err := s.rt.Call(s.forward, []any{x, -1}, nil, s.arena)
	wantError(t, err, stator.ErrModel, "n must be positive, got -1")
	var e *stator.Error
	if !errors.As(err, &e) || e.Source == "" {
		t.Errorf("no source line: %+v", e)
	}
	_, err = s.rt.Call(s.forward, []any{x, 2}, nil, s.arena)
	ok(t, err)
}

func TestStridedTensorsKeepTheirOrder(t *testing.T) {
	columns := must(stator.NewStridedTensor([]float32{1, 2, 3, 4, 5, 6}, []int64{3, 2}, []int64{1, 3}))
	wantValues(t, must(stator.Values[float32](columns)), []float32{1, 4, 2, 5, 3, 6})
	if columns.Len() != 6 || len(columns.Bytes()) != 24 || columns.DType() != stator.Float32 {
		t.Errorf("got %d elements, %d bytes, %v", columns.Len(), len(columns.Bytes()), columns.DType())
	}
	scalar := must(stator.NewTensor([]int64{7}))
	wantValues(t, must(stator.Values[int64](scalar)), []int64{7})
	none := must(stator.NewTensor([]bool{}, 3, 0))
	wantValues(t, must(stator.Values[bool](none)), nil)
	_, err := stator.Values[float64](columns)
	wantError(t, err, stator.ErrDTypeMismatch)
}

func TestValuesAreWrittenAndRead(t *testing.T) {
	noLeaks(t)
	path := filepath.Join(t.TempDir(), "value.pt")
	ok(t, stator.WriteValue(stator.Tuple{must(stator.NewTensor([]int64{1, 2}, 2)), "text", nil}, path))
	back := must(stator.ReadValue(path)).(stator.Tuple)
	wantValues(t, must(stator.Values[int64](back[0].(*stator.Tensor))), []int64{1, 2})
	wantValues(t, []any(back[1:]), []any{"text", nil})
}

// Pools ------------------------------------------------------------------------------------------------------------

func TestPoolServesEightGoroutines(t *testing.T) {
	module := load(t, "add_mul.pt")
	pool, err := module.NewPool(stator.WithMaxRuntimes(3))
	ok(t, err)
	defer pool.Close()
	forward := must(module.Method("forward"))
	serve := func(value float32) error {
		arena, err := module.NewArena()
		if err != nil {
			return err
		}
		defer arena.Close()
		x, y := repeat(value, 16), make([]float32, 16)
		for range 100 {
			rt, err := pool.Acquire(background)
			if err != nil {
				return err
			}
			err = errors.Join(stator.Bind(rt, forward, 0, x, 16), stator.Bind(rt, forward, 1, y, 16), rt.Run(forward, arena), rt.Close())
			if err != nil {
				return err
			}
			first := must(stator.Output[float32](arena, 0))[0]
			if _, err = pool.Call(background, forward, []any{must(stator.NewTensor(x, 16)), must(stator.NewTensor(y, 16))}, nil, arena); err != nil {
				return err
			}
			if again := must(stator.Output[float32](arena, 0)); !slices.Equal(again, repeat(first, 16)) {
				return errors.New("two runs differ")
			}
		}
		return nil
	}
	failures := make(chan error)
	for i := range 8 {
		go func() { failures <- serve(float32(i)) }()
	}
	for range 8 {
		ok(t, <-failures)
	}
	if count := pool.RuntimeCount(); count < 1 || count > 3 {
		t.Errorf("the pool made %d runtimes", count)
	}
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	module := load(t, "add_mul.pt")
	pool := must(module.NewPool(stator.WithMaxRuntimes(1)))
	defer pool.Close()
	lent := must(pool.TryAcquire())
	_, err := pool.TryAcquire()
	wantError(t, err, stator.ErrBusy)

	ctx, cancel := context.WithTimeout(background, 30*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = pool.Acquire(ctx)
	wantError(t, err, context.DeadlineExceeded)
	if waited := time.Since(start); waited < 25*time.Millisecond || waited > 5*time.Second {
		t.Errorf("waited %v for 30 ms", waited)
	}
	ctx, cancel = context.WithCancel(background)
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = pool.Acquire(ctx)
	wantError(t, err, context.Canceled)

	time.AfterFunc(10*time.Millisecond, func() { _ = lent.Close() })
	ctx, cancel = context.WithTimeout(background, time.Minute)
	defer cancel()
	again, err := pool.Acquire(ctx)
	ok(t, err)
	ok(t, again.Close())
}

func TestLentRuntimeOutlivesItsPool(t *testing.T) {
	module := load(t, "add_mul.pt")
	pool := must(module.NewPool())
	lent := must(pool.Acquire(background))
	ok(t, pool.Close())
	forward, arena := must(module.Method("forward")), must(module.NewArena())
	defer arena.Close()
	for index := range 2 {
		ok(t, stator.Bind(lent, forward, index, make([]float32, 2), 2))
	}
	ok(t, lent.Run(forward, arena))
	ok(t, lent.Close())
}

func TestPoolRefusesStateUnlessTold(t *testing.T) {
	module := load(t, "counter.pt")
	_, err := module.NewPool()
	wantError(t, err, stator.ErrInvalidArgument, "state")
	pool, err := module.NewPool(stator.WithState("shared"))
	ok(t, err)
	ok(t, pool.Close())
}

// Library ----------------------------------------------------------------------------------------------------------

func TestNamesComeFromTheLibrary(t *testing.T) {
	if stator.Float32.String() != "float32" || stator.BFloat16.String() != "bfloat16" || stator.DType(0).String() != "unknown" {
		t.Error("dtypes have wrong names")
	}
	if stator.ErrShapeMismatch.Name() != "SHAPE_MISMATCH" {
		t.Errorf("got %q", stator.ErrShapeMismatch.Name())
	}
	if stator.DTypeOf[stator.BHalf]() != stator.BFloat16 || stator.DTypeOf[bool]() != stator.Bool || stator.Complex64.Size() != 8 {
		t.Error("Go types belong to wrong dtypes")
	}
	if major, minor := stator.ABIVersion(); major != 0 || minor < 1 {
		t.Errorf("ABI %d.%d", major, minor)
	}
}

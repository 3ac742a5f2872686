package stator_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stator-runtime/stator/bindings/go/stator"
	"github.com/stator-runtime/stator/bindings/go/stator/internal/ctest"
)

// The folder of the test models; a run without it fails.
var models = os.Getenv("STATOR_TEST_MODELS")

// Set in processes that tests start from the test binary itself.
const childVariable = "STATOR_TEST_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childVariable); task != "" {
		os.Exit(child(task))
	}
	if models == "" {
		fmt.Fprintln(os.Stderr, "STATOR_TEST_MODELS is not set: run `make test-go`, or tools/setup/env.sh go test ./...")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child prints the name of the code that loading a model gives, then the message.
func child(task string) int {
	path := filepath.Join(models, "add_mul.pt")
	switch task {
	case "load":
		module, err := stator.Load(path)
		fmt.Println(codeName(err), err)
		_ = module.Close()
	case "fork first":
		fmt.Println(codeName(stator.Code(ctest.LoadInChild(os.Getenv("STATOR_TORCH_HOME"), path))))
	default:
		return 2
	}
	return 0
}

func codeName(err error) string {
	var code stator.Code
	switch {
	case err == nil:
		return "OK"
	case errors.As(err, &code):
		return code.Name()
	default:
		return "another error"
	}
}

// Helpers ----------------------------------------------------------------------------------------------------------

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, err, want error, texts ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

func wantValues[T comparable](t testing.TB, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// load loads a model that is closed, without leaks, when the test ends.
func load(t testing.TB, name string, options ...stator.Option) *stator.Module {
	t.Helper()
	noLeaks(t)
	module, err := stator.Load(filepath.Join(models, name), options...)
	ok(t, err)
	t.Cleanup(func() { ok(t, module.Close()) })
	return module
}

// session is what most tests need of a model.
type session struct {
	module  *stator.Module
	forward *stator.Method
	rt      *stator.Runtime
	arena   *stator.Arena
}

func open(t testing.TB, name string, options ...stator.Option) *session {
	t.Helper()
	s := &session{module: load(t, name, options...)}
	var err error
	s.forward, err = s.module.Method("forward")
	ok(t, err)
	s.rt, err = s.module.NewRuntime()
	ok(t, err)
	s.arena, err = s.module.NewArena()
	ok(t, err)
	t.Cleanup(func() {
		ok(t, s.rt.Close())
		ok(t, s.arena.Close())
	})
	return s
}

// openAddMul has its inputs bound: x is zeros, so that the result is 0.5 everywhere.
func openAddMul(t testing.TB) (*session, []float32) {
	t.Helper()
	s := open(t, "add_mul.pt")
	x, y := make([]float32, 6), []float32{1, 2, 3, 4, 5, 6}
	ok(t, stator.Bind(s.rt, s.forward, 0, x, 2, 3))
	ok(t, stator.Bind(s.rt, s.forward, 1, y, 2, 3))
	return s, x
}

var kinds = []stator.HandleKind{
	stator.StatusHandles, stator.BytesHandles, stator.OptionsHandles, stator.ModuleHandles, stator.RuntimeHandles,
	stator.ArenaHandles, stator.PoolHandles, stator.ValueHandles, stator.ExportHandles,
	stator.FutureHandles, stator.QueueHandles,
}

func liveHandles() []int64 {
	counts := make([]int64, len(kinds))
	for i, kind := range kinds {
		counts[i] = stator.LiveHandles(kind)
	}
	return counts
}

// noLeaks fails the test if more handles live at its end than now. Tests with it do not run in parallel.
func noLeaks(t testing.TB) {
	before := liveHandles()
	t.Cleanup(func() {
		var after []int64
		for range 100 { // what was left to the collector goes soon after it ran
			if after = liveHandles(); slices.Equal(before, after) {
				return
			}
			runtime.GC()
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("live handles of kinds %v: %v before the test, %v after", kinds, before, after)
	})
}

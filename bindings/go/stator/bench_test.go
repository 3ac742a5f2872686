package stator_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stator-runtime/stator/bindings/go/stator"
	"github.com/stator-runtime/stator/bindings/go/stator/internal/ctest"
)

// The floor: what any call into C costs on this machine.
func BenchmarkEmptyCall(b *testing.B) {
	for b.Loop() {
		stator.ABIVersion()
	}
}

func BenchmarkRun(b *testing.B) {
	s, _ := openAddMul(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.rt.Run(s.forward, s.arena); err != nil {
			b.Fatal(err)
		}
	}
}

// What Go adds to a run in C, beside an empty call of the same signature. The aim: over-C at most 1.5 times empty and 10 ns.
func BenchmarkRunOverC(b *testing.B) {
	b.Run("add_mul", func(b *testing.B) {
		s, _ := openAddMul(b)
		reportOverC(b, s.rt, s.forward, s.arena)
	})
	b.Run("deep_and_wide", func(b *testing.B) {
		s := open(b, "deep_and_wide.pt")
		for i, shape := range [][]int64{{1, 1, 32}, {1, 1, 32}, {1, 50}} {
			elements := int64(1)
			for _, size := range shape {
				elements *= size
			}
			ok(b, stator.Bind(s.rt, s.forward, i, make([]float32, elements), shape...))
		}
		reportOverC(b, s.rt, s.forward, s.arena)
	})
}

// The three take turns, so that a machine that drifts is the same for all.
func reportOverC(b *testing.B, runtime *stator.Runtime, forward *stator.Method, results *stator.Arena) {
	rt, method, arena := stator.Raw(runtime, forward, results)
	const runs, rounds = 20000, 15
	perRun := func(call func()) float64 {
		start := time.Now()
		for range runs {
			call()
		}
		return float64(time.Since(start).Nanoseconds()) / runs
	}
	var empty, inC, inGo []float64
	for range rounds {
		empty = append(empty, perRun(func() { ctest.Empty(rt, method, arena) }))
		inC = append(inC, ctest.RunLoop(rt, method, arena, runs))
		inGo = append(inGo, perRun(func() { _ = runtime.Run(forward, results) }))
	}
	for b.Loop() {
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(empty), "empty-ns")
	b.ReportMetric(median(inC), "C-ns")
	b.ReportMetric(median(inGo), "run-ns")
	b.ReportMetric(median(inGo)-median(inC), "over-C-ns")
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func BenchmarkOutput(b *testing.B) {
	s, _ := openAddMul(b)
	ok(b, s.rt.Run(s.forward, s.arena))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := stator.Output[float32](s.arena, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBind(b *testing.B) {
	s, x := openAddMul(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := stator.Bind(s.rt, s.forward, 0, x, 2, 3); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkModuleCall(b *testing.B) {
	module := load(b, "add_mul.pt")
	x := must(stator.NewTensor(make([]float32, 6), 2, 3))
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := module.Call(ctx, x, x); err != nil {
			b.Fatal(err)
		}
	}
}

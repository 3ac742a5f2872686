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
	s, _ := openAddMul(b)
	rt, method, arena := stator.Raw(s.rt, s.forward, s.arena)
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
		inGo = append(inGo, perRun(func() { _ = s.rt.Run(s.forward, s.arena) }))
	}
	for b.Loop() {
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(empty), "empty-ns")
	b.ReportMetric(median(inC), "C-ns")
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

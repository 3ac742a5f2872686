package stator_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stator-runtime/stator/bindings/go/stator"
)

func forkArguments(t testing.TB, n int64) []any {
	t.Helper()
	x := make([]float32, 16*16)
	for i := range x {
		x[i] = float32((i*7919)%101)/101 - 0.5
	}
	return []any{must(stator.NewTensor(x, 16, 16)), n}
}

func TestForksGiveTheSameWithAnyNumberOfThreads(t *testing.T) {
	s := open(t, "forks.pt")
	var want []float32
	for _, helpers := range []int{0, 1, 4} {
		rt := must(s.module.NewRuntime(stator.WithInterOpThreads(helpers)))
		for range 10 {
			result := must(rt.Call(s.forward, forkArguments(t, 3), nil, s.arena)).(stator.Tuple)
			got := must(stator.Values[float32](result[0].(*stator.Tensor)))
			if want == nil {
				want = got
			}
			wantValues(t, got, want)
		}
		ok(t, rt.Close())
	}
	_, err := s.rt.Call(s.forward, forkArguments(t, -1), nil, s.arena)
	wantError(t, err, stator.ErrModel, "n must not be negative, got -1")
}

func TestAnAsynchronousCallGivesWhatACallGives(t *testing.T) {
	s := open(t, "forks.pt")
	want := must(s.rt.Call(s.forward, forkArguments(t, 3), nil, s.arena)).(stator.Tuple)
	for range 10 {
		future := must(s.rt.CallAsync(s.forward, forkArguments(t, 3), nil, s.arena))
		got := must(future.Wait(context.Background())).(stator.Tuple)
		wantValues(t, must(stator.Values[float32](got[0].(*stator.Tensor))), must(stator.Values[float32](want[0].(*stator.Tensor))))
		ok(t, s.arena.Reset())
	}
}

func TestAnAsynchronousRunReadsWhatIsBound(t *testing.T) {
	s, _ := openAddMul(t)
	future := must(s.rt.RunAsync(s.forward, s.arena))
	<-future.Done()
	must(future.Wait(context.Background()))
	wantValues(t, must(stator.Output[float32](s.arena, 0)), []float32{0.5, 0.5, 0.5, 0.5, 0.5, 0.5})
}

func TestErrorsOfArgumentsComeAtOnceAndThoseOfTheRunWithTheFuture(t *testing.T) {
	s := open(t, "forks.pt")
	_, err := s.rt.CallAsync(s.forward, nil, nil, s.arena)
	wantError(t, err, stator.ErrInputMissing)
	_, err = must(s.rt.CallAsync(s.forward, forkArguments(t, -1), nil, s.arena)).Wait(context.Background())
	wantError(t, err, stator.ErrModel, "n must not be negative")
}

func TestTheContextEndsTheWaitAndNotTheRun(t *testing.T) {
	s := open(t, "slow.pt")
	future := must(s.rt.CallAsync(s.forward, forkArguments(t, 20000), nil, s.arena))
	ctx, cancel := context.WithTimeout(context.Background(), time.Microsecond)
	defer cancel()
	if _, err := future.Wait(ctx); err != nil {
		wantError(t, err, context.DeadlineExceeded)
	}
	<-future.Done()
	must(s.rt.Call(s.forward, forkArguments(t, 1), nil, s.arena))
}

func TestEverythingMayBeClosedWhileARunIsUnderWay(t *testing.T) {
	noLeaks(t)
	for range 5 {
		module := must(stator.Load(models + "/slow.pt"))
		forward := must(module.Method("forward"))
		pool := must(module.NewPool(stator.WithMaxRuntimes(1)))
		rt := must(pool.Acquire(context.Background()))
		arena := must(module.NewArena())
		future := must(rt.CallAsync(forward, forkArguments(t, 2000), nil, arena))
		ok(t, rt.Close())
		ok(t, arena.Close())
		must(future.Wait(context.Background()))
		ok(t, must(pool.Acquire(context.Background())).Close()) // it went back
		ok(t, pool.Close())
		ok(t, module.Close())
	}
}

func TestManyGoroutinesWaitForTheirRuns(t *testing.T) {
	s := open(t, "forks.pt")
	var group sync.WaitGroup
	for range 8 {
		group.Add(1)
		go func() {
			defer group.Done()
			rt, arena := must(s.module.NewRuntime()), must(s.module.NewArena())
			for range 10 {
				must(must(rt.CallAsync(s.forward, forkArguments(t, 2), nil, arena)).Wait(context.Background()))
			}
			ok(t, rt.Close())
			ok(t, arena.Close())
		}()
	}
	group.Wait()
}

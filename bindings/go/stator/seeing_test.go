package stator_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stator-runtime/stator/bindings/go/stator"
)

func TestProfileCountsRunsByNode(t *testing.T) {
	noLeaks(t)
	m := load(t, "add_mul.pt", stator.WithPlans("dynamic"))
	runtime, arena := must(m.NewRuntime()), must(m.NewArena())
	defer runtime.Close()
	defer arena.Close()
	forward := must(m.Method("forward"))
	if _, err := runtime.ProfileText(); !errors.Is(err, stator.ErrInvalidArgument) {
		t.Errorf("without a profile: got %v", err)
	}
	ok(t, runtime.StartProfile(10))
	x := must(stator.NewTensor([]float32{1, 2}, 2))
	for range 3 {
		must(runtime.Call(forward, []any{x, x}, nil, arena))
	}
	ok(t, runtime.StopProfile())
	var profile struct {
		Methods []struct {
			Runs  int
			Nodes []struct {
				Operator string
				Calls    int
			}
		}
	}
	ok(t, json.Unmarshal([]byte(must(runtime.ProfileJSON())), &profile))
	if profile.Methods[0].Runs != 3 || profile.Methods[0].Nodes[0].Calls != 3 {
		t.Errorf("got %+v", profile)
	}
	if !strings.Contains(must(runtime.ProfileText()), "forward: 3 runs") || !json.Valid([]byte(must(runtime.ProfileTrace()))) {
		t.Error("text or trace is wrong")
	}
	if !strings.HasPrefix(must(forward.PlanSVG()), "<svg ") {
		t.Error("the picture is no SVG")
	}
}

func TestMetricsCountRunsAndFailures(t *testing.T) {
	noLeaks(t)
	m := load(t, "raises.pt", stator.WithName("counted"))
	x := must(stator.NewTensor([]float32{1, 2}, 2))
	must(m.Call(background, x, 2))
	_, err := m.Call(background, x, 0)
	var failure *stator.Error
	if !errors.As(err, &failure) || failure.Exception != "ValueError" {
		t.Errorf("got %v", err)
	}
	var metrics struct {
		Name     string
		Runs     int
		Failures map[string]int
	}
	ok(t, json.Unmarshal([]byte(must(m.Metrics())), &metrics))
	if metrics.Name != "counted" || metrics.Runs != 1 || metrics.Failures["MODEL_ERROR"] != 1 {
		t.Errorf("got %+v", metrics)
	}
	if page := must(stator.PrometheusMetrics()); !strings.Contains(page, `stator_runs_total{module="counted"`) {
		t.Errorf("got %s", page)
	}
	pool := must(m.NewPool())
	defer pool.Close()
	if !json.Valid([]byte(must(pool.Metrics()))) {
		t.Error("the pool's metrics are no JSON")
	}
}

func TestWhatAModelPrintsReachesTheHandler(t *testing.T) {
	noLeaks(t)
	m := load(t, "prints.pt")
	x := must(stator.NewTensor([]float32{1, 2}, 2))
	var text bytes.Buffer
	ok(t, stator.LogTo(slog.NewTextHandler(&text, nil)))
	must(m.Call(background, x))
	ok(t, stator.LogTo(nil))
	must(m.Call(background, x))
	if got := text.String(); strings.Count(got, `level=INFO msg="items: 2"`) != 1 {
		t.Errorf("got %s", got)
	}
}

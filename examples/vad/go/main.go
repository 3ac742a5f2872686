// Voice activity, chunk by chunk, through Stator's Go binding: go run . DIR
//
// Reads DIR/model.pt, DIR/chunks.f32 and DIR/chunks.json; writes DIR/go.f32, one probability per chunk, and DIR/go.json.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/stator-runtime/stator/bindings/go/stator"
)

const (
	warmUpPasses = 2
	passes       = 5
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run . DIR")
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatalf("vad: %v", err)
	}
}

func run(folder string) error {
	record, err := readRecording(folder)
	if err != nil {
		return err
	}
	v, err := newVAD(filepath.Join(folder, "model.pt"), record.Chunk, record.SampleRate)
	if err != nil {
		return err
	}
	defer v.close()

	probabilities := make([]float32, record.N)
	fastest := make([]time.Duration, record.N)
	for i := range warmUpPasses + passes {
		if i <= warmUpPasses {
			clear(fastest)
		}
		if err := v.pass(record.samples, probabilities, fastest); err != nil {
			return err
		}
	}
	var sum time.Duration
	for _, elapsed := range fastest {
		sum += elapsed
	}
	report := map[string]any{
		"language": "go", "passes": passes, "us_per_chunk": float64(sum.Nanoseconds()) / 1e3 / float64(record.N), "abi_call_us": emptyCall(),
	}
	return writeResults(folder, probabilities, report)
}

// vad has everything bound once: a chunk is written to a window, one call runs it, and the probability is there.
type vad struct {
	module         *stator.Module
	rt             *stator.Runtime
	arena          *stator.Arena
	forward, reset *stator.Method
	window         []float32
	probability    []float32
}

func newVAD(model string, chunk, sampleRate int) (*vad, error) {
	v := &vad{probability: make([]float32, 1)}
	var err error
	if v.module, err = stator.Load(model); err != nil {
		return nil, err
	}
	if v.forward, err = v.module.Method("forward"); err != nil {
		return nil, err
	}
	if v.reset, err = v.module.Method("reset_states"); err != nil {
		return nil, err
	}
	if v.rt, err = v.module.NewRuntime(stator.WithIntraOpThreads(1)); err != nil {
		return nil, err
	}
	if v.arena, err = v.module.NewArena(); err != nil {
		return nil, err
	}
	if v.window, err = stator.Input[float32](v.rt, v.forward, 0, 1, int64(chunk)); err != nil {
		return nil, err
	}
	if err = v.rt.BindValue(v.forward, 1, sampleRate); err != nil {
		return nil, err
	}
	return v, stator.BindOutput(v.rt, v.forward, 0, v.probability, 1, 1)
}

func (v *vad) close() {
	v.arena.Close()
	v.rt.Close()
	v.module.Close()
}

// pass goes through the whole recording from a fresh state, and keeps the least time of each chunk in fastest.
func (v *vad) pass(samples, probabilities []float32, fastest []time.Duration) error {
	if err := v.rt.Run(v.reset, v.arena); err != nil {
		return err
	}
	for i := range probabilities {
		start := time.Now()
		copy(v.window, samples[i*len(v.window):])
		if err := v.rt.Run(v.forward, v.arena); err != nil {
			return err
		}
		probabilities[i] = v.probability[0]
		if elapsed := time.Since(start); fastest[i] == 0 || elapsed < fastest[i] {
			fastest[i] = elapsed
		}
	}
	return nil
}

// emptyCall is what a call of the ABI costs that does next to nothing, in microseconds.
func emptyCall() float64 {
	const calls = 1000000
	start := time.Now()
	for range calls {
		stator.LiveHandles(stator.StatusHandles)
	}
	return float64(time.Since(start).Nanoseconds()) / 1e3 / calls
}

type recording struct {
	N          int `json:"n"`
	Chunk      int `json:"chunk"`
	SampleRate int `json:"sample_rate"`
	samples    []float32
}

func readRecording(folder string) (*recording, error) {
	text, err := os.ReadFile(filepath.Join(folder, "chunks.json"))
	if err != nil {
		return nil, err
	}
	r := &recording{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("chunks.json: %w", err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "chunks.f32"))
	if err != nil {
		return nil, err
	}
	if r.N <= 0 || r.Chunk <= 0 || len(data) != 4*r.N*r.Chunk {
		return nil, fmt.Errorf("chunks.f32: expected %d chunks of %d float32, got %d bytes", r.N, r.Chunk, len(data))
	}
	r.samples = make([]float32, r.N*r.Chunk)
	_, err = binary.Decode(data, binary.LittleEndian, r.samples)
	return r, err
}

func writeResults(folder string, probabilities []float32, report map[string]any) error {
	data, err := binary.Append(nil, binary.LittleEndian, probabilities)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "go.f32"), data, 0o644); err != nil {
		return err
	}
	text, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "go.json"), append(text, '\n'), 0o644)
}

// Runs a model that takes one float32 tensor of shape [1, 8], as build/models/linear.pt does: go run ./hello MODEL
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/stator-runtime/stator/bindings/go/stator"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: hello MODEL")
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(path string) error {
	features := []float32{1, 2, 3, 4, 5, 6, 7, 8}
	module, err := stator.Load(path)
	if err != nil {
		return err
	}
	defer module.Close()
	if err := callOnce(module, features); err != nil {
		return err
	}
	return runMany(module, features)
}

// callOnce is the short way: values in, values out.
func callOnce(module *stator.Module, features []float32) error {
	x, err := stator.NewTensor(features, 1, 8)
	if err != nil {
		return err
	}
	result, err := module.Call(context.Background(), x)
	if err != nil {
		return err
	}
	y := result.(*stator.Tensor)
	values, err := stator.Values[float32](y)
	if err != nil {
		return err
	}
	shape := strings.ReplaceAll(fmt.Sprint(y.Shape()), " ", ", ")
	show(fmt.Sprintf("call:  %v%s", y.DType(), shape), values)
	return nil
}

// runMany is the fast way: bind once, run many. A run copies and allocates nothing.
func runMany(module *stator.Module, features []float32) error {
	forward, err := module.Method("forward")
	if err != nil {
		return err
	}
	rt, err := module.NewRuntime()
	if err != nil {
		return err
	}
	defer rt.Close()
	arena, err := module.NewArena()
	if err != nil {
		return err
	}
	defer arena.Close()

	x, err := stator.Input[float32](rt, forward, 0, 1, 8)
	if err != nil {
		return err
	}
	copy(x, features)
	for i := range 3 {
		x[0] = float32(i)
		if err := rt.Run(forward, arena); err != nil {
			return err
		}
		y, err := stator.Output[float32](arena, 0) // borrowed until the next run into this arena
		if err != nil {
			return err
		}
		show(fmt.Sprintf("run %d:", i), y)
	}
	return nil
}

func show(label string, values []float32) {
	fmt.Print(label)
	for _, value := range values {
		fmt.Printf(" %.4f", value)
	}
	fmt.Println()
}

package stator_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"path/filepath"

	"github.com/stator-runtime/stator/bindings/go/stator"
)

// sigmoid(x * y + x)
var modelFile = filepath.Join(models, "add_mul.pt")

func Example() {
	module, err := stator.Load(modelFile)
	if err != nil {
		log.Fatal(err)
	}
	defer module.Close()

	x, err := stator.NewTensor([]float32{0, 0, 0, 0}, 2, 2)
	if err != nil {
		log.Fatal(err)
	}
	result, err := module.Call(context.Background(), x, x)
	if err != nil {
		log.Fatal(err)
	}
	y, err := stator.Values[float32](result.(*stator.Tensor))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)
	// Output: [0.5 0.5 0.5 0.5]
}

// Bind once, run many times: nothing is allocated or copied.
func ExampleRuntime_Run() {
	module, err := stator.Load(modelFile)
	if err != nil {
		log.Fatal(err)
	}
	defer module.Close()
	forward, err := module.Method("forward")
	if err != nil {
		log.Fatal(err)
	}
	rt, err := module.NewRuntime()
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	arena, err := module.NewArena()
	if err != nil {
		log.Fatal(err)
	}
	defer arena.Close()

	x, y := make([]float32, 2), make([]float32, 2)
	if err := errors.Join(stator.Bind(rt, forward, 0, x, 2), stator.Bind(rt, forward, 1, y, 2)); err != nil {
		log.Fatal(err)
	}
	for _, value := range []float32{0, 100} {
		x[0] = value
		if err := rt.Run(forward, arena); err != nil {
			log.Fatal(err)
		}
		result, err := stator.Output[float32](arena, 0) // until the next run into this arena
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result)
	}
	// Output:
	// [0.5 0.5]
	// [1 0.5]
}

func ExamplePool() {
	module, err := stator.Load(modelFile)
	if err != nil {
		log.Fatal(err)
	}
	defer module.Close()
	pool, err := module.NewPool(stator.WithMaxRuntimes(4))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	rt, err := pool.Acquire(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close() // gives it back
	fmt.Println(pool.RuntimeCount())
	// Output: 1
}

func ExampleError() {
	_, err := stator.Load("no_such_file.pt")
	var e *stator.Error
	if errors.Is(err, stator.ErrNotFound) && errors.As(err, &e) {
		fmt.Println(e.Code.Name())
	}
	// Output: NOT_FOUND
}

// Runs a model on one tensor of ones and prints the result: go run ./hello MODEL SIZE...
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/stator-runtime/stator/bindings/go/stator"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: hello MODEL SIZE...   as in: hello linear.pt 1 8")
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func run(path string, sizes []string) error {
	module, err := stator.Load(path)
	if err != nil {
		return err
	}
	defer module.Close()

	x, err := ones(sizes)
	if err != nil {
		return err
	}
	result, err := module.Call(context.Background(), x)
	if err != nil {
		return err
	}
	y, isTensor := result.(*stator.Tensor)
	if !isTensor {
		fmt.Println(result)
		return nil
	}
	values, err := stator.Values[float32](y)
	fmt.Println(y.DType(), y.Shape(), values)
	return err
}

func ones(sizes []string) (*stator.Tensor, error) {
	shape, count := []int64{}, int64(1)
	for _, text := range sizes {
		size, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, err
		}
		shape = append(shape, size)
		count *= size
	}
	data := make([]float32, max(count, 0))
	for i := range data {
		data[i] = 1
	}
	return stator.NewTensor(data, shape...)
}

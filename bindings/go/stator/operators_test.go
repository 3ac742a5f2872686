package stator_test

import (
	"path/filepath"
	"testing"

	"github.com/stator-runtime/stator/bindings/go/stator"
)

func TestOperatorLibraryIsLoadedByPath(t *testing.T) {
	operators := filepath.Join(models, "..", "tests", "operators")
	wantError(t, stator.LoadOpLibrary(filepath.Join(operators, "nothing.so")), stator.ErrNotFound, "nothing.so")
	wantError(t, stator.LoadOpLibrary(filepath.Join(operators, "libneedy.so")), stator.ErrIO, "there_is_no_such_function")
	wantError(t, stator.LoadOpLibrary("a\x00b"), stator.ErrInvalidArgument)
	ok(t, stator.LoadOpLibrary(filepath.Join(operators, "liblibrary.so")))
	x, y := must(stator.NewTensor([]float32{1, 2}, 2)), must(stator.NewTensor([]float32{3, 4, 5}, 3))
	result, err := load(t, "operators_library.pt").Call(background, x, y)
	ok(t, err)
	wantValues(t, must(stator.Values[float32](result.(*stator.Tensor))), []float32{36, 64, 100, 144, 256, 400})
}

func TestRawTensorsAreChecked(t *testing.T) {
	_, err := stator.NewRawTensor(stator.Float8E5M2, make([]byte, 5), []int64{2, 3}, nil)
	wantError(t, err, stator.ErrInvalidArgument, "6 elements of 1 bytes")
	_, err = stator.NewRawTensor(stator.Complex32, make([]byte, 11), []int64{2}, []int64{2})
	wantError(t, err, stator.ErrInvalidArgument, "3 elements of 4 bytes")
	_, err = stator.NewRawTensor(0, make([]byte, 8), []int64{2}, nil)
	wantError(t, err, stator.ErrInvalidArgument)
	_, err = stator.NewRawTensor(stator.Int8, make([]byte, 8), []int64{2}, []int64{-1})
	wantError(t, err, stator.ErrInvalidArgument)
}

package stator

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// HandleKind is a kind of object that libstator counts.
type HandleKind int32

// The kinds that [LiveHandles] knows.
const (
	StatusHandles  HandleKind = c.HandleStatus
	BytesHandles   HandleKind = c.HandleBytes
	OptionsHandles HandleKind = c.HandleOptions
	ModuleHandles  HandleKind = c.HandleModule
	RuntimeHandles HandleKind = c.HandleRuntime
	ArenaHandles   HandleKind = c.HandleArena
	PoolHandles    HandleKind = c.HandlePool
	ValueHandles   HandleKind = c.HandleValue
	ExportHandles  HandleKind = c.HandleExport
	FutureHandles  HandleKind = c.HandleFuture
	QueueHandles   HandleKind = c.HandleQueue
)

// LiveHandles says how many objects of a kind are alive in the process, in all languages; for tests of leaks.
func LiveHandles(kind HandleKind) int64 { return c.LiveHandles(int32(kind)) }

// ABIVersion is the version of the interface that the loaded libstator implements.
func ABIVersion() (major, minor int) {
	version := c.ABIVersion()
	return int(version >> 16), int(version & 0xffff)
}

// BuildInfo describes the loaded libstator and its LibTorch, as JSON.
func BuildInfo() (string, error) {
	if err := needTorch(); err != nil {
		return "", err
	}
	info, status := c.BuildInfo()
	return info, check(status)
}

var torch struct {
	mutex sync.Mutex
	ready atomic.Bool
}

// LoadTorch loads LibTorch from a folder that holds lib/libtorch_cpu.so. It is needed only where STATOR_TORCH_HOME and
// libstator's own search do not find the right one, and before the first model is loaded.
func LoadTorch(path string) error {
	if err := noNUL("path", path); err != nil {
		return err
	}
	torch.mutex.Lock()
	defer torch.mutex.Unlock()
	return loadTorch(path)
}

// LoadOpLibrary loads a library of operators written for LibTorch (TORCH_LIBRARY); models that call them can be loaded afterwards.
// It stays loaded.
func LoadOpLibrary(path string) error {
	if err := noNUL("path", path); err != nil {
		return err
	}
	if err := needTorch(); err != nil {
		return err
	}
	return check(c.OpLibraryLoad(path))
}

// needTorch passes STATOR_TORCH_HOME on, once, before the first call that needs LibTorch.
func needTorch() error {
	if torch.ready.Load() {
		return nil
	}
	torch.mutex.Lock()
	defer torch.mutex.Unlock()
	if torch.ready.Load() {
		return nil
	}
	return loadTorch(os.Getenv("STATOR_TORCH_HOME"))
}

func loadTorch(path string) error {
	if major, minor := ABIVersion(); major != c.ABIMajor || minor < c.ABIMinor {
		return failed(ErrUnsupported, "this Go binding needs version %d.%d of Stator's ABI, the loaded libstator.so has %d.%d: use the two of one release",
			c.ABIMajor, c.ABIMinor, major, minor)
	}
	if path != "" {
		if err := check(c.TorchLoad(path)); err != nil {
			return err
		}
	}
	torch.ready.Store(true)
	return nil
}

package stator

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stator-runtime/stator/bindings/go/stator/internal/c"
)

// logCapacity is how many records are kept while the handler is at work; beyond it the oldest are lost, and counted.
const logCapacity = 10000

var logging struct {
	mutex sync.Mutex
	stop  func()
}

// LogTo hands what models print, LibTorch's warnings and what libstator itself has to say to a handler, from a goroutine of
// its own. Levels below the handler's are not made. Another call replaces the handler; nil ends logging, once all
// records so far are handled.
func LogTo(handler slog.Handler) error {
	logging.mutex.Lock()
	defer logging.mutex.Unlock()
	if logging.stop != nil {
		logging.stop()
		logging.stop = nil
	}
	if handler == nil {
		return nil
	}
	if err := needTorch(); err != nil {
		return err
	}
	if err := check(c.LogCollect(leastLevel(handler), logCapacity)); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		drainLog(handler)
	}()
	logging.stop = func() {
		_ = check(c.LogCollect(0, 0))
		<-ended
	}
	return nil
}

func drainLog(handler slog.Handler) {
	for {
		number, message, ok, status := c.LogNext(-1)
		if check(status) != nil || !ok {
			return
		}
		level := slogLevel(number)
		if handler.Enabled(context.Background(), level) {
			_ = handler.Handle(context.Background(), slog.NewRecord(time.Now(), level, message, 0))
		}
	}
}

// slog's levels are 4 apart from DEBUG at -4 on, libstator's are 10 apart from 10 on.
func slogLevel(number int32) slog.Level { return slog.Level((number - 20) * 4 / 10) }

func leastLevel(handler slog.Handler) int32 {
	for _, number := range []int32{c.LogDebug, c.LogInfo, c.LogWarning} {
		if handler.Enabled(context.Background(), slogLevel(number)) {
			return number
		}
	}
	return c.LogError
}

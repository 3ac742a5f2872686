// Package stator runs PyTorch models on CPUs, through libstator.
//
// First result:
//
//	module, err := stator.Load("model.pt")
//	result, err := module.Call(ctx, x)
//
// Bind once, run many times, with nothing allocated or copied:
//
//	forward, err := module.Method("forward")
//	rt, err := module.NewRuntime()
//	arena, err := module.NewArena()
//	err = stator.Bind(rt, forward, 0, data, 1, 128)
//	err = rt.Run(forward, arena)
//	y, err := stator.Output[float32](arena, 0)
//
// # Lifetimes
//
// [Module], [Runtime], [Arena], [Pool] and [Object] are closed by Close; an object that is forgotten is released when the
// collector finds it. Close may be called twice, from any goroutine, in any order and while a call runs: it returns at once
// and what it closes is released when that call ends. Every later call gives [ErrClosed]. Runtimes, arenas and pools keep
// what they need of their module.
//
// # Goroutines
//
// Modules, methods, pools and filled arenas serve any number of goroutines. A runtime, and running into or resetting an arena,
// are for one at a time; a second caller gets [ErrBusy]. [Runtime.CallAsync] and [Runtime.RunAsync] give a [Future] instead of
// waiting, for select and contexts.
//
// # LibTorch
//
// LibTorch is found when it is first needed: in the folder that [LoadTorch] or the environment variable STATOR_TORCH_HOME
// names, else where libstator searches.
package stator

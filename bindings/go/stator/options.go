package stator

import "github.com/stator-runtime/stator/bindings/go/stator/internal/c"

// Option is a setting of [Load], [Module.NewRuntime] or [Module.NewPool]. Which call takes which key is said in stator.h; a
// key that the call does not take is an [ErrInvalidArgument] that names the nearest.
type Option func(*c.Options) error

// WithOption sets a key of stator.h; the value is a string, int, int64 or float64.
func WithOption(key string, value any) Option {
	return func(o *c.Options) error {
		if err := noNUL("option", key); err != nil {
			return err
		}
		switch v := value.(type) {
		case string:
			if err := noNUL("option "+key, v); err != nil {
				return err
			}
			return check(c.OptionsSetStr(o, key, v))
		case int:
			return check(c.OptionsSetInt(o, key, int64(v)))
		case int64:
			return check(c.OptionsSetInt(o, key, v))
		case float64:
			return check(c.OptionsSetDouble(o, key, v))
		default:
			return failed(ErrInvalidArgument, "option %s: expected a string, int, int64 or float64, got %T", key, value)
		}
	}
}

// WithWeights is for loading: "copy" (default) or "map", which maps the file's weights privately; replace such a file by
// rename, never in place.
func WithWeights(how string) Option { return WithOption("weights", how) }

// WithSignature is for loading: what the inputs of forward must be, as in "x: float32[?, 128], steps = 3".
func WithSignature(signature string) Option { return WithOption("signature", signature) }

// WithStrict is for loading, together with WithSignature: forward runs on that signature alone, and bound runs allocate nothing. A model that
// cannot is refused with a list of the nodes in the way.
func WithStrict() Option { return WithOption("strict", "on") }

// WithName is for loading: what metrics call the module, by default the file's name.
func WithName(name string) Option { return WithOption("name", name) }

// WithMemoryLimit is for loading, runtimes and pools (there for each runtime): the most bytes they may hold.
func WithMemoryLimit(bytes int64) Option { return WithOption("memory_limit_bytes", bytes) }

// WithMemoryPlanner is for loading: "standard" (default), "naive" or "none".
func WithMemoryPlanner(planner string) Option { return WithOption("memory_planner", planner) }

// WithPlans is for loading: "signature" (default), "eager" or "dynamic".
func WithPlans(plans string) Option { return WithOption("plans", plans) }

// WithIntraOpThreads is for runtimes and pools: threads inside one run.
func WithIntraOpThreads(threads int) Option { return WithOption("intra_op_threads", threads) }

// WithInterOpThreads is for runtimes and pools: threads of libstator's own that run a run's forks beside the caller.
func WithInterOpThreads(threads int) Option { return WithOption("inter_op_threads", threads) }

// WithState is for runtimes and pools: "private" or "shared".
func WithState(state string) Option { return WithOption("state", state) }

// WithMaxRuntimes is for pools.
func WithMaxRuntimes(count int) Option { return WithOption("max_runtimes", count) }

// withOptions makes options for the time of one call; none are a nil pointer.
func withOptions(options []Option, call func(*c.Options) error) error {
	if err := needTorch(); err != nil {
		return err
	}
	if len(options) == 0 {
		return call(nil)
	}
	o, status := c.OptionsCreate()
	if status != nil {
		return check(status)
	}
	defer c.OptionsRelease(o)
	for _, option := range options {
		if err := option(o); err != nil {
			return err
		}
	}
	return call(o)
}

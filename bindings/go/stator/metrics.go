package stator

import "github.com/stator-runtime/stator/bindings/go/stator/internal/c"

// PrometheusMetrics is what the runs of all living modules and pools have come to, in Prometheus' text format.
func PrometheusMetrics() (string, error) {
	if err := needTorch(); err != nil {
		return "", err
	}
	text, status := c.MetricsPrometheus()
	return text, check(status)
}

// Metrics is what the module's runs have come to, as JSON: runs, failures by code, latencies, bytes, and what the cache of
// plans did.
func (m *Module) Metrics() (string, error) {
	ptr, err := m.use()
	if err != nil {
		return "", err
	}
	defer m.done()
	text, status := c.ModuleMetrics(ptr)
	return text, check(status)
}

// Metrics is what the runs in the pool's runtimes have come to, as JSON; how many are lent, and how many calls got none.
func (p *Pool) Metrics() (string, error) {
	ptr, err := p.use()
	if err != nil {
		return "", err
	}
	defer p.done()
	text, status := c.PoolMetrics(ptr)
	return text, check(status)
}

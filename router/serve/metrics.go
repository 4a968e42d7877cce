package serve

import (
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/luthier-dev/luthier/agent"
)

// metrics holds the server's own metrics; the model's are added when they are read.
type metrics struct {
	handler  http.Handler
	requests *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	refused  prometheus.Counter
	first    prometheus.Histogram
	whole    prometheus.Histogram
}

func newMetrics(s *Server) *metrics {
	reg := prometheus.NewRegistry()
	seconds := []float64{.01, .03, .1, .3, 1, 3, 10, 30, 100, 300}
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "luthier_requests_total", Help: "Requests by outcome: ok, aborted by the client, or the kind of the error."}, []string{"outcome"}),
		tokens:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "luthier_tokens_total", Help: "Tokens by kind: input, cached (of the input) and output."}, []string{"kind"}),
		refused:  prometheus.NewCounter(prometheus.CounterOpts{Name: "luthier_refused_total", Help: "Requests refused because the queue was full."}),
		first:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "luthier_first_byte_seconds", Help: "Time to the first byte of an answer.", Buckets: seconds}),
		whole:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "luthier_answer_seconds", Help: "Time of a whole answer.", Buckets: seconds}),
	}
	load := func(pick func(running, waiting int) int) func() float64 {
		return func() float64 { return float64(pick(s.gate.load())) }
	}
	reg.MustRegister(m.requests, m.tokens, m.refused, m.first, m.whole,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "luthier_running", Help: "Answers that run."}, load(func(r, _ int) int { return r })),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "luthier_waiting", Help: "Requests that wait for a place."}, load(func(_, w int) int { return w })))
	if s.cfg.Metrics != nil {
		reg.MustRegister(modelMetrics{s.cfg.Metrics})
	}
	m.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return m
}

// answered counts a request that was answered, possibly with an error.
func (m *metrics) answered(u agent.Usage, begin, first time.Time, err error) {
	outcome := "ok"
	if err != nil {
		outcome = string(agent.AsModelError(err).Kind)
	}
	m.requests.WithLabelValues(outcome).Inc()
	m.used(u)
	m.whole.Observe(time.Since(begin).Seconds())
	if !first.IsZero() {
		m.first.Observe(first.Sub(begin).Seconds())
	}
}

// aborted counts a request whose client left before the end of its answer.
func (m *metrics) aborted() { m.requests.WithLabelValues("aborted").Inc() }

// used counts tokens.
func (m *metrics) used(u agent.Usage) {
	m.tokens.WithLabelValues("input").Add(float64(u.Input))
	m.tokens.WithLabelValues("cached").Add(float64(u.CachedInput))
	m.tokens.WithLabelValues("output").Add(float64(u.Output))
}

// modelMetrics collects the metrics that a model emits. It does not describe them in advance, since
// a model may add metrics at any time.
type modelMetrics struct {
	each func(emit func(name, help string, counter bool, labels map[string]string, value float64))
}

func (modelMetrics) Describe(chan<- *prometheus.Desc) {}

func (c modelMetrics) Collect(out chan<- prometheus.Metric) {
	c.each(func(name, help string, counter bool, labels map[string]string, value float64) {
		kind := prometheus.GaugeValue
		if counter {
			kind = prometheus.CounterValue
		}
		keys := make([]string, 0, len(labels))
		for k := range labels {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		values := make([]string, len(keys))
		for i, k := range keys {
			values[i] = labels[k]
		}
		metric, err := prometheus.NewConstMetric(prometheus.NewDesc(name, help, keys, nil), kind, value, values...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(prometheus.NewDesc(name, help, keys, nil), err)
		}
		out <- metric
	})
}

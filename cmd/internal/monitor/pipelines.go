package monitor

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"furrow/tables/schema"
	"furrow/worker/budget"
	"furrow/worker/limits"
	"furrow/worker/query"
)

// Pipelines reads the status of all pipelines from storage.
type Pipelines func(context.Context) (map[schema.Pipeline]query.Status, error)

const (
	statusFor    = 10 * time.Second // how long a status is reused
	statusWithin = 5 * time.Second
)

// A pipelines collects the status of pipelines when it is scraped.
type pipelines struct {
	read   Pipelines
	errors prometheus.Counter

	mu     sync.Mutex
	last   map[schema.Pipeline]query.Status
	failed error     // of the last read
	at     time.Time // of the last read
}

// Watch adds the metrics of pipelines, and /v1/scale, which read reads from storage, at most every ten seconds.
func (m *Monitor) Watch(read Pipelines) {
	m.pipelines = &pipelines{read: read, errors: promauto.With(m).NewCounter(prometheus.CounterOpts{
		Name: "furrow_pipeline_read_errors_total", Help: "Failed reads of the pipelines' metrics."})}
	m.MustRegister(m.pipelines)
}

// A figure is a metric of a pipeline, with its value.
type figure struct {
	name, help string
	kind       prometheus.ValueType
	value      float64
}

// figures returns the metrics of a pipeline with a status.
func figures(s query.Status) []figure {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	f, l := s.Fleet(), load(s)
	return []figure{
		{"devices", "Devices when the fleet was last planned.", gauge, float64(f.Devices)},
		{"devices_behind", "Devices far behind.", gauge, float64(f.Behind)},
		{"devices_held", "Devices that are not folded until their hold ends.", gauge, float64(f.Held)},
		{"devices_failing", "Devices whose last fold failed.", gauge, float64(f.Failing)},
		{"claims_open", "Devices that were claimed when the fleet was last planned.", gauge, float64(f.Claimed)},
		{"devices_resting", "Devices that the last run needed not look at.", gauge, float64(f.Resting)},
		{"refolds_open", "Devices that are to be folded again.", gauge, float64(f.Refolds)},
		{"devices_ahead", "Devices with a watermark in the future: nothing new of theirs is folded.", gauge,
			float64(f.Ahead)},
		{"waiting", "Days of the archive, or of reports, that are to be made.", gauge, float64(f.Waiting)},
		{"waiting_seconds", "How long the first of these has waited.", gauge, f.WaitingLag.Seconds()},
		{"clock_ahead_seconds", "How far the clock of this process is ahead of storage's; 0 below a minute.", gauge,
			s.Ahead.Seconds()},
		{"rows_total", "Rows folded.", counter, float64(f.Rows)},
		{"late_rows_total", "Late rows that were found.", counter, float64(f.Late)},
		{"rejects_total", "Rows that could not be folded completely.", counter, float64(f.Rejects)},
		{"cadence_seconds", "Time between two runs.", gauge, s.Cadence.Seconds()},
		{"messages", "Messages for current runs, approximately.", gauge, float64(s.Queue)},
		{"catchup_messages", "Messages for devices far behind, audits and refolds, approximately.", gauge,
			float64(s.Catchup)},
		{"poison_messages", "Messages that were given up, approximately.", gauge, float64(s.Poison)},
		{"partition_share", "Share of what Azure allows a partition (2,000 entities/s) that runs need, if they take half " +
			"of the cadence.", gauge, l.PartitionShare()},
		{"queue_share", "Share of what Azure allows a queue (2,000 messages/s) that runs need, if they take half of the " +
			"cadence.", gauge, l.QueueShare()},
	}
}

func load(s query.Status) limits.Load { return limits.Of(s.Runs, s.Cadence) }

// Figures returns the metrics of a pipeline, by their names without furrow_pipeline_.
func Figures(s query.Status) map[string]float64 {
	all := map[string]float64{}
	if d, known := s.Lag(); known {
		all[lagSeconds] = d.Seconds()
	}
	for _, f := range figures(s) {
		all[f.name] = f.value
	}
	return all
}

const lagSeconds = "lag_seconds"

// Describe implements prometheus.Collector: it names none of the metrics, because which there are depends on what is
// read.
func (*pipelines) Describe(chan<- *prometheus.Desc) {}

// gauge collects a gauge. It panics if it has not as many values of labels as names.
func gauge(to chan<- prometheus.Metric, name, help string, value float64, labels []string, values ...string) {
	desc := prometheus.NewDesc(name, help, labels, nil)
	to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, values...)
}

// Collect implements prometheus.Collector. Where storage cannot be read, it collects nothing.
func (c *pipelines) Collect(to chan<- prometheus.Metric) {
	all, _ := c.status() // counted
	var loads []limits.Load
	var spent []schema.Spending
	var verified *schema.Verification
	usd := 0.0
	for p, s := range all {
		loads, spent, usd = append(loads, load(s)), append(spent, s.Spent), max(usd, s.Budget)
		if s.Verified != nil {
			verified = s.Verified // one for all pipelines
		}
		if d, known := s.Lag(); known {
			gauge(to, "furrow_pipeline_"+lagSeconds, "Greatest age that an unfolded reading can have; absent until a run is "+
				"done.", d.Seconds(), []string{"pipeline"}, string(p))
		}
		for _, f := range figures(s) {
			desc := prometheus.NewDesc("furrow_pipeline_"+f.name, f.help, []string{"pipeline"}, nil)
			to <- prometheus.MustNewConstMetric(desc, f.kind, f.value, string(p))
		}
		collectTargets(to, s.Targets, s.At)
	}
	if len(all) > 0 {
		gauge(to, "furrow_account_share", "Share of what Azure allows an account (20,000 requests/s) that devices and all "+
			"pipelines need.", limits.AccountShare(loads), nil)
	}
	collectVerified(to, verified)
	if usd > 0 {
		gauge(to, "furrow_budget_share", "Share of the configuration's budget that this month's operations will cost at the "+
			"rate so far, 0 until a day is counted; absent without a budget.", budget.Of(usd, spent).Share, nil)
	}
}

func (c *pipelines) status() (map[schema.Pipeline]query.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Since(c.at) < statusFor {
		return c.last, c.failed
	}
	ctx, cancel := context.WithTimeout(context.Background(), statusWithin) // a scrape has no context
	defer cancel()
	if c.last, c.failed = c.read(ctx); c.failed != nil {
		c.errors.Inc()
		c.last = nil
	}
	c.at = time.Now()
	return c.last, c.failed
}

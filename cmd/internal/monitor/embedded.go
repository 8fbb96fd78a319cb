package monitor

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Embedded counts the requests that embedded storage answers.
type Embedded struct {
	monitor  *Monitor
	requests *prometheus.CounterVec
}

// Embedded adds the metrics of embedded storage.
func (m *Monitor) Embedded() *Embedded {
	e := &Embedded{m, promauto.With(m).NewCounterVec(prometheus.CounterOpts{Name: "furrow_embedded_requests_total",
		Help: "Requests that embedded storage answered, by service and class of the status."}, []string{"service", "status"})}
	for _, service := range []string{"table", "queue", "blob"} {
		for _, status := range []int{200, 400, 500} {
			e.requests.WithLabelValues(service, class(status))
		}
	}
	return e
}

// Count counts an answer. Use it as OnAnswer of a local.Config.
func (e *Embedded) Count(service string, status int) {
	e.requests.WithLabelValues(service, class(status)).Inc()
}

// class returns 2xx, 4xx or 5xx.
func class(status int) string { return strconv.Itoa(status/100) + "xx" }

// Opened adds the metrics of an open directory, given the Usage of its local.Server.
func (e *Embedded) Opened(usage func() (free, disk, stored uint64, refuses bool)) {
	e.monitor.Gauge("furrow_embedded_free_bytes", "Bytes that are free on the disk of embedded storage.",
		func() float64 {
			free, _, _, _ := usage()
			return float64(free)
		})
	e.monitor.Gauge("furrow_embedded_disk_bytes", "Bytes that the disk of embedded storage has; 0 if unknown.",
		func() float64 {
			_, disk, _, _ := usage()
			return float64(disk)
		})
	e.monitor.Gauge("furrow_embedded_stored_bytes", "Bytes of the database of embedded storage, without large blobs.",
		func() float64 {
			_, _, stored, _ := usage()
			return float64(stored)
		})
	e.monitor.Gauge("furrow_embedded_full",
		"1 while embedded storage refuses new data of devices, because the disk is full.", func() float64 {
			if _, _, _, refuses := usage(); refuses {
				return 1
			}
			return 0
		})
}

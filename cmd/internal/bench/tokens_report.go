package bench

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// A TokenReport is what was measured of endpoints that give tokens: a [Report] whose
// targets are http and https, and whose operations are tokens. Its JSON is as stable.
type TokenReport struct {
	Report
	Devices int     `json:"devices"`          // that were known and renewed their tokens, on each target
	Storms  []Storm `json:"storms,omitempty"` // one for each target
}

// A Storm is many new devices that boot at once. Each obeys Retry-After, and waits
// for a random time besides, as those of package device do; each asks over a
// connection of its own every time.
type Storm struct {
	Target      string  `json:"target"`               //
	Devices     int     `json:"devices"`              // that booted
	Tokens      int     `json:"tokens"`               // devices that have one
	Seconds     float64 `json:"seconds"`              // until the last of them had it
	P50         float64 `json:"p50Ms"`                // until a device had its token: half waited no longer. It counts the waiting for a connection.
	P99         float64 `json:"p99Ms"`                // 99 of 100 waited no longer
	Requests    int     `json:"requests"`             // all of them
	TooMany     int     `json:"tooManyRequests"`      // answers with 429
	Unavailable int     `json:"serviceUnavailable"`   // answers with 503
	Broken      int     `json:"broken"`               // requests without an answer
	Errors      int     `json:"errors"`               // other answers
	FirstError  string  `json:"firstError,omitempty"` // or why the first request had no answer
	Connections int     `json:"connections"`          // that were open at a time, at most
	PeakMemory  int64   `json:"peakMemory,omitempty"` // bytes that the endpoint's process held at most; only on Linux
}

func newTokenReport(cfg TokenConfig) *TokenReport {
	return &TokenReport{Devices: cfg.Devices, Report: Report{
		Version: 1, Started: time.Now().UTC().Truncate(time.Second),
		Seconds: cfg.For.Seconds(), Rounds: cfg.Rounds, Clients: cfg.Clients,
		CPUs: runtime.NumCPU(), Targets: []TargetReport{}, Rows: []Row{},
	}}
}

// note enters what is known only when all is measured and the servers have ended.
func (r *TokenReport) note(ends []*issuer) {
	for _, e := range ends {
		for i := range r.Targets {
			if t := &r.Targets[i]; t.URL == e.url {
				t.PeakMemory = e.server.peakMemory
			}
		}
	}
	r.Report.note(nil)
}

// WriteText writes the report for people.
func (r *TokenReport) WriteText(w io.Writer) error {
	if len(r.Rows) > 0 {
		if err := r.Report.WriteText(w); err != nil {
			return err
		}
	}
	var text strings.Builder
	for _, s := range r.Storms {
		s.write(&text)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (s Storm) write(w io.Writer) {
	fmt.Fprintf(w, "\nstorm on %s: %s of %s devices have their token after %.1fs; a device waits %s (p50), %s (p99)\n",
		s.Target, count(s.Tokens), count(s.Devices), s.Seconds, latency(s.P50), latency(s.P99))
	fmt.Fprintf(w, "  %s requests over at most %s connections at a time: %s answers 429, %s 503, %s other errors, %s broken\n",
		count(s.Requests), count(s.Connections), count(s.TooMany), count(s.Unavailable), count(s.Errors), count(s.Broken))
	if s.PeakMemory > 0 {
		fmt.Fprintf(w, "  peak memory of the endpoint %s MB\n", thousands(float64(s.PeakMemory)/1e6))
	}
	if s.FirstError != "" {
		fmt.Fprintf(w, "  first error: %s\n", s.FirstError)
	}
}

// count is n for people, who want to see a zero here.
func count(n int) string {
	if n == 0 {
		return "0"
	}
	return thousands(float64(n))
}

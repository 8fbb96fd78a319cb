package simulate

import (
	"log/slog"
	"maps"
	"time"

	"furrow/sas/device"
)

// A Summary is what became of a fleet's readings. As JSON, members may be added, and
// none changes.
type Summary struct {
	Devices int `json:"devices"`
	Booted  int `json:"booted"` // devices that have had a token
	// devices that were refused one for good, or whose tokens do not work
	Denied   int   `json:"denied"`
	Tokens   int64 `json:"tokens"`       // that were issued
	Made     int64 `json:"readingsMade"` // and handed to the devices' clients
	Accepted int64 `json:"accepted"`     // by the clients, which send each once
	// by the clients: they are no readings that storage could take
	Refused  int64                   `json:"refused"`
	Stored   int64                   `json:"stored"`          // storage has said so
	SetAside map[device.Reason]int64 `json:"setAside"`        // reported by the clients, by reason
	Waiting  int64                   `json:"waiting"`         // accepted, and neither stored nor set aside
	Behind   int                     `json:"devicesNotEmpty"` // devices with readings that wait
	// why some device cannot send at the moment; nil where all can
	Newest  error         `json:"-"`
	Elapsed time.Duration `json:"-"`
	Seconds float64       `json:"seconds"`
}

// add adds what the client of a device says.
func (s *Summary) add(c device.Stats) {
	s.Devices++
	if c.Tokens > 0 {
		s.Booted++
	}
	s.Tokens += c.Tokens
	s.Accepted += c.Accepted
	s.Stored += c.Stored
	s.Waiting += c.Waiting
	if c.Waiting > 0 {
		s.Behind++
		if c.Err != nil {
			s.Newest = c.Err
		}
	}
}

// summary is how things are now.
func (r *runner) summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.past
	for l := range r.alive {
		s.add(l.client.Stats())
	}
	s.Devices = len(r.Members)
	s.Denied, s.SetAside = r.denied, maps.Clone(r.aside)
	s.Elapsed = time.Since(r.began)
	s.Seconds = s.Elapsed.Seconds()
	return s
}

// buried keeps the figures of a device that has ended.
func (r *runner) buried(l *life) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.alive, l)
	stats := l.client.Stats()
	r.past.add(stats)
	if r.OnEnd != nil {
		r.OnEnd(l.member, stats)
	}
}

func (r *runner) made() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past.Made++
}

// refused counts a reading that the client of a device has not taken.
func (r *runner) refused(l *life, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past.Refused++
	r.Log.Debug("reading refused by the device's client", slog.String("device", string(l.member.ID)), slog.Any("err", err))
}

// noted counts a report.
func (r *runner) noted(l *life, report device.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if report.Reason != device.Denied {
		r.aside[report.Reason]++
		return
	}
	r.Log.Warn("device denied", slog.String("device", string(l.member.ID)), slog.Any("err", report.Err))
	if !l.denied {
		l.denied = true
		r.denied++
	}
}

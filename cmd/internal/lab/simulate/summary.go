package simulate

import (
	"log/slog"
	"maps"
	"time"

	"furrow/sas/device"
)

// A Summary counts a fleet's readings. Its JSON is stable: members may be added, and none changes.
type Summary struct {
	Devices  int                     `json:"devices"`
	Booted   int                     `json:"booted"`          // devices that got a token
	Denied   int                     `json:"denied"`          // devices that get no token, or whose tokens do not work
	Tokens   int64                   `json:"tokens"`          // issued
	Made     int64                   `json:"readingsMade"`    // and accepted or refused by the devices' clients
	Accepted int64                   `json:"accepted"`        // by the clients, which send each once
	Refused  int64                   `json:"refused"`         // by the clients, because storage could not take them
	Stored   int64                   `json:"stored"`          // readings that storage has confirmed
	SetAside map[device.Reason]int64 `json:"setAside"`        // by the clients, by reason
	Waiting  int64                   `json:"waiting"`         // accepted, and neither stored nor set aside
	Acks     int64                   `json:"acks"`            // of commands: rows that are stored besides the readings
	Behind   int                     `json:"devicesNotEmpty"` // devices with waiting readings
	Newest   error                   `json:"-"`               // why a device cannot send now; nil if all can
	Elapsed  time.Duration           `json:"-"`
	Seconds  float64                 `json:"seconds"`
}

// add adds the counts of a client. If its device had no token before, that may be one that gets its first.
func (s *Summary) add(c device.Stats, first bool) {
	if first && c.Tokens > 0 {
		s.Booted++
	}
	s.Tokens += c.Tokens
	s.Accepted += c.Accepted
	s.Stored += c.Stored
	s.Waiting += c.Waiting
	s.Acks += c.Acks.Stored
	if c.Waiting > 0 {
		s.Behind++
		if c.Err != nil {
			s.Newest = c.Err
		}
	}
}

// summary returns the current counts.
func (r *runner) summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.past
	for l := range r.awake {
		s.add(l.client.Stats(), l.tokens == 0)
	}
	s.Devices = len(r.Members)
	s.Denied, s.SetAside = r.denied, maps.Clone(r.aside)
	s.Elapsed = time.Since(r.began)
	s.Seconds = s.Elapsed.Seconds()
	return s
}

func (r *runner) made() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past.Made++
}

// refused counts a reading that a client did not accept.
func (r *runner) refused(l *life, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past.Made++
	r.past.Refused++
	r.Log.Debug("reading refused by the device's client", slog.String("device", string(l.member.ID)), slog.Any("err", err))
}

// noted counts a report.
func (r *runner) noted(l *life, report device.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if report.Reason != device.Denied {
		if !report.Ack {
			r.aside[report.Reason]++
		}
		return
	}
	r.Log.Warn("device denied", slog.String("device", string(l.member.ID)), slog.Any("err", report.Err))
	if !l.denied {
		l.denied = true
		r.denied++
	}
}

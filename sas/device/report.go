package device

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Reason says what became of a reading that is not in the table.
type Reason string

const (
	Dropped       Reason = "dropped"        // the buffer was full, and the oldest had to go
	OutsideWindow Reason = "outside window" // its time is not one that a token admits: too old, or in the future
	Timeless      Reason = "timeless"       // it was taken before the time was known, and nobody can tell when
	Rejected      Reason = "rejected"       // storage refuses it for good
	Damaged       Reason = "damaged"        // a part of the file cannot be read; what it held is lost
	Denied        Reason = "denied"         // the device gets no token, or none that works; everything is kept, and tried again
)

// A Report says what will not be in the table, and why. Reports of Damaged and
// Denied are not about one reading. A reading is reported again where the power
// went before the report was on record, and may be in the table all the same where
// storage took it and its answer was lost.
type Report struct {
	Reason Reason
	Key    string    // the row key that it had; empty where its time was not known
	Time   time.Time // zero where it was not known
	Values string    // its values, as JSON
	Err    error     // the reason in detail
}

// Stats are counts since Open, and how things are now.
type Stats struct {
	Accepted int64 // readings
	Refused  int64 // by Send
	Stored   int64 // storage has them
	SetAside int64 // reported, after they were accepted, for other reasons than Dropped
	Dropped  int64
	Waiting  int64 // now
	Bytes    int64 // that they take
	Tokens   int64 // that were issued

	TimeKnown    bool
	TokenExpires time.Time     // the last one, by the server's clock; zero before the first
	SendEvery    time.Duration // how often the endpoint suggests to send; zero while it is not known
	Err          error         // why nothing can be sent at the moment; nil when all is well
}

// Stats are the client's.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.TimeKnown = c.clock.known()
	s.Waiting, s.Bytes = c.buffer.waits()
	return s
}

func (c *Client) count(change func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.stats)
}

func (c *Client) report(reports ...Report) {
	for _, r := range reports {
		c.count(func(s *Stats) {
			switch r.Reason {
			case Dropped:
				s.Dropped++
			case OutsideWindow, Timeless, Rejected:
				s.SetAside++
			}
		})
		c.reporting.Lock()
		if c.config.OnReport != nil {
			c.config.OnReport(r)
		} else {
			c.config.Log.LogAttrs(context.Background(), slog.LevelWarn, "reading not stored",
				slog.String("reason", string(r.Reason)), slog.String("key", r.Key), slog.Any("err", r.Err), slog.Int("bytes", len(r.Values)))
		}
		c.reporting.Unlock()
	}
}

var (
	errDropped  = errors.New("the buffer was full")
	errTimeless = errors.New("it was taken before the device knew the time, the power went before it did, and the device's own clock was wrong")
)

// report is a report about e.
func (e *entry) report(why Reason, err error) Report {
	r := Report{Reason: why, Values: string(e.body), Err: err}
	if key, ok := e.key(); ok {
		r.Key, r.Time = key.String(), key.Ticks.Time()
	}
	return r
}

// key is e's key for good, once its time is known.
func (e *entry) key() (schema.RowKey, bool) {
	ticks := tables.Ticks(e.at)
	if !e.timed {
		if e.boot.zero.IsZero() {
			return schema.RowKey{}, false
		}
		ticks = tables.TicksOf(e.boot.zero.Add(time.Duration(e.at)))
	}
	return schema.RowKey{Ticks: ticks, Suffix: suffix(e.boot.nonce, e.seq)}, true
}

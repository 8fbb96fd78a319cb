package device

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Reason is why a reading is not in the table.
type Reason string

const (
	OutsideWindow Reason = "outside window" // no token admits its time: too old, or in the future
	Timeless      Reason = "timeless"       // taken before the time was known, at an unknown time
	Rejected      Reason = "rejected"       // storage refuses it permanently
	Damaged       Reason = "damaged"        // part of the file is unreadable, and its readings are lost
	Denied        Reason = "denied"         // the device gets no working token; readings are kept, and sending is retried
)

// A Report describes a reading that will not be in the table. Reports of Damaged and Denied
// do not concern a single reading. A reading is reported again if the power failed before
// the report was recorded. It may still be in the table if storage stored it and the response
// was lost.
type Report struct {
	Reason Reason
	Key    string    // its row key; empty if its time was unknown
	Time   time.Time // zero if unknown
	Row    string    // without its row key, as JSON
	Ack    bool      // it acknowledges a command
	Err    error     // details of the reason
}

// Acks counts acknowledgements of commands since Open. They are rows like readings, which the client makes itself.
type Acks struct {
	Accepted int64
	Stored   int64
	SetAside int64 // reported after acceptance
	Waiting  int64 // now
}

// Stats are counts since Open and the current state. The first ones leave out acknowledgements of commands.
type Stats struct {
	Accepted int64 // readings
	Refused  int64 // by Send
	Stored   int64
	SetAside int64 // reported after acceptance
	Waiting  int64 // now
	Bytes    int64 // of all that waits
	Tokens   int64 // received
	Commands int64 // handed to OnCommand or OnDesired
	Acks     Acks

	TimeKnown    bool
	TokenExpires time.Time     // of the last token, by the server's clock; zero before the first
	SendEvery    time.Duration // the endpoint's suggestion; zero while unknown
	Err          error         // why nothing can be sent now; nil if all is well
}

// Stats returns the client's current Stats.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.TimeKnown = c.clock.known()
	s.Waiting, s.Acks.Waiting, s.Bytes = c.buffer.usage()
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
			switch {
			case r.Reason == Damaged, r.Reason == Denied:
			case r.Ack:
				s.Acks.SetAside++
			default:
				s.SetAside++
			}
		})
		c.reporting.Lock()
		if c.config.OnReport != nil {
			c.config.OnReport(r)
		} else {
			c.config.Log.LogAttrs(context.Background(), slog.LevelWarn, "reading not stored",
				slog.String("reason", string(r.Reason)), slog.String("key", r.Key), slog.Any("err", r.Err),
				slog.Int("bytes", len(r.Row)))
		}
		c.reporting.Unlock()
	}
}

var errTimeless = errors.New("taken before the device knew the time; then it restarted, and its own clock was wrong")

// report returns a report about e.
func (e *entry) report(why Reason, err error) Report {
	row, _ := json.Marshal(e.Row) // it was encoded before
	r := Report{Reason: why, Row: string(row), Ack: e.acknowledges(), Err: err}
	if key, ok := e.key(); ok {
		r.Key, r.Time = key.String(), key.Ticks.Time()
	}
	return r
}

// key is e's final row key, once its time is known.
func (e *entry) key() (schema.RowKey, bool) {
	ticks := tables.Ticks(e.At)
	if !e.Timed {
		if e.boot.Zero.IsZero() {
			return schema.RowKey{}, false
		}
		ticks = tables.TicksOf(e.boot.Zero.Add(time.Duration(e.At)))
	}
	return schema.RowKey{Ticks: ticks, Suffix: e.id()}, true
}

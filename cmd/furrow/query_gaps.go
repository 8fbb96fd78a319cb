package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// A gapRecord is a day of numbered readings as it is printed.
type gapRecord query.GapDay

func gapRecordOf(d query.GapDay) gapRecord { return gapRecord(d) }

func (gapRecord) Columns() []string {
	return []string{"device", "day", "readings", "missing", "repeated", "resets", "wraps", "first", "last", "made",
		"by_key", "unnumbered", "unsure"}
}

func (d gapRecord) Lines() [][]any {
	return [][]any{{string(d.Device), d.day(), d.Readings, d.Missing, d.Repeated, d.Restarts, d.Wraps, d.First, d.Last,
		d.Made(), d.ByKey, d.Unnumbered, d.Unsure}}
}

func (d gapRecord) day() string { return d.Start.Time().Format(time.DateOnly) }

func (d gapRecord) Object() any {
	return gapLine{d.Device, d.day(), d.Readings, d.Missing, d.Repeated, d.Restarts, d.Wraps, d.First, d.Last, d.Made(),
		d.ByKey, d.Unnumbered, query.GapDay(d).NumberGaps(), d.Unsure}
}

// gapLine is a day of numbered readings of a device in JSON.
type gapLine struct {
	Device     schema.DeviceID   `json:"device"`
	Day        string            `json:"day"`      // in UTC
	Readings   int64             `json:"readings"` // that have a number
	Missing    int64             `json:"missing"`  // numbers that no reading has, below one of this day
	Repeated   int64             `json:"repeated"` // readings whose number another one has
	Resets     int64             `json:"resets"`   // restarts of the device: boots, and numbers in a property that begin again
	Wraps      int64             `json:"wraps"`    // readings after the greatest number of 16 or 32 bits
	First      uint64            `json:"first"`    // number of the first reading
	Last       uint64            `json:"last"`
	Made       int64             `json:"made"`             // readings that were made, as far as numbers tell
	ByKey      int64             `json:"byKey"`            // readings with the number in the row key
	Unnumbered int64             `json:"unnumbered"`       // readings without a number
	Gaps       []query.NumberGap `json:"gaps,omitempty"`   // the first ten
	Unsure     bool              `json:"unsure,omitempty"` // there was too much to follow: the counts may be wrong
}

// noGaps says why there is no day.
func noGaps(c *cli.Context, f query.Fleet, q query.Question) (string, error) {
	return nothing(c, f, q, "numbered readings")
}

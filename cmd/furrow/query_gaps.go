package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// A gapRecord is a day of sequence numbers as it is printed.
type gapRecord query.GapDay

func gapRecordOf(d query.GapDay) gapRecord { return gapRecord(d) }

func (gapRecord) Columns() []string {
	return []string{"device", "day", "readings", "missing", "repeated", "resets", "wraps", "first", "last"}
}

func (d gapRecord) Lines() [][]any {
	return [][]any{{string(d.Device), d.day(), d.Readings, d.Missing, d.Repeated, d.Resets, d.Wraps, d.First, d.Last}}
}

func (d gapRecord) day() string { return d.Day.Time().Format(time.DateOnly) }

func (d gapRecord) Object() any {
	return gapLine{d.Device, d.day(), d.Readings, d.Missing, d.Repeated, d.Resets, d.Wraps, d.First, d.Last}
}

// gapLine is a day of sequence numbers of a device in JSON.
type gapLine struct {
	Device   schema.DeviceID `json:"device"`
	Day      string          `json:"day"`      // in UTC
	Readings int64           `json:"readings"` // that have a number
	Missing  int64           `json:"missing"`  // numbers between those of two readings
	Repeated int64           `json:"repeated"`
	Resets   int64           `json:"resets"` // readings whose number began again: the device was restarted
	Wraps    int64           `json:"wraps"`  // readings after the greatest number of 16 or 32 bits
	First    uint64          `json:"first"`  // number of the first reading
	Last     uint64          `json:"last"`
}

// noGaps says why there is no day.
func noGaps(c *cli.Context, f query.Fleet, q query.Question) (string, error) {
	for _, m := range q.Models.All {
		if m.Sensors.Sequence != "" {
			return nothing(c, f, q, "readings with a sequence number")
		}
	}
	return fmt.Sprintf("%s: no model of the configuration names a sequence number, such as sequence: fCnt", q.Scope), nil
}

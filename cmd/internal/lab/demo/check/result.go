package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/tables/schema"
	"furrow/worker/verify"
)

// A Difference is one thing that is not as it should be.
type Difference struct {
	Table  string          `json:"table"`
	Device schema.DeviceID `json:"device,omitempty"`
	Row    string          `json:"row,omitempty"` // a row key, or a window and its start
	Sensor string          `json:"sensor,omitempty"`
	Is     string          `json:"is"`
	Want   string          `json:"want"`
}

func (d Difference) String() string {
	about := strings.Join(strings.Fields(fmt.Sprint(d.Table, " ", d.Device, " ", d.Row, " ", d.Sensor)), " ")
	return fmt.Sprintf("%s: it is %s, and should be %s", about, d.Is, d.Want)
}

// Most is how many differences a result lists. It counts all.
const Most = 20

// A Result is what was found.
type Result struct {
	Devices  int `json:"devices"`
	Readings int `json:"readings"` // in the raw tables
	Waiting  int `json:"waiting"`  // of them, those in the future, from a clock that is ahead

	Buckets    map[string]int `json:"buckets"` // rows of rollups, by the size of their window
	Aggregates int            `json:"aggregates"`
	Latest     int            `json:"latest"`   // sensors
	Rates      int            `json:"rates"`    // of sensors: the newest, and those of hours and days
	Rejected   int            `json:"rejected"` // rows
	Alarms     int            `json:"alarms"`   // changes of incidents

	// Lost readings were acknowledged and are not stored, or are stored and in no rollup. Doubled ones
	// are in a rollup more than once.
	Lost    int `json:"lost"`
	Doubled int `json:"doubled"`

	Differences int          `json:"differences"`
	First       []Difference `json:"firstDifferences"`

	lost, doubled map[string]int // by output
}

func (r *Result) differ(d Difference) {
	r.Differences++
	if len(r.First) < Most {
		r.First = append(r.First, d)
	}
}

// add adds what was found of a device.
func (r *Result) add(d *verify.Device) {
	for _, x := range d.Differences {
		if x.Reason == verify.NotDue {
			r.Waiting += int(x.Rows)
			continue
		}
		if x.Reason == verify.Missing { // receipts say what was sent and acknowledged
			continue
		}
		r.differ(Difference{x.Output, x.Device, x.At.UTC().Format(time.RFC3339Nano), x.Sensor, x.Is, x.Want + ", and is " +
			string(x.Reason)})
		r.Differences += x.More
		r.lost[x.Output] += max(0, int(x.Rows))
		r.doubled[x.Output] += max(0, -int(x.Rows))
	}
	if d.Device != "" {
		r.Devices++
	}
	for _, day := range d.Days {
		r.Readings, r.Rejected = r.Readings+int(day.Stored), r.Rejected+int(day.Rejected)
	}
	for _, c := range d.Compared {
		switch table, window, _ := strings.Cut(c.Output, " "); table {
		case "latest":
			r.Latest += int(c.Values)
		case "rates":
			r.Rates += int(c.Values)
		case "rollups":
			r.Buckets[window] += int(c.Rows)
			r.Aggregates += int(c.Values)
		}
	}
}

// sum adds what lacks and what is too much. A lost reading is missing from every output, so the worst one counts.
func (r *Result) sum() {
	r.Lost += worst(r.lost)
	r.Doubled += worst(r.doubled)
}

func worst(by map[string]int) int { return slices.Max(append(slices.Collect(maps.Values(by)), 0)) }

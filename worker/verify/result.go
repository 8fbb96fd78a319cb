package verify

import (
	"fmt"
	"strings"
	"time"

	"furrow/tables/schema"
)

// A Reason says why something differs.
type Reason string

// The reasons. All but Unknown explain a difference.
const (
	Late     Reason = "late and waiting"      // stored below the checkpoint, and the next audit finds it
	NotDue   Reason = "not yet due"           // younger than the settle time, or of the future
	InFlight Reason = "in flight"             // above the checkpoint, or a job writes right now
	Held     Reason = "held"                  // in flight, and the device fails
	Refold   Reason = "to be folded again"    // after changed settings, an import, a rewind, a raised backfill
	Moved    Reason = "moved"                 // belongs to another tenant than before, and is to be folded again
	Retained Reason = "retained"              // below the watermark: rows and outputs may be deleted
	Left     Reason = "left the fleet"        // an output of a device that is no longer in the fleet
	Unknown  Reason = "unexplained"           // nothing explains it
	Crowded  Reason = "too many sensors"      // more than an output has room for: not every one of them is compared
	Waits    Reason = "waits for the archive" // a mark asks for the day
	Missing  Reason = "missing"               // the device numbered it, and storage does not have it: no pipeline lost it
)

// A Difference is something that a table says and the raw rows do not, or the other way round.
type Difference struct {
	Tenant   schema.Tenant   `json:"tenant"`
	Device   schema.DeviceID `json:"device,omitempty"` // empty: of a tenant's report or archive
	Day      string          `json:"day"`              // UTC
	Pipeline schema.Pipeline `json:"pipeline,omitempty"`
	Output   string          `json:"output"` // made, folded, latest, rollups 1h, rates, buckets 1h, reports 1h, rejects, archived, archive files, archive cells, archive rollups 1h
	At       time.Time       `json:"at"`     // of the bucket, the hour or the reading
	Sensor   string          `json:"sensor,omitempty"`
	Is       string          `json:"is"`
	Want     string          `json:"want"`
	Reason   Reason          `json:"reason"`
	Rows     int64           `json:"rows,omitempty"` // readings that are missing or too many
	More     int             `json:"more,omitempty"` // further differences of the same day, output and reason
	Until    string          `json:"-"`              // last day of those
}

func (d Difference) String() string {
	at, is := d.At.UTC().Format(time.RFC3339Nano), d.Is
	if d.At.Equal(d.At.Truncate(24 * time.Hour)) {
		at = d.At.UTC().Format(time.DateOnly)
	}
	of := string(d.Device)
	if of == "" {
		of = "tenant " + string(d.Tenant)
	}
	about := strings.Join(strings.Fields(fmt.Sprint(of, " ", d.Pipeline, " ", d.Output, " ", at, " ", d.Sensor)), " ")
	if strings.HasSuffix(d.Want, " readings") { // lines fit a terminal
		is = strings.TrimSuffix(strings.TrimSuffix(is, " readings"), " reading")
	}
	text := fmt.Sprintf("%s: %s; %s instead of %s", about, d.Reason, is, d.Want)
	switch {
	case d.More > 0 && d.Until != "":
		text += fmt.Sprintf(" (and %d more until %s)", d.More, d.Until)
	case d.More > 0:
		text += fmt.Sprintf(" (and %d more)", d.More)
	}
	return text
}

// Explained reports whether the tables say why there is a difference.
func (d Difference) Explained() bool { return d.Reason != Unknown }

// A Count is how many readings an output has, and should have.
type Count struct {
	Pipeline schema.Pipeline `json:"pipeline"`
	Output   string          `json:"output"` // folded, latest, rollups 1h, rates 1h, buckets 1h, archived
	Rows     int64           `json:"rows"`
	Want     int64           `json:"want"`
}

// A Made is what a device has made on a day, as far as the numbers of its readings tell.
type Made struct {
	Rows    int64  `json:"rows"`          // numbers, each once
	Missing int64  `json:"missing"`       // of these, the numbers that no row in storage has
	Why     string `json:"why,omitempty"` // which numbers are missing
}

// A Day is what was counted of a device and day.
type Day struct {
	Day      string  `json:"day"` // UTC
	Made     *Made   `json:"made,omitempty"`
	Stored   int64   `json:"stored"`
	Rejected int64   `json:"rejected,omitempty"` // rows that were rejected, or in part
	Sealed   bool    `json:"sealed,omitempty"`   // by every pipeline: the ledger has forgotten it
	Counts   []Count `json:"counts"`
}

// A Device is what was found of a device of a tenant.
type Device struct {
	Tenant      schema.Tenant   `json:"tenant"`
	Device      schema.DeviceID `json:"device,omitempty"` // empty: reports and archive of the tenant
	Days        []Day           `json:"days"`
	Differences []Difference    `json:"differences"`
	Looks       int             `json:"looks"` // how often it was looked at: more than once if it changed meanwhile
	Compared    []Compared      `json:"compared"`

	Place  schema.Place              `json:"-"` // zero without a device
	Begin  float64                   `json:"-"` // without a device: of a share that has it, whatever its size
	stored map[schema.Day]*storedDay // for the archive
}

// Compared is how much of an output was compared.
type Compared struct {
	Output string `json:"output"`
	Rows   int64  `json:"rows"`
	Values int64  `json:"values"` // of sensors
	Bytes  int64  `json:"bytes"`  // that storage charges for the rows
}

// Lines returns a difference for each device, pipeline, output and reason: the first, with the number and the last day
// of all that are alike.
func (d *Device) Lines() (all []Difference) {
	type kind struct {
		device   schema.DeviceID
		pipeline schema.Pipeline
		output   string
		reason   Reason
	}
	at := map[kind]int{}
	for _, x := range d.Differences {
		k := kind{x.Device, x.Pipeline, x.Output, x.Reason}
		if i, is := at[k]; is {
			all[i].More, all[i].Rows, all[i].Until = all[i].More+1+x.More, all[i].Rows+x.Rows, x.Day
			continue
		}
		at[k] = len(all)
		all = append(all, x)
	}
	return all
}

// Unexplained reports how many differences nothing explains.
func (d *Device) Unexplained() (n int) {
	for _, x := range d.Differences {
		if !x.Explained() {
			n += 1 + x.More
		}
	}
	return n
}

// Folded is how many readings a pipeline has folded, and how many were due.
type Folded struct {
	Rows  int64            `json:"rows"`            // readings
	Want  int64            `json:"want"`            // those that were due
	Lacks map[Reason]int64 `json:"lacks,omitempty"` // readings that it has not folded, by reason
}

// Totals sums up devices.
type Totals struct {
	Devices     int64                       `json:"devices"`
	Made        int64                       `json:"made"`    // readings with a number, and numbers that are missing
	Missing     int64                       `json:"missing"` // of these
	Stored      int64                       `json:"stored"`
	Rejected    int64                       `json:"rejected"`
	Counts      map[string]int64            `json:"counts"`      // readings by output
	Want        map[string]int64            `json:"want"`        // what they should be
	Pipelines   map[schema.Pipeline]*Folded `json:"pipelines"`   // what each has folded
	Differences map[Reason]int64            `json:"differences"` // by reason
	Unexplained int64                       `json:"unexplained"`
	Last        schema.DeviceID             `json:"last,omitempty"` // the last device that was verified
}

// Add adds a device.
func (t *Totals) Add(d *Device) {
	if t.Counts == nil {
		t.Counts, t.Want, t.Differences = map[string]int64{}, map[string]int64{}, map[Reason]int64{}
		t.Pipelines = map[schema.Pipeline]*Folded{}
	}
	if d.Device != "" {
		t.Devices, t.Last = t.Devices+1, d.Device
	}
	for _, day := range d.Days {
		if day.Made != nil {
			t.Made, t.Missing = t.Made+day.Made.Rows, t.Missing+day.Made.Missing
		}
		t.Stored, t.Rejected = t.Stored+day.Stored, t.Rejected+day.Rejected
		for _, c := range day.Counts {
			t.Counts[c.Output] += c.Rows
			t.Want[c.Output] += c.Want
			if c.Output == folded {
				f := t.pipeline(c.Pipeline)
				f.Rows, f.Want = f.Rows+c.Rows, f.Want+c.Want
			}
		}
	}
	for _, x := range d.Differences {
		t.Differences[x.Reason] += 1 + int64(x.More)
		if x.Output == folded {
			t.pipeline(x.Pipeline).Lacks[x.Reason] += max(x.Rows, 0)
		}
	}
	t.Unexplained += int64(d.Unexplained())
}

func (t *Totals) pipeline(name schema.Pipeline) *Folded {
	if t.Pipelines[name] == nil {
		t.Pipelines[name] = &Folded{Lacks: map[Reason]int64{}}
	}
	return t.Pipelines[name]
}

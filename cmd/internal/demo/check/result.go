package check

import (
	"fmt"
	"strings"
	"sync"

	"furrow/tables/schema"
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
	Devices  int   `json:"devices"`
	Readings int   `json:"readings"` // in the raw tables
	Waiting  int   `json:"waiting"`  // of them, those in the future, from a clock that is ahead
	Bytes    int64 `json:"bytes"`    // of the readings, as Azure counts them

	Buckets     map[string]int `json:"buckets"` // rows of rollups, by the size of their window
	Aggregates  int            `json:"aggregates"`
	Latest      int            `json:"latest"`   // sensors
	Rates       int            `json:"rates"`    // of sensors: the newest, and those of hours and days
	Rejected    int            `json:"rejected"` // rows
	Alarms      int            `json:"alarms"`   // changes of incidents
	OutputBytes int64          `json:"outputBytes"`

	// Lost readings were acknowledged and are not stored, or are stored and in no rollup. Doubled ones
	// are in a rollup more than once.
	Lost    int `json:"lost"`
	Doubled int `json:"doubled"`

	Differences int          `json:"differences"`
	First       []Difference `json:"firstDifferences"`
}

// findings collects a Result from several goroutines.
type findings struct {
	mu            sync.Mutex
	result        Result
	lost, doubled map[schema.Window]int
}

func newFindings() *findings {
	return &findings{result: Result{Buckets: map[string]int{}, First: []Difference{}},
		lost: map[schema.Window]int{}, doubled: map[schema.Window]int{}}
}

// count changes counts of the result.
func (f *findings) count(do func(*Result)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(&f.result)
}

func (f *findings) differ(d Difference) {
	f.count(func(r *Result) {
		r.Differences++
		if len(r.First) < Most {
			r.First = append(r.First, d)
		}
	})
}

// compared counts an output of so many sensors, and the readings that it has too few or too many.
func (f *findings) compared(p partition, sensors, few, many int) {
	f.count(func(r *Result) {
		switch {
		case p.rates:
			r.Rates += sensors
		case p.window == 0:
			r.Latest += sensors
		case sensors > 0:
			r.Buckets[p.window.String()]++
			r.Aggregates += sensors
		}
		f.lost[p.window] += few
		f.doubled[p.window] += many
	})
}

// sum returns the result. A lost reading is missing from every window, so the worst window counts.
func (f *findings) sum() Result {
	worst := func(by map[schema.Window]int) (n int) {
		for _, m := range by {
			n = max(n, m)
		}
		return n
	}
	f.result.Lost += worst(f.lost)
	f.result.Doubled += worst(f.doubled)
	return f.result
}

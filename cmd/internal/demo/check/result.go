package check

import (
	"fmt"
	"furrow/tables/schema"
	"sync"
)

// A Difference is one thing that is not as it has to be.
type Difference struct {
	Table  string          `json:"table"`
	Device schema.DeviceID `json:"device,omitempty"`
	Row    string          `json:"row,omitempty"`    // what it is about: a row key, or a window and its start
	Sensor string          `json:"sensor,omitempty"` //
	Is     string          `json:"is"`
	Want   string          `json:"want"`
}

func (d Difference) String() string {
	about := ""
	for _, part := range []string{string(d.Device), d.Row, d.Sensor} {
		if part != "" {
			about += " " + part
		}
	}
	return fmt.Sprintf("%s%s: it is %s, and should be %s", d.Table, about, d.Is, d.Want)
}

// Most is how many differences are kept; all are counted.
const Most = 20

// A Result is what was found.
type Result struct {
	Devices  int   `json:"devices"`
	Readings int   `json:"readings"` // in the raw tables
	Waiting  int   `json:"waiting"`  // of them, those whose time is not yet come: a clock was ahead
	Bytes    int64 `json:"bytes"`    // of the readings, as Azure counts them

	Buckets     map[string]int `json:"buckets"` // rows of rollups, by the size of their window
	Aggregates  int            `json:"aggregates"`
	Latest      int            `json:"latest"`   // sensors
	Rejected    int            `json:"rejected"` // rows
	OutputBytes int64          `json:"outputBytes"`

	// Lost readings are those that a device was told is stored and that are not, and
	// those that are in no rollup; doubled ones are in a rollup more than once.
	Lost    int `json:"lost"`
	Doubled int `json:"doubled"`

	Differences int          `json:"differences"`
	First       []Difference `json:"firstDifferences"`
}

// findings collects a Result from several goroutines.
type findings struct {
	mu      sync.Mutex
	result  Result
	lost    map[string]int // by window
	doubled map[string]int
}

func newFindings() *findings {
	return &findings{result: Result{Buckets: map[string]int{}, First: []Difference{}}, lost: map[string]int{},
		doubled: map[string]int{}}
}

func (f *findings) differ(d Difference) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.result.Differences++
	if len(f.result.First) < Most {
		f.result.First = append(f.result.First, d)
	}
}

// count changes counts of the result.
func (f *findings) count(do func(*Result)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(&f.result)
}

// amiss counts the readings that a bucket has too few, or too many.
func (f *findings) amiss(window string, few, many int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[window] += max(0, few)
	f.doubled[window] += max(0, many)
}

// sum is the result. A reading that is lost is so in every window: the window in which
// most are counts.
func (f *findings) sum() Result {
	worst := func(by map[string]int) (n int) {
		for _, m := range by {
			n = max(n, m)
		}
		return n
	}
	f.result.Lost += worst(f.lost)
	f.result.Doubled += worst(f.doubled)
	return f.result
}

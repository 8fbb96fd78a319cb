package outliers

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Windows is how many complete windows are compared.
const Windows = 6

// A Device is what is known of a device.
type Device struct {
	ID      string
	Class   string    // of devices that have the same sensors, such as those of a model
	Groups  []string  // whose devices are its neighbours, the nearest first
	Silent  time.Time // since when it is; zero: it is not
	Rejects int       // readings of the last day that were rejected, wholly or in part
	Sensors []Sensor
}

// A Sensor is a sensor of a device, with numbers.
type Sensor struct {
	Name    string
	Value   float64 // the newest
	At      time.Time
	Windows [Windows]Window // the last ones that are complete, the oldest first; of all devices the same
}

// A Window sums up the numbers of a window of time. The zero Window has none.
type Window struct {
	Count          int64
	Mean, Min, Max float64
}

// A Kind is how a device stands out.
type Kind string

// All kinds.
const (
	Silent   Kind = "silent"
	Rejected Kind = "rejected"
	Stuck    Kind = "stuck"
	Drifting Kind = "drifting"
	Off      Kind = "off"
	Noisy    Kind = "noisy"
)

// Kinds returns all kinds, the most urgent first.
func Kinds() []Kind { return []Kind{Silent, Rejected, Stuck, Drifting, Off, Noisy} }

// ManyRejects is how many readings of a day are rejected of a device that stands out.
const ManyRejects = 10

// An Outlier is a device that stands out.
type Outlier struct {
	Device string
	Kind   Kind
	Since  time.Time // of a silent device
	Sensor string
	// Value is the newest; of drifting, the growth per window; of noisy, what values vary within a window; of rejected,
	// the number of rejects.
	Value      float64
	Median     float64 // the same, of the neighbours
	Score      float64 // their distance, in spreads; zero where there is none
	Neighbours int
	Group      string // of the neighbours
}

// Found is what stands out.
type Found struct {
	Outliers []Outlier // by kind, the greatest score first
	Compared int       // devices with a sensor that was compared
}

// Find finds the devices that stand out. Each sensor of a device has one kind at most. The values of a silent device
// say nothing.
func Find(devices []Device) (found Found) {
	sensors := map[[2]string][]member{}
	for i := range devices {
		d := &devices[i]
		if d.Rejects >= ManyRejects {
			found.Outliers = append(found.Outliers, Outlier{Device: d.ID, Kind: Rejected, Value: float64(d.Rejects)})
		}
		if !d.Silent.IsZero() {
			found.Outliers = append(found.Outliers, Outlier{Device: d.ID, Kind: Silent, Since: d.Silent})
			continue
		}
		for j := range d.Sensors {
			of := [2]string{d.Class, d.Sensors[j].Name}
			sensors[of] = append(sensors[of], member{d, &d.Sensors[j]})
		}
	}
	compared := map[string]bool{}
	for _, all := range sensors {
		groups := grouped(all)
		usual := usualSpreads(groups)
		for _, g := range groups {
			found.Outliers = append(found.Outliers, g.outliers(usual)...)
			for i, m := range g.members {
				if g.nearest[i] {
					compared[m.ID] = true
				}
			}
		}
	}
	found.Compared = len(compared)
	slices.SortFunc(found.Outliers, Compare)
	return found
}

// Compare orders outliers by kind, then the greatest score first.
func Compare(a, b Outlier) int {
	kinds := Kinds()
	return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
		cmp.Compare(math.Abs(b.Score), math.Abs(a.Score)), cmp.Compare(b.Value, a.Value),
		strings.Compare(a.Device, b.Device), strings.Compare(a.Sensor, b.Sensor))
}

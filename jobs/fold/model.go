package fold

import (
	"slices"
	"strings"
	"time"

	"furrow/tables/schema"
)

// A Model is what the rows of one kind of device mean, and how they are folded.
type Model struct {
	Name    string
	Match   Match
	Sensors Sensors
	// Settings stands for everything that changes the results of folds. A device that was folded under other settings is
	// folded again from its beginning.
	Settings   string
	Every      time.Duration // stated interval between two readings of a device; zero: none is stated
	Processors []Configured  // those of the pipeline, made for these sensors
}

// A Match says which devices are of a model: those that meet all that it names. The zero Match names nothing, and only
// devices that state the model match it.
type Match struct {
	Enrollment, Tenant, Site []string            // any of them
	Device                   []string            // IDs, or prefixes of IDs that end with *
	Labels                   map[string][]string // by name: any of the values
}

// ModelOf returns the index of a device's model, or -1: the one that the device states, else the first whose match it
// meets.
func ModelOf[M any](models []M, d schema.Member, of func(M) (name string, match Match)) int {
	if d.Model != "" {
		return slices.IndexFunc(models, func(m M) bool { name, _ := of(m); return name == d.Model })
	}
	return slices.IndexFunc(models, func(m M) bool { _, match := of(m); return match.Of(d) })
}

// Of reports whether a device meets all that the match names, and whether it names anything.
func (m Match) Of(d schema.Member) bool {
	for name, values := range m.Labels {
		if label, ok := d.Labels[name]; !ok || !slices.Contains(values, label) {
			return false
		}
	}
	return m.Some() && among(m.Enrollment, string(d.Enrollment)) && among(m.Tenant, string(d.Tenant)) &&
		among(m.Site, string(d.Site)) && (len(m.Device) == 0 || slices.ContainsFunc(m.Device, func(id string) bool {
		prefix, is := strings.CutSuffix(id, "*")
		return is && strings.HasPrefix(string(d.Device), prefix) || id == string(d.Device)
	}))
}

// Some reports whether the match names anything.
func (m Match) Some() bool {
	return len(m.Enrollment)+len(m.Tenant)+len(m.Site)+len(m.Device)+len(m.Labels) > 0
}

func among(any []string, value string) bool { return len(any) == 0 || slices.Contains(any, value) }

// Watchers yields the processors that are Watchers.
func (m *Model) Watchers(yield func(Configured, Watcher) bool) {
	for _, processor := range m.Processors {
		if w, ok := processor.Fold.(Watcher); ok && !yield(processor, w) {
			return
		}
	}
}

// KeepWindowed keeps the states that a stream continues with. Those of merging processors are joined into the device's
// after every portion.
func (m *Model) KeepWindowed(states map[string][]byte) {
	for _, processor := range m.Processors {
		if _, ok := processor.Windowed(); !ok {
			delete(states, processor.Name)
		}
	}
}

func (m *Model) Acknowledges() bool {
	for _, p := range m.Processors {
		if p.Acknowledges {
			return true
		}
	}
	return false
}

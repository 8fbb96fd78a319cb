package jobs

import (
	"slices"
	"strings"
)

// heedSettings has a device folded again that was folded under other settings, and reports whether it was. Old states
// of processors that those settings lacked are removed.
func (d *deviceRun) heedSettings() bool {
	t := d.track
	if t.settings == d.model.Settings {
		return false
	}
	if t.etag != "" && t.settings != "" && t.last != "" {
		had := processorsOf(t.settings)
		for _, processor := range d.model.Processors {
			if len(t.states[processor.Name]) > 0 && len(had) > 0 && !slices.Contains(had, processor.Name) {
				t.states[processor.Name] = nil
			}
		}
		t.foldAgain(cursor{window: window{0, TicksBefore(t.last) + 1}, rebuild: true})
	}
	t.settings = d.model.Settings
	return t.etag != ""
}

// processorsOf returns the names in Settings: name:hash,name:hash.
func processorsOf(settings string) (names []string) {
	for one := range strings.SplitSeq(settings, ",") {
		if name, _, ok := strings.Cut(one, ":"); ok {
			names = append(names, name)
		}
	}
	return names
}

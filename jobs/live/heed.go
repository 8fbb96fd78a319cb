package live

import (
	"slices"
	"strings"

	"furrow/jobs/commit"
	"furrow/jobs/coverage"
	"furrow/jobs/folding"
	"furrow/tables"
)

// heed has days made again that have become wrong, and reports whether there are any.
func heed(d *folding.Device, at times) (heeded bool, err error) {
	watermark := lowerWatermark(d) || raiseWatermark(d)
	lowered, err := heedClock(d, at.latest)
	if err != nil {
		return false, err
	}
	arrived := d.Row.Coverage.Due(at.sure, at.latest, commit.Landed)
	changed, err := heedSettings(d, at)
	if err != nil {
		return false, err
	}
	moved, err := heedSpans(d, at)
	if err != nil {
		return false, err
	}
	imported := heedImports(d, at)
	return watermark || lowered || arrived || changed || moved || imported, nil
}

// heedSettings has a device folded again that was folded under other settings, and reports whether it was. Old states
// of processors that those settings lacked are removed.
func heedSettings(d *folding.Device, at times) (heeded bool, err error) {
	t := d.Row
	if t.Settings == d.Model.Settings {
		return false, nil
	}
	if err := awaitAttempts(d, at); err != nil {
		return false, err
	}
	if t.ETag != "" && t.Settings != "" && t.Last != "" {
		had := processorsOf(t.Settings)
		for _, processor := range d.Model.Processors {
			if !processor.Once && len(t.States[processor.Name]) > 0 && len(had) > 0 && !slices.Contains(had, processor.Name) {
				t.States[processor.Name] = nil
			}
		}
		t.Rebuild(coverage.Settings)
		if tables.TicksBefore(t.Last) < t.Coverage.Watermark { // nothing is left to fold anything from
			forgetWindows(d, all)
			if err := newestBelow(d, tables.MaxTicks); err != nil {
				return false, err
			}
		}
	}
	t.Settings = d.Model.Settings
	return t.ETag != "", nil
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

// heedImports has rows folded again that an import has written below the checkpoint, or the device late, and reports
// whether it knows more of these notes than before. The membership was read before the rows are, so they are all there.
// Days that are sealed stay so: no token admits rows of them, and the import has ended.
func heedImports(d *folding.Device, at times) bool {
	t := d.Row
	noted := d.Member.Imports.After(t.Imported, at.sure, at.latest)
	if noted.ID == t.Imported {
		return false
	}
	t.Imported = noted.ID
	if t.Last == "" {
		return t.ETag != ""
	}
	why := coverage.Import
	if noted.Late {
		why = coverage.Late
	}
	if below := (coverage.Window{From: noted.From, To: min(noted.To, tables.TicksBefore(t.Last)+1)}); !below.Empty() {
		t.FoldAgain(below, why)
	}
	return true
}

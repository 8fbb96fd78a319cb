package live

import (
	"slices"
	"strings"

	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
)

// heedSettings has a device folded again that was folded under other settings, and reports whether it was. Old states
// of processors that those settings lacked are removed.
func heedSettings(d *folding.Device) bool {
	t := d.Row
	if t.Settings == d.Model.Settings {
		return false
	}
	if t.ETag != "" && t.Settings != "" && t.Last != "" {
		had := processorsOf(t.Settings)
		for _, processor := range d.Model.Processors {
			if !processor.Once && len(t.States[processor.Name]) > 0 && len(had) > 0 && !slices.Contains(had, processor.Name) {
				t.States[processor.Name] = nil
			}
		}
		t.FoldAgain(tracking.Cursor{Window: tracking.Window{From: 0, To: tables.TicksBefore(t.Last) + 1}, Rebuild: true})
		if tables.TicksBefore(t.Last) < t.Watermark { // nothing is left to fold open windows from
			forgetWindows(d)
		}
	}
	t.Settings = d.Model.Settings
	return t.ETag != ""
}

// forgetWindows removes the states of windowed processors. What they have written stays.
func forgetWindows(d *folding.Device) {
	for _, processor := range d.Model.Processors {
		if _, is := processor.Windowed(); is {
			d.Row.States[processor.Name] = nil
		}
	}
	d.Row.ForgetOpen(d.Model)
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

// heedImports has rows folded again that an import has written below the checkpoint, and reports whether it knows more
// imports than before. The membership was read before the rows are, so they are all there. The floor of the ledger
// stays: it says where tokens admit rows that may be late, and none admits those of an import.
func heedImports(d *folding.Device, now tables.Ticks) bool {
	t := d.Row
	last, from, to := d.Member.Imports.After(t.Imported, now)
	if last == t.Imported {
		return false
	}
	t.Imported = last
	if t.Last == "" {
		return t.ETag != ""
	}
	from, to = max(from.Floor(tables.Day), t.Watermark), min(to, tables.TicksBefore(t.Last)+1)
	c := tracking.Cursor{Window: tracking.Window{From: from, To: to}}
	if !c.Empty() {
		t.FoldAgain(c)
		t.Importing = t.Importing.With(tracking.Window{From: c.From, To: c.To.Ceil(tables.Day)})
	}
	return true
}

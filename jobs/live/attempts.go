package live

import (
	"furrow/jobs/commit"
	"furrow/jobs/coverage"
	"furrow/jobs/fold"
	"furrow/jobs/folding"
	"furrow/tables"
)

// awaitAttempts has days made again a second time, when no request of an attempt under other settings or spans arrives
// any more. It may have written for the days of its rows, and for those that are not sealed, or are stale. Nobody knows
// when one began that has not ended: the clock was perhaps behind that its claim has.
func awaitAttempts(d *folding.Device, at times) error {
	t, began := d.Row, d.Row.Uncut
	if t.Hold.Open() {
		began = max(began, at.present)
	}
	lands := began.Add(commit.Landed)
	if began == 0 || lands <= at.sure {
		return nil
	}
	first, err := d.OpenDay()
	if err != nil {
		return err
	}
	open, _ := t.Coverage.Open(first)
	t.Coverage.Again(coverage.Window{From: open, To: max(t.Uncut, tables.TicksBefore(t.Last)) + 1}, lands)
	return nil
}

// forgetAttempts notes that what attempts without a commit may have left above the checkpoint has been looked at: the
// checkpoint itself does not pass it where no row came after, and the device would never rest.
func forgetAttempts(d *folding.Device, at times) {
	if t := d.Row; !d.Behind && t.Uncut.String() > t.Last && t.Uncut != 0 && t.Uncut.Add(commit.Landed) <= at.sure {
		t.Uncut, d.Dirty = 0, true
	}
}

// forgetWindows removes the states of some windowed processors. What they have written stays.
func forgetWindows(d *folding.Device, of func(fold.Configured) bool) {
	for _, processor := range d.Model.Processors {
		if _, is := processor.Windowed(); is && of(processor) {
			d.Row.States[processor.Name] = nil
		}
	}
	d.Row.ForgetOpen(d.Model)
}

func all(fold.Configured) bool { return true }

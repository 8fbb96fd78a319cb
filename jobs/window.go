package jobs

import (
	"furrow/tables"
)

// A window is the ticks in [from, to).
type window struct{ from, to tables.Ticks }

func (w window) empty() bool { return w.from >= w.to }

func (w window) meets(o window) bool { return w.from < o.to && o.from < w.to }

func (w window) and(o window) window { return window{max(w.from, o.from), min(w.to, o.to)} }

func floorTo(t, length tables.Ticks) tables.Ticks { return t - t%length }

// ceilTo returns the end of the length that t lies in, or t if it lies between two.
func ceilTo(t, length tables.Ticks) tables.Ticks { return floorTo(t+length-1, length) }

// openDay returns the start of the day where open windows begin: late rows there must also be folded into the states.
// No window is longer than a day, so nothing before the checkpoint's day is open for a processor without a state.
// MaxTicks means that none is open.
func (d *deviceRun) openDay() (tables.Ticks, error) {
	t := d.track
	open, last := tables.MaxTicks, floorTo(TicksBefore(t.last), day)
	for _, processor := range d.model.Processors {
		w, ok := processor.Windowed()
		if !ok {
			continue
		}
		from := last
		if state := t.states[processor.Name]; len(state) > 0 {
			var err error
			if from, err = w.OpenFrom(state); err != nil {
				return 0, err
			}
			if from == 0 { // it has seen no sample
				from = last
			}
		}
		open = min(open, floorTo(from, day))
	}
	return open, nil
}

// Bounds of what is folded between two looks at the context and at the weight. The outputs of a row with 1,000 sensors
// are some hundred times as large as the row, so a chunk is also bounded in bytes. 100 rows of six sensors have 40 KiB.
const (
	chunkRows  = 100
	chunkBytes = 64 << 10
)

// chunkOf returns how many of rows make a chunk, at least one.
func chunkOf(rows []tables.Entity) (n int) {
	for size := 0; n < min(chunkRows, len(rows)); n++ {
		if size += rows[n].Size(); size > chunkBytes && n > 0 {
			break
		}
	}
	return n
}

package jobs

import (
	"furrow/tables"
)

// openDay returns the start of the day where open windows begin: late rows there must also be folded into the states.
// No window is longer than a day, so nothing before the checkpoint's day is open for a processor without a state.
// MaxTicks means that none is open.
func (d *deviceRun) openDay() (tables.Ticks, error) {
	t := d.Row
	open, last := tables.MaxTicks, tables.TicksBefore(t.Last).Floor(tables.Day)
	for _, processor := range d.model.Processors {
		w, ok := processor.Windowed()
		if !ok {
			continue
		}
		from := last
		if state := t.States[processor.Name]; len(state) > 0 {
			var err error
			if from, err = w.OpenFrom(state); err != nil {
				return 0, err
			}
			if from == 0 { // it has seen no sample
				from = last
			}
		}
		open = min(open, from.Floor(tables.Day))
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

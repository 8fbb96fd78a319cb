package folding

import "furrow/tables"

// OpenDay returns the start of the day where open windows begin: late rows there must also be folded into the states.
// No window is longer than a day, so nothing before the checkpoint's day is open for a processor without a state.
// MaxTicks means that none is open.
func (d *Device) OpenDay() (tables.Ticks, error) {
	t := d.Row
	open, last := tables.MaxTicks, tables.TicksBefore(t.Last).Floor(tables.Day)
	for _, processor := range d.Model.Processors {
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

// OpenWindows has every open window written, even if no sample has changed it: other settings may have left something
// there.
func (f *Device) OpenWindows() error {
	for _, processor := range f.Model.Processors {
		w, ok := processor.Windowed()
		state := f.Row.State(processor.Name)
		if !ok || state == nil {
			continue
		}
		effects, err := w.Open(f.Member, state)
		if err != nil {
			return err
		}
		if err := f.EffectsOf(processor, effects); err != nil {
			return err
		}
	}
	return nil
}

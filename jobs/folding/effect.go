package folding

import (
	"furrow/jobs/fold"
	"furrow/tables"
)

// Take records a fold's new state, its outputs and its rejected values.
func (d *Device) Take(processor fold.Configured, out fold.Result, rows map[string]*tables.Entity) error {
	d.Row.States[processor.Name] = out.State
	for _, r := range out.Refused {
		d.refuse(r, rows[r.Row])
	}
	return d.EffectsOf(processor, out.Effects)
}

// EffectsOf records the effects of a processor.
func (d *Device) EffectsOf(processor fold.Configured, effects []fold.Effect) error {
	if err := processor.Check(effects); err != nil {
		return err
	}
	for _, e := range effects {
		d.Effect(e)
	}
	return nil
}

// Effect keeps the newest effect on an output.
func (d *Device) Effect(e fold.Effect) {
	old := d.Effects[e.Output]
	if e.Properties == nil {
		e.Properties, e.Mark = old.Properties, old.Mark
	}
	if e.Properties != nil && d.showsNow(e.Output) && d.Ended() {
		e.Properties = []tables.Property{}
	}
	d.Effects[e.Output] = e
	d.Weight += weigh(e) - weigh(old)
}

// weigh returns about how many bytes an effect takes.
func weigh(e fold.Effect) int {
	const property = 64
	n := len(e.Output.PartitionKey) + len(e.Output.RowKey)
	for _, p := range e.Properties {
		n += property + len(p.Name) + len(p.Value.Text())
	}
	return n
}

package verify

import (
	"context"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A pipe is what a look finds of a pipeline.
type pipe struct {
	*look
	Pipeline
	settings string
	track    track
	floor    tables.Ticks // below it, nothing is compared
	hours    map[tables.Ticks]hour
	late     []counted // spans with rows that the next audit finds
	counts   map[place]*Count
	spots    map[spot]*difference
	waiting  map[waits]int64
	refused  []string // rows

	checks []check
	stops  []func() // what they read
}

// An hour is how many rows the checkpoint has passed in it, and how many of them may have come after it.
type hour struct{ rows, late int64 }

type place struct {
	day    schema.Day
	output string
}

// waits are rows above the checkpoint.
type waits struct {
	day    schema.Day
	reason Reason
}

// begin prepares to compare what a pipeline has made.
func (k *look) begin(ctx context.Context, of Pipeline) (err error) {
	p := &pipe{look: k, Pipeline: of, settings: of.Settings(k.member), hours: map[tables.Ticks]hour{},
		counts: map[place]*Count{}, spots: map[spot]*difference{}, waiting: map[waits]int64{}}
	if err = p.readTrack(ctx); err != nil {
		return err
	}
	p.floor = p.watermark()
	k.pipes = append(k.pipes, p)
	for _, o := range of.Outputs {
		if err := o.begin(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// readTrack reads the tracking row, and the time of the service.
func (p *pipe) readTrack(ctx context.Context) (err error) {
	p.track, p.now, err = readTrack(ctx, p.Client.Table(p.Names.Partitions(p.Name)), p.member)
	p.track.admit(p.admits.ageFor(p.member), p.now, p.watermark())
	return err
}

// watermark returns the end of the days with rows that retention may have deleted.
func (p *pipe) watermark() tables.Ticks {
	return max(p.member.Watermark, p.track.watermark).Ceil(tables.Day)
}

func (p *pipe) stop() {
	for _, stop := range p.stops {
		stop()
	}
}

// row takes a row of the device.
func (p *pipe) row(r *reading) error {
	at := tables.TicksBefore(r.row)
	if !p.track.has(r.row) {
		p.waiting[waits{schema.DayOf(at), p.waits(r)}]++
		return nil
	}
	h := p.hours[at.Floor(tables.Hour)]
	if h.rows++; lateAt(r, p.Settle) {
		h.late++
	}
	p.hours[at.Floor(tables.Hour)] = h
	defer p.refuse(r)
	if !r.valid {
		return nil
	}
	for _, c := range p.checks {
		if err := c.row(p, r); err != nil {
			return err
		}
	}
	return nil
}

// refuse remembers a row that something of was refused, as far as a pipeline keeps them.
func (p *pipe) refuse(r *reading) {
	if r.refused && p.Values && tables.TicksBefore(r.row) >= p.floor && len(p.refused) <= schema.RejectSlots {
		p.refused = append(p.refused, r.row)
	}
}

// waits returns why a row above the checkpoint is not folded yet, or never will be.
func (p *pipe) waits(r *reading) Reason {
	switch {
	case tables.TicksBefore(r.row) < p.floor: // what retention keeps by a condition
		return Retained
	case p.due(r) > p.now:
		return NotDue
	case p.track.Attempts > 0:
		return Held
	}
	return InFlight
}

// due returns the time of the first run that reads a row. Runs are at multiples of the cadence since 1970.
func (p *pipe) due(r *reading) tables.Ticks {
	at := tables.TicksBefore(r.row).Add(p.Settle)
	if at > p.now || p.Cadence == 0 {
		return at
	}
	at = max(at, r.stored)
	return at.Add(p.Cadence) - (at-tables.TicksOf(time.Unix(0, 0)))%tables.Ticks(p.Cadence/100)
}

func (p *pipe) finish(ctx context.Context) error {
	p.checkLedger() // finds late rows, which explain differences
	for _, c := range p.checks {
		if err := c.finish(ctx, p); err != nil {
			return err
		}
	}
	if err := p.compareRejects(ctx); err != nil {
		return err
	}
	for at, n := range p.waiting {
		if at.reason == InFlight || at.reason == Held {
			p.counted(at.day, folded, 0, n)
		}
		p.differ(difference{output: folded, from: at.day.Start(), to: at.day.Start() + tables.Day, rows: n,
			is: readings(0), want: readings(n), reason: at.reason})
	}
	return nil
}

// counted adds to what an output has of a day, and should have.
func (p *pipe) counted(day schema.Day, output string, rows, want int64) {
	at := place{day, output}
	if p.counts[at] == nil {
		p.counts[at] = &Count{Pipeline: p.Name, Output: output}
	}
	c := p.counts[at]
	c.Rows, c.Want = c.Rows+rows, c.Want+want
}

// outputs returns the names of what is counted, in the order in which it is printed.
func (p *pipe) outputs() []string {
	all := []string{folded}
	for _, c := range p.checks {
		all = append(all, c.name())
	}
	return all
}

// deleted returns the time below which outputs may be deleted.
func (p *pipe) deleted(from Table, w schema.Window) tables.Ticks {
	if p.Kept == nil || from == 0 {
		return 0
	}
	kept := p.Kept(p.member, from, w)
	if kept == 0 {
		return 0
	}
	return (p.now.Add(-kept) + tables.Hour).Floor(tables.Day) // whoever deletes may have another clock
}

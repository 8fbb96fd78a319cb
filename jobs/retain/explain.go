package retain

import (
	"context"
	"iter"
	"time"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Retained is what retention does with the readings of a device, and why.
type Retained struct {
	Member    schema.Member
	Keep      *Keep         // of the configuration; nil: everything is kept
	Kept      time.Duration // how long readings are kept: longer than configured where tokens admit older rows
	Cut       tables.Ticks  // rows below it are older; 0: none are
	Watermark tables.Ticks  // rows below it may be gone
	Swept     tables.Ticks  // rows below it are gone
	To        tables.Ticks  // rows below it go with the next run; 0: none do
	Rows      int           // how many
	Wait      Wait          // why rows between To and Cut stay, if they do
	Own       []RetainedTable
	Err       error // why nobody can tell
}

// Retained says what a job would do with each of some devices. It changes nothing, and counts the
// rows that would go.
func (p *Retainer) Retained(ctx context.Context, work []*commit.Device, now tables.Ticks) iter.Seq2[Retained, error] {
	return func(yield func(Retained, error) bool) {
		var all []*retained
		for _, d := range work {
			all = append(all, p.retained(d, p.Clock.Surely(now, 0)))
		}
		for _, d := range all {
			d.failing(now)
		}
		if err := p.decide(ctx, all, now, p.Clock.Surely(now, 0)); err != nil {
			yield(Retained{}, err)
			return
		}
		rollups, err := p.countRollups(ctx, all, now)
		if err != nil {
			yield(Retained{}, err)
			return
		}
		for _, d := range all {
			r, err := p.explain(ctx, d, now)
			if err == nil {
				r.Own, err = p.explainOwn(ctx, d, rollups, now)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func (p *Retainer) explain(ctx context.Context, d *retained, now tables.Ticks) (Retained, error) {
	r := Retained{Member: d.Member, Keep: d.keep, Cut: p.cut(d.keep, d.Member, now), Watermark: d.Member.Watermark,
		To: d.to, Wait: d.wait, Err: d.Err}
	if r.Keep != nil && r.Keep.Readings > 0 {
		r.Kept = max(r.Keep.Readings, p.Late(d.Member))
	}
	if d.from != "" {
		r.Swept = tables.TicksBefore(d.from) + 1
	}
	if r.To == 0 || r.Err != nil {
		return r, nil
	}
	for e, err := range p.Client.Table(d.Member.Readings).Entities(ctx, d.query()) {
		if err != nil {
			return r, err
		}
		if d.goes(&e) {
			r.Rows++
		}
	}
	return r, nil
}

package worker

import (
	"cmp"
	"context"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Doer does jobs, such as a jobs.Pipeline.
type Doer interface {
	Do(ctx context.Context, m jobs.Message, put jobs.Putter, save jobs.Save) (jobs.Result, error)
}

// Do has d do a job, and counts the outcome.
func (f *Figures) Do(
	ctx context.Context, d Doer, m jobs.Message, put jobs.Putter, save jobs.Save,
) (jobs.Result, error) {
	began := tables.TicksOf(time.Now())
	puts := &devicePuts{Putter: put, by: m}
	r, err := d.Do(f.Within(ctx, m.Pipeline, m.Run), m, puts, save)
	done := figuresOf(m, r)
	if m.Kind == jobs.Device {
		done.Again, done.Parts = puts.n, puts.parts
	}
	if m.Kind == jobs.Device || m.Kind == jobs.Audit {
		done.Audits = puts.audits
	}
	// A run takes as long as its batches. Audits and retries are late on purpose, and the chain of a device far behind may
	// take hours.
	if !m.CatchUp() && !m.Extra {
		done.First, done.Last = began, tables.TicksOf(time.Now())
	}
	f.change(ofRun{m.Pipeline, m.Run}, func(t *tally) {
		t.figures.Add(done)
		if m.Kind == jobs.Month {
			t.planned += puts.parts
		}
	})
	return r, err
}

// figuresOf counts each device once in a run: not in the messages that continue with it, and not in a second try.
func figuresOf(m jobs.Message, r jobs.Result) schema.WorkerFigures {
	w := schema.WorkerFigures{
		Devices: int64(r.Devices), Folded: int64(r.Folded), Rows: int64(r.Rows), Refused: int64(r.Refused),
		Overtaken: int64(r.Overtaken), Failed: int64(len(r.Failed)), Late: int64(r.Late), Refolded: int64(r.Refolds),
		Missing: int64(r.Missing), Months: int64(r.Months),
	}
	switch {
	case m.Mark != "":
		w.Devices, w.Folded = 0, 0
	case m.Kind == jobs.Audit:
		w.Devices, w.Audited = 0, w.Devices
	case m.Extra && m.Claim == "":
		w.Devices = 0
	}
	return w
}

// Ended counts how a message ended. Use it as OnResult of a Pool.
func (f *Figures) Ended(r Result) {
	m := r.Message
	if m.Run == 0 {
		return
	}
	over := r.Outcome == OutcomeDone || r.Outcome == OutcomePoisoned
	f.change(ofRun{m.Pipeline, m.Run}, func(t *tally) {
		t.figures.Jobs[string(m.Kind)+" "+r.Outcome.String()]++
		if over && planned(m) {
			t.figures.Batches++
		}
	})
	if !m.CatchUp() {
		poke(f.hurry()) // the next slot depends on the figures
	}
}

// planned reports whether a run waits for a message: a batch of its plan, or a part of one.
func planned(m jobs.Message) bool { return m.Kind == jobs.Device && !m.Extra && !m.CatchUp() }

// devicePuts counts the device messages that a job puts, and marks those that its run does not wait for: delayed
// messages, and all that follow from them.
type devicePuts struct {
	jobs.Putter
	by               jobs.Message
	n, parts, audits int64
}

func (d *devicePuts) Put(ctx context.Context, m jobs.Message, delay time.Duration) error {
	if m.Kind == jobs.Device && !m.CatchUp() {
		m.Extra = delay > 0 || d.by.Extra || d.by.CatchUp()
	}
	err := d.Putter.Put(ctx, m, delay)
	if err == nil && m.Kind == jobs.Device {
		d.n++
	}
	if err == nil && planned(m) {
		d.parts++
	}
	if err == nil && m.Kind == jobs.Audit {
		d.audits++
	}
	return err
}

// Figures are written at most once in brief after the end of a job, and as soon as a burst of ends is over.
const (
	brief = time.Second
	burst = 100 * time.Millisecond
)

func (f *Figures) hurry() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.urgent == nil {
		f.urgent = make(chan struct{}, 1)
	}
	return f.urgent
}

// awaitFlush waits until the figures are to be written.
func (f *Figures) awaitFlush(ctx context.Context) {
	every, urgent := cmp.Or(f.Every, 5*time.Second), f.hurry()
	first := min(brief-burst, every)
	sleep(ctx, first)
	if !received(ctx, urgent, every-first) {
		return
	}
	for end := time.Now().Add(brief); time.Until(end) > 0 && received(ctx, urgent, burst); {
	}
}

package factory

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"furrow/sas"
	"furrow/tables/schema"
)

// An Import makes the devices of a file known, as members of one enrollment.
type Import struct {
	Registry   sas.Registry
	Enrollment schema.Enrollment
	DryRun     bool // say what would be, and change nothing
	Workers    int  // how many devices are written at the same time; zero means 64
}

// A Note is what there is to say of a line.
type Note struct {
	Line   int    `json:"line"`
	Device string `json:"device,omitempty"`
	// One of the two: why the line is wrong and left out, or what is odd about it
	// though it counts.
	Error   string `json:"error,omitempty"`
	Warning string `json:"warning,omitempty"`
}

// A Summary is how an import ended.
type Summary struct {
	Lines    int `json:"lines"`
	Added    int `json:"added"`
	Changed  int `json:"changed"`
	Same     int `json:"same"`
	Wrong    int `json:"wrong"`
	Warnings int `json:"warnings"`
}

const defaultWorkers = 64

// Run reads f to its end. Lines that are wrong are noted, and left out. An error of
// storage, of the file, or the end of ctx ends it; the same import can then be run
// again. The notes come one at a time.
func (i Import) Run(ctx context.Context, f *File, note func(Note)) (Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &tally{note: note}
	lines := make(chan Line)
	var workers sync.WaitGroup
	n := i.Workers
	if n == 0 {
		n = defaultWorkers
	}
	for range n {
		workers.Go(func() {
			for l := range lines {
				if err := i.line(ctx, l, t); err != nil {
					cancel(fmt.Errorf("line %d, device %s: %w", l.Number, l.ID, err))
				}
			}
		})
	}
	err := i.read(ctx, f, t, lines)
	close(lines)
	workers.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return t.sum, err
}

// read gives the workers the lines that are right.
func (i Import) read(ctx context.Context, f *File, t *tally, lines chan<- Line) error {
	ids := newSeen()
	for l, err := range f.Lines() {
		if err != nil {
			return err
		}
		t.count(func(s *Summary) { s.Lines++ })
		if l.Wrong != nil {
			t.wrong(l, l.Wrong)
			continue
		}
		same, byCase := ids.add(l.ID, l.Number)
		if same > 0 {
			t.wrong(l, fmt.Errorf("it is on line %d, too, which counts", same))
			continue
		}
		if byCase > 0 {
			t.warn(l, fmt.Sprintf("it differs from the id on line %d by case alone: they are two devices", byCase))
		}
		select {
		case lines <- l:
		case <-ctx.Done():
			return nil // Run knows the cause
		}
	}
	return nil
}

// line imports one device. What is wrong with the line is no error.
func (i Import) line(ctx context.Context, l Line, t *tally) error {
	if ctx.Err() != nil {
		return nil
	}
	var outcome sas.Outcome
	var err error
	if i.DryRun {
		outcome, err = i.Registry.WouldImport(ctx, i.Enrollment, l.Delivery)
	} else {
		_, outcome, err = i.Registry.Import(ctx, i.Enrollment, l.Delivery)
	}
	if _, refused := errors.AsType[*sas.RefusedError](err); refused {
		t.wrong(l, err)
		return nil
	}
	if err != nil {
		return err
	}
	t.count(func(s *Summary) {
		switch outcome {
		case sas.Added:
			s.Added++
		case sas.Changed:
			s.Changed++
		case sas.Same:
			s.Same++
		}
	})
	return nil
}

// A tally is what workers have done together.
type tally struct {
	mu   sync.Mutex
	sum  Summary
	note func(Note)
}

func (t *tally) count(add func(*Summary)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	add(&t.sum)
}

func (t *tally) wrong(l Line, why error) {
	t.count(func(s *Summary) {
		s.Wrong++
		t.note(Note{Line: l.Number, Device: l.ID, Error: why.Error()})
	})
}

func (t *tally) warn(l Line, what string) {
	t.count(func(s *Summary) {
		s.Warnings++
		t.note(Note{Line: l.Number, Device: l.ID, Warning: what})
	})
}

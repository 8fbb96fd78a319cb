package factory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"furrow/sas"
	"furrow/tables/schema"
)

// An Import registers the devices of a file in one enrollment.
type Import struct {
	Registry   sas.Registry
	Enrollment schema.Enrollment
	DryRun     bool // change nothing
	Workers    int  // devices that are written at the same time; zero: 64
}

// A Note reports a problem of a line.
type Note struct {
	Line    int    `json:"line"`
	Device  string `json:"device,omitempty"`
	Error   string `json:"error,omitempty"`   // why the line is skipped
	Warning string `json:"warning,omitempty"` // what is odd about a line that is imported
}

// A Summary counts the lines of an import.
type Summary struct {
	Lines    int `json:"lines"`
	Added    int `json:"added"`
	Changed  int `json:"changed"`
	Same     int `json:"same"`
	Wrong    int `json:"wrong"`
	Warnings int `json:"warnings"`
}

// mostCompared bounds the memory for IDs. Lines beyond it are not compared with others.
const mostCompared = 4_000_000

// Run imports all lines. It reports invalid ones, one at a time, and skips them. An error of storage or of the file,
// or the end of ctx, stops it; the same import can then be repeated.
func (i Import) Run(ctx context.Context, f *File, note func(Note)) (Summary, error) {
	t := &tally{note: note}
	running, importing := errgroup.WithContext(ctx)
	running.SetLimit(cmp.Or(i.Workers, 64))
	readErr := i.read(importing, f, t, func(l Line) {
		running.Go(func() error {
			if err := i.line(importing, l, t); err != nil {
				return fmt.Errorf("line %d, device %s: %w", l.Number, l.ID, err)
			}
			return nil
		})
	})
	err := running.Wait()
	return t.sum, cmp.Or(context.Cause(ctx), err, readErr)
}

// read calls valid for each valid line, until ctx ends.
func (i Import) read(ctx context.Context, f *File, t *tally, valid func(Line)) error {
	seen := map[string]Line{} // by the ID in lower case
	for l, err := range f.Lines() {
		if err != nil || ctx.Err() != nil {
			return err
		}
		t.count(func(s *Summary) { s.Lines++ })
		if l.Wrong != nil {
			t.wrong(l, l.Wrong)
			continue
		}
		id := strings.ToLower(l.ID)
		before, found := seen[id]
		if found && before.ID == l.ID {
			t.wrong(l, fmt.Errorf("the same device is on line %d, which counts", before.Number))
			continue
		}
		if found {
			t.warn(l, fmt.Sprintf("the id differs from that on line %d only by case: they are two devices", before.Number))
		} else if len(seen) < mostCompared {
			seen[id] = Line{ID: l.ID, Number: l.Number}
		}
		valid(l)
	}
	return nil
}

// line imports one device. An invalid line is no error.
func (i Import) line(ctx context.Context, l Line, t *tally) error {
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

// A tally counts the lines of all workers.
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

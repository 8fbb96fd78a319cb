package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"
)

// An interruptedError says where a command stood when it was told to stop. The program exits with exitStopped.
type interruptedError struct{ error }

func (e *interruptedError) Unwrap() error { return e.error }

// stoppable makes the action of a command exit with exitStopped, too, if it is told to stop before its work begins.
func stoppable(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		if _, said := errors.AsType[*interruptedError](err); err == nil || said || c.Context.Err() == nil {
			return err
		}
		return &interruptedError{fmt.Errorf("stopped before the work began: %w", err)}
	}
}

// stoppedEarly marks an error of a command that was told to stop.
func stoppedEarly(c *cli.Context, err error) error {
	if c.Context.Err() != nil {
		return &interruptedError{err}
	}
	return err
}

// longWork is what a command does that may take long. It shows how far that is from the first second on, and says where
// it stands when the command is told to stop.
type longWork struct {
	ctx  context.Context
	show *progress

	mu    sync.Mutex
	began time.Time // of the current stage
	at    string    // where it stands
}

func newLongWork(c *cli.Context) *longWork {
	every := 10 * time.Second
	if onTerminal(c.App.ErrWriter) {
		every = time.Second
	}
	w := &longWork{ctx: c.Context, show: newProgress(c.App.ErrWriter, every), began: time.Now()}
	w.show.last = w.show.began.Add(time.Second - every) // the first comes after a second
	return w
}

// begin begins a stage.
func (w *longWork) begin(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.show.stage, w.began, w.at = what, time.Now(), ""
}

// reached says where the work stands.
func (w *longWork) reached(at string) {
	w.mu.Lock()
	w.at = at
	w.mu.Unlock()
	w.show.Wait(at)
}

// speed returns a number and how many there are a second.
func (w *longWork) speed(n int64, what string) string {
	return fmt.Sprintf("%s, %s a second", many(n, what), grouped(int64(w.perSecond(n))))
}

func (w *longWork) perSecond(n int64) float64 {
	return float64(n) / max(0.001, time.Since(w.began).Seconds())
}

// share returns how much of all is done, and how long the rest takes.
func (w *longWork) share(done, all int64, of string) string {
	part := min(1, float64(done)/float64(max(1, all)))
	text := fmt.Sprintf("%.0f%% of %s", 100*part, of)
	if done > 0 {
		left := time.Duration(float64(time.Since(w.began)) * (1 - part) / part)
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return text
}

// ended returns the error of work that has ended. If the command was told to stop, it says where the work stands, what
// that leaves and how to go on, and the program exits with exitStopped.
func (w *longWork) ended(err error, then string) error {
	if err == nil || w.ctx.Err() == nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.show.stage
	if w.at != "" {
		at += ": " + w.at
	}
	return &interruptedError{fmt.Errorf("stopped; %s; %s", at, then)}
}

// bytes returns a reader of so many bytes, or of an unknown number, that ends when the command is told to stop.
func (w *longWork) bytes(r io.Reader, done *atomic.Int64, all int64) io.Reader {
	return &workReader{w, r, done, all}
}

type workReader struct {
	*longWork
	from io.Reader
	done *atomic.Int64
	all  int64 // 0: unknown
}

func (r *workReader) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.from.Read(b)
	done := r.done.Add(int64(n))
	text := fmt.Sprintf("%s, %s a second", humanize.IBytes(uint64(done)), humanize.IBytes(uint64(r.perSecond(done))))
	if r.all > 0 {
		text += ", " + r.share(done, r.all, humanize.IBytes(uint64(r.all)))
	}
	r.reached(text)
	return n, err
}

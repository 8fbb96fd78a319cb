package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// A demoScreen shows how far a demo is: with bars on a terminal, else in lines.
type demoScreen struct {
	out      io.Writer
	terminal bool
	began    time.Time

	mu    sync.Mutex
	bar   *progressbar.ProgressBar
	text  string // of the stage
	most  int64
	last  time.Time // when there was a line
	shown time.Time // when a bar was shown again whose stage waits
}

// demoLines is how often there is a line of progress where there is no terminal, and
// demoWaits how long there is none before one says what is waited for.
const (
	demoLines = 3 * time.Second
	demoWaits = 10 * time.Second
	demoClock = 200 * time.Millisecond // how often the clock of a bar moves on
)

func newDemoScreen(c *cli.Context) *demoScreen {
	s := &demoScreen{out: c.App.ErrWriter, began: time.Now()}
	f, ok := c.App.ErrWriter.(*os.File)
	s.terminal = ok && term.IsTerminal(int(f.Fd()))
	return s
}

// Stage begins a bar, or says what begins.
func (s *demoScreen) Stage(text string, most int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	s.text, s.most, s.last = text, most, time.Now()
	if !s.terminal {
		s.line(text)
		return
	}
	options := []progressbar.Option{progressbar.OptionSetWriter(s.out), progressbar.OptionSetDescription(text), progressbar.OptionSetWidth(24),
		progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100 * time.Millisecond), progressbar.OptionSetElapsedTime(true), progressbar.OptionSetPredictTime(false)}
	if most == 0 {
		most = -1 // a spinner
	} else {
		options = append(options, progressbar.OptionShowCount())
	}
	s.bar = progressbar.NewOptions64(most, options...)
}

// The bar's own errors are a terminal that is gone; the demo goes on without it.

// Progress moves the bar, or says now and then how far it is.
func (s *demoScreen) Progress(done, folded int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	detail := ""
	if folded > 0 {
		detail = ", " + grouped(folded) + " of them folded"
	}
	switch {
	case s.bar != nil:
		s.bar.Describe(s.text + detail)
		if s.most > 0 {
			_ = s.bar.Set64(min(done, s.most))
		}
	case !s.terminal && time.Since(s.last) >= demoLines:
		s.line(fmt.Sprintf("%s: %s of %s%s", s.text, grouped(done), grouped(s.most), detail))
	}
}

// Wait has the clock of the bar go on, or says now and then what is waited for.
func (s *demoScreen) Wait(left string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.bar != nil && time.Since(s.shown) < demoClock:
	case s.bar != nil:
		s.shown = time.Now()
		if s.most == 0 {
			s.bar.Describe(s.text + ": " + left)
		} else {
			_ = s.bar.RenderBlank() // as far as it is
		}
	case !s.terminal && time.Since(s.last) >= demoWaits:
		s.line(s.text + ": " + left)
	}
}

// Say writes a line that stays.
func (s *demoScreen) Say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		_ = s.bar.Clear()
	}
	s.line(text)
}

func (s *demoScreen) line(text string) {
	s.last = time.Now()
	fmt.Fprintf(s.out, "%6.1f s  %s\n", time.Since(s.began).Seconds(), text)
}

func (s *demoScreen) end() {
	if s.bar != nil {
		_ = s.bar.Finish()
		s.bar = nil
	}
}

func (s *demoScreen) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

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

	"furrow/cmd/internal/simulate"
)

// A simulationProgress says how far a simulation is: with a bar on a terminal, else in
// lines. As a Writer it is for the log, which the bar gives way to.
type simulationProgress struct {
	out      io.Writer
	terminal bool
	expected int64
	devices  int

	mu   sync.Mutex
	bar  *progressbar.ProgressBar
	live bool
	last time.Time // when there was a line
}

// plainEvery is how often there is a line where there is no terminal.
const plainEvery = 10 * time.Second

func newSimulationProgress(c *cli.Context, s *simulation) *simulationProgress {
	p := &simulationProgress{out: c.App.ErrWriter, expected: s.expected, devices: len(s.members), last: time.Now()}
	f, ok := c.App.ErrWriter.(*os.File)
	p.terminal = ok && term.IsTerminal(int(f.Fd()))
	return p
}

func (p *simulationProgress) begin(most int64, text string) {
	if p.terminal && p.bar == nil {
		p.bar = progressbar.NewOptions64(most, progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(text),
			progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	}
}

// The bar's own errors are a terminal that is gone; the simulation goes on without it.

func (p *simulationProgress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}

// registered is told how many devices are known.
func (p *simulationProgress) registered(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin(int64(p.devices), "registering devices")
	if p.bar != nil {
		_ = p.bar.Set(n)
	}
	if n == p.devices {
		p.end()
		if !p.terminal {
			fmt.Fprintf(p.out, "%s devices are registered\n", grouped(int64(n)))
		}
	}
}

// running is told how things are.
func (p *simulationProgress) running(s simulate.Summary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.terminal {
		if time.Since(p.last) >= plainEvery {
			p.last = time.Now()
			fmt.Fprintf(p.out, "after %s: %s\n", s.Elapsed.Round(time.Second), progressText(s))
		}
		return
	}
	done := s.Stored
	for _, n := range s.SetAside {
		done += n
	}
	if !p.live && done < p.expected {
		p.begin(p.expected, "sending the past")
		_ = p.bar.Set64(done)
		return
	}
	if !p.live {
		p.end()
		p.live = true
		p.begin(-1, "")
	}
	p.bar.Describe("live: " + progressText(s))
	_ = p.bar.Set64(done)
}

func progressText(s simulate.Summary) string {
	text := fmt.Sprintf("%s of %s devices have a token; %s readings stored, %s waiting", grouped(int64(s.Booted)), grouped(int64(s.Devices)), grouped(s.Stored), grouped(s.Waiting))
	for reason, n := range s.SetAside {
		text += fmt.Sprintf(", %s %s", grouped(n), reason)
	}
	if s.Newest != nil {
		text += fmt.Sprintf(" (%v)", s.Newest)
	}
	return text
}

func (p *simulationProgress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

// Write writes a line of the log.
func (p *simulationProgress) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	return p.out.Write(line)
}

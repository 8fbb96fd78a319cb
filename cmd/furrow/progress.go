package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"furrow/cmd/internal/lab/simulate"
)

// progress prints the progress of a long command. Its Write is for a log.
type progress struct {
	out   io.Writer
	every time.Duration // between two lines of one stage
	began time.Time

	mu    sync.Mutex
	stage string
	total int64
	last  time.Time // of the last line
}

func newProgress(out io.Writer, every time.Duration) *progress {
	return &progress{out: out, every: every, began: time.Now(), last: time.Now()}
}

// Stage begins a stage of total parts; zero if the number is unknown.
func (p *progress) Stage(text string, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage, p.total = text, total
	p.line(text)
}

// Progress prints, at intervals, how many parts of the stage are done.
func (p *progress) Progress(done, folded int64) {
	text := fmt.Sprintf("%s of %s", grouped(done), grouped(p.total))
	if folded > 0 {
		text += ", " + grouped(folded) + " of them folded"
	}
	p.Wait(text)
}

// Wait prints, at intervals, what the stage waits for.
func (p *progress) Wait(left string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.last) >= p.every {
		p.line(p.stage + ": " + left)
	}
}

// Say prints a line.
func (p *progress) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(text)
}

func (p *progress) line(text string) {
	p.last = time.Now()
	fmt.Fprintf(p.out, "%6.1f s  %s\n", time.Since(p.began).Seconds(), wrapped(text, 10))
}

// Write prints a line of the log.
func (p *progress) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(line)
}

// simulation prints, at intervals, the progress of a simulation.
func (p *progress) simulation(s simulate.Summary) {
	text := fmt.Sprintf("%s of %s devices have a token; %s readings stored, %s waiting",
		grouped(int64(s.Booted)), grouped(int64(s.Devices)), grouped(s.Stored), grouped(s.Waiting))
	for reason, n := range s.SetAside {
		text += fmt.Sprintf(", %s %s", grouped(n), reason)
	}
	if s.Newest != nil {
		text += fmt.Sprintf(" (%v)", s.Newest)
	}
	p.Wait(text)
}

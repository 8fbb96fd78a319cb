package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"furrow/cmd/internal/bench"
)

// A process is a furrow of its own. It ends when its standard input does, so that it
// does not outlive a demo that was killed; and it does not heed signals, since Ctrl-C
// reaches it too and it is still needed for what the demo does at the end.
type process struct {
	name    string
	command *exec.Cmd
	stdin   io.Closer
	log     string // file of what it says
	first   *firstLine
	ended   chan struct{} // closed when it has
	wanted  atomic.Bool   // it is to end, or has been killed
}

// stopTime is how long a process has to end in order. It gives back what it has in
// hand, which takes a moment; on a machine that stands still, longer.
const stopTime = 2 * time.Minute

// start starts furrow with the arguments, and with what environ adds to the environment.
func start(program, dir, name string, environ []string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".log"), ended: make(chan struct{}), first: &firstLine{whole: make(chan []byte, 1)}}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	p.command = exec.Command(program, append(args, "--"+bench.StopWithInput)...)
	p.command.Env, p.command.Stderr, p.command.Stdout = append(os.Environ(), environ...), log, p.first
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		_ = p.command.Wait() // ProcessState says it
		close(p.ended)
	}()
	return p, nil
}

func (p *process) pid() int { return p.command.Process.Pid }

// said is the first line that it prints.
func (p *process) said(ctx context.Context) ([]byte, error) {
	select {
	case line := <-p.first.whole:
		return line, nil
	case <-p.ended:
		return nil, p.failure()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// watch tells when it ends unasked.
func (p *process) watch(failed context.CancelCauseFunc) {
	go func() {
		<-p.ended
		if !p.wanted.Load() {
			failed(p.failure())
		}
	}()
}

// failure is how it has ended, with the last of what it said.
func (p *process) failure() error {
	text, err := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return errors.Join(fmt.Errorf("%s has ended unasked (%v): %s", p.name, p.command.ProcessState, strings.Join(lines[max(0, len(lines)-3):], "; ")), err)
}

// kill ends it as a power cut does.
func (p *process) kill() error {
	p.wanted.Store(true)
	err := p.command.Process.Kill()
	<-p.ended
	return err
}

// stop ends it in order. It may be repeated.
func (p *process) stop() error {
	select {
	case <-p.ended: // unasked, which was told, or asked before
		return nil
	default:
	}
	p.wanted.Store(true)
	overdue := time.AfterFunc(stopTime, func() { _ = p.command.Process.Kill() })
	_ = p.stdin.Close() // an error is that it has ended
	<-p.ended
	if !overdue.Stop() {
		return fmt.Errorf("%s had to be killed, as it did not end within %v", p.name, stopTime)
	}
	return nil // one that was told so amid its start ends with an error, which is none
}

// A firstLine keeps the first line that is written, and no more.
type firstLine struct {
	mu    sync.Mutex
	line  []byte
	whole chan []byte // gets it
	done  bool
}

func (f *firstLine) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		f.line = append(f.line, b...)
		if i := bytes.IndexByte(f.line, '\n'); i >= 0 {
			f.done = true
			f.whole <- f.line[:i]
		}
	}
	return len(b), nil
}

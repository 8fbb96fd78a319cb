// Package process runs furrow in child processes, for the demo.
package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// StopWithInput is a hidden flag. A command that is started with it stops when its standard
// input ends, and ignores signals: it never outlives its parent, and Ctrl-C, which reaches the
// whole process group, does not stop it while the parent still needs it to clean up.
const StopWithInput = "stop-with-input"

// stopTime is how long a process may take to stop before it is killed.
const stopTime = 2 * time.Minute

// A Process is a running furrow command.
type Process struct {
	Name    string
	command *exec.Cmd
	stdin   io.Closer
	log     string        // file of its standard error
	first   chan []byte   // receives the first line of standard output
	ended   chan struct{} // closed when it has ended
	wanted  atomic.Bool   // it was asked to stop, or killed
}

// Start runs program with args and [StopWithInput]. It writes standard error to a file in dir, and
// adds environ to this process's environment.
func Start(program, dir, name string, environ []string, args ...string) (*Process, error) {
	p := &Process{
		Name: name, log: filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".log"),
		ended: make(chan struct{}), first: make(chan []byte, 1),
	}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	p.command = exec.Command(program, append(args, "--"+StopWithInput)...)
	p.command.Env, p.command.Stderr = append(os.Environ(), environ...), log
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		out := bufio.NewReader(stdout)
		if line, err := out.ReadBytes('\n'); err == nil {
			p.first <- bytes.TrimSpace(line)
		}
		_, _ = io.Copy(io.Discard, out)
		_ = p.command.Wait() // failure reads the outcome from ProcessState
		close(p.ended)
	}()
	return p, nil
}

// PID returns the process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// FirstLine waits for the first line of standard output.
func (p *Process) FirstLine(ctx context.Context) ([]byte, error) {
	select {
	case line := <-p.first:
		return line, nil
	case <-p.ended:
		return nil, p.failure()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Watch calls failed if the process ends without Stop or Kill.
func (p *Process) Watch(failed context.CancelCauseFunc) {
	go func() {
		<-p.ended
		if !p.wanted.Load() {
			failed(p.failure())
		}
	}()
}

// failure returns the exit status and the last lines of the log.
func (p *Process) failure() error {
	text, err := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := strings.Join(lines[max(0, len(lines)-3):], "; ")
	return errors.Join(fmt.Errorf("%s ended unexpectedly (%v): %s", p.Name, p.command.ProcessState, last), err)
}

// Kill ends the process at once, as a power cut does.
func (p *Process) Kill() error {
	p.wanted.Store(true)
	err := p.command.Process.Kill()
	<-p.ended
	return err
}

// Stop asks the process to stop and waits until it has. Calling it again does nothing. A process
// that fails because it is stopped during its start is no error.
func (p *Process) Stop() error {
	select {
	case <-p.ended:
		return nil
	default:
	}
	p.wanted.Store(true)
	overdue := time.AfterFunc(stopTime, func() { _ = p.command.Process.Kill() })
	_ = p.stdin.Close() // fails only if the process has ended
	<-p.ended
	if !overdue.Stop() {
		return fmt.Errorf("%s did not stop within %v and was killed", p.Name, stopTime)
	}
	return nil
}

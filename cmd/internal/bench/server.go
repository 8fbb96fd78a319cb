package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"furrow/cmd/internal/setup"
	"furrow/tables"
)

// A server is a process that the bench started. It ends when its standard input
// does, so it does not outlive a bench that was killed; and it does not heed
// signals, since Ctrl-C reaches it too and it is still needed for cleaning up.
type server struct {
	command    *exec.Cmd
	stdin      io.Closer
	directory  string // removed at the end; empty: it has none of its own
	peakMemory int64  // bytes; known after stop, where the system tells
}

// StopWithInput is the flag that such a server is started with.
const StopWithInput = "stop-with-input"

// How long a server has to say where it listens, and to end.
const (
	startTime = 30 * time.Second
	stopTime  = 30 * time.Second
)

func startServer(ctx context.Context, executable, kind string) (*server, tables.Account, error) {
	directory, err := os.MkdirTemp("", "furrow-bench-")
	if err != nil {
		return nil, tables.Account{}, err
	}
	args := []string{"bench", "null", "--" + StopWithInput}
	if kind == Local {
		args = []string{"storage", "--data", directory, "--listen", "127.0.0.1:0", "--json", "--show-key", "--" + StopWithInput}
	}
	s := &server{command: exec.Command(executable, args...), directory: directory}
	var said struct{ ConnectionString string }
	if err := s.start(ctx, &said); err != nil {
		return nil, tables.Account{}, errors.Join(err, os.RemoveAll(directory))
	}
	account, err := setup.AccountWithKey(said.ConnectionString)
	if err != nil {
		return nil, account, errors.Join(err, s.stop())
	}
	return s, account, nil
}

// start waits for the line of JSON that says how to connect, and reads it into said.
func (s *server) start(ctx context.Context, said any) error {
	var complaints bytes.Buffer
	s.command.Stderr = &complaints
	stdin, err := s.command.StdinPipe()
	if err != nil {
		return err
	}
	s.stdin = stdin
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.command.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	unheard := context.AfterFunc(ctx, func() { _ = s.command.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if !unheard() || err != nil {
		_ = s.command.Process.Kill() // may have ended by itself
		_ = s.command.Wait()         // says no more than what it wrote
		return fmt.Errorf("%s did not start: %s", s.command, strings.TrimSpace(complaints.String()))
	}
	if err := json.Unmarshal(line, said); err != nil {
		return errors.Join(fmt.Errorf("%s said %q: %w", s.command, line, err), s.stop())
	}
	return nil
}

func (s *server) stop() error {
	s.peakMemory = peakMemory(s.command.Process.Pid)
	overdue := time.AfterFunc(stopTime, func() { _ = s.command.Process.Kill() })
	defer overdue.Stop()
	return errors.Join(s.stdin.Close(), s.command.Wait(), os.RemoveAll(s.directory))
}

// peakMemory reads it from Linux's proc; 0 elsewhere.
func peakMemory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}

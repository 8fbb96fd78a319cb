package bench

import (
	"context"
	"errors"
	"os"
	"time"

	"furrow/cmd/internal/process"
	"furrow/cmd/internal/setup"
	"furrow/tables"
)

// A fanoutStorage is what the runs of a fleet are measured on. At most one of started and embedded is there.
type fanoutStorage struct {
	account   tables.Account
	started   *server         // in a process of its own
	embedded  *setup.Embedded // in this process
	directory string          // of embedded
}

func openFanoutStorage(ctx context.Context, cfg FanoutConfig) (s *fanoutStorage, err error) {
	s = &fanoutStorage{account: cfg.Target.Account}
	switch {
	case cfg.Target.Local:
		s.started, s.account, err = startStorage(ctx, cfg.Executable)
	case cfg.Target.Embedded:
		err = s.embed(cfg.Embed)
	}
	return s, err
}

// embed opens storage in a temporary directory.
func (s *fanoutStorage) embed(open func(directory string) (*setup.Embedded, error)) (err error) {
	if s.directory, err = os.MkdirTemp("", "furrow-bench-"); err != nil {
		return err
	}
	if s.embedded, err = open(s.directory); err != nil {
		return errors.Join(err, os.RemoveAll(s.directory))
	}
	found, err := setup.Find(s.directory)
	if err != nil {
		return errors.Join(err, s.close())
	}
	s.account = found.Account
	return nil
}

// while does something while the storage serves.
func (s *fanoutStorage) while(ctx context.Context, do func(context.Context) error) error {
	if s.embedded == nil {
		return do(ctx)
	}
	return s.embedded.ServeWhile(ctx, do)
}

func (s *fanoutStorage) close() error {
	switch {
	case s.started != nil:
		return s.started.stop()
	case s.embedded != nil:
		return errors.Join(s.embedded.Close(), os.RemoveAll(s.directory))
	}
	return nil
}

// stays reports whether the storage is still there after the benchmark, and what was created there would be, too.
func (s *fanoutStorage) stays() bool { return s.started == nil && s.embedded == nil }

// peakMemory returns the peak resident bytes of storage in a process of its own.
func (s *fanoutStorage) peakMemory() int64 {
	if s.started == nil {
		return 0
	}
	return process.PeakMemory(s.started.PID())
}

// cpu returns the CPU time of storage in a process of its own. What it takes within this one is the worker's, too.
func (s *fanoutStorage) cpu() time.Duration {
	if s.started == nil {
		return 0
	}
	return process.CPU(s.started.PID())
}

// rest waits until storage that the benchmark has opened has reorganized the files of what it was given: until its
// process needs less than a twentieth of a processor for half a second.
func (s *fanoutStorage) rest(ctx context.Context) error {
	const window = time.Second / 2
	if s.stays() {
		return nil
	}
	pid := 0 // this process
	if s.started != nil {
		pid = s.started.PID()
	}
	for {
		before := process.CPU(pid)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(window):
		}
		if process.CPU(pid)-before < window/20 {
			return nil
		}
	}
}

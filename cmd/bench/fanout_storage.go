package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"furrow/cmd/internal/process"
	"furrow/cmd/internal/setup"
	"furrow/tables"
	"furrow/tables/local"
)

// A fanoutStorage is what the runs of a fleet are measured on. At most one of started and embedded is there.
type fanoutStorage struct {
	account   tables.Account
	started   *server         // in a process of its own
	embedded  *setup.Embedded // in this process
	directory string          // of embedded
}

func openFanoutStorage(ctx context.Context, t target, executable string) (s *fanoutStorage, err error) {
	s = &fanoutStorage{account: t.account}
	switch {
	case t.local:
		s.started, s.account, err = startStorage(ctx, executable)
	case t.embedded:
		err = s.embed()
	}
	return s, err
}

// embed opens storage in a temporary directory, as furrow up does, without its log.
func (s *fanoutStorage) embed() (err error) {
	if s.directory, err = os.MkdirTemp("", "furrow-bench-"); err != nil {
		return err
	}
	config := local.Config{Dir: s.directory, Log: slog.New(slog.DiscardHandler)}
	if s.embedded, err = setup.OpenEmbedded(config, "127.0.0.1:0", true, nil); err != nil {
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

// printMemory prints the peak memory of this process, which also sends the rows, and of storage in one of its own.
func (s *fanoutStorage) printMemory(of settings) {
	of.printMemory("the worker", 0)
	if s.started != nil {
		of.printMemory("storage", s.started.PID())
	}
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
		if !setup.Pause(ctx, window) {
			return ctx.Err()
		}
		if process.CPU(pid)-before < window/20 {
			return nil
		}
	}
}

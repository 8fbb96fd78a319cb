package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"furrow/cmd/internal/setup"
	"furrow/tables/local"
)

// A fanoutStorage is what the runs of a fleet are measured on.
type fanoutStorage struct {
	setup.Found
	embedded  *setup.Embedded // in this process; nil: it is elsewhere
	directory string          // of embedded
}

// openFanoutStorage finds storage, or opens it in a temporary directory, as furrow up does, without its log.
func openFanoutStorage(where string) (s *fanoutStorage, err error) {
	s = &fanoutStorage{}
	if where == "" {
		if s.directory, err = os.MkdirTemp("", "furrow-bench-"); err != nil {
			return nil, err
		}
		config := local.Config{Dir: s.directory, Log: slog.New(slog.DiscardHandler)}
		if s.embedded, err = setup.OpenEmbedded(config, "127.0.0.1:0", true, nil); err != nil {
			return nil, errors.Join(err, os.RemoveAll(s.directory))
		}
		where = s.directory
	}
	if s.Found, err = setup.Find(where); err != nil {
		return nil, errors.Join(usagef("--storage: %v", err), s.close())
	}
	return s, nil
}

// while does something while the storage serves.
func (s *fanoutStorage) while(ctx context.Context, do func(context.Context) error) error {
	if s.embedded == nil {
		return do(ctx)
	}
	return s.embedded.ServeWhile(ctx, do)
}

func (s *fanoutStorage) close() error {
	if s.embedded == nil {
		return nil
	}
	return errors.Join(s.embedded.Close(), os.RemoveAll(s.directory))
}

// rest waits until storage in this process has reorganized the files of what it was given: until the process needs less
// than a twentieth of a processor for half a second.
func (s *fanoutStorage) rest(ctx context.Context) error {
	const window = time.Second / 2
	for s.embedded != nil {
		before := cpu()
		if !setup.Pause(ctx, window) {
			return ctx.Err()
		}
		if cpu()-before < window/20 {
			break
		}
	}
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/roles"
	"furrow/jobs/archive"
	"furrow/worker"
)

// fleetFlags are those of every command that works with a fleet's pipelines.
func fleetFlags() []cli.Flag {
	return append(storageFlags(), configFlag(),
		&cli.StringSliceFlag{Name: "pipeline", Usage: "`NAME` of a pipeline; repeat it for several (default: all of the configuration)"})
}

// openFleet is the account and the pipelines that the flags name.
func openFleet(c *cli.Context, watchers ...watcher) (*roles.Fleet, *stores, error) {
	configuration, err := loadConfig(c)
	if err != nil {
		return nil, nil, err
	}
	s, err := openStorage(c, watchers...)
	if err != nil {
		return nil, nil, err
	}
	if err := s.needQueues(); err != nil {
		return nil, nil, err
	}
	f := &roles.Fleet{Tables: s.Tables, Queues: s.Queues, Names: s.Names, Pipelines: configuration.Pipelines,
		Log: slog.New(slog.NewTextHandler(c.App.ErrWriter, &slog.HandlerOptions{Level: logLevel(c)}))}
	if err := f.Select(c.StringSlice("pipeline")...); errors.Is(err, roles.ErrNoPipeline) {
		return nil, nil, usagef(c, "--pipeline: %v", err)
	}
	if s.Account.Key != "" { // stored access policies are set with the key or not at all
		f.Policies = s.policies(f.Log)
	}
	if slices.ContainsFunc(f.Pipelines, config.Pipeline.MakesObjects) {
		f.Archive, err = archive.Connect(archive.StoreConfig{Account: s.Account, Container: s.Names.Archive(), Transport: s.HTTP,
			OnOperation: func(ctx context.Context, o archive.Operation) {
				worker.Answered(ctx, o.Status)
				for _, w := range watchers {
					if w.Object != nil {
						w.Object(ctx, o.Kind.String())
					}
				}
			}})
	}
	return f, s, err
}

// logLevel is debug where the flag --verbose is there and set.
func logLevel(c *cli.Context) slog.Level {
	if c.Bool("verbose") {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func verboseFlag() cli.Flag {
	return &cli.BoolFlag{Name: "verbose", Usage: "log every message and slot"}
}

// writeJSONLine writes v as one line.
func writeJSONLine(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

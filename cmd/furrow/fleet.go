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
	"furrow/cmd/internal/generations"
	"furrow/cmd/internal/roles"
	"furrow/jobs/archive"
	"furrow/tables/schema"
	"furrow/worker"
)

// fleetFlags are those of every command that works with a fleet's pipelines.
func fleetFlags() []cli.Flag {
	return append(storageFlags(), configFlag(),
		&cli.StringSliceFlag{Name: "pipeline", Usage: "Pipeline `NAME`; repeat it for several (default: all)"})
}

// openFleet is the account and the pipelines that the flags name, under the
// configuration that holds.
func openFleet(c *cli.Context, watchers ...operationHooks) (*roles.Fleet, *stores, error) {
	return openFleetWith(c, (*stores).onlyRead, watchers...)
}

// openFleetOffering stores the file of --config first, if no generation has it.
func openFleetOffering(c *cli.Context, watchers ...operationHooks) (*roles.Fleet, *stores, error) {
	return openFleetWith(c, (*stores).offer, watchers...)
}

func (s *stores) onlyRead(context.Context, config.File, *slog.Logger) error { return nil }

func openFleetWith(c *cli.Context, offer func(*stores, context.Context, config.File, *slog.Logger) error,
	watchers ...operationHooks) (*roles.Fleet, *stores, error) {
	file, err := configFile(c)
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
	if err := schema.CheckLayout(c.Context, s.Tables.Table(s.Names.Fleet())); err != nil {
		return nil, nil, err
	}
	log := slog.New(slog.NewTextHandler(c.App.ErrWriter, &slog.HandlerOptions{Level: logLevel(c)}))
	if err := offer(s, c.Context, file, log); err != nil {
		return nil, nil, err
	}
	holds, err := s.holding(c.Context, file)
	if err != nil {
		return nil, nil, err
	}
	f := &roles.Fleet{Tables: s.Tables, Queues: s.Queues, Names: s.Names, Pipelines: holds.Config.Pipelines,
		Generation: holds.Generation, Format: holds.Format,
		Stored: generations.NewFollower(s.generationsOf(), holds, thisProcess(), log), Log: log}
	if err := f.Select(c.StringSlice("pipeline")...); errors.Is(err, roles.ErrNoPipeline) {
		return nil, nil, usagef(c, "--pipeline: %v", err)
	}
	if s.Account.Key != "" { // stored access policies are set with the key or not at all
		f.Policies = s.policies(log)
	}
	f.Archive, err = s.archive(f.Pipelines, watchers)
	return f, s, err
}

// archive is where objects go: nil where the account has no place for them and no
// pipeline needs one.
func (s *stores) archive(pipelines []config.Pipeline, watchers []operationHooks) (*archive.Store, error) {
	if s.Account.Blob == "" && !slices.ContainsFunc(pipelines, config.Pipeline.MakesObjects) {
		return nil, nil
	}
	return archive.Connect(archive.StoreConfig{Account: s.Account, Container: s.Names.Archive(), Transport: s.HTTP,
		OnOperation: func(ctx context.Context, o archive.Operation) {
			worker.Answered(ctx, o.Status)
			for _, w := range watchers {
				if w.Object != nil {
					w.Object(ctx, o.Kind.String())
				}
			}
		}})
}

// logLevel is debug where the flag --verbose is there and set.
func logLevel(c *cli.Context) slog.Level {
	if c.Bool("verbose") {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func verboseFlag() cli.Flag {
	return &cli.BoolFlag{Name: "verbose", Usage: "Log every message and slot"}
}

// writeJSONLine writes v as one line.
func writeJSONLine(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

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

// fleetFlags belong to every command that works with a fleet's pipelines.
func fleetFlags() []cli.Flag {
	return append(storageFlags(), configFlag(),
		&cli.StringSliceFlag{Name: "pipeline", Usage: "Pipeline `NAME`; repeat it for several (default: all)"})
}

// openFleet opens the account and the pipelines that the flags name, under the current configuration.
func openFleet(c *cli.Context, hooks ...operationHooks) (*roles.Fleet, *stores, error) {
	return openFleetWith(c, (*stores).onlyRead, hooks...)
}

// openFleetOffering first stores the file of --config, if no generation has its text.
func openFleetOffering(c *cli.Context, hooks ...operationHooks) (*roles.Fleet, *stores, error) {
	return openFleetWith(c, (*stores).offer, hooks...)
}

func (s *stores) onlyRead(context.Context, config.File, *slog.Logger) error { return nil }

func openFleetWith(c *cli.Context, offer func(*stores, context.Context, config.File, *slog.Logger) error,
	hooks ...operationHooks) (*roles.Fleet, *stores, error) {
	file, err := configFile(c)
	if err != nil {
		return nil, nil, err
	}
	s, err := openStorage(c, hooks...)
	if err != nil {
		return nil, nil, err
	}
	if err := s.needQueues(); err != nil {
		return nil, nil, err
	}
	if err := schema.CheckLayout(c.Context, s.Tables.Table(s.Names.Fleet())); err != nil {
		return nil, nil, err
	}
	log := logFor(c)
	if err := offer(s, c.Context, file, log); err != nil {
		return nil, nil, err
	}
	holds, err := s.holding(c.Context, file)
	if err != nil {
		return nil, nil, err
	}
	f := &roles.Fleet{Tables: s.Tables, Queues: s.Queues, Names: s.Names, Pipelines: holds.Config.Pipelines,
		Generation: holds.Generation, Format: holds.Format, WatchesItself: holds.Config.WatchesItself(),
		Stored: generations.NewFollower(s.generationsOf(), holds, thisProcess(), log), Log: log}
	if err := f.Select(c.StringSlice("pipeline")...); errors.Is(err, roles.ErrNoPipeline) {
		return nil, nil, usagef(c, "--pipeline: %v", err)
	}
	if s.Account.Key != "" { // only the key can set stored access policies
		f.Policies = s.policies(log)
	}
	f.Archive, err = s.archive(f.Pipelines, hooks)
	return f, s, err
}

// archive returns the store of objects, nil if the account has no Blob endpoint and no pipeline needs one.
func (s *stores) archive(pipelines []config.Pipeline, hooks []operationHooks) (*archive.Store, error) {
	if s.Account.Blob == "" && !slices.ContainsFunc(pipelines, config.Pipeline.MakesObjects) {
		return nil, nil
	}
	return archive.Connect(archive.StoreConfig{Account: s.Account, Container: s.Names.Archive(), Transport: s.HTTP,
		OnOperation: func(ctx context.Context, o archive.Operation) {
			worker.Answered(ctx, o.Status)
			for _, h := range hooks {
				if h.Object != nil {
					h.Object(ctx, o)
				}
			}
		}})
}

// writeJSONLine writes v as one line.
func writeJSONLine(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/setup"
	"furrow/cmd/internal/tracing"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

// fleetFlags belong to every command that works with a fleet's pipelines.
func fleetFlags() []cli.Flag { return append(storageFlags(), pipelineFlags()...) }

func pipelineFlags() []cli.Flag {
	return []cli.Flag{configFlag(),
		&cli.StringSliceFlag{Name: "pipeline", Usage: "Pipeline `NAME`; repeat it for several (default: all)"}}
}

// openFleet opens the account and the pipelines that the flags name, under the current configuration.
func openFleet(c *cli.Context, hooks ...roles.Hooks) (*roles.Fleet, *stores, error) {
	return openFleetWith(c.Context, c, nil, false, hooks...)
}

// openFleetWith is openFleet on storage that this process serves, if own is not nil. Offering, it first stores the file
// of --config, if no generation has its text.
func openFleetWith(ctx context.Context, c *cli.Context, own *setup.Embedded, offering bool,
	hooks ...roles.Hooks) (*roles.Fleet, *stores, error) {
	file, err := configFile(c)
	if err != nil {
		return nil, nil, err
	}
	s, err := openStorageAt(c, own, storagesOf(c)[0], "--storage", hooks...)
	if err != nil {
		return nil, nil, err
	}
	f, err := openFleetOf(ctx, c, s, file, offering)
	return f, s, err
}

// openFleetOf opens the pipelines of an account.
func openFleetOf(ctx context.Context, c *cli.Context, s *stores, file config.File, offering bool) (*roles.Fleet,
	error) {
	if err := s.NeedQueues(); err != nil {
		return nil, err
	}
	if err := schema.CheckLayout(ctx, s.Tables.Table(s.Names.Fleet())); err != nil {
		return nil, err
	}
	log := logFor(c)
	store := s.Generations()
	if offering {
		if err := store.OfferFile(ctx, file, defaultConfig, operator(), log); err != nil {
			return nil, err
		}
	}
	holds, err := store.Holding(ctx, file)
	if err != nil {
		return nil, err
	}
	f, err := s.Fleet(holds, c.StringSlice("pipeline")...)
	if errors.Is(err, roles.ErrNoPipeline) {
		return nil, usagef(c, "--pipeline: %v", err)
	}
	if err != nil {
		return nil, err
	}
	f.Stored, f.Log = generations.NewFollower(store, holds, thisProcess(), log), log
	if s.Account.Key != "" { // only the key can set stored access policies
		f.Policies = s.policies()
	}
	if f.Archive != nil {
		s.keys.used(f.Archive)
	}
	return f, nil
}

// writeJSONLine writes v as one line.
func writeJSONLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(answers.PrintableJSON(b), '\n'))
	return err
}

// thisProcess describes this process to the fleet.
func thisProcess() schema.Process {
	return schema.Process{Name: roles.WorkerName(), Version: readVersion().Version, Format: schema.Format}
}

// configFile opens the file of --config. A file that is named must be valid even if a configuration is stored.
func configFile(c *cli.Context) (config.File, error) {
	f, err := config.Open(c.String("config"))
	if err == nil && c.String("config") != "" {
		err = f.Check()
	}
	return f, err
}

// trace has a fleet's runs traced if the environment asks for it. Call end when the process stops.
func trace(ctx context.Context, c *cli.Context, f *roles.Fleet, s *stores) (end func(), err error) {
	f.Tracer, err = tracing.New(ctx, s.Account.Name, c.String("names-prefix"), readVersion().Version, f.Log)
	return f.Tracer.Close, err
}

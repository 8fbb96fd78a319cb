package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/generations"
	"furrow/cmd/internal/roles"
	"furrow/tables/schema"
)

// generationsOf returns the store of the fleet's configuration.
func (s *stores) generationsOf() generations.Store {
	return generations.Store{Table: s.Tables.Table(s.Names.Config())}
}

// holding returns the current configuration: the newest stored generation, or the file of --config if nothing
// is stored.
func (s *stores) holding(ctx context.Context, file config.File) (generations.Loaded, error) {
	stored, found, err := s.generationsOf().Newest(ctx, 0)
	if err != nil {
		return generations.Loaded{}, err
	}
	if found {
		loaded, err := generations.Read(stored)
		if err != nil {
			err = fmt.Errorf("this version of furrow cannot use the stored configuration; run a newer version, or roll the "+
				"configuration back: %w", err)
		}
		return loaded, err
	}
	loaded, err := file.Config()
	return generations.Loaded{Format: schema.Format, Config: loaded}, err
}

// offer stores the file of --config unless a generation has its text already, so that a process that restarts
// with an old file reverts nothing. The built-in configuration is stored only if nothing else is.
func (s *stores) offer(ctx context.Context, file config.File, log *slog.Logger) error {
	store := s.generationsOf()
	if file.Name == "" {
		if _, found, err := store.Newest(ctx, 0); found || err != nil {
			return err
		}
		file = config.File{Name: "built in", Text: defaultConfig}
	}
	change, err := store.Offer(ctx, file.Name, file.Text, operator())
	holds := change.Holds
	switch {
	case err != nil:
		return err
	case change.Refused != nil:
		log.WarnContext(ctx, "configuration file not applied", "file", file.Name, "generation", holds.Generation, "error",
			change.Refused)
	case change.Stored:
		log.InfoContext(ctx, "configuration stored", "file", file.Name, "generation", holds.Generation, "change",
			holds.Change)
	case holds.Text != file.Text:
		log.WarnContext(ctx, "configuration file is older than the current generation; 'furrow config apply' stores it again",
			"file", file.Name, "generation", holds.Generation, "by", holds.By)
	}
	return nil
}

// thisProcess describes this process to the fleet.
func thisProcess() schema.Process {
	return schema.Process{Name: roles.WorkerName(), Version: readVersion().Version, Format: schema.Format}
}

// configFile opens the file of --config. A file that is named must be valid even if a configuration is stored.
func configFile(c *cli.Context) (config.File, error) {
	f, err := config.Open(c.String("config"))
	if err == nil && c.String("config") != "" {
		_, err = f.Config()
	}
	return f, err
}

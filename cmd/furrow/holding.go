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

// generationsOf is where a fleet's configuration is stored.
func (s *stores) generationsOf() generations.Store {
	return generations.Store{Table: s.Tables.Table(s.Names.Config())}
}

// holding is the configuration that holds: the newest generation that is stored, or
// where none is, the file of --config.
func (s *stores) holding(ctx context.Context, file config.File) (generations.Loaded, error) {
	stored, found, err := s.generationsOf().Newest(ctx, 0)
	if err != nil {
		return generations.Loaded{}, err
	}
	if found {
		loaded, err := generations.Read(stored)
		if err != nil {
			err = fmt.Errorf("this version of furrow cannot use the configuration that is stored; run a newer version, or "+
				"roll it back: %w", err)
		}
		return loaded, err
	}
	loaded, err := file.Config()
	return generations.Loaded{Format: schema.Format, Config: loaded}, err
}

// offer stores the file of --config unless a generation has its text already, so
// that a process that starts again with an old file takes nothing back. What is
// built in is stored where nothing else is.
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
		log.WarnContext(ctx, "configuration file is older than the one that holds; 'furrow config apply' stores it again",
			"file", file.Name, "generation", holds.Generation, "by", holds.By)
	}
	return nil
}

// thisProcess is this process as the fleet knows it.
func thisProcess() schema.Process {
	return schema.Process{Name: roles.WorkerName(), Version: readVersion().Version, Format: schema.Format}
}

// configFile is the file that a command with configFlag was given. One that is named
// must be right, even if a stored configuration holds.
func configFile(c *cli.Context) (config.File, error) {
	f, err := config.Open(c.String("config"))
	if err == nil && c.String("config") != "" {
		_, err = f.Config()
	}
	return f, err
}

package generations

import (
	"context"
	"fmt"
	"log/slog"

	"furrow/cmd/internal/config"
	"furrow/tables/schema"
)

// Holding returns the current configuration: the newest stored generation, or a file if nothing is stored.
func (s Store) Holding(ctx context.Context, file config.File) (Loaded, error) {
	stored, found, err := s.Newest(ctx, 0)
	if err != nil {
		return Loaded{}, err
	}
	if found {
		loaded, err := Read(stored)
		if err != nil {
			err = fmt.Errorf("this version of furrow cannot use the stored configuration; run a newer version, or roll the "+
				"configuration back: %w", err)
		}
		return loaded, err
	}
	loaded, err := file.Config()
	return Loaded{Format: schema.Format, Config: loaded}, err
}

// OfferFile stores the text of a file unless a generation has it already, so that a process that restarts with an old
// file reverts nothing. Where no file is named, builtIn is stored if nothing else is.
func (s Store) OfferFile(ctx context.Context, file config.File, builtIn, by string, log *slog.Logger) error {
	if file.Name == "" {
		if _, found, err := s.Newest(ctx, 0); found || err != nil {
			return err
		}
		file = config.File{Name: "built in", Text: builtIn}
	}
	change, err := s.Offer(ctx, file.Name, file.Text, by)
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

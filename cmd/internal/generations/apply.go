package generations

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"furrow/cmd/internal/config"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A Change is the result of storing a configuration.
type Change struct {
	Holds  schema.Configuration // the current generation
	Stored bool                 // it is new

	Refused error // why an offer was not stored: ErrOlder
}

// ErrOvertaken means that somebody else has stored a configuration at the same time.
var ErrOvertaken = errors.New("another configuration was stored at the same time")

// Apply stores a text as the next generation, unless the current one has the same text. It fails with ErrOvertaken if
// another one was stored meanwhile, which the author has not seen.
func (s Store) Apply(ctx context.Context, name, text, by string) (Change, error) {
	head, found, err := s.Newest(ctx, 0)
	if err != nil {
		return Change{}, err
	}
	if !found {
		head.Edition = int64(config.Newest)
	}
	parsed, err := config.Edition(head.Edition).Parse(name, []byte(text))
	if err != nil {
		return Change{}, err
	}
	if err := s.reads(head); err != nil {
		return Change{}, err
	}
	if head.Format < s.format() {
		if err := s.olderProcesses(ctx); err != nil {
			return Change{Holds: head}, err
		}
	}
	return s.follow(ctx, head, text, parsed, s.format(), by)
}

// follow stores a text as the generation after head, unless head has the same text and format.
func (s Store) follow(ctx context.Context, head schema.Configuration, text string, parsed *config.Config, format int64,
	by string) (Change, error) {
	if head.Generation > 0 && head.Text == text && head.Format == format {
		return Change{Holds: head}, nil
	}
	next := schema.Configuration{Generation: head.Generation + 1, Text: text, By: by, Change: changed(head, parsed),
		Format: format, Edition: head.Edition}
	if head.Generation > 0 && head.Format < format {
		next.Change += fmt.Sprintf("; format %d becomes %d", head.Format, format)
	}
	return s.insert(ctx, next)
}

// reads returns an error if a newer program has stored head.
func (s Store) reads(head schema.Configuration) error {
	if head.Format <= s.format() {
		return nil
	}
	return fmt.Errorf("generation %d: %w", head.Generation, schema.CheckFormat(head.Format))
}

// ErrOlder means that a process of the fleet could not read the new format.
var ErrOlder = errors.New("an older version of furrow runs in this fleet")

// Live returns the processes that follow the fleet's configuration now.
func (s Store) Live(ctx context.Context) (all []schema.Process, err error) {
	for page, err := range s.Table.Rows(ctx, tables.Query{Range: schema.Processes()}) {
		if errors.Is(err, tables.ErrNoTable) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, e := range page.Rows {
			p, err := schema.ProcessOf(e)
			if err != nil {
				return nil, err
			}
			if p.Lives(page.Time) {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// olderProcesses returns an error that wraps ErrOlder if a live process cannot read this program's format.
func (s Store) olderProcesses(ctx context.Context) error {
	live, err := s.Live(ctx)
	if err != nil {
		return err
	}
	var older []string
	for _, p := range live {
		if p.Format < s.format() {
			older = append(older, fmt.Sprintf("%s (version %s reads up to format %d)", p.Name, p.Version, p.Format))
		}
	}
	if len(older) == 0 {
		return nil
	}
	return fmt.Errorf("%w and cannot read format %d, which a configuration from this version allows: %s; upgrade or "+
		"stop it, and apply again (after %v if it was killed)",
		ErrOlder, s.format(), strings.Join(older, ", "), schema.ProcessGone)
}

// Offer stores a text as the next generation if no generation has it, so that a restart with an old file reverts
// nothing. It returns the current generation.
func (s Store) Offer(ctx context.Context, name, text, by string) (Change, error) {
	for {
		known, err := s.Know(ctx, text)
		if err != nil {
			return Change{}, err
		}
		if known {
			head, _, err := s.Newest(ctx, 0)
			return Change{Holds: head}, err
		}
		change, err := s.Apply(ctx, name, text, by)
		switch {
		case errors.Is(err, ErrOlder) && change.Holds.Generation > 0:
			return Change{Holds: change.Holds, Refused: err}, nil
		case !errors.Is(err, ErrOvertaken):
			return change, err
		}
	}
}

// Rollback stores the text of an old generation as the next one. It keeps the current format, which workers may have
// written already.
func (s Store) Rollback(ctx context.Context, generation int64, by string) (Change, error) {
	old, err := s.Get(ctx, generation)
	if err != nil {
		return Change{}, err
	}
	parsed, err := config.Edition(old.Edition).Parse(fmt.Sprintf("generation %d", generation), []byte(old.Text))
	if err != nil {
		return Change{}, err
	}
	head, _, err := s.Newest(ctx, 0)
	if err == nil {
		err = s.reads(head)
	}
	if err != nil {
		return Change{}, err
	}
	return s.follow(ctx, head, old.Text, parsed, head.Format, by)
}

// insert stores a generation if its number is free. Any failure may be a success whose answer was lost, so it reads
// the generation back.
func (s Store) insert(ctx context.Context, c schema.Configuration) (Change, error) {
	c.ID = rand.Text()
	e, err := c.Entity()
	if err != nil {
		return Change{}, err
	}
	if _, err = s.Table.Do(ctx, tables.Insert(e)); errors.Is(err, tables.ErrNoTable) {
		if err := s.Table.Create(ctx); err != nil {
			return Change{}, err
		}
		_, err = s.Table.Do(ctx, tables.Insert(e))
	}
	found, wrong := s.Get(ctx, c.Generation)
	switch {
	case err != nil && errors.Is(wrong, query.ErrNoGeneration):
		return Change{}, err
	case wrong != nil:
		return Change{}, errors.Join(err, wrong)
	case found.ID == c.ID:
		return Change{Holds: found, Stored: true}, nil
	case found.Text == c.Text:
		return Change{Holds: found}, nil
	}
	return Change{}, fmt.Errorf("%w: generation %d by %s; look at it, and apply yours again if you still want it",
		ErrOvertaken, found.Generation, found.By)
}

// changed describes the changes from head.
func changed(head schema.Configuration, parsed *config.Config) string {
	if head.Generation == 0 {
		return "the first one"
	}
	was, err := Read(head)
	if err != nil {
		return fmt.Sprintf("this version cannot read generation %d, the one before", head.Generation)
	}
	if changes := config.Changes(was.Config, parsed); len(changes) > 0 {
		return strings.Join(changes, "; ")
	}
	return "nothing but the text"
}

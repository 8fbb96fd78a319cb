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
)

// A Change is what storing a configuration came to.
type Change struct {
	Holds  schema.Configuration // the generation that holds now
	Stored bool                 // it is a new one
}

// ErrOvertaken says that somebody else has stored a configuration at the same time.
var ErrOvertaken = errors.New("another configuration was stored at the same time")

// Apply stores a text as the next generation, unless the one that holds has that
// text. The error is ErrOvertaken where another one was stored meanwhile, which its
// author has not seen.
func (s Store) Apply(ctx context.Context, name, text, by string) (Change, error) {
	parsed, err := config.Parse(name, []byte(text))
	if err != nil {
		return Change{}, err
	}
	head, _, err := s.Newest(ctx, 0)
	if err != nil {
		return Change{}, err
	}
	if head.Generation > 0 && head.Text == text {
		return Change{Holds: head}, nil
	}
	return s.insert(ctx, schema.Configuration{Generation: head.Generation + 1, Text: text, By: by, Change: changed(head, parsed)})
}

// Offer stores a text as the next generation if no generation has it: whoever
// starts again with an old file takes nothing back. It says which one holds.
func (s Store) Offer(ctx context.Context, name, text, by string) (Change, error) {
	for {
		_, known, err := s.having(ctx, text)
		if err != nil {
			return Change{}, err
		}
		if known {
			head, _, err := s.Newest(ctx, 0)
			return Change{Holds: head}, err
		}
		change, err := s.Apply(ctx, name, text, by)
		if !errors.Is(err, ErrOvertaken) {
			return change, err
		}
	}
}

// Rollback stores the text of an old generation as the next one.
func (s Store) Rollback(ctx context.Context, generation int64, by string) (Change, error) {
	old, err := s.Get(ctx, generation)
	if err != nil {
		return Change{}, err
	}
	return s.Apply(ctx, fmt.Sprintf("generation %d", generation), old.Text, by)
}

// insert stores a generation if there is none of its number. Any failure may be a
// success whose answer was lost: what is there tells (invariant 9).
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
	case err != nil && errors.Is(wrong, ErrNone):
		return Change{}, err
	case wrong != nil:
		return Change{}, errors.Join(err, wrong)
	case found.ID == c.ID:
		return Change{Holds: found, Stored: true}, nil
	case found.Text == c.Text:
		return Change{Holds: found}, nil
	}
	return Change{}, fmt.Errorf("%w: generation %d, by %s; look at it, and apply yours again if it is still what you want", ErrOvertaken, found.Generation, found.By)
}

// changed says what a configuration changes of the one that holds.
func changed(head schema.Configuration, parsed *config.Config) string {
	if head.Generation == 0 {
		return "the first one"
	}
	was, err := Read(head)
	if err != nil {
		return fmt.Sprintf("this version cannot read generation %d, which held before", head.Generation)
	}
	if changes := config.Changes(was.Config, parsed); len(changes) > 0 {
		return strings.Join(changes, "; ")
	}
	return "nothing but the text"
}

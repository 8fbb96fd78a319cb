// Package generations stores a fleet's configurations as numbered generations in the fleet's storage, and lets its
// processes follow the newest one.
package generations

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"furrow/cmd/internal/config"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Store is the table config of a fleet.
type Store struct {
	Table *tables.Table
	// Format is the newest that this program writes; zero: schema.Format.
	Format int64
}

func (s Store) format() int64 { return cmp.Or(s.Format, schema.Format) }

// A Loaded is a configuration that a process uses.
type Loaded struct {
	Generation int64 // zero: it is not stored
	Format     int64 // in which workers write, as schema.Format
	Config     *config.Config
	Stored     tables.Ticks // zero: it is not stored
}

// ErrNone means that there is no generation of a number.
var ErrNone = errors.New("there is no such generation")

// Newest returns the newest generation after one, if there is one. It takes one request.
func (s Store) Newest(ctx context.Context, after int64) (c schema.Configuration, found bool, err error) {
	for e, err := range s.Table.Entities(ctx, tables.Query{Range: schema.ConfigurationsAfter(after), Size: 1}) {
		if err != nil {
			return c, false, err
		}
		c, err = schema.ConfigurationOf(e)
		return c, err == nil, err
	}
	return c, false, nil
}

// Get returns the generation of a number.
func (s Store) Get(ctx context.Context, generation int64) (schema.Configuration, error) {
	pk, rk := schema.ConfigurationKeys(generation)
	e, err := s.Table.Get(ctx, pk, rk)
	if errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable) {
		return schema.Configuration{}, fmt.Errorf("generation %d: %w", generation, ErrNone)
	}
	if err != nil {
		return schema.Configuration{}, err
	}
	return schema.ConfigurationOf(e)
}

// History returns all generations without their texts, the newest first.
func (s Store) History(ctx context.Context) ([]schema.Configuration, error) {
	return s.heads(ctx, "")
}

// knows tells whether a generation has a text.
func (s Store) knows(ctx context.Context, text string) (bool, error) {
	all, err := s.heads(ctx, "Hash eq '"+schema.ConfigurationHash(text)+"'")
	return len(all) > 0, err
}

// heads returns the generations that a filter selects, without their texts.
func (s Store) heads(ctx context.Context, filter string) (all []schema.Configuration, err error) {
	q := tables.Query{Range: schema.ConfigurationsAfter(0), Filter: filter, Select: schema.ConfigurationHead()}
	for e, err := range s.Table.Entities(ctx, q) {
		if err != nil {
			return nil, err
		}
		c, err := schema.ConfigurationHeadOf(e)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// Read parses a stored configuration. It fails with config.Problems or schema.ErrNewer.
func Read(c schema.Configuration) (Loaded, error) {
	if err := schema.CheckFormat(c.Format); err != nil {
		return Loaded{}, fmt.Errorf("generation %d: %w", c.Generation, err)
	}
	parsed, err := config.Edition(c.Edition).Parse(fmt.Sprintf("generation %d", c.Generation), []byte(c.Text))
	return Loaded{c.Generation, c.Format, parsed, c.Stored}, err
}

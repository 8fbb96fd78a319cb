// Package generations stores a fleet's configurations as numbered generations in the fleet's storage, and lets its
// processes follow the newest one.
package generations

import (
	"cmp"
	"context"
	"fmt"

	"furrow/cmd/internal/config"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A Store is the table config of a fleet.
type Store struct {
	query.Generations
	// Format is the newest that this program writes; zero: schema.Format.
	Format int64
}

// New returns the generations of a table.
func New(t *tables.Table) Store { return Store{Generations: query.Generations{Table: t}} }

func (s Store) format() int64 { return cmp.Or(s.Format, schema.Format) }

// A Loaded is a configuration that a process uses.
type Loaded struct {
	Generation int64 // zero: it is not stored
	Format     int64 // in which workers write, as schema.Format
	Config     *config.Config
	Stored     tables.Ticks // zero: it is not stored
}

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

// Read parses a stored configuration. It fails with config.Problems or schema.ErrNewer.
func Read(c schema.Configuration) (Loaded, error) {
	if err := schema.CheckFormat(c.Format); err != nil {
		return Loaded{}, fmt.Errorf("generation %d: %w", c.Generation, err)
	}
	parsed, err := config.Edition(c.Edition).Parse(fmt.Sprintf("generation %d", c.Generation), []byte(c.Text))
	return Loaded{c.Generation, c.Format, parsed, c.Stored}, err
}

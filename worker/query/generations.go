package query

import (
	"context"
	"errors"
	"fmt"

	"furrow/tables"
	"furrow/tables/schema"
)

// Generations reads the generations of a fleet's configuration.
type Generations struct{ Table *tables.Table }

// ErrNoGeneration means that there is no generation of a number.
var ErrNoGeneration = errors.New("there is no such generation")

// Get returns the generation of a number.
func (g Generations) Get(ctx context.Context, generation int64) (schema.Configuration, error) {
	pk, rk := schema.ConfigurationKeys(generation)
	e, err := g.Table.Get(ctx, pk, rk)
	if tables.Absent(err) {
		return schema.Configuration{}, fmt.Errorf("generation %d: %w", generation, ErrNoGeneration)
	}
	if err != nil {
		return schema.Configuration{}, err
	}
	return schema.ConfigurationOf(e)
}

// History returns all generations without their texts, the newest first.
func (g Generations) History(ctx context.Context) ([]schema.Configuration, error) {
	return g.heads(ctx, "")
}

// Know tells whether a generation has a text.
func (g Generations) Know(ctx context.Context, text string) (bool, error) {
	all, err := g.heads(ctx, "Hash eq '"+schema.ConfigurationHash(text)+"'")
	return len(all) > 0, err
}

// heads returns the generations that a filter selects, without their texts.
func (g Generations) heads(ctx context.Context, filter string) (all []schema.Configuration, err error) {
	q := tables.Query{Range: schema.ConfigurationsAfter(0), Filter: filter, Select: schema.ConfigurationHead()}
	for e, err := range g.Table.Entities(ctx, q) {
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

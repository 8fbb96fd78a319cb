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
	c, found, err := get(ctx, g.Table, pk, rk, schema.ConfigurationOf)
	if err == nil && !found {
		err = fmt.Errorf("generation %d: %w", generation, ErrNoGeneration)
	}
	return c, err
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
func (g Generations) heads(ctx context.Context, filter string) ([]schema.Configuration, error) {
	q := tables.Query{Range: schema.ConfigurationsAfter(0), Filter: filter, Select: schema.ConfigurationHead()}
	return Collect(recordsOf(ctx, g.Table, q, schema.ConfigurationHeadOf), nil)
}

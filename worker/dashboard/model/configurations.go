package model

import (
	"context"
	"fmt"
	"time"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// Configurations are the generations of a fleet's configuration, as the first account has them.
type Configurations struct {
	accounts *Accounts
	kept     cache[[]schema.Configuration]
	texts    cache[schema.Configuration]
}

const configurationsAge = 10 * time.Second

// History returns all generations without their texts, the newest first. They are about all tenants: who may see only
// one gets ErrWholeFleet.
func (cs *Configurations) History(ctx context.Context) ([]schema.Configuration, error) {
	if within(ctx) != "" {
		return nil, ErrWholeFleet
	}
	return cs.kept.get(ctx, "", configurationsAge, cs.generations().History)
}

// Text returns a generation. It never changes.
func (cs *Configurations) Text(ctx context.Context, generation int64) (string, error) {
	if within(ctx) != "" {
		return "", ErrWholeFleet
	}
	c, err := cs.texts.get(ctx, fmt.Sprint(generation), time.Hour,
		func(ctx context.Context) (schema.Configuration, error) { return cs.generations().Get(ctx, generation) })
	return c.Text, err
}

func (cs *Configurations) generations() query.Generations {
	a := cs.accounts.all[0]
	return query.Generations{Table: a.Tables.Table(a.Names.Config())}
}

package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/cmd/internal/tracing"
)

// trace has a fleet's runs traced if the environment asks for it. Call end when the process stops.
func trace(ctx context.Context, c *cli.Context, f *roles.Fleet, s *stores) (end func(), err error) {
	f.Tracer, err = tracing.New(ctx, s.Account.Name, c.String("names-prefix"), readVersion().Version, f.Log)
	return f.Tracer.Close, err
}

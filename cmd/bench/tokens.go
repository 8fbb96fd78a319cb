package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"
)

const tokensHelp = `Starts storage and token endpoints (furrow sas) in processes of their own, and asks for tokens over plain HTTP,
as a proxy would, and over TLS with a self-signed certificate. Rate limits are disabled except in the storm.

`

func tokensCommand() *cli.Command {
	return &cli.Command{
		Name:  "tokens",
		Usage: "Measure how fast this machine issues device tokens",
		Description: tokensHelp + workloadsText(tokenWorkloads()) +
			examples(
				"tokens",
				"tokens --only kept,fresh --for 10s --rounds 3",
				"tokens --only storm --storm 20000"),
		Flags: sharedFlags(
			&cli.IntFlag{Name: "devices", Value: 10_000, Usage: "`NUMBER` of known devices that renew their tokens in turn"},
			&cli.IntFlag{Name: "storm", Value: 20_000, Usage: "`NUMBER` of devices that boot at once"},
		),
		Action: tokens,
	}
}

// tokenSettings are those of a benchmark of token endpoints.
type tokenSettings struct {
	settings
	devices int // that are known and renew their tokens, on each target; at least clients
	storm   int // devices that boot at once, on each target
}

func tokens(c *cli.Context) (err error) {
	s := tokenSettings{devices: c.Int("devices"), storm: c.Int("storm")}
	// An endpoint closes kept connections beyond 4,000.
	if s.settings, err = settingsOf(c, namesOf(tokenWorkloads()), 4000); err != nil {
		return err
	}
	const most = 1_000_000
	if err := cmp.Or(between(c, s.clients, most, "devices"), between(c, 1, most, "storm")); err != nil {
		return err
	}
	return withFurrow(c, func(executable string) (err error) {
		s.executable = executable
		site, err := openSite(c.Context, executable)
		defer func() { err = errors.Join(err, site.close()) }()
		if err != nil {
			return err
		}
		if err := s.measureAll(c.Context, site); err != nil || !s.wants(stormName) {
			return err
		}
		for _, name := range []string{overHTTP, overHTTPS} {
			if err := s.runStorm(c.Context, site, name); err != nil {
				return fmt.Errorf("storm on %s: %w", name, err)
			}
		}
		return nil
	})
}

// Targets of a token benchmark. Plain HTTP is what an endpoint behind a proxy speaks.
const (
	overHTTP  = "http"
	overHTTPS = "https"
)

// A tokenWorkload is one way to ask for tokens.
type tokenWorkload struct {
	workload
	connects bool                         // with a new TLS connection for each token
	over     func(e *issuer) *http.Client // that asks
	prepare  func(ctx context.Context, s tokenSettings, e *issuer, over *http.Client) (operation, error)
}

const stormName = "storm"

// tokenWorkloads returns all of them. The last is the storm, which is not repeated.
func tokenWorkloads() []tokenWorkload {
	kept := func(e *issuer) *http.Client { return e.kept }
	fresh := func(e *issuer) *http.Client { return e.fresh }
	resumed := func(e *issuer) *http.Client { return e.resumed }
	return []tokenWorkload{
		{workload{name: "kept", about: "A known device renews its token over a connection that stays open"}, false, kept,
			renewals},
		{workload{name: "first", about: "A new device registers and gets its first token over such a connection"}, false,
			kept, firstContacts},
		{workload{name: "fresh", about: "As kept, but with a new TLS connection for each token"}, true, fresh, renewals},
		{workload{name: "resumed", about: "As fresh, but each connection resumes an earlier TLS session"}, true, resumed,
			renewals},
		{workload: workload{name: stormName,
			about: "Many new devices boot at once and obey Retry-After until all have a token"}},
	}
}

// measureAll runs everything but the storm, against endpoints whose limits no machine reaches.
func (s tokenSettings) measureAll(ctx context.Context, site *tokenSite) error {
	if slices.Equal(s.only, []string{stormName}) {
		return nil
	}
	var ends []*issuer
	for _, name := range []string{overHTTP, overHTTPS} {
		e, err := site.openIssuer(ctx, name, s.clients, "--rate", "1000000", "--device-rate", "1000000")
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		ends = append(ends, e)
	}
	var tasks []task
	for _, w := range tokenWorkloads() {
		for _, e := range ends {
			if !s.wants(w.name) || w.prepare == nil || w.connects && e.name != overHTTPS {
				continue
			}
			do, err := w.prepare(ctx, s, e, w.over(e))
			if err != nil {
				return fmt.Errorf("%s: preparing %s: %w", e.name, w.name, err)
			}
			tasks = append(tasks, task{workload: w.workload, target: e.name, do: do})
		}
	}
	return s.measure(ctx, "Tokens", tasks)
}

// renewals has each client ask for its devices in turn. Two clients never ask for
// the same device, as no device asks twice at a time.
func renewals(ctx context.Context, s tokenSettings, e *issuer, over *http.Client) (operation, error) {
	known, err := e.known(ctx, s)
	if err != nil {
		return nil, err
	}
	next := make([]int, s.clients)
	return func(ctx context.Context, client int, _ func()) error {
		mine := known[client]
		r := mine[next[client]%len(mine)]
		next[client]++
		return e.ask(ctx, r, over)
	}, nil
}

func firstContacts(_ context.Context, _ tokenSettings, e *issuer, over *http.Client) (operation, error) {
	var devices atomic.Int64
	return func(ctx context.Context, _ int, _ func()) error {
		r, err := e.request(fmt.Sprintf("%s-new-%09d", e.name, devices.Add(1)))
		if err != nil {
			return err
		}
		return e.ask(ctx, r, over)
	}, nil
}

// known returns requests of known devices by client. The first call registers them.
func (e *issuer) known(ctx context.Context, s tokenSettings) ([][]*http.Request, error) {
	if e.devices != nil {
		return e.devices, nil
	}
	asking, ctx := errgroup.WithContext(ctx)
	devices := make([][]*http.Request, s.clients)
	for client := range devices {
		asking.Go(func() error {
			for n := client; n < s.devices; n += s.clients {
				r, err := e.request(fmt.Sprintf("%s-%09d", e.name, n))
				if err == nil {
					err = e.ask(ctx, r, e.kept)
				}
				if err != nil {
					return err
				}
				devices[client] = append(devices[client], r)
			}
			return nil
		})
	}
	if err := asking.Wait(); err != nil {
		return nil, err
	}
	e.devices = devices
	return devices, nil
}

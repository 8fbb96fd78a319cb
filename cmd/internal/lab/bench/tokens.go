package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// A TokenConfig says how the endpoint that issues device tokens is measured.
type TokenConfig struct {
	Settings
	Devices   int // that are known and renew their tokens, on each target; at least Clients
	Storm     int // devices that boot at once, on each target; zero: no storm
	StormRate int // requests a second that an endpoint admits in a storm; zero: its default
}

// RunTokens measures token endpoints. When ctx ends, it cleans up and returns what
// it has measured so far, with an error that says so.
func RunTokens(ctx context.Context, cfg TokenConfig) (report *Report, err error) {
	report = newReport(cfg.Settings)
	report.Devices = cfg.Devices
	s, err := openSite(ctx, cfg.Executable)
	defer func() {
		err = errors.Join(err, s.close(report))
		report.warn()
	}()
	if err != nil {
		return report, err
	}
	if err := cfg.measureWorkloads(ctx, s, report); err != nil {
		return report, err
	}
	if !cfg.wants(stormName) || cfg.Storm == 0 {
		return report, nil
	}
	for _, name := range targets() {
		found, err := cfg.storm(ctx, s, name)
		if found.Devices > 0 {
			report.Storms = append(report.Storms, found)
		}
		if err != nil {
			return report, fmt.Errorf("storm on %s: %w", name, err)
		}
	}
	return report, nil
}

// Targets of a token benchmark. Plain HTTP is what an endpoint behind a proxy speaks.
const (
	overHTTP  = "http"
	overHTTPS = "https"
)

func targets() []string { return []string{overHTTP, overHTTPS} }

// A tokenWorkload is one way to ask for tokens.
type tokenWorkload struct {
	workload
	connects bool                         // with a new TLS connection for each token
	over     func(e *issuer) *http.Client // that asks
	prepare  func(ctx context.Context, cfg TokenConfig, e *issuer, over *http.Client) (operation, error)
}

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
	}
}

const stormName = "storm"

// TokenNames returns the names of the token workloads, with a line about each.
func TokenNames() (all, abouts []string) {
	var found []workload
	for _, w := range tokenWorkloads() {
		found = append(found, w.workload)
	}
	return names(append(found, workload{
		name: stormName, about: "Many new devices boot at once and obey Retry-After until all have a token",
	}))
}

// measureWorkloads runs everything but the storm, against endpoints whose limits no machine reaches.
func (cfg TokenConfig) measureWorkloads(ctx context.Context, s *tokenSite, report *Report) error {
	if len(cfg.Workloads) == 1 && cfg.Workloads[0] == stormName {
		return nil
	}
	var ends []*issuer
	for _, name := range targets() {
		e, err := s.openIssuer(ctx, name, cfg.Clients, "--rate", "1000000", "--device-rate", "1000000")
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		ends = append(ends, e)
		report.Targets = append(report.Targets, TargetReport{Name: name, URL: e.url})
	}
	var tasks []task
	for _, w := range tokenWorkloads() {
		for _, e := range ends {
			if !cfg.wants(w.name) || w.connects && e.name != overHTTPS {
				continue
			}
			cfg.progress("%s: preparing %s", e.name, w.name)
			do, err := w.prepare(ctx, cfg, e, w.over(e))
			if err != nil {
				return fmt.Errorf("%s: preparing %s: %w", e.name, w.name, err)
			}
			tasks = append(tasks, task{workload: w.workload, target: e.name, do: do})
		}
	}
	return cfg.measure(ctx, tasks, report)
}

// renewals has each client ask for its devices in turn. Two clients never ask for
// the same device, as no device asks twice at a time.
func renewals(ctx context.Context, cfg TokenConfig, e *issuer, over *http.Client) (operation, error) {
	known, err := e.known(ctx, cfg)
	if err != nil {
		return nil, err
	}
	next := make([]int, cfg.Clients)
	return func(ctx context.Context, client int, _ func()) error {
		mine := known[client]
		r := mine[next[client]%len(mine)]
		next[client]++
		return e.ask(ctx, r, over)
	}, nil
}

func firstContacts(_ context.Context, _ TokenConfig, e *issuer, over *http.Client) (operation, error) {
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
func (e *issuer) known(ctx context.Context, cfg TokenConfig) ([][]*http.Request, error) {
	if e.devices != nil {
		return e.devices, nil
	}
	asking, ctx := errgroup.WithContext(ctx)
	devices := make([][]*http.Request, cfg.Clients)
	for client := range devices {
		asking.Go(func() error {
			for n := client; n < cfg.Devices; n += cfg.Clients {
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

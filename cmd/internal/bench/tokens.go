package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// A TokenConfig says how the endpoint is measured that gives devices their tokens.
type TokenConfig struct {
	Workloads  []string      // names of [TokenNames]; empty: all
	For        time.Duration // per workload, target and round
	Rounds     int           // the report shows their medians; a storm comes once
	Clients    int           // at work at the same time, each with devices of its own
	Devices    int           // that are known and renew their tokens, on each target; at least Clients
	Storm      int           // devices that boot at once, on each target; zero: none do
	StormRate  int           // requests a second that an endpoint allows the devices of a storm; zero: its default
	Executable string        // the furrow binary, which serves storage and endpoints
	Progress   io.Writer     // a terminal to draw a progress bar on; nil: none
}

// RunTokens measures, and returns what it measured. When ctx ends it cleans up and
// returns what there is so far, with an error that says so.
func RunTokens(ctx context.Context, cfg TokenConfig) (report *TokenReport, err error) {
	s, err := openSite(ctx, cfg.Executable)
	report = newTokenReport(cfg)
	defer func() {
		err = errors.Join(err, s.close())
		report.note(s.issuers)
	}()
	if err != nil {
		return report, err
	}
	plan := cfg.plan()
	if len(plan) > 0 {
		if err := cfg.measure(ctx, plan, s, report); err != nil {
			return report, err
		}
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

// Targets of a token bench: a device's connection is one or the other. Plain HTTP is
// what an endpoint behind a proxy speaks.
const (
	overHTTP  = "http"
	overHTTPS = "https"
)

func targets() []string { return []string{overHTTP, overHTTPS} }

func (cfg TokenConfig) wants(name string) bool {
	return len(cfg.Workloads) == 0 || slices.Contains(cfg.Workloads, name)
}

func (cfg TokenConfig) plan() []tokenWorkload {
	return slices.DeleteFunc(tokenWorkloads(), func(w tokenWorkload) bool { return !cfg.wants(w.name) })
}

// measure runs the workloads of a plan against endpoints whose limits are far off.
func (cfg TokenConfig) measure(ctx context.Context, plan []tokenWorkload, s *site, report *TokenReport) error {
	for _, name := range targets() {
		e, err := s.openIssuer(ctx, name, farOff()...)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		report.Targets = append(report.Targets, TargetReport{Name: name, URL: e.url})
	}
	ends := slices.Clone(s.issuers)
	bar := newProgress(cfg.Progress, cfg.length(plan).Milliseconds())
	defer bar.done()
	ops, err := cfg.prepare(ctx, plan, ends, bar)
	if err != nil {
		return err
	}
	for round := range cfg.Rounds {
		for i, w := range plan {
			for _, e := range inTurn(ends, round) {
				do := ops[asked{e, i}]
				if do == nil {
					continue
				}
				bar.describe(e.name + ": " + w.name)
				found := measurement{clients: cfg.Clients, length: cfg.For, tick: bar.tick}.run(ctx, do)
				if ctx.Err() != nil {
					return errInterrupted
				}
				report.add(step{workload: &w.workload}, e.name, found)
			}
		}
	}
	return nil
}

// An asked is where an operation belongs: an endpoint, and the number of a workload.
type asked struct {
	*issuer
	workload int
}

// prepare makes devices known, before anything is measured.
func (cfg TokenConfig) prepare(ctx context.Context, plan []tokenWorkload, ends []*issuer, bar *progress) (map[asked]operation, error) {
	ops := map[asked]operation{}
	for _, e := range ends {
		for i, w := range plan {
			if !w.on(e.name) {
				continue
			}
			bar.describe(e.name + ": preparing " + w.name)
			do, err := w.of(ctx, cfg, e)
			if err != nil {
				return nil, fmt.Errorf("%s: preparing %s: %w", e.name, w.name, err)
			}
			ops[asked{e, i}] = do
		}
	}
	return ops, nil
}

// length is how long all measuring takes together, without the storms.
func (cfg TokenConfig) length(plan []tokenWorkload) (total time.Duration) {
	for _, w := range plan {
		for _, name := range targets() {
			if w.on(name) {
				total += cfg.For * time.Duration(cfg.Rounds)
			}
		}
	}
	return total
}

package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/lab/simulate/fleets"
	"furrow/sas/device"
)

func fleetFlag() cli.Flag {
	return choiceFlag("fleet", "probes in the ground", fleets.Names(), "`FLEET` to simulate instead, with the documents, "+
		"cadence and faults of real ones: "+strings.Join(fleets.Names(), ", "))
}

// newKindOfFleet reads the flags of a simulation with --fleet.
func newKindOfFleet(c *cli.Context) (*simulation, error) {
	for _, name := range []string{"tenants", "sensors", "months", "send-every", "dirt"} {
		if c.IsSet(name) {
			return nil, usagef(c, "--%s does not go with --fleet, which has its own", name)
		}
	}
	if err := cmp.Or(onlyWithReplay(c), between(c, 1, 100_000, "devices")); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	config := fleets.Config{Kind: c.String("fleet"), Seed: c.Uint64("seed"), Until: now}
	if c.IsSet("devices") {
		config.Devices = c.Int("devices")
	}
	if c.IsSet("every") {
		config.Every = durationOf(c, "every")
	}
	f, err := fleets.New(config)
	if err != nil {
		return nil, err
	}
	history := f.History()
	if c.IsSet("history") {
		history = durationOf(c, "history")
	}
	s := &simulation{members: f.Members(), seed: config.Seed, backfill: backfillFor(history), faults: f.Faults}
	for _, m := range s.members {
		s.addTenant(m.Tenant)
	}
	from := now.Add(-history)
	s.run.Members = s.members
	if f.TakesCommands() {
		s.run.OnCommand = func(m simulate.Member, told device.Command) (any, error) { return f.Obey(m, told.Body) }
	}
	s.run.Sendings = func(m simulate.Member) simulate.Stream { return f.Sendings(m, from) }
	return s, nil
}

// mostFaults is how many faults are listed for people. JSON has all.
const mostFaults = 20

// faultList lists the faults of a fleet for people, or counts them by kind if there are many.
func faultList(all []fleets.Fault) string {
	var b strings.Builder
	switch {
	case len(all) == 0:
		return ""
	case len(all) <= mostFaults:
		b.WriteString("Faults that were put in:\n")
		for _, f := range all {
			line := fmt.Sprintf("  %-12s  %s to %s  %s %s", f.Fault, f.From.Format(time.DateTime), f.To.Format(time.DateTime),
				f.Device, f.Sensor)
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		return b.String()
	}
	fmt.Fprintf(&b, "Faults that were put in (--json lists them):\n")
	for len(all) > 0 {
		n := 0
		for n < len(all) && all[n].Fault == all[0].Fault {
			n++
		}
		fmt.Fprintf(&b, "  %12s  %s\n", grouped(int64(n)), all[0].Fault)
		all = all[n:]
	}
	return b.String()
}

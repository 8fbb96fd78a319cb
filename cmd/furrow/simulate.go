package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/lab/simulate/fleets"
	"furrow/cmd/internal/lab/simulate/model"
	"furrow/cmd/internal/setup"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

func simulateCommand() *cli.Command {
	return &cli.Command{
		Name:  "simulate",
		Usage: "Simulate a fleet of devices",
		Description: `Enrolls and registers soil probes all over the world, a fleet of another kind, or the devices of a file. They
get tokens from the endpoint and send readings as real devices do: first their history, as fast as possible,
then live readings until Ctrl-C. At most 256 devices ask for their first token at the same time. The same --seed
gives the same devices and readings. Repeated, devices do not send again what they have sent.

With --fleet, the example configuration of that name says what the documents mean (furrow config init
--example). It has its own number of devices, cadence, history and faults, which are listed at the end.` + examples(
			"simulate --devices 1000 --history 1d --for 10m",
			"simulate --dirt some",
			"simulate --fleet bottles --for 1m",
			"simulate --replay week.csv.gz --tenant aberdeen"),
		Flags:  append(append(append(storageFlags(), masterFlags()...), simulateFlags()...), replayFlags()...),
		Action: runSimulation,
	}
}

func simulateFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "endpoint", DefaultText: "that of the directory of --storage, or " + defaultEndpoint,
			Usage: "`URL` of the token endpoint"},
		fleetFlag(),
		&cli.IntFlag{Name: "devices", Value: 100, Usage: "`NUMBER` of devices"},
		&cli.IntFlag{Name: "tenants", Value: 2, Usage: "`NUMBER` of tenants"},
		&cli.IntFlag{Name: "sensors", Value: 6, Usage: fmt.Sprintf("`NUMBER` of sensors per device, from 1 to %d",
			model.MaxSensors)},
		&cli.IntFlag{Name: "months", Value: 36, Usage: "`NUMBER` of months over which devices were deployed, more of them " +
			"in later months"},
		durationFlag("every", time.Minute, time.Second, "`DURATION` between two readings of a device"),
		withDefaultText("each reading at once", durationFlag("send-every", 0, 0,
			"`DURATION` for which devices collect readings before they send them")),
		durationFlagUpTo("history", 2*time.Hour, 0, schema.MaxBackfill-time.Hour,
			"`DURATION` of the past that is sent first; 0 for none"),
		withDefaultText("until Ctrl-C", durationFlag("for", 0, 0, "`DURATION` to run")),
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "Random seed; the same `NUMBER` gives the same fleet"},
		choiceFlag("dirt", "none", []string{"some", "much"},
			"Faults to inject: `DIRT` is some, as of a well-maintained fleet, or much"),
		jsonFlag(),
	}
}

// A simulation is a fleet and its readings, as the flags describe them.
type simulation struct {
	members  []simulate.Member
	tenants  []schema.Tenant
	backfill time.Duration // that the enrollments need
	expected int64         // number of past readings
	seed     uint64
	every    time.Duration                        // between two sendings of a device; zero: nobody knows
	wrong    int                                  // invalid lines of a file
	faults   func(until time.Time) []fleets.Fault // that --fleet has put in; nil without it
	order    sendOrder
	run      simulate.Config
}

func runSimulation(c *cli.Context) error {
	s, err := newSimulation(c)
	if err != nil {
		return err
	}
	s.run.For = durationOf(c, "for")
	if err := s.reach(c); err != nil {
		return err
	}
	d, err := openDeviceAdmin(c)
	if err != nil {
		return err
	}
	roll, err := d.enroll(c.Context, s)
	if err != nil {
		return err
	}
	s.run.Credential, s.run.Backfill = roll.credential, s.backfill
	show := newProgress(c.App.ErrWriter, 10*time.Second)
	show.Stage("registering devices", int64(len(s.members)))
	var done atomic.Int64
	var known []schema.DeviceID
	registered := func(id schema.DeviceID, o sas.Outcome) {
		show.Progress(done.Add(1), 0)
		if o != sas.Added {
			known = append(known, id)
		}
	}
	err = simulate.Register(c.Context, d.Registry, roll.enrollment, s.members, registered)
	if c.Context.Err() != nil {
		show.Say(fmt.Sprintf("stopped: %s of %s are registered, and no reading was sent", grouped(done.Load()),
			many(int64(len(s.members)), "device")))
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.skipSent(c.Context, d, known); err != nil {
		return err
	}
	show.Stage("sending readings", 0)
	s.run.OnAccepted = s.order.accepted
	s.run.Progress = show.simulation
	s.run.Log = slog.New(slog.NewTextHandler(show, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var sum simulate.Summary
	err = whileLimited(c.Context, workerMemory, func(ctx context.Context) error {
		sum, err = simulate.Run(ctx, s.run)
		return err
	})
	return s.finish(c, sum, err)
}

// skipSent has devices that were there not send again what lies between their first reading and their last.
func (s *simulation) skipSent(ctx context.Context, d *deviceAdmin, devices []schema.DeviceID) error {
	now := tables.TicksOf(time.Now())
	s.order.newest = map[schema.DeviceID]time.Time{}
	sent := map[schema.DeviceID][2]time.Time{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(simulatedReads)
	for _, id := range devices {
		g.Go(func() error {
			scope, err := d.reader().Devices().ScopeOfDevice(ctx, string(id))
			if err != nil {
				return err
			}
			first, last, err := d.reader().Rows().Before(ctx, scope.Member(), now)
			s.order.mu.Lock()
			sent[id], s.order.newest[id] = [2]time.Time{first.Time(), last.Time()}, last.Time()
			s.order.mu.Unlock()
			return err
		})
	}
	rest := func(m simulate.Member, all simulate.Stream) simulate.Stream {
		return func(yield func(simulate.Sending) bool) {
			of := sent[m.ID]
			for one := range all {
				if at := one.Reading.Time; (at.Before(of[0]) || at.After(of[1])) && !yield(one) {
					return
				}
			}
		}
	}
	sendings, resume := s.run.Sendings, s.run.Resume
	s.run.Sendings = func(m simulate.Member) simulate.Stream { return rest(m, sendings(m)) }
	if resume != nil {
		s.run.Resume = func(m simulate.Member, from time.Time) simulate.Stream { return rest(m, resume(m, from)) }
	}
	return g.Wait()
}

// simulatedReads is how many devices are looked up at a time.
const simulatedReads = 16

// newSimulation reads the flags. It sends nothing yet.
func newSimulation(c *cli.Context) (*simulation, error) {
	if c.IsSet("replay") {
		return newReplay(c)
	}
	if c.IsSet("fleet") {
		return newKindOfFleet(c)
	}
	if err := onlyWithReplay(c); err != nil {
		return nil, err
	}
	f, history, err := simulatedFleet(c)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	f.Until = now
	s := &simulation{members: f.Members(), seed: f.Seed, backfill: backfillFor(history),
		every: max(f.Every, f.SendEvery)}
	for i := range min(f.Tenants, f.Devices) {
		s.addTenant(s.members[i].Tenant)
	}
	from := now.Add(-history)
	for _, m := range s.members {
		since := from
		if m.Deployed.After(since) {
			since = m.Deployed
		}
		s.expected += int64(now.Sub(since) / f.Every)
	}
	s.run.Members, s.run.Wall = s.members, f.Wall
	s.run.Sendings = func(m simulate.Member) simulate.Stream { return f.Sendings(m, from, time.Time{}) }
	if f.Steady() {
		s.run.Resume = func(m simulate.Member, from time.Time) simulate.Stream { return f.Sendings(m, from, time.Time{}) }
	}
	return s, nil
}

// addTenant adds a tenant that is not there.
func (s *simulation) addTenant(tenant schema.Tenant) {
	if !slices.Contains(s.tenants, tenant) {
		s.tenants = append(s.tenants, tenant)
	}
}

// simulatedFleet returns the fleet that the flags describe, and the length of its history.
func simulatedFleet(c *cli.Context) (f simulate.Fleet, history time.Duration, err error) {
	f = simulate.Fleet{Seed: c.Uint64("seed"), Devices: c.Int("devices"), Tenants: c.Int("tenants"),
		Sensors: c.Int("sensors"), Months: c.Int("months")}
	if err := cmp.Or(between(c, 1, 1_000_000, "devices"), between(c, 1, 1000, "tenants"),
		between(c, 1, model.MaxSensors, "sensors"), between(c, 1, 600, "months")); err != nil {
		return f, 0, err
	}
	f.Every, f.SendEvery, history = durationOf(c, "every"), durationOf(c, "send-every"), durationOf(c, "history")
	f.Dirt = map[string]simulate.Dirt{"some": simulate.Some(), "much": simulate.Much()}[c.String("dirt")]
	return f, history, nil
}

// backfillFor returns the backfill of an enrollment whose devices send a past of that length. It leaves time for
// sending.
func backfillFor(past time.Duration) time.Duration {
	return min(max(defaultBackfill, past.Truncate(time.Hour)+25*time.Hour), schema.MaxBackfill)
}

// simulatedConnections is how many connections all devices share. While storage is slow, each device would open one of
// its own, and a large fleet as many as a process may have files.
const simulatedConnections = 1000

// reach finds the endpoint and the certificate authority to trust.
func (s *simulation) reach(c *cli.Context) (err error) {
	dir, ca := storageDirectory(c), c.String("ca")
	s.run.Endpoint = c.String("endpoint")
	if s.run.Endpoint == "" && dir != "" {
		if s.run.Endpoint, err = setup.Endpoint(dir); err != nil {
			return err
		}
	}
	s.run.Endpoint = cmp.Or(s.run.Endpoint, defaultEndpoint)
	if err := checkEndpoint(s.run.Endpoint); err != nil {
		return usagef(c, "--endpoint: %v", err)
	}
	if ca == "" && dir != "" {
		ca = setup.Authority(dir)
	}
	client, err := setup.Transport(ca)
	if err != nil {
		return usagef(c, "--ca: %v", err)
	}
	if t, ok := client.Transport.(*http.Transport); ok {
		t.IdleConnTimeout = 0 // devices reconnect after their cadence
		t.MaxConnsPerHost = simulatedConnections
	}
	s.run.Transport = client.Transport
	return nil
}

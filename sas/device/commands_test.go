package device_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/sas"
	"furrow/sas/device"
	"furrow/sas/endpoint"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/commands"
	"furrow/tables/local"
	"furrow/tables/schema"
)

// A fleet has everything that takes part in a command: storage, policies, the token endpoint and a pipeline, all in
// one synctest bubble.
type fleet struct {
	t        *testing.T
	network  network
	names    schema.Names
	client   *tables.Client
	told     commands.Table
	policies *sas.Policies
	registry sas.Registry
	key      sas.Key
}

// A network leads to the token endpoint and to tables without connections, which would leave the bubble.
type network struct {
	endpoint http.Handler
	tables   http.RoundTripper
}

const endpointHost = "endpoint.test"

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != endpointHost {
		return n.tables.RoundTrip(r)
	}
	w := httptest.NewRecorder()
	n.endpoint.ServeHTTP(w, r)
	return w.Result(), nil
}

// inFleet runs a test with a fleet in a bubble.
func inFleet(t *testing.T, test func(*testing.T, *fleet)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)))              // policies start in 2020
		hung := time.AfterFunc(2*time.Hour, func() { panic("a test waits for two hours") }) // storage's timers never rest
		defer hung.Stop()
		test(t, newFleet(t))
	})
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	const host = "localhost:1" // plain HTTP is for loopback alone; nothing dials it
	storage := must.Have(local.Open(local.Config{Dir: t.TempDir(), Memory: true}))(t)
	t.Cleanup(func() { must.Succeed(t, storage.Close()) })
	url := "http://" + host + "/" + storage.Account()
	account := must.Have(tables.ParseAccount(local.ConnectionString(storage.Account(), storage.Key(), url, url, url)))(t)
	f := &fleet{t: t, key: sas.NewKey(), network: network{tables: storage.Direct("", host, nil)}}
	through := &http.Client{Transport: &f.network}
	f.client = must.Have(tables.Connect(tables.Config{Account: account, Transport: through}))(t)
	for _, name := range append(f.names.Tables("live"), f.names.Output("latest")) {
		must.Succeed(t, f.client.Table(name).Create(t.Context()))
	}
	log := slog.New(slog.DiscardHandler)
	f.told, f.registry = commands.Of(f.client, f.names), sas.NewRegistry(f.client, f.names)
	f.policies = &sas.Policies{Client: f.client, Names: f.names, Log: log}
	n := &sas.Enrollments{Table: f.client.Table(f.names.Enrollments()), SealingKey: sas.NewSealingKey()}
	must.Have(n.Add(t.Context(), schema.Enrollment{ID: "plant1", Tenant: "acme", Readings: f.names.Readings(),
		Life: time.Hour, Backfill: time.Hour, SendEvery: time.Second, Batch: 10, Commands: true}, f.key, nil))(t)
	issuer := must.Have(sas.NewIssuer(sas.IssuerConfig{Account: account, Enrollments: n, Policies: f.policies,
		Registry: f.registry, Commands: f.told}))(t)
	f.network.endpoint = must.Have(endpoint.New(endpoint.Config{Issuer: issuer, Log: log}))(t)
	return f
}

// An obedient device keeps the commands that it was told, and does what do says.
type obedient struct {
	*device.Client
	stop func() // kills it

	mu   sync.Mutex
	told []string // IDs
}

func (o *obedient) calls() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.told...)
}

func (f *fleet) start(
	id schema.DeviceID, file string, through http.RoundTripper, do func(context.Context, device.Command) (any, error),
) *obedient {
	f.t.Helper()
	o := &obedient{}
	obey := func(ctx context.Context, c device.Command) (any, error) {
		o.mu.Lock()
		o.told = append(o.told, c.ID)
		o.mu.Unlock()
		return do(ctx, c)
	}
	if through == nil {
		through = &f.network
	}
	o.Client = must.Have(device.Open(device.Config{Endpoint: "https://" + endpointHost, Device: id, Enrollment: "plant1",
		File: file, Key: f.key.Of(string(id)).Base64(), OnCommand: obey, OnDesired: obey, PollEvery: time.Second,
		Transport: through, Log: slog.New(slog.NewTextHandler(f.t.Output(), nil))}))(f.t)
	ctx, kill := context.WithCancel(f.t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = o.Run(ctx) })
	o.stop = sync.OnceFunc(func() {
		kill()
		running.Wait()
		must.Succeed(f.t, o.Close())
	})
	f.t.Cleanup(o.stop)
	return o
}

func (f *fleet) send(id schema.DeviceID, body string, ttl time.Duration) schema.CommandID {
	f.t.Helper()
	return must.Have(f.told.Send(f.t.Context(), schema.Command{Device: id, Body: body}, ttl))(f.t).ID
}

// until waits until something is so, for half an hour at most.
func (f *fleet) until(what string, is func() bool) {
	f.t.Helper()
	for range 1800 {
		if is() {
			return
		}
		time.Sleep(time.Second)
	}
	f.t.Fatalf("not within half an hour: %s", what)
}

// becomes waits until a command has a state, while jobs run.
func (f *fleet) becomes(id schema.DeviceID, command schema.CommandID, want string) (c commands.Command) {
	f.t.Helper()
	f.until("command "+string(command)+" is "+want, func() bool {
		f.fold(id)
		got, now, err := f.told.Get(f.t.Context(), id, command)
		must.Succeed(f.t, err)
		c = got
		return c.State(now) == want
	})
	return c
}

// fold does the jobs of the pipeline for a device.
func (f *fleet) fold(id schema.DeviceID) {
	f.t.Helper()
	d, err := f.registry.Get(f.t.Context(), id)
	if errors.Is(err, tables.ErrNotFound) {
		return // it has no token yet
	}
	must.Succeed(f.t, err)
	p := &jobs.Pipeline{Name: "live", Client: f.client, Names: f.names, Hold: -time.Second, Marks: -time.Second,
		Settle: time.Nanosecond, Processors: []fold.Configured{latest.Processor.Default()}}
	at := d.Member().Place()
	must.Have(p.Run(f.t.Context(), jobs.Batch{First: at, Last: at}))(f.t)
}

func works(context.Context, device.Command) (any, error) {
	return map[string]string{"heater": "off"}, nil
}

func TestCommandIsObeyedAndItsResultIsStored(t *testing.T) {
	t.Parallel()
	inFleet(t, func(t *testing.T, f *fleet) {
		o := f.start("oven", "", nil, func(_ context.Context, c device.Command) (any, error) {
			if string(c.Body) == `"explode"` {
				return nil, errors.New("no")
			}
			return map[string]any{"did": c.Body}, nil
		})
		first, second := f.send("oven", `{"heater":"off"}`, time.Hour), f.send("oven", `"explode"`, time.Hour)
		if c := f.becomes("oven", first, schema.CommandSucceeded); c.Last().Result != `{"did":{"heater":"off"}}` ||
			len(c.Acks) != 2 || c.Acks[0].State != schema.CommandReceived {
			t.Errorf("acknowledged with %+v", c.Acks)
		}
		if c := f.becomes("oven", second, schema.CommandFailed); c.Last().Result != `"no"` {
			t.Errorf("acknowledged with %+v", c.Acks)
		}
		if told := o.calls(); len(told) != 2 || told[0] != string(first) || o.Stats().Commands != 2 {
			t.Errorf("told %v", told)
		}
		must.Succeed(t, o.Flush(t.Context()))
		if s := o.Stats(); s.Accepted+s.Stored+s.Waiting != 0 || s.Acks != (device.Acks{Accepted: 4, Stored: 4}) {
			t.Errorf("acknowledgements count as readings: %+v", s)
		}
	})
}

// TestResultThatIsNoJSONIsLeftOut: the command has succeeded, or failed, all the same.
func TestResultThatIsNoJSONIsLeftOut(t *testing.T) {
	t.Parallel()
	inFleet(t, func(t *testing.T, f *fleet) {
		f.start("oven", "", nil, func(_ context.Context, c device.Command) (any, error) {
			if string(c.Body) == `"explode"` {
				return nil, errors.New("the oven says \xff")
			}
			return map[string]any{"was": math.NaN()}, nil
		})
		first, second := f.send("oven", "1", time.Hour), f.send("oven", `"explode"`, time.Hour)
		if c := f.becomes("oven", first, schema.CommandSucceeded); c.Last().Result != "" {
			t.Errorf("acknowledged with %+v", c.Acks)
		}
		if c := f.becomes("oven", second, schema.CommandFailed); c.Last().Result != `"the oven says �"` {
			t.Errorf("acknowledged with %+v", c.Acks)
		}
	})
}

// TestKilledDeviceIsToldAgain: it is told until the pipeline knows that it obeyed, and never afterwards.
func TestKilledDeviceIsToldAgain(t *testing.T) {
	t.Parallel()
	inFleet(t, func(t *testing.T, f *fleet) {
		file := filepath.Join(t.TempDir(), "readings")
		id := f.send("oven", "1", time.Hour)
		begun := make(chan bool, 1)
		o := f.start("oven", file, nil, func(ctx context.Context, _ device.Command) (any, error) {
			begun <- true
			<-ctx.Done()
			return nil, ctx.Err()
		})
		<-begun
		o.stop()
		o = f.start("oven", file, nil, works)
		f.becomes("oven", id, schema.CommandSucceeded)
		if told := o.calls(); len(told) != 1 || told[0] != string(id) {
			t.Errorf("after it was killed it is told %v", told)
		}
		o.stop()
		o = f.start("oven", "", nil, works) // it remembers nothing
		next := f.send("oven", "2", time.Hour)
		f.becomes("oven", next, schema.CommandSucceeded)
		if told := o.calls(); len(told) != 1 || told[0] != string(next) {
			t.Errorf("after it has obeyed it is told %v", told)
		}
	})
}

// TestUnsentAcknowledgementIsRemembered: the device was cut off after it had obeyed, and is restarted.
func TestUnsentAcknowledgementIsRemembered(t *testing.T) {
	t.Parallel()
	inFleet(t, func(t *testing.T, f *fleet) {
		file := filepath.Join(t.TempDir(), "readings")
		id := f.send("oven", "1", time.Hour)
		cut := faults.Func(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost && r.URL.Host != endpointHost {
				return nil, errors.New("no network")
			}
			return f.network.RoundTrip(r)
		})
		o := f.start("oven", file, cut, works)
		f.until("it obeys", func() bool { return o.Stats().Acks.Waiting == 2 && o.Stats().Waiting == 0 })
		o.stop()
		o = f.start("oven", file, nil, works)
		f.becomes("oven", id, schema.CommandSucceeded)
		if told := o.calls(); len(told) != 0 {
			t.Errorf("it obeys again: %v", told)
		}
	})
}

// TestResultOfADeviceThatStopsIsRemembered: it stops while a function obeys, which does its work to the end.
func TestResultOfADeviceThatStopsIsRemembered(t *testing.T) {
	t.Parallel()
	inFleet(t, func(t *testing.T, f *fleet) {
		file := filepath.Join(t.TempDir(), "readings")
		id := f.send("oven", "1", time.Hour)
		begun := make(chan bool, 1)
		o := f.start("oven", file, nil, func(ctx context.Context, _ device.Command) (any, error) {
			begun <- true
			<-ctx.Done()
			return "off", nil
		})
		<-begun
		o.stop()
		o = f.start("oven", file, nil, works)
		if c := f.becomes("oven", id, schema.CommandSucceeded); c.Last().Result != `"off"` {
			t.Errorf("acknowledged with %+v", c.Acks)
		}
		if told := o.calls(); len(told) != 0 {
			t.Errorf("it obeys again: %v", told)
		}
	})
}

func TestExpiredAndCanceledCommandsAreNotObeyed(t *testing.T) {
	t.Parallel()
	inFleet(t, func(t *testing.T, f *fleet) {
		expired, canceled := f.send("oven", "1", time.Second), f.send("oven", "2", time.Hour)
		must.Have(f.told.Cancel(t.Context(), "oven", canceled, "ann"))(t)
		f.until("it expires", func() bool {
			c, now, err := f.told.Get(t.Context(), "oven", expired)
			must.Succeed(t, err)
			return c.State(now) == schema.CommandExpired
		})
		o := f.start("oven", "", nil, works)
		next := f.send("oven", "3", time.Hour)
		f.becomes("oven", next, schema.CommandSucceeded)
		if told := o.calls(); len(told) != 1 {
			t.Errorf("told %v", told)
		}
	})
}

// TestCommandSurvivesLostAnswers has answers to the device lost, of the token, of reads and of acknowledgements.
func TestCommandSurvivesLostAnswers(t *testing.T) {
	t.Parallel()
	inFleet(t, func(t *testing.T, f *fleet) {
		o := f.start("oven", "", &faults.Transport{Next: &f.network, Plan: faults.Script{0: faults.AnswerLost, 2: faults.Cut,
			4: faults.AnswerLost, 6: faults.TimedOutDone}}, works)
		var sent []schema.CommandID
		for range 3 {
			sent = append(sent, f.send("oven", "1", time.Hour))
		}
		for _, id := range sent {
			f.becomes("oven", id, schema.CommandSucceeded)
		}
		if told := o.calls(); len(told) != 3 {
			t.Errorf("told %v", told)
		}
	})
}

func TestRevokedDeviceIsToldNothingAndItsNeighbourGoesOn(t *testing.T) {
	t.Parallel()
	inFleet(t, func(t *testing.T, f *fleet) {
		neighbour := schema.DeviceID("oven")
		for n := 0; neighbour == "oven" || sas.Cohort(neighbour) != sas.Cohort("oven"); n++ {
			neighbour = schema.DeviceID("fan-" + string(rune('a'+n)))
		}
		o, other := f.start("oven", "", nil, works), f.start(neighbour, "", nil, works)
		f.becomes("oven", f.send("oven", "1", time.Hour), schema.CommandSucceeded)
		f.becomes(neighbour, f.send(neighbour, "1", time.Hour), schema.CommandSucceeded)
		d := must.Have(f.registry.Get(t.Context(), "oven"))(t)
		must.Succeed(t, f.policies.Revoke(t.Context(), d, false))
		id := f.send("oven", "2", time.Hour)
		f.becomes(neighbour, f.send(neighbour, "2", time.Hour), schema.CommandSucceeded) // with another token
		if other.Stats().Tokens != 2 {
			t.Errorf("the neighbour has got %d tokens", other.Stats().Tokens)
		}
		if c, now, _ := f.told.Get(t.Context(), "oven", id); c.State(now) != schema.CommandQueued || len(o.calls()) != 1 {
			t.Errorf("a revoked device is told %v", o.calls())
		}
		o.stop()
		must.Succeed(t, f.policies.Restore(t.Context(), d))
		f.start("oven", "", nil, works)
		f.becomes("oven", id, schema.CommandSucceeded)
	})
}

func TestDesiredConfigurationIsAppliedAfterEachStartAndChange(t *testing.T) {
	t.Parallel()
	inFleet(t, func(t *testing.T, f *fleet) {
		applied := make(chan string, 10)
		apply := func(_ context.Context, c device.Command) (any, error) {
			applied <- string(c.Body)
			return nil, nil
		}
		must.Have(f.told.SetDesired(t.Context(), "oven", "1", "ann"))(t)
		second := must.Have(f.told.SetDesired(t.Context(), "oven", "2", "ann"))(t)
		o := f.start("oven", "", nil, apply)
		if got := <-applied; got != "2" {
			t.Errorf("applied %s", got)
		}
		third := must.Have(f.told.SetDesired(t.Context(), "oven", "3", "ann"))(t)
		if got := <-applied; got != "3" || second.ID >= third.ID {
			t.Errorf("applied %s", got)
		}
		f.until("it is acknowledged", func() bool {
			f.fold("oven")
			last := must.Have(f.told.Read(t.Context(), "oven", 0))(t).Desired.Last()
			return last != nil && last.State == schema.CommandSucceeded && last.ID == third.ID
		})
		o.stop()
		f.start("oven", "", nil, apply)
		if got := <-applied; got != "3" {
			t.Errorf("after a restart it applies %s", got)
		}
	})
}

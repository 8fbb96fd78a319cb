package commands_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/commands"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A fixture is an account with a fleet.
type fixture struct {
	account azuretest.Account
	names   schema.Names
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	return fixture{azuretest.FromEnv(t), must.Have(schema.ParseNames(azuretest.Name("c")[:16]))(t)}
}

// open returns the commands of the fleet, through a transport.
func (f fixture) open(t *testing.T, through policy.Transporter) commands.Table {
	t.Helper()
	c := must.Have(tables.Connect(tables.Config{Transport: through,
		Account: tables.Account{Name: f.account.Name, Key: f.account.Key, Table: f.account.TableURL},
		Retry:   policy.RetryOptions{MaxRetries: -1}}))(t)
	return commands.Of(c, f.names)
}

func send(t *testing.T, at commands.Table, body string) schema.Command {
	t.Helper()
	return must.Have(at.Send(t.Context(), schema.Command{Device: "oven", Body: body, Who: "ann"}, time.Hour))(t)
}

// acknowledge writes what the pipeline writes of a reading.
func acknowledge(t *testing.T, at commands.Table, id schema.CommandID, state string, minute int) {
	t.Helper()
	row := schema.RowKey{Ticks: id.Sent().Add(time.Duration(minute) * time.Minute)}
	ack := schema.Ack{Device: "oven", ID: id, Row: row, State: state, Result: fmt.Sprintf("{\"minute\":%d}", minute)}
	must.Have(at.Do(t.Context(), tables.Insert(ack.Entity())))(t)
}

func read(t *testing.T, at commands.Table) commands.All {
	t.Helper()
	return must.Have(at.Read(t.Context(), "oven", 0))(t)
}

func TestNewestResultHoldsInAnyOrderOfArrival(t *testing.T) {
	at := newFixture(t).open(t, nil)
	c := send(t, at, `{"heater":"off"}`)
	state := func(want string) {
		t.Helper()
		all := read(t, at)
		if got := all.Commands[0].State(all.Now); len(all.Commands) != 1 || got != want || all.Commands[0].Body != c.Body {
			t.Fatalf("%d commands, the first is %s; want %s", len(all.Commands), got, want)
		}
	}
	state(schema.CommandQueued)
	acknowledge(t, at, c.ID, schema.CommandSucceeded, 3)
	state(schema.CommandSucceeded)
	acknowledge(t, at, c.ID, schema.CommandReceived, 2) // it comes late
	state(schema.CommandSucceeded)
	acknowledge(t, at, c.ID, schema.CommandReceived, 5) // a clock was wrong
	state(schema.CommandSucceeded)
	acknowledge(t, at, c.ID, schema.CommandFailed, 4)
	state(schema.CommandFailed)
	if last := read(t, at).Commands[0].Last(); last.Result != `{"minute":4}` {
		t.Errorf("result %s", last.Result)
	}
}

func TestCommandsAreInTheOrderInWhichTheyWereSent(t *testing.T) {
	at := newFixture(t).open(t, nil)
	for n := range 5 { // within a second, which is what storage tells of its time
		send(t, at, fmt.Sprint(n))
	}
	for n, c := range read(t, at).Commands {
		if c.Body != fmt.Sprint(n) {
			t.Errorf("command %d is %s", n, c.Body)
		}
	}
}

func TestCommandExpiresByStoragesTime(t *testing.T) {
	at := newFixture(t).open(t, nil)
	c := send(t, at, "1")
	if now := read(t, at).Now; c.Expires.Time().Sub(now.Time()).Abs() > time.Hour+time.Minute {
		t.Errorf("expires %v, and storage says %v", c.Expires.Time(), now.Time())
	}
	found := read(t, at).Commands[0]
	if got := found.State(c.Expires - 1); got != schema.CommandQueued {
		t.Errorf("before: %s", got)
	}
	if got := found.State(c.Expires); got != schema.CommandExpired {
		t.Errorf("afterwards: %s", got)
	}
	found.Acks = []schema.Ack{{State: schema.CommandReceived}}
	if got := found.State(c.Expires); got != schema.CommandReceived {
		t.Errorf("received in time: %s", got)
	}
	for _, life := range []time.Duration{0, -time.Hour, schema.MaxCommandLife + 1} {
		if _, err := at.Send(t.Context(), schema.Command{Device: "oven", Body: "1"}, life); err == nil {
			t.Errorf("it may wait for %v", life)
		}
	}
}

func TestAtMostFiftyCommandsWait(t *testing.T) {
	f := newFixture(t)
	at := f.open(t, nil)
	must.Succeed(t, at.Create(t.Context()))
	var sending sync.WaitGroup
	var mu sync.Mutex
	full := 0
	for range 3 { // who counts at the same time
		sending.Go(func() {
			for range 18 {
				_, err := at.Send(t.Context(), schema.Command{Device: "oven", Body: "1"}, time.Hour)
				mu.Lock()
				if errors.Is(err, commands.ErrFull) {
					full++
				} else if err != nil {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	all := read(t, at)
	if all.Waiting() != schema.MaxCommands || full != 4 {
		t.Fatalf("%d wait, %d were refused", all.Waiting(), full)
	}
	acknowledge(t, at, all.Commands[7].ID, schema.CommandSucceeded, 1)
	must.Have(at.Cancel(t.Context(), "oven", all.Commands[9].ID, "ann"))(t)
	for range 2 {
		send(t, at, "2") // the counter is corrected
	}
	_, err := at.Send(t.Context(), schema.Command{Device: "oven", Body: "1"}, time.Hour)
	if !errors.Is(err, commands.ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	if _, err := at.Send(t.Context(), schema.Command{Device: "fan", Body: "1"}, time.Hour); err != nil {
		t.Errorf("another device: %v", err)
	}
}

// TestLastCommandThatFitsIsSentWhoeverSendsItAgain: a job that died after it had sent it.
func TestLastCommandThatFitsIsSentWhoeverSendsItAgain(t *testing.T) {
	at := newFixture(t).open(t, nil)
	for range schema.MaxCommands - 1 {
		send(t, at, "1")
	}
	last := must.Have(at.Send(t.Context(), schema.Command{Device: "oven", Body: "2"}, time.Hour))(t)
	if err := at.Insert(t.Context(), last); err != nil {
		t.Errorf("again: %v", err)
	}
	if n := read(t, at).Waiting(); n != schema.MaxCommands {
		t.Errorf("%d wait", n)
	}
}

func TestCanceledCommandIsNotQueued(t *testing.T) {
	at := newFixture(t).open(t, nil)
	c, done := send(t, at, "1"), send(t, at, "2")
	acknowledge(t, at, done.ID, schema.CommandReceived, 0)
	for range 2 {
		got := must.Have(at.Cancel(t.Context(), "oven", c.ID, "bob"))(t)
		if got.State(read(t, at).Now) != schema.CommandCanceled || got.By != "bob" || got.Expires > got.Canceled {
			t.Errorf("canceled: %+v", got)
		}
	}
	if _, err := at.Cancel(t.Context(), "oven", done.ID, "bob"); !errors.Is(err, commands.ErrTaken) {
		t.Errorf("a received one: %v", err)
	}
	unknown := c.ID[:len(c.ID)-1] + "x"
	if unknown == c.ID { // its end is random
		unknown = c.ID[:len(c.ID)-1] + "y"
	}
	if _, err := at.Cancel(t.Context(), "oven", unknown, "bob"); !errors.Is(err, tables.ErrNotFound) {
		t.Errorf("an unknown one: %v", err)
	}
	acknowledge(t, at, c.ID, schema.CommandSucceeded, 1) // the device was faster
	if got := read(t, at).Commands[0]; got.State(0) != schema.CommandSucceeded {
		t.Errorf("obeyed all the same: %s", got.State(0))
	}
}

func TestNewestDesiredConfigurationReplacesTheOlder(t *testing.T) {
	f := newFixture(t)
	at := f.open(t, nil)
	if all := read(t, at); all.Desired != nil || len(all.Commands) != 0 {
		t.Fatalf("of nothing: %+v", all)
	}
	old := must.Have(at.SetDesired(t.Context(), "oven", `{"limit":180}`, "ann"))(t)
	acknowledge(t, at, old.ID, schema.CommandSucceeded, 0)
	must.Succeed(t, f.inserted(t, old))
	later := tables.TicksOf(time.Now().Add(time.Hour))
	if all := must.Have(at.Read(t.Context(), "oven", later))(t); all.Desired.Last() == nil {
		t.Error("the acknowledgement of an old configuration is not found")
	}
	renewed := must.Have(at.SetDesired(t.Context(), "oven", `{"limit":170}`, "bob"))(t)
	all := read(t, at)
	if all.Desired.ID != renewed.ID || all.Desired.Body != `{"limit":170}` || all.Desired.Last() != nil ||
		renewed.ID <= old.ID || len(all.Commands) != 0 || all.Waiting() != 0 {
		t.Errorf("%+v", all.Desired)
	}
	long := strings.Repeat("1", schema.MaxCommandBody+1)
	for body, want := range map[string]string{"{": "not valid JSON", long: "at most"} {
		if _, err := at.SetDesired(t.Context(), "oven", body, "ann"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.9s: %v", body, err)
		}
	}
}

// A counter is a transport that counts requests.
type counter int

func (c *counter) Do(r *http.Request) (*http.Response, error) {
	*c++
	return http.DefaultClient.Do(r)
}

// TestNoAcknowledgementsMakeAConfigurationCostMore: a device may acknowledge what nobody has sent, at any time.
func TestNoAcknowledgementsMakeAConfigurationCostMore(t *testing.T) {
	f := newFixture(t)
	var requests counter
	at := f.open(t, &requests)
	must.Have(at.SetDesired(t.Context(), "oven", `{"limit":180}`, "ann"))(t)
	before := requests
	must.Have(at.SetDesired(t.Context(), "oven", `{"limit":170}`, "ann"))(t)
	some := requests - before
	tomorrow := tables.TicksOf(time.Now().Add(24 * time.Hour))
	for range 15 {
		var ops []tables.Op
		for range tables.MaxOps {
			tomorrow++
			id := schema.NewCommandID(tomorrow, "made-up")
			ack := schema.Ack{Device: "oven", ID: id, Row: schema.RowKey{Ticks: 1}, State: schema.CommandFailed}
			ops = append(ops, tables.Insert(ack.Entity()))
		}
		must.Have(at.Submit(t.Context(), ops))(t)
	}
	before = requests
	must.Have(at.SetDesired(t.Context(), "oven", `{"limit":160}`, "ann"))(t)
	if many := requests - before; many > some {
		t.Errorf("a configuration costs %d requests, and %d with 1,500 acknowledgements", some, many)
	}
}

// inserted inserts a command with an ID that exists as a desired configuration's: the two have different rows.
func (f fixture) inserted(t *testing.T, c schema.Command) error {
	c.Desired, c.Device = false, "fan"
	return errors.Join(f.open(t, nil).Insert(t.Context(), c), f.open(t, nil).Insert(t.Context(), c))
}

// TestOneCommandWithAFaultAtAnyOperation sends, cancels and configures with every fault at every operation.
func TestOneCommandWithAFaultAtAnyOperation(t *testing.T) {
	for _, fault := range []faults.Fault{faults.AnswerLost, faults.Twice, faults.Cut, faults.ServerBusy,
		faults.TimedOutDone} {
		for n := range 8 {
			f := newFixture(t)
			clean := f.open(t, nil)
			must.Succeed(t, clean.Create(t.Context()))
			at := f.open(t, &faults.Transport{Next: http.DefaultTransport, Plan: faults.Script{n: fault}})
			sent := 0
			for sent == 0 {
				if c, err := at.Send(t.Context(), schema.Command{Device: "oven", Body: "1"}, time.Hour); err == nil {
					sent++
					if all := read(t, clean); len(all.Commands) != 1 || all.Commands[0].ID != c.ID {
						t.Errorf("%s at %d: %d commands, the first %v", fault, n, len(all.Commands), all.Commands)
					}
				} else if all := read(t, clean); len(all.Commands) != 0 && !strings.Contains(err.Error(), "is unknown") {
					t.Fatalf("%s at %d: %v, and yet it is sent", fault, n, err)
				} else if len(all.Commands) == 1 {
					break
				}
			}
			for _, err := at.SetDesired(t.Context(), "oven", "7", "ann"); err != nil; {
				_, err = at.SetDesired(t.Context(), "oven", "7", "ann")
			}
			if all := read(t, clean); all.Desired == nil || all.Desired.Body != "7" {
				t.Errorf("%s at %d: desired %+v", fault, n, all.Desired)
			}
		}
	}
}

package sas_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/commands"
	"furrow/tables/schema"
)

// withCommands gives the enrollment of the fixture commands.
func (y *fixture) withCommands(t *testing.T) commands.Table {
	t.Helper()
	names := must.Have(schema.ParseNames(azuretest.Name("told")[:12]))(t)
	told := commands.Of(y.client, names)
	y.storage.MakeTable(t, names.Commands())
	must.Succeed(t, told.SetPolicies(t.Context(),
		[]tables.StoredPolicy{{ID: y.policy, Start: time.Now().Add(-time.Hour), Permissions: "r"}}))
	config := y.issuer.IssuerConfig
	config.Commands = told
	y.issuer = must.Have(sas.NewIssuer(config))(t)
	y.enrollment.Commands = true
	return told
}

// holder returns a client that has nothing but a token.
func (y *fixture) holder(token string) *tables.Client {
	y.t.Helper()
	return must.Have(tables.Connect(tables.Config{Account: tables.Account{Name: y.storage.Name, SAS: token,
		Table: y.storage.TableURL}}))(y.t)
}

func TestTokenForCommandsReadsTheDevicesOwnAndNothingElse(t *testing.T) {
	y := newFixture(t, nil)
	if a := y.mustIssue("pump-7"); a.CommandsURL != "" {
		t.Error("a token for commands without commands")
	}
	told := y.withCommands(t)
	for _, id := range []schema.DeviceID{"pump-7", "pump-7", "pump-8"} {
		must.Have(told.Send(t.Context(), schema.Command{Device: id, Body: `{"heater":"off"}`}, time.Hour))(t)
	}
	a := y.mustIssue("pump-7")
	if a.CommandsWaiting != 2 || a.CommandsEvery != 300 ||
		a.CommandsURL != y.storage.TableURL+"/"+told.Name {
		t.Fatalf("the answer has %d waiting, %d, %s", a.CommandsWaiting, a.CommandsEvery, a.CommandsURL)
	}
	record := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
	if last := record.Tokens[len(record.Tokens)-1]; last.Commands != y.policy || record.Tokens[0].Commands != "" {
		t.Errorf("recorded are %+v", record.Tokens)
	}
	own := commands.Table{Table: y.holder(a.CommandsSAS).Table(told.Name)}
	if all := must.Have(own.Read(t.Context(), "pump-7", 0))(t); all.Waiting() != 2 {
		t.Errorf("it reads %+v", all)
	}
	if all, err := own.Read(t.Context(), "pump-8", 0); y.storage.Kind != azuretest.Azurite &&
		(err == nil && len(all.Commands) > 0) { // Azurite does not enforce ranges of keys
		t.Errorf("it reads another device's %+v", all)
	}
	if _, err := own.Send(t.Context(), schema.Command{Device: "pump-7", Body: "1"}, time.Hour); err == nil {
		t.Error("it sends commands")
	}
	if _, err := own.Table.Get(t.Context(), "pump-8", schema.CommandCounterRow); err == nil &&
		y.storage.Kind != azuretest.Azurite {
		t.Error("it reads another device's counter")
	}
	if _, err := y.holder(a.CommandsSAS).Table(y.enrollment.Readings).Get(t.Context(), "pump-7", "x"); err == nil ||
		errors.Is(err, tables.ErrNotFound) {
		t.Errorf("it reads readings: %v", err)
	}
	if _, err := y.holder(a.SAS).Table(told.Name).Get(t.Context(), "pump-7", schema.CommandCounterRow); err == nil {
		t.Error("the token for readings reads commands")
	}
	y.enrollment.Commands = false
	if b := y.mustIssue("pump-7"); b.CommandsURL+b.CommandsSAS != "" {
		t.Error("a token for commands after they were switched off")
	}
	// A revocation still has to end the one that it has.
	record = must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
	if last := record.Tokens[len(record.Tokens)-1]; last.Commands != y.policy {
		t.Errorf("the policy of its token for commands is forgotten: %+v", last)
	}
}

func TestCommandsNeedTokensThatAreRenewedDaily(t *testing.T) {
	y := newFixture(t, nil)
	n := &sas.Enrollments{Table: y.client.Table(must.Have(schema.ParseNames(azuretest.Name("e")[:12]))(t).Enrollments()),
		SealingKey: sas.NewSealingKey()}
	must.Succeed(t, n.Table.Create(t.Context()))
	e := schema.Enrollment{ID: "boots", Tenant: "contoso", Readings: "boots", Life: 48 * time.Hour, Commands: true}
	if _, err := n.Add(t.Context(), e, nil, nil); err == nil {
		t.Error("an enrollment has commands and tokens for two days")
	}
	e.Commands = false
	must.Have(n.Add(t.Context(), e, nil, nil))(t)
	on := func(e *schema.Enrollment) error { e.Commands = true; return nil }
	if _, err := n.Change(t.Context(), "boots", on); err == nil {
		t.Error("commands are switched on for tokens of two days")
	}
	must.Have(n.Change(t.Context(), "boots", func(e *schema.Enrollment) error { e.Life = time.Hour; return on(e) }))(t)
	if e = must.Have(n.Get(t.Context(), "boots"))(t); !e.Commands {
		t.Error("it has no commands")
	}
}

// A readsOf is a transport that counts the reads of a table. What an issuer reads again after some time is in others.
type readsOf struct {
	table string
	n     int
}

func (r *readsOf) Do(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet && strings.Contains(req.URL.Path, r.table) {
		r.n++
	}
	return http.DefaultClient.Do(req)
}

// TestNoAcknowledgementsMakeATokenCostMore: a device may acknowledge commands that nobody has sent, as often as it
// likes, and pipelines note each of these acknowledgements.
func TestNoAcknowledgementsMakeATokenCostMore(t *testing.T) {
	var reads readsOf
	y := newFixture(t, &reads)
	told := y.withCommands(t)
	reads.table = told.Name
	y.mustIssue("pump-7")
	now := tables.TicksOf(time.Now())
	acknowledged := 0
	cost := func(acks int) int {
		for acknowledged < acks {
			var ops []tables.Op
			for range tables.MaxOps {
				acknowledged++
				id := schema.NewCommandID(now-tables.Hour+tables.Ticks(acknowledged), "made-up")
				ack := schema.Ack{Device: "pump-7", ID: id, Row: schema.RowKey{Ticks: now}, State: "received"}
				ops = append(ops, tables.Insert(ack.Entity()))
			}
			must.Have(told.Submit(t.Context(), ops))(t)
		}
		reads.n = 0
		y.mustIssue("pump-7")
		return reads.n
	}
	if some, many := cost(3000), cost(8000); some == 0 || many > some {
		t.Errorf("a token costs %d reads with 3,000 acknowledgements, and %d with 8,000", some, many)
	}
	must.Have(told.Send(t.Context(), schema.Command{Device: "pump-7", Body: "1"}, time.Hour))(t)
	if a := y.mustIssue("pump-7"); a.CommandsWaiting == 0 {
		t.Error("a device that acknowledged much is not told that a command waits")
	}
}

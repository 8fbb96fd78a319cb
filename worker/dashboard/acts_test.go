package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/sas"
	"furrow/sas/access"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker"
)

// once returns what tells the form of a page apart from others of its kind.
func once(t testing.TB, page string) string {
	t.Helper()
	found := regexp.MustCompile(`name="once" value="(\w+)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the page has no form: %s", page)
	}
	return found[1]
}

// acts opens the page of an act, and confirms it.
func (v visitor) acts(t testing.TB, target string, fields ...string) *httptest.ResponseRecorder {
	t.Helper()
	page := v.get(target)
	if page.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", target, page.Code, page.Body)
	}
	return v.post(target, append(fields, "once", once(t, page.Body.String()))...)
}

func (g *guarded) status(t testing.TB, id schema.DeviceID) schema.Status {
	t.Helper()
	return must.Have(sas.NewRegistry(g.Client, g.Names).Get(t.Context(), id))(t).Status
}

// logged returns the acts of the last hour, the newest first.
func (g *guarded) logged(t testing.TB) (all []schema.Act) {
	t.Helper()
	log := access.NewLog(g.Client, g.Names)
	for a, err := range log.Acts(t.Context(), "", time.Now().Add(-time.Hour), time.Now().Add(time.Minute)) {
		must.Succeed(t, err)
		all = append(all, a)
	}
	return all
}

func TestRevokingFromThePageIsConfirmedDoneAndRecorded(t *testing.T) {
	g := newGuarded(t, 8, Config{Loopback: true})
	g.run(t, 8)
	v := g.signIn(t, g.add(t, "alice", schema.Operator, "contoso"))
	if page := v.get("/devices/d0000").Body.String(); !strings.Contains(page, `href="/devices/d0000/revoke"`) {
		t.Fatalf("the page of the device has no way to revoke it: %s", page)
	}
	confirm := v.get("/devices/d0000/revoke").Body.String()
	for _, want := range []string{"gets no new tokens", "0\u00a0other devices of yours need a new token",
		"Let its tokens expire"} {
		if !strings.Contains(confirm, want) {
			t.Errorf("before it is confirmed, the page does not say %q: %s", want, confirm)
		}
	}
	if g.status(t, "d0000") != schema.Active || len(g.logged(t)) > 0 {
		t.Fatal("opening the page has revoked the device")
	}
	done := v.post("/devices/d0000/revoke", "once", once(t, confirm), "how", "now")
	if done.Code != http.StatusOK || !strings.Contains(done.Body.String(), "d0000 is revoked") {
		t.Fatalf("revoking: %d %s", done.Code, done.Body)
	}
	if got := g.status(t, "d0000"); got != schema.Revoked {
		t.Errorf("the device is %s", got)
	}
	acts := g.logged(t)
	if len(acts) != 1 || acts[0].Who != "alice" || acts[0].From != "dashboard" || acts[0].What != "device revoke" ||
		acts[0].Device != "d0000" || acts[0].Tenant != "contoso" || acts[0].Outcome != "revoked" || acts[0].Failed {
		t.Errorf("the log has %+v", acts)
	}
	if page := v.get("/devices/d0000").Body.String(); !strings.Contains(page, "This device is revoked") {
		t.Errorf("its page shows it as it was before: %s", page)
	}
}

func TestFormThatIsSentTwiceActsOnce(t *testing.T) {
	g := newGuarded(t, 2, Config{Loopback: true})
	g.run(t, 2)
	v := g.signIn(t, g.add(t, "alice", schema.Operator, ""))
	form := once(t, v.get("/devices/d0000/revoke").Body.String())
	var both sync.WaitGroup
	var answers [2]*httptest.ResponseRecorder
	for i := range answers {
		both.Go(func() { answers[i] = v.post("/devices/d0000/revoke", "once", form, "how", "now") })
	}
	both.Wait()
	twice := 0
	for _, w := range answers {
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "d0000 is revoked") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		twice += strings.Count(w.Body.String(), "The form was sent twice; this was done once.")
	}
	if acts := g.logged(t); len(acts) != 1 || twice != 1 {
		t.Errorf("%d answers say that the form was sent twice, and the log has %+v", twice, acts)
	}
}

func TestSecondOperatorLearnsWhatTheFirstDid(t *testing.T) {
	g := newGuarded(t, 2, Config{Loopback: true})
	g.run(t, 2)
	alice := g.signIn(t, g.add(t, "alice", schema.Operator, ""))
	bob := g.signIn(t, g.add(t, "bob", schema.Operator, ""))
	form := once(t, bob.get("/devices/d0000/revoke").Body.String()) // open while alice acts
	alice.acts(t, "/devices/d0000/revoke", "how", "now")
	done := bob.post("/devices/d0000/revoke", "once", form, "how", "now").Body.String()
	if !strings.Contains(done, "was revoked already: nothing has changed") || !strings.Contains(done, "alice") {
		t.Errorf("bob sees %s", done)
	}
	if later := bob.get("/devices/d0000/revoke").Body.String(); !strings.Contains(later, "is revoked already") ||
		strings.Contains(later, `name="once"`) {
		t.Errorf("afterwards the page is %s", later)
	}
}

// TestMutePageShowsWhatOthersHaveMuted: whoever mutes an incident sees what of it is muted already, and nothing else.
func TestMutePageShowsWhatOthersHaveMuted(t *testing.T) {
	t.Parallel()
	a := newAlarmed(t)
	alice := a.signIn(t, a.add(t, "alice", schema.Operator, ""))
	bob := a.signIn(t, a.add(t, "bob", schema.Operator, ""))
	alice.acts(t, "/incidents/"+a.silent.ID.String()+"/mute", "how", "both", "for", "1h")
	at := "/incidents/" + a.hot.ID.String() + "/mute"
	if page := bob.get(at).Body.String(); strings.Contains(page, "alice") {
		t.Errorf("a mute of another device and rule is on the page: %s", page)
	}
	for _, how := range []string{"both", "device", "rule"} {
		alice.acts(t, at, "how", how, "for", "1h")
	}
	page := bob.get(at).Body.String()
	for _, want := range []string{"tenant contoso, rule hot, device d0000", "tenant contoso, device d0000",
		"tenant contoso, rule hot<"} {
		if !strings.Contains(page, "mute add "+want) {
			t.Errorf("%q is missing on the page: %s", want, page)
		}
	}
}

func TestRestoredDevicesGetTokensAgain(t *testing.T) {
	g := newGuarded(t, 2, Config{Loopback: true})
	g.run(t, 2)
	v := g.signIn(t, g.add(t, "alice", schema.Operator, ""))
	v.acts(t, "/devices/d0001/revoke", "how", "expiry")
	if page := v.get("/devices/d0001").Body.String(); !strings.Contains(page, `href="/devices/d0001/restore"`) {
		t.Errorf("the page of the revoked device does not offer to restore it: %s", page)
	}
	done := v.acts(t, "/devices/d0001/restore").Body.String()
	if !strings.Contains(done, "d0001 can get tokens again") || g.status(t, "d0001") != schema.Active {
		t.Errorf("the device is %s, and the page is %s", g.status(t, "d0001"), done)
	}
	if blocked := v.get("/devices/d0001/restore").Body.String(); !strings.Contains(blocked, "is not revoked") {
		t.Errorf("restoring again: %s", blocked)
	}
}

func TestHeldDeviceIsReleasedFromThePage(t *testing.T) {
	g := newGuarded(t, 2, Config{Loopback: true})
	e := tables.Entity{PartitionKey: "2026-10", RowKey: "contoso!d0000"}
	e.Set("Attempts", tables.Int64(3))
	e.Set("Held", tables.String("a row is cursed"))
	e.Set("HeldUntil", tables.DateTime(tables.TicksOf(time.Now().Add(time.Hour))))
	for _, d := range g.Devices {
		if d.ID == "d0000" {
			e.PartitionKey, e.RowKey = d.Month.String(), string(d.Member().Key())
		}
	}
	must.Have(g.Client.Table(g.Names.Partitions("live")).Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
	g.run(t, 2)
	v := g.signIn(t, g.add(t, "alice", schema.Operator, "contoso"))
	if page := v.get("/devices/d0000").Body.String(); !strings.Contains(page, `href="/devices/d0000/release"`) {
		t.Fatalf("the page of the held device does not offer to release it: %s", page)
	}
	if confirm := v.get("/devices/d0000/release").Body.String(); !strings.Contains(confirm, "a row is cursed") {
		t.Errorf("the page does not say why it is held: %s", confirm)
	}
	done := v.acts(t, "/devices/d0000/release").Body.String()
	if !strings.Contains(done, "The pipeline live tries d0000 again") {
		t.Errorf("releasing: %s", done)
	}
	if again := v.get("/devices/d0000/release").Body.String(); !strings.Contains(again, "No pipeline holds d0000") {
		t.Errorf("afterwards: %s", again)
	}
	if acts := g.logged(t); len(acts) != 1 || acts[0].What != "device release" || acts[0].Outcome != "released" {
		t.Errorf("the log has %+v", acts)
	}
}

// TestThePageSaysUntilWhenADeviceRests, and why.
func TestThePageSaysUntilWhenADeviceRests(t *testing.T) {
	g := newGuarded(t, 2, Config{Loopback: true})
	g.run(t, 2)
	v := g.signIn(t, g.add(t, "alice", schema.Viewer, "contoso"))
	tracks := g.Client.Table(g.Names.Partitions("live"))
	for _, d := range g.Devices {
		if d.ID != "d0000" {
			continue
		}
		m := d.Member()
		e := must.Have(tracks.Get(t.Context(), m.Month.String(), string(m.Key())))(t)
		claim := e.Get(schema.TrackCommitted).Text()
		rest := schema.Rest{Claim: claim, Of: 1, Expected: tables.TicksOf(time.Now().Add(time.Hour)),
			Next: tables.MaxTicks}
		change := tables.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey}
		change.Set(schema.TrackClaim, tables.String(claim))
		change.Set(schema.TrackRest, tables.String(rest.String()))
		must.Have(tracks.Do(t.Context(), tables.Merge(change, tables.AnyETag)))(t)
	}
	if page := v.get("/devices/d0000").Body.String(); !strings.Contains(page, "rests until its next reading, expected") {
		t.Errorf("the page does not say that the device rests: %s", page)
	}
	if page := v.get("/devices/d0001").Body.String(); strings.Contains(page, "rests until") {
		t.Errorf("another device rests: %s", page)
	}
}

func TestRewindShowsWhatItWouldDoFirst(t *testing.T) {
	g := newGuarded(t, 2, Config{Loopback: true})
	g.run(t, 2)
	v := g.signIn(t, g.add(t, "alice", schema.Operator, ""))
	if choose := v.get("/devices/d0000/rewind").Body.String(); !strings.Contains(choose, `type="datetime-local"`) ||
		strings.Contains(choose, `name="once"`) {
		t.Errorf("the first page is %s", choose)
	}
	if none := v.get("/devices/d0000/rewind?to=now").Body.String(); !strings.Contains(none, "nothing to fold again") {
		t.Errorf("going back to now: %s", none)
	}
	page := v.get("/devices/d0000/rewind?to=-2d").Body.String()
	to := regexp.MustCompile(`name="to" value="([^"]+)"`).FindStringSubmatch(page)
	if to == nil || !strings.Contains(page, "The pipeline live folds the readings of d0000 from") {
		t.Fatalf("before it is confirmed: %s", page)
	}
	queue := must.Have(g.c.Acts[0].Pipelines())(t)[0].Queue
	if n := must.Have(queue.Depth(t.Context()))(t); n != 0 || len(g.logged(t)) > 0 {
		t.Fatalf("the dry run has put %d messages, and logged %v", n, g.logged(t))
	}
	// A browser sends a form to the address of its page, with the query.
	done := v.post("/devices/d0000/rewind?to=-2d", "once", once(t, page), "to", to[1]).Body.String()
	if !strings.Contains(done, "The pipeline live folds the readings of d0000 from") {
		t.Errorf("rewinding: %s", done)
	}
	if n := must.Have(queue.CatchupDepth(t.Context()))(t) + must.Have(queue.Depth(t.Context()))(t); n != 1 {
		t.Errorf("%d messages are in the queues", n)
	}
	if acts := g.logged(t); len(acts) != 1 || acts[0].What != "rewind" || acts[0].Device != "d0000" ||
		acts[0].Tenant == "" {
		t.Errorf("the log has %+v", acts)
	}
}

func TestPoisonMessagesAreRedrivenFromThePage(t *testing.T) {
	g := newGuarded(t, 2, Config{Loopback: true})
	queue := must.Have(g.c.Acts[0].Pipelines())(t)[0].Queue
	for range 3 {
		must.Succeed(t, queue.Poison(t.Context(), worker.Poisoned{Text: "none", Cause: "cursed", At: time.Now()}))
	}
	g.run(t, 2)
	v := g.signIn(t, g.add(t, "alice", schema.Operator, ""))
	if page := v.get("/pipelines").Body.String(); !strings.Contains(page, `href="/pipelines/live/redrive"`) {
		t.Errorf("the page of the pipelines does not offer it: %s", page)
	}
	if confirm := v.get("/pipelines/live/redrive").Body.String(); !strings.Contains(confirm, "Cause: cursed") {
		t.Errorf("before it is confirmed: %s", confirm)
	}
	done := v.acts(t, "/pipelines/live/redrive").Body.String()
	if n := must.Have(queue.PoisonDepth(t.Context()))(t); n != 0 || !strings.Contains(done, "in the queue of live: 3.") {
		t.Errorf("%d are left: %s", n, done)
	}
	if again := v.get("/pipelines/live/redrive").Body.String(); !strings.Contains(again, "has no poison messages") {
		t.Errorf("afterwards: %s", again)
	}
	if code := v.get("/pipelines/none/redrive").Code; code != http.StatusNotFound {
		t.Errorf("an unknown pipeline: %d", code)
	}
}

// TestRolesSayWhoMayAct tries every act with every kind of visitor. Those who may not act see no way to, and are
// refused with the form of their own page, too.
func TestRolesSayWhoMayAct(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	g.run(t, 2)
	g.secrets.Store(&Secrets{Password: "correct horse battery"})
	password := g.signIn(t, "correct horse battery")
	viewer := g.signIn(t, g.add(t, "vera", schema.Viewer, ""))
	tenant := g.signIn(t, g.add(t, "theo", schema.Admin, "contoso"))
	operator := g.signIn(t, g.add(t, "olga", schema.Operator, ""))
	for _, c := range []struct {
		target                             string
		password, viewer, tenant, operator int
	}{
		{"/devices/d0000/revoke", 403, 403, 200, 200}, {"/devices/d0000/restore", 403, 403, 200, 200},
		{"/devices/d0000/release", 403, 403, 200, 200}, {"/devices/d0000/rewind", 403, 403, 403, 200},
		{"/pipelines/live/redrive", 403, 403, 404, 200}, {"/devices/d0001/revoke", 403, 403, 404, 200},
	} {
		for name, one := range map[string]struct {
			visitor
			want int
		}{"password": {password, c.password}, "viewer": {viewer, c.viewer}, "admin of a tenant": {tenant, c.tenant},
			"operator": {operator, c.operator}} {
			if w := one.get(c.target); w.Code != one.want {
				t.Errorf("%s for %s: %d, want %d", c.target, name, w.Code, one.want)
			}
			if w := one.post(c.target, "once", "x", "how", "none"); one.want != 200 && w.Code != one.want {
				t.Errorf("%s confirmed by %s: %d, want %d", c.target, name, w.Code, one.want)
			}
		}
	}
	for name, one := range map[string]visitor{"password": password, "viewer": viewer} {
		if page := one.get("/devices/d0000").Body.String(); strings.Contains(page, "/revoke") {
			t.Errorf("the %s is offered to revoke", name)
		}
	}
	if acts := g.logged(t); len(acts) > 0 && acts[0].Who != "olga" {
		t.Errorf("the log has %+v", acts)
	}
	if g.status(t, "d0000") != schema.Active {
		t.Error("a refused act was done")
	}
}

// TestActivityGoesOnBehindAnActThatCannotBeRead, and says so: a newer program wrote it.
func TestActivityGoesOnBehindAnActThatCannotBeRead(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	g.run(t, 2)
	for _, what := range []string{"device restore", "device revoke"} {
		must.Succeed(t, g.c.Activity.Do(t.Context(), schema.Act{Who: "root", What: what, Device: "d0000", Tenant: "contoso"},
			func(context.Context) (string, error) { return what + " is done", nil }))
	}
	e := must.Have(schema.Act{ID: "newer", At: tables.TicksOf(time.Now()), Tenant: "contoso"}.Entity())(t)
	e.Set("Failed", tables.String("{who: knows}"))
	must.Have(g.c.Activity.Table.Do(t.Context(), tables.Insert(e)))(t)
	for _, tenant := range []schema.Tenant{"contoso", ""} {
		who := g.signIn(t, g.add(t, "of-"+tenant.Key(), schema.Operator, tenant))
		for address, says := range map[string]string{"/v1/activity": `"unreadable":1`,
			"/activity": "1\u00a0act could not be read", "/devices/d0000/revoke": "device revoke is done"} {
			code, body, _ := who.ask(http.MethodGet, address, "")
			if code != http.StatusOK || !strings.Contains(body, says) || !strings.Contains(body, "device revoke is done") {
				t.Errorf("%s of tenant %q: %d %s", address, tenant, code, body)
			}
		}
	}
}

// TestActivityOfATenantNamesNoOther: whoever runs commands sees all tenants, and so do the errors and outcomes.
func TestActivityOfATenantNamesNoOther(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	g.run(t, 2)
	for _, act := range []struct{ what, outcome, err string }{
		{"device move", "from tenant fabrikam, at 2026-11-20T08:00:00Z", ""},
		{"device move", "", "it belongs to tenant fabrikam since 2026-11-20T08:00:00Z"},
		{"device add", "", "it belongs to tenant fabrikam, not to contoso"},
		{"device revoke", "revoked", ""},
		{"device revoke", "", "the table of fabrikam is busy"},
	} {
		what := schema.Act{Who: "root", From: "command", What: act.what, Device: "d0000", Tenant: "contoso"}
		_ = g.c.Activity.Do(t.Context(), what, func(context.Context) (string, error) {
			if act.err != "" {
				return "", errors.New(act.err)
			}
			return act.outcome, nil
		})
	}
	own := g.signIn(t, g.add(t, "alice", schema.Operator, "contoso"))
	all := g.signIn(t, g.add(t, "root", schema.Operator, ""))
	for _, address := range []string{"/v1/activity", "/activity", "/devices/d0000/revoke"} {
		body := own.get(address).Body.String()
		if strings.Contains(body, "fabrikam") || !strings.Contains(body, "revoked") {
			t.Errorf("%s of a tenant: %s", address, body)
		}
		if body := all.get(address).Body.String(); !strings.Contains(body, "the table of fabrikam is busy") {
			t.Errorf("%s of all tenants: %s", address, body)
		}
	}
}

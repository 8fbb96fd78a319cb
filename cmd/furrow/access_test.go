package main

import (
	"strings"
	"testing"
	"time"

	"furrow/sas/access"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

// TestAccessIsGivenListedReplacedAndEnded also looks at what the activity log has of it.
func TestAccessIsGivenListedReplacedAndEnded(t *testing.T) {
	f := newFixture(t)
	for line, want := range map[string]string{
		"add a": "role", "add --role=viewer": "name the NAME", "add a b --role=viewer": `"b" is one argument too many`,
		"add a --role=king":              "viewer, operator, admin",
		"add a --role=admin --tenant=..": "tenant",
		"remove":                         "name the NAME",
	} {
		f.refused(anyFailure, want, "access "+line)
	}
	token := strings.TrimSpace(f.must("access add alice@contoso.example --role=operator --tenant=contoso"))
	if len(token) < 26 {
		t.Errorf("the token is %q", token)
	}
	f.refused(exitFailed, "furrow access rotate", "access add alice@contoso.example --role=admin")
	bob := jsonOf[accessLine](t, f.must("access add bob --role=admin --json"))[0]
	if bob.Name != "bob" || bob.Role != schema.Admin || bob.Tenant != "" || bob.Token == "" || bob.By == "" {
		t.Errorf("added as %+v", bob)
	}
	list := f.must("access list --json")
	all := jsonOf[accessLine](t, list)
	if len(all) != 2 || all[0].Name != "alice@contoso.example" || all[0].Tenant != "contoso" || all[0].Token != "" ||
		strings.Contains(list, token) {
		t.Errorf("the list is %s", list)
	}
	began := time.Now()
	fresh := strings.TrimSpace(f.must("access rotate alice@contoso.example"))
	if took := time.Since(began); took < access.Pause {
		t.Errorf("the new token is printed after %v, when a dashboard may not know it", took)
	}
	if fresh == token || len(fresh) != len(token) {
		t.Errorf("the token %q becomes %q", token, fresh)
	}
	f.refused(exitFailed, `did you mean "bob"?`, "access remove bobb")
	f.must("access remove bob")
	if text := f.must("access list"); strings.Contains(text, "bob") || !strings.Contains(text, ",contoso,") {
		t.Errorf("the list is %s", text)
	}
	log := f.must("activity --json")
	if strings.Contains(log, strings.TrimPrefix(token, "furrow_")) {
		t.Error("the log has a token")
	}
	var whats []string
	for _, a := range jsonOf[answers.Act](t, log) {
		if whats = append(whats, a.What); a.Who != operator() || a.From != "command" || a.Outcome == "" || a.At.IsZero() {
			t.Errorf("the log has %+v", a)
		}
	}
	if got := strings.Join(whats, ", "); got != "access remove, access rotate, access add, access add, access add" {
		t.Errorf("the log has %s", got)
	}
	if acts := jsonOf[answers.Act](t, f.must("activity --tenant contoso --json")); len(acts) != 2 ||
		acts[0].What != "access rotate" {
		t.Errorf("of contoso it has %+v", acts)
	}
	if text := f.must("activity"); strings.Count(text, "\n") != 6 || !strings.Contains(text, "exists already") {
		t.Errorf("the log reads %s", text)
	}
	if _, errs := f.both("activity --to 2026-11-01"); !strings.Contains(errs, "no act") {
		t.Errorf("before anything was done: %s", errs)
	}
}

// TestFirstViewerIsNotedToLeaveNobodyWhoActs, until somebody can.
func TestFirstViewerIsNotedToLeaveNobodyWhoActs(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		line  string
		noted bool
	}{{"vera --role viewer", true}, {"vic --role viewer --tenant acme", true}, {"olga --role operator", false},
		{"vito --role viewer", false}} {
		if _, note := f.both("access add " + c.line); strings.Contains(note, "nobody can acknowledge") != c.noted {
			t.Errorf("access add %s: %s", c.line, note)
		}
	}
}

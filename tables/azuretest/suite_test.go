package azuretest

import (
	"os"
	"strings"
	"testing"
)

func TestKnownDifferenceMustShow(t *testing.T) {
	known := []difference[string]{differs(Azurite, "ok", "takes anything")}
	for _, c := range []struct {
		kind Kind
		got  string
		says string // part of the complaint; empty: none
	}{
		{Embedded, "400", ""},
		{Azure, "400", ""},
		{Embedded, "ok", "ok; want 400"},
		{Azure, "ok", "ok; want 400"},
		{Azurite, "ok", ""},
		{Azurite, "400", "remove the known difference of azurite (takes anything)"},
		{Azurite, "500", "500; want 400, or on azurite ok"},
	} {
		got := compare(c.kind, c.got, "400", known)
		if !strings.Contains(got, c.says) || (c.says == "") != (got == "") {
			t.Errorf("%s gave %s: complaint %q; want %q", c.kind, c.got, got, c.says)
		}
	}
}

// TestEmbedded holds our own server to every assumption.
func TestEmbedded(t *testing.T) {
	Run(t, Local(t))
}

// TestConfigured holds the account that the environment names to them.
func TestConfigured(t *testing.T) {
	if os.Getenv("FURROW_TEST_STORAGE") == "" {
		t.Skip("FURROW_TEST_STORAGE names no account")
	}
	Run(t, FromEnv(t))
}

func TestEnvironmentNamesTheAccount(t *testing.T) {
	const account = "AccountName=acct;AccountKey=a2V5;TableEndpoint=http://h:1/acct/"
	for _, c := range []struct {
		connection, kind string
		found, refused   bool
	}{
		{"", "", false, false},
		{account, "", false, true},
		{"", "azurite", false, true},
		{"https://acct.table.core.windows.net", "azure", false, true},
		{account, "azurite", true, false},
	} {
		env := map[string]string{"FURROW_TEST_STORAGE": c.connection, "FURROW_TEST_STORAGE_KIND": c.kind}
		a, found, err := fromEnv(func(name string) string { return env[name] })
		if found != c.found || (err != nil) != c.refused {
			t.Errorf("%q of kind %q: %v, %v", c.connection, c.kind, found, err)
		}
		if found && (a.Kind != Azurite || a.Name != "acct" || a.Key != "a2V5" || a.TableURL != "http://h:1/acct") {
			t.Errorf("read as %+v", a)
		}
	}
}

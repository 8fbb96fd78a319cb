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

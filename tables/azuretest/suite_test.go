package azuretest

import (
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

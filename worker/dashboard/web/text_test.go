package web

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// TestTextsAreAsInBrowsers formats the examples that text.js formats, too: a page and its script write numbers and
// ages in one way.
func TestTextsAreAsInBrowsers(t *testing.T) {
	var all []struct {
		Format, Text string
		Value        float64
	}
	must.Succeed(t, json.Unmarshal(must.Have(os.ReadFile("testdata/texts.json"))(t), &all))
	for _, one := range all {
		got := map[string]func() string{
			"number": func() string { return number(one.Value) },
			"count":  func() string { return count(one.Value) },
			"span":   func() string { return span(time.Duration(one.Value * float64(time.Second))) },
		}[one.Format]()
		if got != one.Text {
			t.Errorf("%s of %v is %q, want %q", one.Format, one.Value, got, one.Text)
		}
	}
}

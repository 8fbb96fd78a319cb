package main

import (
	"strings"
	"testing"

	"furrow/worker/answers"
)

// TestDeviceShowSaysHowFarItIsFolded by each pipeline.
func TestDeviceShowSaysHowFarItIsFolded(t *testing.T) {
	f := newFixture(t)
	f.seed(1, 90)
	f.fold()
	id := string(f.devices[0].ID)
	got := jsonOf[answers.Record](t, f.must("device show --json", id))[0].Pipelines
	if len(got) != 1 || got[0].Pipeline != "live" || got[0].Rows != 90 || got[0].BatchRows != 90 ||
		got[0].BatchSeconds <= 0 || got[0].Checkpoint != f.rows[f.devices[0].ID][89].RowKey {
		t.Errorf("it is folded as %+v", got)
	}
	want := "  pipeline live: 90 rows folded, up to row " + got[0].Checkpoint + "; the last batch had 90 rows and took "
	if text := f.must("device show", id); !strings.Contains(text, want) {
		t.Errorf("it is shown as\n%s", text)
	}
}

package archive_test

import (
	"maps"
	"strings"
	"testing"

	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestDevicesThatAreFoldedAgainGetOtherCells: where the settings of its sensors change, a device's days are marked with
// its name, and the table has all its readings as they are meant now.
func TestDevicesThatAreFoldedAgainGetOtherCells(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	maker := func(meant fold.Sensors) *archive.Tables {
		m := x.maker(t, nil)
		m.Summed = archive.Summed{}
		before := m.Source.ModelOf
		m.Source.ModelOf = func(of schema.Member) *fold.Model {
			model := *before(of)
			model.Sensors = meant
			return &model
		}
		return m
	}
	must.Succeed(t, maker(fold.Sensors{}).MakeDay(t.Context(), x.day))
	want := x.want(t)
	device := string(x.World.Devices[0])
	renamed := maker(fold.Sensors{Named: map[string]fold.Meaning{"temperature": {As: "degrees"}}})
	must.Succeed(t, renamed.MakeDay(t.Context(), x.day, x.World.Devices[0]))
	got := x.read(t)
	for id, values := range got {
		of := strings.HasPrefix(id, device+"/")
		if of && strings.Contains(values, "temperature") || !of && values != want[id] {
			t.Errorf("%s is %s", id, values)
		}
	}
	if len(got) != len(want) || maps.Equal(got, want) {
		t.Errorf("%d readings of %d", len(got), len(want))
	}
	for _, problem := range must.Have(renamed.VerifyDay(t.Context(), x.day))(t) {
		if strings.Contains(problem, device) {
			t.Error(problem)
		}
	}
}

package archive_test

import (
	"testing"

	"furrow/jobs/archive"
	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestRollupsOfFilesCountNoHeartbeat: a device sends a heartbeat with an integer that no double holds. After late rows
// of another device, its readings come from files, and rollups and reports have the same values as from storage.
func TestRollupsOfFilesCountNoHeartbeat(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	m.Source.ModelOf = func(of schema.Member) *fold.Model {
		beat := must.Have(condition.Parse("temperature == nil"))(t)
		return &fold.Model{Sensors: fold.Sensors{Heartbeat: beat}}
	}
	beat := tables.Entity{PartitionKey: string(x.World.Devices[0]), RowKey: x.day.Day.Start().String() + "-beat"}
	beat.Set("clock", tables.Int64(1<<60+1))
	jobstest.Insert(t, x.World.Connect(t, nil).Table(x.Readings), beat)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	verified(t, m, x.day)
	other := x.World.Devices[2]
	x.late(t, other, x.day.Day.Start()+1)
	must.Succeed(t, m.MakeDay(t.Context(), x.day, other))
	verified(t, m, x.day)
}

func verified(t *testing.T, m *archive.Tables, day archive.TableDay) {
	t.Helper()
	for _, problem := range must.Have(m.VerifyDay(t.Context(), day))(t) {
		t.Error(problem)
	}
}

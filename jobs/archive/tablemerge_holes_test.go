package archive_test

import (
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// counts reports partitions whose day has another number of rows than storage.
func (x *mergeFleet) counts(t testing.TB, about ...any) {
	t.Helper()
	want := map[schema.Month]int64{}
	for id := range x.want(t) {
		device, _, _ := strings.Cut(id, "/")
		month := x.parts[0].Month
		for n := range x.parts[1:] {
			if m := x.member(n + 1); string(m.Device) == device {
				month = m.Month
			}
		}
		want[month]++
	}
	for _, of := range x.parts {
		d := must.Have(x.maker(t, nil).Readings(of.Tenant).Day(t.Context(), of.Day, of.Month))(t)
		if d.Rows != want[of.Month] {
			t.Error(append(about, "partition", of.Month, "has", d.Rows, "rows, and should have", want[of.Month])...)
		}
	}
}

// erases has the device of a partition erased.
func (x *mergeFleet) erases(t testing.TB, n int) {
	t.Helper()
	x.vanishMember(t, n)
	m := x.member(n)
	must.Have(x.maker(t, nil).Erase(t.Context(), m.Month, m.Tenant, m.Device))(t)
}

// TestEachPartitionHasItsRows of a file that has several, also after an erasure.
func TestEachPartitionHasItsRows(t *testing.T) {
	t.Parallel()
	for _, summed := range []bool{false, true} {
		x := newMerge(t, 5, summed)
		x.merge(t)
		x.counts(t, "merged")
		x.erases(t, 2)
		x.counts(t, "erased")
		x.vanishMember(t, 3)
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[1]))
		x.counts(t, "made beside an erasure")
		late := x.sends(t, 1)
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[1], late))
		x.vanishMember(t, 4)
		for range 4 { // the last of them takes over
			late := x.sends(t, 1)
			must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[1], late))
		}
		x.merge(t)
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.parts[1]))
		x.counts(t, "late rows beside an erasure")
	}
}

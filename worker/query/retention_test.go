package query

import (
	"slices"
	"testing"

	"furrow/jobs/retain"
	"furrow/tables"
)

// TestAccountsKnowNoMoreTogether: the readings of no device that waits are older than a status says, however its
// devices are spread over accounts, and 0 says that nobody knows.
func TestAccountsKnowNoMoreTogether(t *testing.T) {
	waiting := func(from tables.Ticks) RetentionStatus {
		return RetentionStatus{Waiting: []WaitingDevices{{Cause: retain.CauseBehind, Devices: 1, From: from}}}
	}
	for _, test := range []struct{ a, b, want tables.Ticks }{{7, 9, 7}, {9, 7, 7}, {0, 7, 0}, {7, 0, 0}, {0, 0, 0}} {
		s := waiting(test.a)
		s.Join(waiting(test.b))
		want := WaitingDevices{Cause: retain.CauseBehind, Devices: 2, From: test.want}
		if !slices.Equal(s.Waiting, []WaitingDevices{want}) {
			t.Errorf("%d and %d: %+v", test.a, test.b, s.Waiting)
		}
	}
}

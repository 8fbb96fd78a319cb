package wire

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// Parts and the account have limits of their own, for each second.
func TestLimitsHoldForASecond(t *testing.T) {
	l, now := &Limits{}, time.Unix(1_800_000_000, 0)
	want := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	for part := range maxAccount/maxPart - 1 {
		for range maxPart / 100 {
			want("a request", l.request(now), nil)
			want("its entities", l.part(fmt.Sprint(part), 100, now), nil)
		}
		want("one more entity", l.part(fmt.Sprint(part), 1, now), ErrBusy)
	}
	for range maxPart {
		want("another request", l.request(now), nil)
	}
	want("one request more", l.request(now), ErrBusy)
	want("entities beyond those of the account", l.part("new", 2, now), ErrBusy)
	now = now.Add(time.Second)
	want("the next second", errors.Join(l.request(now), l.part("0", maxPart, now)), nil)
	var none *Limits
	want("no limits", errors.Join(none.request(now), none.part("0", maxPart+1, now)), nil)
}

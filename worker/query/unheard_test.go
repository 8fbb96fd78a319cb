package query

import (
	"testing"
	"time"
)

func TestUnheardSaysWhatToDo(t *testing.T) {
	at := time.Date(2026, 11, 29, 9, 47, 0, 0, time.UTC)
	for want, u := range map[string]Unheard{
		"an audit of 09:47 UTC found rows of 2 devices of enrollment plant1 that had no token, such as pump-7: if somebody " +
			"writes them with the account's key, they are found late, and furrow enrollment set plant1 --written-by-others " +
			"has every run look": {"plant1", "pump-7", 2, at},
		"an audit of 09:47 UTC found rows of 1 device without an enrollment that had no token, such as pump-7: if somebody " +
			"writes them with the account's key, they are found late": {"", "pump-7", 1, at},
	} {
		if got := u.String(); got != want {
			t.Errorf("%+v says\n%s\nwant\n%s", u, got, want)
		}
	}
}

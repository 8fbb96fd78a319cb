package rules

import (
	"testing"
	"time"
)

func TestNeverIsAboutTheFirstReading(t *testing.T) {
	b := newBench(t, rule("unmounted", &Never{After: 24 * time.Hour}), rule("silent", &Silence{After: time.Hour}))
	b.known.New = true
	b.run(at("0s"))
	b.run(at("25h"))
	b.want("unmounted opened 24h0m0s")
	b.run(at("30h"), sample(at("30h"), "x", 1))
	b.known.New = false
	b.run(at("30h30m"))
	b.want("unmounted opened 24h0m0s", "unmounted closed 30h0m0s")
	old := newBench(t, rule("unmounted", &Never{After: 24 * time.Hour}))
	old.known.Heard = at("-1h")
	old.run(at("0s"))
	old.run(at("90h"))
	old.want()
}

// TestSilenceBeginsWithTheLastReading although the rule is younger.
func TestSilenceBeginsWithTheLastReading(t *testing.T) {
	b := newBench(t, rule("silent", &Silence{After: 2 * time.Minute}))
	b.known.Heard = at("-12h")
	b.run(at("0s"))
	b.run(at("1m"))
	b.want("silent opened 0s (2m)")
	if since := b.all[0].Since; since != at("-12h") {
		t.Errorf("since %v", since)
	}
}

// TestSilenceThatIsWatchedAgainIsAnotherIncident, not the one that has closed.
func TestSilenceThatIsWatchedAgainIsAnotherIncident(t *testing.T) {
	silent := rule("silent", &Silence{After: time.Minute})
	b := newBench(t, silent)
	b.run(at("0s"), sample(at("0s"), "x", 1))
	b.known.Heard = at("0s")
	b.run(at("2m"))
	b.configure()
	b.run(at("3m"))
	b.configure(silent)
	b.run(at("4m"))
	b.run(at("5m"), sample(at("5m"), "x", 1))
	b.want("silent opened 1m0s (1m)", "silent closed 3m0s the rule was removed", "silent opened 4m0s (1m)",
		"silent closed 5m0s")
	if again := b.all[2]; again.ID == b.all[0].ID || again.Since != at("0s") {
		t.Errorf("the second is %s, since %v", again.ID, again.Since.Time())
	}
}

// TestDeviceIsSilentAfterThreeStatedIntervals, and never without one.
func TestDeviceIsSilentAfterThreeStatedIntervals(t *testing.T) {
	b := newBench(t, rule("silent", &Silence{}))
	b.run(at("0s"), sample(at("0s"), "x", 1))
	b.run(at("100h"))
	b.want()
	b.known.Every, b.known.Heard = time.Hour, at("100h")
	b.run(at("100h"), sample(at("100h"), "x", 1))
	b.run(at("103h"))
	b.want()
	b.run(at("103h1m"))
	b.want("silent opened 103h0m0s (3h)")
	b.known.Every = 2 * time.Hour // it is not silent by that
	b.run(at("104h"))
	b.want("silent opened 103h0m0s (3h)", "silent closed 104h0m0s the rule was changed")
}

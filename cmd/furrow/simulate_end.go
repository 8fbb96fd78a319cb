package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/lab/simulate/fleets"
)

// simulationLine is the result of a simulation in JSON.
type simulationLine struct {
	simulate.Summary
	Tenants int    `json:"tenants"`
	Seed    uint64 `json:"seed"`            // 0 for a replay
	Wrong   int    `json:"wrongLines"`      // invalid lines of a replayed file
	Error   string `json:"error,omitempty"` // why readings were not sent

	// a reading came after a newer one of its device
	OutOfOrder bool `json:"outOfOrder,omitempty"`

	Faults []fleets.Fault `json:"faults,omitempty"` // that --fleet has put in
}

// finish prints the result. Readings that could not be sent are an error.
func (s *simulation) finish(c *cli.Context, sum simulate.Summary, failed error) error {
	line := simulationLine{Summary: sum, Tenants: len(s.tenants), Seed: s.seed, Wrong: s.wrong,
		OutOfOrder: s.order.late}
	if sum.Newest != nil {
		line.Error = sum.Newest.Error()
	}
	if s.faults != nil {
		line.Faults = s.faults(time.Now())
	}
	err := printLine(c, line, line.text())
	if sum.Waiting > 0 && failed == nil {
		failed = fmt.Errorf("%s readings of %s devices were not sent", grouped(sum.Waiting), grouped(int64(sum.Behind)))
		if sum.Newest != nil {
			failed = fmt.Errorf("%w: %w", failed, sum.Newest)
		}
	}
	return errors.Join(failed, err)
}

// text formats the summary for people.
func (l simulationLine) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s, for %.0f s\n", many(int64(l.Devices), "device"), many(int64(l.Tenants), "tenant"),
		l.Seconds)
	say := func(n int64, what string) { fmt.Fprintf(&b, "  %12s  %s\n", grouped(n), what) }
	say(int64(l.Booted), "devices had a token")
	if l.Denied > 0 {
		say(int64(l.Denied), "devices were denied")
	}
	say(l.Tokens, "tokens were issued")
	say(l.Made, "readings were made")
	say(l.Stored, "of them were stored")
	for _, reason := range slices.Sorted(maps.Keys(l.SetAside)) {
		say(l.SetAside[reason], "were set aside: "+string(reason))
	}
	if l.Refused > 0 {
		say(l.Refused, "were refused as invalid by storage")
	}
	say(l.Waiting, "were not sent")
	if l.Acks > 0 {
		say(l.Acks, "acknowledgements of commands were stored besides")
	}
	b.WriteString(faultList(l.Faults))
	if l.OutOfOrder {
		b.WriteString("Some readings were sent out of order. Late ones are in no output until an audit finds them: furrow " +
			"audit run --wait\n")
	}
	return b.String()
}

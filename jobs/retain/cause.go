package retain

import (
	"cmp"

	"furrow/tables"
)

// A Wait says why rows stay that the configuration would let go.
type Wait struct {
	Until  tables.Ticks // rows from here on stay; 0: all do
	Cause  Cause        // empty: no row waits
	Reason string
}

// A Cause is the kind of reason for which rows stay that are old enough to go.
type Cause string

const (
	CauseBehind     Cause = "behind"     // a pipeline has not folded them
	CauseHeld       Cause = "held"       // a pipeline holds the device, after failures
	CauseBusy       Cause = "busy"       // a job works on the device now
	CauseRefold     Cause = "refold"     // a pipeline folds them again, or has to
	CauseMove       Cause = "move"       // a pipeline has to fold them again after a move
	CauseImport     Cause = "import"     // a pipeline has an import to fold
	CauseAudit      Cause = "audit"      // audits still look for late rows
	CauseWindow     Cause = "window"     // a window of a pipeline is open
	CauseArchive    Cause = "archive"    // the archive does not have the day, or has to make it again
	CauseUnreadable Cause = "unreadable" // a row about the device cannot be read
	CauseRetention  Cause = "retention"  // retention itself has failed, and tries again later
	CauseOpen       Cause = "open"       // an incident is open, or one of its notifications is still to be sent
	CauseDesired    Cause = "desired"    // they acknowledge the desired configuration
)

// DeviceCauses returns the causes for which a job of retention has readings stay.
func DeviceCauses() []Cause {
	return []Cause{CauseArchive, CauseAudit, CauseBehind, CauseBusy, CauseHeld, CauseImport, CauseMove, CauseRefold,
		CauseUnreadable, CauseWindow}
}

// Says says what the cause is, whatever the pipeline or the tenant.
func (c Cause) Says() string {
	return cmp.Or(map[Cause]string{
		CauseBehind:     "a pipeline has not folded them",
		CauseHeld:       "a pipeline holds the device after failures",
		CauseBusy:       "a job works on the device",
		CauseRefold:     "a pipeline has to fold them again",
		CauseMove:       "a pipeline has to fold them again after a move",
		CauseImport:     "a pipeline has an import to fold",
		CauseAudit:      "audits still look for late readings",
		CauseWindow:     "a window of a pipeline is still open",
		CauseArchive:    "the archive does not have the day and its files yet",
		CauseUnreadable: "a row about the device cannot be read",
		CauseRetention:  "retention failed, and tries again",
		CauseOpen:       "incidents are open, or their notifications are still to be sent",
		CauseDesired:    "they acknowledge the desired configuration",
	}[c], string(c))
}

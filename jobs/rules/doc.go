// Package rules watches devices by rules, and keeps their incidents.
//
// A rule names a condition on the readings of a device, of one of the Kinds, such as a threshold. When it holds, an
// incident opens; when it no longer does, the incident closes. Each of these transitions is a row of the table
// incidents that is inserted once and never changes.
//
// # Time
//
// Conditions go by the readings' own time, in the order of their rows, and each row is evaluated once. What
// happens without a row is due at a moment that the state begins with: when a condition has held long enough,
// when a count falls below its number, when a scheduled time is over. A job reads the state with the tracking
// row that it reads anyway, so an idle device costs no operation more, and a rule fires in the first run after
// its moment. A moment passes before a row that is later than it, and after a row at it, so it does not matter
// whether rows come in one job or in many.
//
// Silence is different: a device is heard when a job finds a reading, at the job's horizon, so a slow clock is
// not silence. A device is new until its first reading, and no rule but never waits for it; a revoked one is not
// waited for either. A rule that begins later goes by the last reading before it, and its incident opens when it
// begins: one that ended and began again, as by a rollback, opens another incident. Rows that an import wrote about
// a time more than an hour ago open and close nothing, and nobody was heard by them.
//
// A scheduled time is told apart by what the device's own clock shows. If that clock skips it, it comes as much
// later, and if it shows it twice, the first counts: each day has each time once. If a device changes its zone,
// its times or its pauses, what has passed by the new ones is not looked at, and what was judged by the old ones
// is not judged again.
//
// # What holds
//
// A transition is committed in the state, with the checkpoint, before its row is written: so an attempt that
// died leaves no incident. The rows are inserted afterwards, and what exists already counts as inserted. Then
// they leave the state, with a write that may fail: the next job inserts them again. An incident's ID follows
// from the rule, the device and the moment of its first opening. So with the same horizons and the same
// arrivals, incidents and transitions are equal, whatever was killed or repeated.
//
// A condition that holds again within its duration (for) after its incident closed reopens that incident, which
// has then more transitions. A late row, below the checkpoint, never reaches rules. A row that is above the
// checkpoint, and yet older than the opening that it closes, closes it with the reason "late data".
//
// Nobody is notified of what was over long ago: a transition whose moment lies more than an hour before the
// job's horizon is recorded quietly. If the incident is still open when the device's rows are folded up to the
// horizon, it is announced once.
//
// A changed rule watches from then on, and a rule that is removed, or no longer for the device, closes its
// incident with a reason. Remove the rules before the processor: without it nothing closes incidents. Refolds
// do not call rules.
//
// # Bounds
//
// The outbox of a state holds 30 transitions or a few more. When it is full, the fold leaves the other samples
// to the next job, if need be in the middle of a row, so any number of transitions fits. The rules of one
// device take at most 9 KiB, which the configuration checks. Scheduled times are looked at for 31 days.
package rules

// Package retain deletes what a policy lets go, and nothing that anybody still needs.
//
// # Why nothing is deleted that was not folded
//
// For each device, a Retainer begins with the day up to which the policy lets rows go, and lowers it (retained.stay)
// for each of these reasons. They are looked for in this order, on rows of one moment:
//
//	a job of a pipeline is at work                        its claim is open
//	it has not passed the rows                            checkpoint, and whether there is a row above it
//	it has to fold them again                             settings, spans, refold cursor, gap, imports
//	audits may still find late rows                       spans of the ledger, and rows above its floor
//	a window is open that is made of them                 Windowed.OpenFrom
//	another tenant had the device, and needs them         the same of its memberships
//	an archive does not have the day, or makes it again   marks, and the archive
//
// Then it raises the watermark to that day: first on the membership, where a new pipeline begins, then on the tracking
// row of each pipeline, on the version that it has read. If any has changed, the device is left to the next job. A job
// that has read rows and has claimed nothing yet loses its claim, and reads again; below the watermark none folds, and
// no refold or import reaches there. Only then rows go, oldest first.
//
// An example: the policy keeps 9 days, and tokens admit rows of 8. A device was silent from the 5th to the 9th. Its
// rows of the 7th arrive on the 14th, below the checkpoint. On the 17th, rows of the 7th are old enough to go. The
// ledger has no span for that day, because nobody has counted a row there; but its floor is still the 7th, as the day's
// last audit is to come, and there is a row above the floor. So the row stays. Then the audit counts the 7th, folds it,
// and moves the floor to the 9th. The next job of retention deletes the row.
//
// What goes by age alone (buckets, rejects, commands, and what tenants have as a whole) is no input of any job by then.
// Ages go by the earliest of all clocks (commit.Surely).
package retain

// Package retain deletes what a policy lets go, and nothing that anybody still needs.
//
// # Why nothing is deleted that was not folded
//
// For each device, a Retainer begins with the day up to which the policy lets rows go, and lowers it (retained.stay)
// for each of these reasons. They are looked for in this order, on rows of one moment:
//
//	a job of a pipeline is at work                        its claim is open
//	it has to fold them again                             settings, spans, imports that it does not know yet
//	a window is open that is made of them                 Windowed.OpenFrom
//	it has not passed the rows                            checkpoint, and whether there is a row above it
//	a day is not right and sealed                         coverage, with what tokens admit now
//	another tenant had the device, and needs them         the same of its memberships
//	an archive does not have the day, or makes it again   marks, and the archive
//
// Then it raises the watermark to that day: first on the membership, where a new pipeline begins, then on the tracking
// row of each pipeline, on the version that it has read. If any has changed, the device is left to the next job. A job
// that has read rows and has claimed nothing yet loses its claim, and reads again; below the watermark none folds, and
// no refold or import reaches there. Only then rows go, oldest first.
//
// Tokens may admit older rows than workers know of, while an enrollment's backfill has just been raised. So before a
// device gets such a token, its membership says so (schema.Member.Admits): a Retainer that has read it before that
// cannot raise its watermark, and a token that is issued after that begins at the watermark.
//
// An example: the policy keeps 9 days, and tokens admit rows of 8. A device was silent from the 5th to the 9th. Its
// rows of the 7th arrive on the 14th, below the checkpoint. On the 17th, rows of the 7th are old enough to go, and the
// days up to the 6th are sealed. So the rows of the 7th stay, whether or not anything has been counted there. Then the
// audit of that day counts the 7th, makes it again, and seals the days up to the 8th. The next job of retention deletes
// the rows.
//
// What goes by age alone (buckets, rejects, commands, and what tenants have as a whole) is no input of any job by then.
// Ages go by the earliest of all clocks (commit.Surely).
package retain

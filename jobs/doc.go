// Package jobs implements the jobs of a pipeline and the messages that link them. It does not know about queues:
// package worker receives and sends the messages.
//
//	master ─► a month job per partition of the fleet ─► device jobs, in batches
//	       │                                        ├─► audit jobs, in batches
//	       │                                        └─► group jobs, where there are marks
//	       └► a deliver job per target of notifications that has something to do
//
// A device job reads the rows after the checkpoint, folds them, claims its devices, writes the outputs, and commits
// checkpoint and state.
//
// Most of it is in rooms that do not know this package, nor each other but for the arrows in cmd/furrow's test of the
// architecture:
//
//	fold      what processors are made of: samples, effects, the interfaces of a fold
//	tracking  the row of a device and pipeline: checkpoint, claim, marks, ledger, coverage
//	coverage  which days are right, stale or sealed; why no row is left out
//	folding   folding rows of one device in memory
//	commit    claim, write and commit; why every row counts exactly once
//	outbox    posting what watchers said, after the commit
//	plan      cutting partitions of the fleet into batches
//	live      folding the rows after checkpoints
//	refold    audits, and folding rows below checkpoints again
//	retain    what is deleted; why nothing goes that was not folded
//	groups    what is made of many devices: reports, days of an archive
//	notify    deliveries of notifications
//
// What is left here is the configuration of a pipeline, messages, and how one follows from another.
//
// # What holds
//
// Every reading that storage accepted is folded exactly once into every output, whatever is killed, repeated, reordered
// or refused, and wherever. These rules make it so:
//
//   - A fold is pure: state and readings in, new state and effects out, without I/O or a clock. Every window adds
//     readings in the order of their rows, so the results are equal to the bit however the work was cut.
//   - Checkpoint, state, ledger and fence are one entity and are committed in one conditional write. The checkpoint
//     never moves back.
//   - A job claims a device before it writes for it. The claim raises the fence to storage's time or to one more than
//     before, whichever is higher, and every output carries it. Whoever claims later outranks all earlier writers, so
//     an attempt that died or stalled leaves nothing that lasts.
//   - A claim holds for a lease of storage's time. Other jobs pass over the device until then, and put a follow-up for
//     when the hold ends. An open claim that is taken over makes the next one hold twice as long. This only keeps jobs
//     that overlap from starving each other; fences alone make the result correct.
//   - The horizon is the time of the storage service minus the settle time, never the worker's own time. A row from the
//     future waits, and never moves a checkpoint.
//   - What nothing brings back (a row that retention deletes, a day that leaves the ledger) goes by the earliest of the
//     times of storage, of the process and of the slot, and only while runs of the hours before show that time passes.
//     A day leaves the ledger when it is sealed: an audit has counted it, and nothing can add a row to it any more.
//   - What waits until nothing more arrives (an import that writes, requests of an attempt that died) ends by the
//     earlier of storage's time and the process's.
//   - A time that a clock ahead has set (a slot, a hold, a mark's end) and that lies further in the future than such
//     times ever do counts for nothing. A checkpoint in the future by every clock is lowered to the horizon, and a
//     watermark to that of the membership, which furrow retention lower-watermarks lowers. Then all days are made
//     again. What has to be made of many devices is known by marks alone: no file says up to when it is complete.
//   - A failed request is ambiguous, whatever its error: a job reads the row back and compares before it goes on or
//     gives up.
//   - Whatever storage accepted folds or is rejected. No name, text, number or size that a device can send holds up the
//     device or its batch.
//   - An error of one device (its rows, its tracking row, a partition that does not answer) concerns that device alone.
//     It is tried alone, then held.
//   - The ledger counts, by hour of row key, the rows that the checkpoint has passed. An audit counts the rows in
//     storage, and a job that looks at a device that sends rarely counts the youngest. Where there are more, that day
//     is folded again, and every window is replaced whose new count differs from the ledger's.
//   - The coverage says which days are stale, and have to be made again: after late rows, a rewind or changed settings.
//     The first of them is worked off in portions, with states of its own, like a second checkpoint that goes through
//     what the first one has passed.
//   - Chains (devices far behind) and refolds are messages with an id that the tracking row repeats. Each link commits
//     a new id, so a message that was put twice finds another id and does nothing. A job puts the message of a mark
//     again when the mark has expired, or when its own message was received before: the worker that had it may have
//     died between its commit and its put.
//   - A device without a token rests: no job looks at it and nothing is written for it, from the commit that has folded
//     every row of its last token until the note of the next one, a change, or a time at which something is due. One
//     that states how often it sends rests until its next row is expected. See package live. Rests are an economy:
//     nothing counts on a rest to be right, as audits look above the checkpoints of devices that rest.
//   - A tenant that is far behind delays no other. Live jobs fold no row of a device with more than a page of rows that
//     are long past. Such a device waits for its turn, without a message, and a tenant has only so many turns in each
//     partition. A device that has caught up passes its turn on. In each run, the first waiting device of a tenant is
//     in a batch, whose job gives turns that were lost with a worker away again.
//   - What is made of many devices (a report, a tenant's day in an archive) is made by group jobs. A commit leaves a
//     mark in the tracking partition, in its own transaction or before it, that says what has to be made again. A group
//     job reads marks, makes what they ask for, and deletes each on the version that it read. See Grouping.
//   - An audit acts only on devices that were folded under its own settings, and no job acts on a device of a newer
//     generation of the configuration, or delivers what jobs of one have written for a target.
//   - Work is bounded in bytes as well as in rows: pages, batches, transactions, state, rejects and sensors. A fleet of
//     any size needs a fixed amount of memory.
//   - Nothing in a run scans a table, and nothing a run does grows with the age of the fleet.
//
// # Glossary
//
// Code, flags, messages and pages use these words with exactly these meanings.
//
//	device        what sends readings; it has an ID and one key
//	reading       a row of a readings table: values of one device at one time
//	sensor        a property of readings, or a nested value, whose name joins the path with _
//	tenant        the owner of devices
//	site, label   where a device is, and what else is said about it
//	enrollment    a group of devices with one key, one tenant and one policy for tokens
//	token         a SAS with which one device can add rows to its own partition
//	cohort        a quarter of a readings table's devices, which share a stored access policy
//	month         when a device was deployed, and its shard: the partition of its tracking row
//	shard         a part of a month with many devices
//	pipeline      a cadence and a list of processors, with checkpoints of its own
//	cadence       the time from one slot to the next
//	slot          a scheduled time of a pipeline
//	run           the work that was done for a slot
//	job           a unit of a run: master, month, device, audit, group or deliver
//	message       a job in a queue
//	batch         the devices that one message carries
//	lease         how long a message, or a claim of a device, belongs to one worker
//	checkpoint    the row key up to which a pipeline has folded a device
//	rest          the time for which runs need not look at a device, as its last commit says
//	awake         of a device: it may hold a token that lets it write
//	claim         the right to write for a device, taken on its tracking row before writing
//	fence         the number that ranks claims; every output carries its writer's
//	ledger        counts of the rows that the checkpoint has passed, by hour of row key
//	coverage      what the outputs of a device's days are worth
//	right         of a day: its outputs are those of the current settings, spans and imports
//	stale         of a day: it has to be folded again
//	sealed        of a day: no row can be added to it, and all that it had are in its outputs
//	audit         counting rows in storage and comparing them with the ledger
//	late row      a row that storage accepted below the checkpoint
//	refold        folding rows that the checkpoint has passed again
//	rewind        a refold that somebody asked for, from a time on
//	horizon       the time up to which a run reads rows: storage's time minus the settle time
//	settle time   how old a row must be before it is folded
//	processor     a pure fold with settings and outputs of its own, such as latest or rollup
//	fold          what a processor makes of its state and new readings
//	effect        what a fold asks to be written
//	output        what was written
//	window        a rollup's length of time, such as 1h
//	bucket        one span of a window, and the aggregates of the readings in it
//	reject        a row or value that could not be folded, and the reason
//	poison        a message that failed for good
//	held          a device that failed and is passed over for a growing time
//	model         what the properties of a kind of device mean
//	sequence      the property that numbers the readings of a device
//	gap           numbers of a sequence that no reading has
//	import        rows of the past from files, which runs fold before the newer ones
//	group         devices that are reported together: a tenant, a site, a label
//	turn          leave for a device far behind to catch up, while others of its tenant wait
//	mark          a note that something has to be made again, such as a group's bucket
//	report        the joined buckets of the devices of a group
//	rule          what to watch for in devices: a threshold, silence, a missed time of the day, and so on
//	incident      a rule that held for a device, from open to closed
//	transition    a step of an incident: opened, reopened, closed or announced
//	mute          keeps the incidents of some rules and devices quiet until a time
//	notification  a message to people or programs about an incident
//	target        where notifications go: a webhook, an Alertmanager, a queue, or people, by mail
//	delivery      a transition of an incident that one target is to be told
//	command       what an operator asks a device to do
//	access        who may look or act: a name, a role and a token
//	activity      the log of who did what
package jobs

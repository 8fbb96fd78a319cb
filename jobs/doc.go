// Package jobs implements the jobs of a pipeline and the messages that link them.
// It does not know about queues: package worker receives and sends the messages.
//
//	master ─► a month job per partition of the fleet ─► device jobs, in batches
//	                                                └─► audit jobs, in batches
//
// A device job reads the rows after the checkpoint, folds them, claims its devices,
// writes the outputs, and commits checkpoint and state. These rules hold:
//
//   - A job claims a device before it writes for it. The claim raises the fence that
//     every output carries; whoever claims later outranks all that wrote before, so
//     an attempt that died, or slept, leaves nothing that lasts.
//   - A claim holds for a lease of storage's time. Other jobs pass over the device
//     until then, and put a follow-up for when the hold ends. An open claim that is
//     taken over makes the next one hold twice as long. This is a courtesy, without
//     which jobs that overlap would starve each other; fences alone make it correct.
//   - What is wrong with one device (its rows, its tracking row, a partition that
//     does not answer) is the error of that device. It is tried alone, then held.
//   - The ledger counts, by hour of row key, the rows that the checkpoint has passed.
//     An audit counts what storage has; where that is more, the day is folded again,
//     and every window is replaced in which the new count differs from the ledger's.
//   - The refold cursor says what is to be folded again: after late rows, a rewind or
//     changed settings. It is worked off in portions, with states of its own, like a
//     second checkpoint that goes through what the first one has passed.
//   - Chains (devices far behind) and refolds are messages with an id that the
//     tracking row repeats. Each link commits a new id, so a message that was put
//     twice finds another one and does nothing. The message of a mark is put again when
//     the mark has expired, and by a job whose message was got before: the worker that
//     had it may have died between its commit and its put.
//   - An audit acts only on devices that were folded under its own settings, and no
//     job acts on a device of a newer generation of the configuration.
package jobs

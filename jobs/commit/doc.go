// Package commit writes what jobs have made of devices, so that each row is in every output exactly once. It knows
// nothing of folding: a Change has a tracking row as it should become, outputs, rejects and acknowledgements.
//
// # Why every row counts exactly once
//
// An Attempt does, in this order and for all its devices at once:
//
//	claim    merge fence and claim into the tracking row, on the version that the job has read
//	write    rejects, acknowledgements, outputs, objects; each output carries the fence
//	commit   merge checkpoint, states, ledger and coverage into the tracking row, while it has the claim
//
// So these hold:
//
//   - Of two attempts that have read the same version, one claims. The other's claim is refused, and whoever reads
//     later reads what the first has committed.
//   - After a later claim, no commit of an earlier one is possible. So checkpoint, states and ledger come from one line
//     of attempts, and each began with what the one before had committed. No row is in the states twice, and none is
//     left out: the checkpoint is its key.
//   - Fences grow with every claim. Output for output, an attempt replaces what has a lower fence, takes what has its
//     own for its own write whose answer was lost, and gives the device up where the fence is higher (Overtaken). What
//     an attempt has left without a commit is replaced by the next: that one starts from the same row, and makes the
//     same outputs, or those of more rows.
//   - A lost answer, a conflict and an error of storage are alike: the rows are read, each is compared, and the rest
//     is written again. Nothing counts as written that was not seen.
//
// An example: the checkpoint is row 10, and the hour has a sum of 10 readings. Attempt A reads rows 11 to 14, claims
// with fence 501, writes the hour with 14 readings, and stalls. Its hold ends. Attempt B reads the tracking row, still
// at 10, and rows 11 to 15; it claims with fence 502, finds the hour with fence 501, replaces it by one of 15 readings,
// and commits checkpoint 15. A wakes up: its commit is refused, because the row has B's claim. Had A sent the hour only
// then, it would have found fence 502, and given the device up.
//
// What this does not cover: a request of A that is still under way when B has committed may insert an output that B,
// under other settings, has no reason to write. An attempt ends half an hour after it began, and storage refuses
// requests that were signed a quarter of an hour ago, so after an hour none arrives any more (Landed). The fence of the
// last such attempt is tracking.Row.Uncut, as far as claims have shown one. B folds rows up to there with a look at the
// outputs that they may have; and where less than an hour has passed since, its days are made again once more, as
// package coverage says.
package commit

// Package coverage says, for each day of a device, what the outputs that a pipeline has made of it are worth. There is
// no I/O here, and no row: nothing but days and what happened to them.
//
// A day is right or stale, and beside that sealed or not:
//
//	right    its outputs are those of the current settings, spans and imports; unless it is sealed, the ledger counts
//	         the rows that they were made of
//	stale    it has to be made again, for the reasons that it has
//	sealed   nothing can add a row to it any more, and when it was sealed, every row that it had was in its outputs
//
// A sealed day may become stale, after new settings or an import. Made again, it needs no ledger: whoever makes it
// reads all of its rows, and there will be no others.
//
// # Why no row is left out, and none deleted before it was folded
//
// A row gets into the outputs in one of three ways. A live job folds it, because it lies above the checkpoint. Or an
// audit counts more rows in storage than the ledger has, and folds the day again. Or something makes the day stale.
// So a row can only be missed if it comes into a day that has left the ledger and is right. A day leaves the ledger
// only when it is sealed, and these rules hold for that:
//
//   - An audit seals. It has counted the day after no living token admitted a row of it, found what the ledger has, or
//     made the day again.
//   - A stale day is not sealed: whoever makes it again may find rows that nobody has counted. Nor is one of an import
//     that the pipeline does not know yet.
//   - A seal is worth what its audit knew (Known): when that was, and how old a row tokens admitted then. If tokens
//     admit older rows now, then the days that they could reach since are no longer sealed (Admit), and are stale,
//     because their counts are gone. Nobody writes anything to break a seal: whoever reads compares.
//   - If a live job folds a row of a sealed day after all, because a clock was wrong, the day is open again, and stale.
//
// So a day that is right and sealed has all of its rows in the outputs, and will have no others. Retention deletes rows
// of such days alone (Open). It raises the watermark to the first other day, and below the watermark nothing becomes
// stale.
//
// An example, with tokens that admit rows of 8 days. The checkpoint is on the 20th, and the 1st to the 11th are sealed.
//
//	day     1    ...   11 | 12        13        14    ...    20
//	        sealed        | right     stale     right        right
//	ledger  nothing       | 96 rows   40 rows   96 rows ...
//
// A device was silent on the 12th, and has stored 5 rows of that day on the 19th. On the 21st, tokens admit rows from
// the 13th on. The audit counts the 12th: 101 rows, and the ledger has 96. It makes the day again, and then seals it.
// The 13th is stale, since an import added rows to it, and is passed over: it is sealed when it was made again, by a
// later audit. On the 22nd somebody lets tokens admit rows of 10 days. The seal of the 12th is of the 21st, when they
// admitted 8: 21 - 10 = 11, so days up to the 10th stay sealed, and the 11th and 12th are stale, as rows may come there
// again. Retention keeps rows from the 11th on.
//
// # Attempts under other settings
//
// A request of an attempt that was overtaken may arrive late. It can do no harm as long as all attempts make the same
// outputs of the same rows: later ones have replaced them, with a higher fence. Under other settings or spans they may
// be outputs that nobody would look at again. So where such an attempt may still be on its way, its days are made again
// a second time, when it can no longer arrive (Repeat).
package coverage

// Package made counts what a device has made, by day, as far as the numbers of its stored rows tell. It reads nothing:
// a Counter is given the row keys of a span of time, in order.
//
// A number is part of the row key (see schema.RowKey.Number), or else the value of a property that the device's model
// names. A number in a key belongs to a boot, in which the first reading has number 1. A number in a property counts
// on through restarts, or begins again.
//
// # What is known
//
// Within a boot, every number below another that is stored was given to a reading: it was made. If no row has it, the
// device could not store the reading, or the row was deleted. Rows may come in any order, late, and with the times of
// several boots mixed: numbers are compared within their boot, and a row counts for the day of its key. A missing
// number counts for the day of the next number of its boot that is there.
//
// # What cannot be known
//
//   - The end of a boot. If the last readings of a boot were lost, with its memory, no number shows how many. A boot
//     without a single stored row does not show at all, nor do readings that a device's buffer still holds.
//   - The beginning of the first boot of the span, because its earlier readings may lie before the span. It counts from
//     its lowest number on. So do all numbers in properties.
//   - Readings whose times lie outside the span, of a device that gives its readings times of its own. The span has no
//     row with their numbers, so they count as missing.
//   - Why a number is missing. The device may have set the reading aside because no token admitted its time, because
//     its time was unknown, because storage refused it, or because its buffer was full.
//   - Whether a number in a property that falls is a restart. It is taken for a wrap where a counter of 16 or 32 bits
//     has reached its end and at most 1,000 numbers are missing there, for a reading out of order where it is less than
//     16 below the newest, and for a restart otherwise.
//   - Rows without a number say nothing about what was made. They are counted apart.
//
// # Bounds
//
// A Counter holds at most 400 days with rows, and 4,096 stretches of successive numbers. Beyond that it counts the
// gaps of the oldest days and boots as they are. A row that would have filled one then counts as repeated, and a boot
// that goes on as a new one. Days for which this may have happened because there were too many stretches are marked
// Unsure.
package made

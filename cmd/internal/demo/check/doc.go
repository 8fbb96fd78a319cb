// Package check verifies a fleet: every reading that storage acknowledged to a device is stored, and the
// outputs hold every stored reading exactly once.
//
// It reads rows over the public protocol and computes by itself what the outputs should say, with plain maps
// and sums. It shares the keys of tables with the rest of the program (package schema), and no code that
// folds, merges or counts. So it is slow, and holds the readings of one tenant's devices of a month in memory.
//
// It knows the default meaning of values, without configured sensors or quality, and devices with fewer
// sensors than the most that are kept.
package check

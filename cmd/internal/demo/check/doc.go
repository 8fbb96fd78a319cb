// Package check tells whether what a fleet's devices were told is stored, and
// whether what is stored is in the outputs, once.
//
// It reads the raw readings and the outputs over the public protocol, and works out
// by itself what the outputs have to say: with plain maps and sums, none of the code
// that folds, and no counter that anybody has kept. So it is slow, and holds the
// readings of a tenant's month of devices in memory.
//
// It knows the default meaning of values, with no sensor configured and no quality,
// and devices with fewer sensors than are kept at most.
package check

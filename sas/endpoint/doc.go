// Package endpoint gives devices their tokens over HTTPS: the routes, the limits
// that keep it standing when a whole fleet boots at once, and the server.
//
// A request for a token passes, in this order, what costs little and what costs
// much: its id, its proof, the device's allowance, the allowance of all, its body,
// and a place among those that use storage. So whoever has no key takes nothing
// from those who have, and one device that asks without end takes its own
// allowance, and no other's.
//
// Requests that Go's server cannot read as HTTP it answers by itself, with 400 or
// 431 in plain text; all other errors are problem documents (RFC 9457).
package endpoint

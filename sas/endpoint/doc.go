// Package endpoint serves tokens to devices over HTTPS. It contains the routes, the limits
// that keep the endpoint available when a whole fleet boots at once, and the server.
//
// A token request passes its checks in order of cost: the ID, the proof, the rate limits of
// the device, of its enrollment and of all devices, the body, and a slot to use storage. A
// client without a key therefore uses up no device's allowance, a device that never stops
// asking uses up only its own, and whoever has an enrollment's key only the enrollment's.
//
// Go's server itself answers requests that are not valid HTTP, with 400 or 431 in plain
// text. All other errors are problem documents (RFC 9457).
package endpoint

// Package azuretest is a suite of the assumptions that Furrow makes about Azure
// Storage. It checks them through the Go SDKs, always against the embedded server,
// and against Azurite or a real account if FURROW_TEST_STORAGE names one.
//
// Each assumption is one method, and its comment states it. Where Azurite is known to
// differ, the assumption states the difference, and fails if it disappears.
package azuretest

// Package azuretest is one suite of what Furrow takes for granted about Azure
// Storage, checked through the Go SDKs: against the embedded server always,
// against Azurite and real accounts when FURROW_TEST_STORAGE names one.
//
// Each assumption is one function, whose comment says what was unclear and
// what is so. Where Azurite is known to differ, the assumption says how, and
// fails when the difference goes.
package azuretest

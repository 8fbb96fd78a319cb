// Package sas says how devices may write: it signs the tokens that let a device
// add rows to its own partition of a table, and do nothing else.
//
// The signer is ours because aztables signs a token's key ranges but leaves
// them out of the URL, so that every token of its making that has one is refused.
package sas

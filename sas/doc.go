// Package sas decides which devices may write and issues their tokens. A token is a shared
// access signature (SAS) of Azure Table Storage that lets a device add rows to its own
// partition of a readings table, and nothing else.
//
// A device proves its identity with a key derived from its enrollment's key (Key, Proof). An
// Issuer checks the proof against the Enrollments, registers the device in the Registry, and
// signs a token (Grant) that refers to a stored access policy of the table. Policies replaces
// that policy when a device is revoked.
//
// The package has its own signer because aztables includes key ranges in the signature but
// leaves them out of the URL, so that storage refuses every such token.
package sas

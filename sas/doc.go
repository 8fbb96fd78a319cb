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
//
// # Keys
//
// An enrollment has a primary and a secondary key, so that keys can be rotated. A device's key
// is base64(HMAC-SHA256(enrollment key, device ID)), as in Azure's Device Provisioning Service,
// and is stored nowhere. The enrollments' keys are stored sealed with a key that never goes to
// storage, so whoever can read storage cannot pose as a device.
//
// # Tokens
//
// A token can add rows and do nothing else, over https only except on loopback. Its start and
// end partition key are both the device. Its row keys lie between the backfill allowance and
// the expiry, so a device with a wrong clock cannot write into next year.
//
// # Revocation
//
// A readings table has at most five stored access policies. Its devices hash into four cohorts
// with a policy each, and the fifth policy is a spare that is already in force. A revocation
// moves the device's cohort to the spare: its other devices need one new token, and no other
// cohort notices. Azure enforces the change within 30 s. An enrollment whose tokens live longer
// than a day has a readings table of its own. Policies documents the steps, and why no token
// of a revoked device outlives them.
package sas

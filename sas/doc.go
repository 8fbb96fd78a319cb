// Package sas decides which devices may write, and issues their tokens.
//
// Devices write straight into Azure Table Storage, with nothing of ours in between. A token is
// therefore all that limits a device: a shared access signature (SAS) with which the device can add
// rows to its own partition of a readings table, and do nothing else.
//
// A device proves its identity with its key (Key, Proof). An Issuer checks the proof against
// the Enrollments, registers the device in the Registry, and signs a token (Grant). Policies ends
// the tokens of a device that is revoked. Example shows all of this in 50 lines.
//
// # Keys
//
// An enrollment is a group of devices with one key, one tenant, and one policy for tokens. A
// device's key is base64(HMAC-SHA256(enrollment key, device ID)), as in Azure's Device Provisioning
// Service, so existing tools and firmware can be used. It is stored nowhere: the endpoint derives
// it again for each proof. A stolen device reveals its own key and no other. Whoever has an
// enrollment's key can pose as any of its devices.
//
// An enrollment has a primary and a secondary key, so that keys can be rotated while devices
// still have the old one. Both are stored sealed with a key that never goes to storage
// (SealingKey, the master key), so whoever can read storage cannot pose as a device. A SealingKey can
// know those that it replaces, and Reseal ends the need for them.
//
// Whoever can write the table of enrollments could put back sealed keys that were rotated because
// they leaked. Sealed keys therefore carry a counter. A row with an older key beside a newer one is
// refused, and so is a whole older row by every endpoint that has seen a newer one (ErrOldKey). An
// endpoint that starts later accepts it, as it accepts a restored backup: it has nothing to compare
// with. The counter protects keys alone: such a writer can also enable an enrollment, or change its
// policy. Only the endpoint and administrators should be able to write that table.
//
// Tokens are signed with the storage account's key. Whoever has that key can do anything. Only the
// endpoint needs it; other processes can sign in to storage without it.
//
// # Tokens
//
//   - A token can add rows, but not read, change or delete them: a stolen token reveals nothing
//     and destroys nothing.
//   - Its start and end partition key are both the device, so it cannot write another device's
//     rows.
//   - Its row keys lie between the backfill allowance before now and the expiry, so a device with
//     a wrong clock cannot write into next year.
//   - It works over https only, except on loopback, because whoever reads it can use it.
//   - It lives for an hour by default, so it does not stay useful to a thief for long.
//   - It names a stored access policy of the table, because a signature by itself cannot be
//     withdrawn.
//
// The package has its own signer because aztables includes key ranges in the signature but
// leaves them out of the URL, so that storage refuses every such token.
//
// # Revocation
//
// Replacing a stored access policy ends all tokens that name it. Azure allows five policies in a
// table, so devices cannot have one each. The devices of a readings table hash into four cohorts
// with a policy each, and the fifth policy is a spare that is already in force. A revocation marks
// the device as revoked, so that it gets no new token, and moves its cohort to the spare: the
// cohort's other devices need one new token, and no other cohort notices. Azure enforces the change
// within 30 s, embedded storage at once. What storage had accepted before stays and is folded.
//
// Devices whose tokens live longer than a day may not ask for another one for weeks, and a
// revocation would lock them out until then. Their enrollment has a readings table of its own.
//
// A leaked enrollment key needs more: the enrollment is disabled, and EndTokens moves every cohort
// in which it has tokens. Endpoints use enrollments that they read up to 10 s ago, or 5 minutes while
// they cannot read them; but once they see a revocation in a readings table, they read enrollments
// again before they issue another token for it.
//
// Policies documents the steps of a revocation, and why no token of a revoked device outlives them.
package sas

// Package local serves the Table, Queue and Blob services' REST protocols from
// a directory, so that the SDKs that run on Azure run on one machine. Every
// acknowledged write is on disk, and a query reads only the keys that it names.
// It is known by its protocol alone: programs reach it through an SDK.
//
// # What is kept where
//
// The directory holds a Pebble database in db, with everything but large blob
// contents, which are files in blobs; and the account's key in account.key. One
// process at a time can have it open.
//
// # What is not served
//
// It is refused with 501 NotImplemented, by name: account SAS and user delegation
// SAS; Microsoft Entra (Bearer) tokens and anonymous reading; the services'
// properties and statistics; CORS; append and page blobs; leases, snapshots,
// versions, tags, tiers, copies, batches and queries of blobs; contents put from
// a URL; encryption by a client's key; structured (checksummed) bodies; functions
// in $filter; $metadata and the service document of tables. Atom is refused with
// 415, as Azure does today.
//
// # Where it differs from Azure
//
// In favour of tests and small machines:
//   - A table, queue or container that was deleted can be made again at once.
//     Azure answers 409 (TableBeingDeleted …) for half a minute or more.
//   - A change of stored access policies holds from its answer on. Azure takes up
//     to 30 s.
//   - There is no throttling: no 503 ServerBusy, no limit on requests a second.
//   - A page of rows ends at 1,000 rows, near 4 MiB, or after 5 s. Azure also
//     ends pages where a partition moves to another server, even empty ones.
//   - Any version that looks like one is accepted in x-ms-version, and answered
//     in the way of the newest.
//   - Blocks that are never committed end after a week, but only when the
//     directory is opened.
//   - There is one copy: no secondary endpoint, no geo-replication.
//
// Where Azure's documents leave it open, or it could not be done alike:
//   - Numbers in a $filter compare by value, whatever their types; on Azure an
//     Int64 needs its L. A property that is absent, or of another type than the
//     literal, satisfies no comparison, ne included.
//   - A $filter has at most 15 comparisons, as documented; Azure may take more.
//   - Keys are ordered by Unicode code point, which for characters beyond U+FFFF
//     is not the order of their UTF-16.
//   - The times of a SAS are held to the second by this machine's clock; the
//     15 minutes of grace that Azure gives are given to the date of a request.
//   - Names of metadata are lower-cased, since HTTP's are read without case.
//   - A read can see a write whose acknowledgement still waits for the disk. What
//     is written after such a read is never on disk without it.
//   - A stale pop receipt is PopReceiptMismatch (400) while its message exists,
//     and MessageNotFound (404) when it does not; Azure is seen to answer either.
//   - The body of an update may name keys; those of the URL hold.
package local

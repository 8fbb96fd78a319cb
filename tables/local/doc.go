// Package local serves the REST protocols of Azure's Table, Queue and Blob
// services from a directory, so that programs and tests that use the Azure SDKs
// run on one machine. Every acknowledged write is on disk, and a query reads only
// the keys that it names. Programs reach it through an SDK: Start gives the URLs,
// the account and the key. Within the process that serves it, Direct saves the connection.
//
// # Directory
//
// The directory contains a Pebble database in db, with everything except the
// contents of large blobs, which are files in blobs; the account's key in
// account.key; and the number of its format in format. One process at a time can
// have it open.
//
// # Backup and inspection
//
// GET of the Blob service with comp=backup, signed with the account's key, answers with a tar archive: a copy of the
// directory as it is then, which a server can open. With comp=inspection, it answers with what the directory has and
// what is wrong with it, as JSON. Azure has no such requests. See FetchBackup and FetchInspection.
//
// # What is not served
//
// These requests are refused with 501 NotImplemented and a message that names the
// operation: user delegation SAS of blobs; Microsoft Entra (Bearer) tokens and anonymous reads;
// the secondary endpoint, except for its statistics; page blobs, and sealing append
// blobs; static websites and soft delete; leases, snapshots, versions, tags, tiers and
// queries of blobs; copies from other accounts, and blobs and blocks copied from a URL;
// customer-provided encryption keys; structured (checksummed) bodies; functions in
// $filter; $metadata and the service document of tables. Atom is refused with 415, as
// Azure does today.
//
// # Bounds
//
// A server has 4,096 connections, 1,024 from one address (a /64 of IPv6), and 2,048 from
// a /48. Beyond that, the one that has been without a request for the longest time is
// closed. A head has up to 64 KiB in 256 lines, and 30 s to arrive, and all heads together
// 32 MiB of memory: beyond that, the connection with the largest is closed. A body has 30 s,
// and 30 s more for each 256 KiB. What is written of an answer has a minute to be read.
// Bodies in memory take up to 64 MiB, those of SAS 48 MiB, those of one partition's SAS
// half of that, and those of partitions that begin alike, up to a colon, three quarters, as
// do those of all partitions without a colon: beyond that the answer is 503 ServerBusy with
// Retry-After. Each partition has 5 MiB as long as there is any room. Bodies of more than
// 64 KiB leave a quarter to smaller ones. A body of a row takes up to twice what has come of
// it, and 4 KiB before. Where there is no room for another, the slowest of the last two
// seconds ends with 408 RequestTimeout.
// 503 ServerBusy is also the answer where a SAS writes more than 2,000 entities to one partition
// in a second, or more than 2 MiB in more than one request.
//
// Part of the disk stays free: an eighth, but at least 16 MiB and at most 64 MiB, and as much
// again that only the account key may use. Beyond that, what grows is refused with 507
// InsufficientStorage, which Azure does not have. Reading, deleting, and opening the
// directory still work, and writes go on when there is room. Where other programs have
// filled the disk, a file that was kept in reserve is removed, and the account key may use
// half of its space. All answers have the header X-Furrow-Disk-Full while a SAS is refused.
//
// # Differences from Azure
//
// These make tests and small machines easier:
//   - A deleted table, queue or container can be created again at once. Azure
//     answers 409 (TableBeingDeleted …) for half a minute or more.
//   - A change of stored access policies is in force when it is answered. On Azure
//     it takes up to 30 s.
//   - The account key may send any number of requests per second, unless Config.AzureLimits rehearses Azure's
//     targets: 20,000 entities, messages and other requests, 2,000 entities of a partition, and 2,000 messages of a
//     queue. Beyond one, requests are refused with 503 ServerBusy and Retry-After for the rest of the second. A query
//     counts as one request. Azure measures in other ways, and over longer times.
//   - A page of rows ends after 1,000 rows, near 4 MiB, or after 5 s. Azure also
//     ends pages, even empty ones, where a partition moves to another server.
//   - x-ms-version may be any date. The behavior is that of the newest version.
//   - Uncommitted blocks are removed after a week, but only when the directory is
//     opened.
//   - There is one copy of the data. The statistics of the secondary endpoint, at the account's name with -secondary,
//     say that it is unavailable.
//   - Properties of a service are in force when their change is answered. Nothing is logged or measured, whatever
//     they say, and the version of requests without x-ms-version stays the newest.
//
// One makes the server simpler:
//   - Names of metadata are kept in lower case. Azure keeps their capital letters.
//
// Azure's documentation leaves these open, or they cannot be done the same way:
//   - Numbers in a $filter are compared by value, whatever their types; on Azure an
//     Int64 needs its suffix L. A property that is absent, or has another type than
//     the literal, satisfies no comparison, not even ne.
//   - A $filter has at most 15 comparisons, as documented; Azure may accept more.
//   - Keys are ordered by Unicode code point. For characters beyond U+FFFF this
//     differs from the order of their UTF-16 code units.
//   - The start and expiry of a SAS are checked to the second against this machine's
//     clock. The date of a signed request may differ from it by 15 minutes, as on Azure.
//   - A read can return a write that is not acknowledged yet because it waits for the
//     disk. Whatever is written after such a read is never on disk without that write.
//   - A stale pop receipt is PopReceiptMismatch (400) while the message exists and
//     MessageNotFound (404) afterwards; Azure has been seen to answer either.
//   - If the body of an update names keys, those in the URL are used.
package local

// Package backup writes backups of a storage directory, and restores them. A backup is a directory with a copy of each
// file and a manifest of their hashes, which is written last: without it, a backup is not complete.
package backup

// Package model keeps what the pages of a fleet show, and reads of storage what
// they need and no more.
//
// What a map and a list show of every device (who it is, where, and its newest
// values) is in memory, in an index that all pages share. Its records are read
// once, when somebody first looks, in the background. Its newest values are read only while
// somebody watches, and of the partitions of latest only those whose month the
// figures of the runs say something was folded of since: of these, the rows that
// storage has written since.
//
// All else (a device's page, its charts, pipelines, tenants) is read when it is
// asked for: a bounded number of ranges of keys, whatever the size of the fleet,
// by one request for all who ask within a few seconds.
package model

// Package model reads a fleet from storage for the API and the pages, and keeps what they need.
//
// A Store has a part for each subject, such as Incidents or Costs. Every part has the caches of its own answers, and
// shares the Accounts, where rows are read from.
//
// The index keeps a few values of every device in memory for the map and the lists: who it is, where it is,
// and its newest values. It is filled when the dashboard is first used. While somebody uses it, the poller
// reads the figures of runs, and then only those partitions of latest that the figures say have changed,
// and of these only the rows that storage has written since.
//
// Everything else (a device, a chart, pipelines, tenants) is read per request: a bounded number of key
// ranges, whatever the size of the fleet, shared by all requests within a few seconds.
//
// A row that cannot be read, because a newer program wrote it or because it is damaged, never hides its
// neighbours: it is passed over and listed as unreadable in the answer about its device.
package model

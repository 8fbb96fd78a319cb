// Package report joins the buckets of many devices: of a tenant, of its sites, and of those that share the value of a
// label. A report has for each sensor the count, sum, min and max, the first and last number by time, and the number of
// devices.
//
// It is a jobs.Grouping. A rollup writes the buckets of reported windows to the table buckets, and the commit marks the
// bucket in the partition of the fleet. The report of that partition is then made of all devices' rows of the bucket,
// and written on the version of the bucket's head (schema.ReportHead) that was read before them. So a report always
// equals the buckets of its devices where no mark stands, and of two jobs at a time none puts old over new. Readers
// join the reports of a tenant's partitions.
package report

// Package bench measures storage, and the endpoint that issues device tokens, the way a fleet uses
// them: with Azure's own clients, many at a time, over connections that stay open.
//
// A [workload] is one operation that every client repeats until its time is up. Targets take turns,
// workload by workload and round by round, so that other load on the machine affects all of them
// alike. Servers that the benchmark starts run in processes of their own.
package bench

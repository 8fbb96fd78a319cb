// Package bench measures storage endpoints as the fleet uses them: through
// Azure's own clients, many at a time, over connections that stay open.
//
// A [workload] is one operation that every client repeats until its time is up;
// each has a file of its own. Endpoints take turns, workload by workload and
// round by round, so that what else the machine does hits all of them alike.
// Servers that the bench starts itself run in processes of their own.
package bench

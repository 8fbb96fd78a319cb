// Package query is the one reader of a fleet: what devices have sent, what pipelines
// made of it, what they rejected, and how the pipelines do. Commands and pages read
// through it.
//
// Every read asks for narrow ranges of keys and holds a few pages at a time, however
// long its answer is. A row that cannot be read is an UnreadableError of its own: the
// read goes on with the next row.
package query

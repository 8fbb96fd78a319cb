// Package query reads a fleet for commands and pages: what devices have sent, what pipelines
// computed from it, what they rejected, and the health of the pipelines.
//
// Every read asks for narrow ranges of keys and holds a few pages at a time, however
// many rows there are. A row that cannot be read yields a schema.UnreadableError, and the read
// continues with the next row.
package query

// Package factory imports devices from the files of a factory, in CSV or JSON lines. It reports an
// invalid line with its number, and imports the others.
package factory

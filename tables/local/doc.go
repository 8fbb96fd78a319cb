// Package local serves the Table, Queue and Blob services' REST protocols from
// a directory, so that the SDKs that run on Azure run on one machine. Every
// acknowledged write is on disk, and a query reads only the keys that it names.
package local

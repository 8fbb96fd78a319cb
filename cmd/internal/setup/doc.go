// Package setup is what the commands share: it turns flags and files into what
// the other packages are made with. Today that is connection strings and TLS.
package setup

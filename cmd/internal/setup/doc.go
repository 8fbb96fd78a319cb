// Package setup turns the flags and files of commands into what other packages need: connections, endpoints and TLS.
package setup

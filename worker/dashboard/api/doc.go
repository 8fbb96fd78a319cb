// Package api serves a fleet's data as JSON and as a stream of events. It also parses the parameters of
// requests and turns errors into problems, which the pages of package web need as well.
package api

// Package dashboard serves a fleet to browsers and programs: the pages of package
// web and the JSON of its API. What it shows comes from package model.
// It decides who sees what: somebody with access to one tenant gets the same answer about another tenant as about an
// unknown one.
package dashboard

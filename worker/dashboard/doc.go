// Package dashboard serves a fleet to browsers and programs: the pages of package
// web and the JSON of its API. It only reads; what it shows comes from package model.
package dashboard

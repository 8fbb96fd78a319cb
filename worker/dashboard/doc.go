// Package dashboard serves the pages of a fleet, and their data as JSON: a map, a
// list, a page for each device, pipelines and tenants. It only reads.
//
// What it shows is kept by package view, what it looks like is package pages; here
// is who may ask, for what, and what they are told where that cannot be answered.
package dashboard

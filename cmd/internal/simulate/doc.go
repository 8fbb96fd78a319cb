// Package simulate is a fleet that does not exist: its devices get their tokens and
// send through furrow/sas/device, as real ones do, and only what they measure is
// made up (package model) or comes from a file (package replay).
//
//	Fleet.Members ──► Register ──► Run: a device.Client for each Member
//	Fleet.Sendings, or those of a replay ──────┘
//
// What a fleet measures, and the dirt in it, follow from a seed.
package simulate

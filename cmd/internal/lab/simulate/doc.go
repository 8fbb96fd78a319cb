// Package simulate runs a simulated fleet. Its devices get tokens and send through furrow/sas/device, as real ones
// do; their readings come from package model or from a file (package replay).
//
//	Fleet.Members ──► Register ──► Run: a device.Client for each Member
//	Fleet.Sendings, or those of a replay ──────┘
//
// A schedule has the devices take their turns. Between two of them a device sleeps: it has no goroutine and no client
// then, and keeps less than a kilobyte.
//
// The readings and their dirt follow from a seed.
package simulate

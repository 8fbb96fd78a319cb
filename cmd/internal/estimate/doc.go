// Package estimate computes what a fleet that does not exist yet would store, do and cost on Azure. It folds a day of
// made-up readings of one device with the configured processors, and multiplies.
package estimate

package sas

import (
	"crypto/sha256"
	"furrow/tables/schema"
)

// Cohort tells which of its table's policies a device's tokens hang on, from 0 on.
// It is a hash, so that every process knows it and neighbours by name are in
// different cohorts. It must never change: an old token would outlive its policy.
func Cohort(device schema.DeviceID) int {
	sum := sha256.Sum256([]byte(device))
	return int(sum[0]) % schema.Cohorts
}

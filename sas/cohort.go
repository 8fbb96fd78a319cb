package sas

import (
	"crypto/sha256"

	"furrow/tables/schema"
)

// Cohort returns the number of the policy, among its table's policies, that a device's tokens
// refer to. It is a hash, so that all processes agree and devices with similar IDs are spread.
// It must never change: revocation would then replace the wrong policy.
func Cohort(device schema.DeviceID) int {
	sum := sha256.Sum256([]byte(device))
	return int(sum[0]) % schema.Cohorts
}

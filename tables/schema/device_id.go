package schema

import (
	"fmt"

	"furrow/tables"
)

// A DeviceID identifies a device: 1 to 128 letters, digits and - . _ :, case-sensitive, as
// in Azure IoT Hub without its other punctuation. It may be hierarchical
// (contoso:us-5260:Giles-7163712301905); a prefix is then a range of keys.
type DeviceID string

// ParseDeviceID returns s as a DeviceID, or an error with the first invalid character and
// its position. "." and ".." are invalid, because URLs leave them out of their paths.
func ParseDeviceID(s string) (DeviceID, error) {
	if s == "." || s == ".." {
		return "", fmt.Errorf("device id %q: a URL cannot contain it as a part of its path; choose another ID", s)
	}
	return DeviceID(s), checkPart("device id", s, maxID)
}

// IDsWithPrefix returns the keys of all devices whose IDs start with prefix.
func IDsWithPrefix(prefix string) (tables.Keys, error) {
	if prefix == "" {
		return tables.Keys{}, nil
	}
	if err := checkPart("device prefix", prefix, maxID); err != nil {
		return tables.Keys{}, err
	}
	return tables.KeysWithPrefix(prefix), nil
}

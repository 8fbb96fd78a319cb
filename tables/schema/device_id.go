package schema

import "furrow/tables"

// A DeviceID names a device: 1 to 128 letters, digits and - . _ :, case-sensitive,
// as in Azure IoT Hub without its other punctuation. It may be hierarchical
// (contoso:us-5260:Giles-7163712301905); a prefix is then a range of keys.
type DeviceID string

// ParseDeviceID is s as a DeviceID, or an error that names the first character
// that is not allowed and where it is.
func ParseDeviceID(s string) (DeviceID, error) {
	return DeviceID(s), checkPart("device id", s, maxID)
}

// IDsWithPrefix are the keys of all devices whose ids start with prefix; an
// empty prefix means all devices.
func IDsWithPrefix(prefix string) (tables.Keys, error) {
	if prefix == "" {
		return tables.Keys{}, nil
	}
	if err := checkPart("device prefix", prefix, maxID); err != nil {
		return tables.Keys{}, err
	}
	return tables.KeysWithPrefix(prefix), nil
}

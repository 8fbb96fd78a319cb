package sas

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// A Key authenticates a device. Each device's key is derived from its enrollment's key, as in
// Azure's Device Provisioning Service. Devices' keys are not stored, and enrollments' keys
// never go to devices.
//
// learn.microsoft.com: "Symmetric key attestation" of Azure IoT Hub DPS.
type Key []byte

// Lengths of a Key in bytes, as in the Device Provisioning Service.
const (
	minKey = 16
	maxKey = 64
)

// NewKey returns a random key of 64 bytes.
func NewKey() Key {
	k := make(Key, maxKey)
	rand.Read(k) // never fails
	return k
}

// ParseKey parses a key in base64. Its errors do not quote the key.
func ParseKey(text string) (Key, error) {
	k, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the key is not in base64; copy all of it, with the = signs at its end")
	}
	if len(k) < minKey || len(k) > maxKey {
		return nil, fmt.Errorf("the key has %d bytes; want %d to %d", len(k), minKey, maxKey)
	}
	return k, nil
}

// Base64 returns the form that ParseKey parses.
func (k Key) Base64() string { return base64.StdEncoding.EncodeToString(k) }

// String hides the key from logs.
func (k Key) String() string { return "(a key)" }

// Of derives the key of a device from its enrollment's key.
func (k Key) Of(device string) Key { return k.sign(device) }

func (k Key) sign(text string) []byte {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

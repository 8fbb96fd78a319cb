package sas

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// A Key proves who a device is. An enrollment has one that never leaves it, from
// which each device's own is derived, as Azure's Device Provisioning Service
// does it; no device's key is stored anywhere.
//
// learn.microsoft.com: "Symmetric key attestation" of Azure IoT Hub DPS.
type Key []byte

// Lengths of a Key in bytes, as the Device Provisioning Service has them.
const (
	minKey = 16
	maxKey = 64
)

// NewKey is a random key of 64 bytes.
func NewKey() Key {
	k := make(Key, maxKey)
	rand.Read(k) // never fails
	return k
}

// ParseKey reads a key in base64. Its error does not quote it.
func ParseKey(text string) (Key, error) {
	k, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the key is not in base64; copy it whole, with the = signs at its end")
	}
	if len(k) < minKey || len(k) > maxKey {
		return nil, fmt.Errorf("the key has %d bytes; want %d to %d", len(k), minKey, maxKey)
	}
	return k, nil
}

// Base64 is what ParseKey reads.
func (k Key) Base64() string { return base64.StdEncoding.EncodeToString(k) }

// String hides the key, so that no log shows one.
func (k Key) String() string { return "(a key)" }

// Of is the key of a device, derived from its enrollment's.
func (k Key) Of(device string) Key { return k.sign(device) }

func (k Key) sign(text string) []byte {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

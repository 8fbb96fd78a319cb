package sas

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"furrow/tables/schema"
)

// A SealingKey encrypts the keys of enrollments, so that access to the tables is not enough to
// impersonate a device. Users know it as the master key. It is never stored in the tables.
// The zero SealingKey fails with ErrNoSealingKey.
type SealingKey struct{ secret []byte }

// minSealingKey is the key length of AES-256 in bytes.
const minSealingKey = 32

// Reasons why a sealed key cannot be opened.
var (
	ErrNoSealingKey = errors.New("no master key is given")
	ErrSealingKey   = errors.New("it was sealed with another master key; use the one with which the enrollment was added")
)

// NewSealingKey returns a random SealingKey.
func NewSealingKey() SealingKey {
	secret := make([]byte, minSealingKey)
	rand.Read(secret) // never fails
	return SealingKey{secret}
}

// ParseSealingKey parses base64 and ignores white space around it. Its errors do not quote the
// key.
func ParseSealingKey(text string) (SealingKey, error) {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return SealingKey{}, errors.New("the master key is not in base64; copy all of it, with the = signs at its end")
	}
	if len(secret) < minSealingKey {
		return SealingKey{}, fmt.Errorf("the master key has %d bytes, and at least %d are needed: "+
			"openssl rand -base64 %d generates one", len(secret), minSealingKey, minSealingKey)
	}
	return SealingKey{secret}, nil
}

// Base64 returns the form that ParseSealingKey parses.
func (m SealingKey) Base64() string { return base64.StdEncoding.EncodeToString(m.secret) }

// String hides the secret from logs.
func (m SealingKey) String() string { return "(a master key)" }

// GoString hides the secret from %#v.
func (m SealingKey) GoString() string { return m.String() }

// A Rank is one of the two keys of an enrollment.
type Rank string

const (
	Primary   Rank = "primary"
	Secondary Rank = "secondary"
)

// sealVersion is the first byte of a sealed key. A nonce and the AES-256-GCM ciphertext follow.
const sealVersion = 1

// Seal encrypts a key for one enrollment and rank, so that it cannot be moved to another row.
func (m SealingKey) Seal(k Key, of schema.EnrollmentID, in Rank) ([]byte, error) {
	gcm, err := m.gcm()
	if err != nil {
		return nil, err
	}
	return gcm.Seal([]byte{sealVersion}, nil, k, place(of, in)), nil
}

// Open decrypts a key that Seal sealed. It fails with ErrSealingKey if it was sealed by another
// SealingKey or for another row, or was modified: these cases cannot be distinguished.
func (m SealingKey) Open(sealed []byte, of schema.EnrollmentID, in Rank) (Key, error) {
	gcm, err := m.gcm()
	switch {
	case err != nil:
		return nil, err
	case len(sealed) == 0:
		return nil, errors.New("there is no sealed key")
	case sealed[0] != sealVersion:
		return nil, fmt.Errorf("the sealed key has version %d, and this program supports version %d: use a newer program",
			sealed[0], sealVersion)
	}
	k, err := gcm.Open(nil, nil, sealed[1:], place(of, in))
	if err != nil {
		return nil, ErrSealingKey
	}
	return k, nil
}

// gcm uses random nonces: there are too few keys for a collision.
func (m SealingKey) gcm() (cipher.AEAD, error) {
	if len(m.secret) == 0 {
		return nil, ErrNoSealingKey
	}
	key, err := hkdf.Key(sha256.New, m.secret, nil, "furrow enrollment keys", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func place(of schema.EnrollmentID, in Rank) []byte {
	return []byte(string(of) + schema.Separator + string(in))
}

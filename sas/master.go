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
	"furrow/tables/schema"
	"strings"
)

// A Master is the secret that seals the keys of enrollments, so that whoever can
// read the tables cannot speak for a device. It is never stored with them. The
// zero Master seals and opens nothing.
type Master struct{ secret []byte }

// shortestMaster, in bytes, is as much as AES-256 can use.
const shortestMaster = 32

// Why a sealed key is not opened.
var (
	ErrNoMaster = errors.New("no master key is given")
	ErrMaster   = errors.New("the master key is not the one that it was sealed with; give the one that was used when the enrollment was made")
)

// NewMaster is a random Master.
func NewMaster() Master {
	secret := make([]byte, shortestMaster)
	rand.Read(secret) // never fails
	return Master{secret}
}

// ParseMaster reads a Master in base64, with white space around it. Its error does
// not quote it.
func ParseMaster(text string) (Master, error) {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return Master{}, errors.New("the master key is not in base64; copy it whole, with the = signs at its end")
	}
	if len(secret) < shortestMaster {
		return Master{}, fmt.Errorf("the master key has %d bytes; want at least %d, as openssl rand -base64 %d makes them", len(secret), shortestMaster, shortestMaster)
	}
	return Master{secret}, nil
}

// Base64 is what ParseMaster reads.
func (m Master) Base64() string { return base64.StdEncoding.EncodeToString(m.secret) }

// String hides the secret, so that no log shows it.
func (m Master) String() string { return "(a master key)" }

// GoString hides it from %#v.
func (m Master) GoString() string { return m.String() }

// A Rank tells the two keys of an enrollment apart.
type Rank string

const (
	Primary   Rank = "primary"
	Secondary Rank = "secondary"
)

// sealVersion is the first byte of a sealed key. What follows is a nonce and what
// AES-256-GCM makes of the key.
const sealVersion = 1

// Seal encrypts a key so that it opens for this enrollment and rank alone: no
// one can move it into another row.
func (m Master) Seal(k Key, of schema.EnrollmentID, in Rank) ([]byte, error) {
	gcm, err := m.gcm()
	if err != nil {
		return nil, err
	}
	return gcm.Seal([]byte{sealVersion}, nil, k, place(of, in)), nil
}

// Open is the key that Seal has sealed, or ErrMaster where this Master has not, not
// for this place, or what is stored has been altered: no one can tell which.
func (m Master) Open(sealed []byte, of schema.EnrollmentID, in Rank) (Key, error) {
	gcm, err := m.gcm()
	switch {
	case err != nil:
		return nil, err
	case len(sealed) == 0:
		return nil, errors.New("there is no sealed key")
	case sealed[0] != sealVersion:
		return nil, fmt.Errorf("the sealed key is of version %d, and this program knows %d: use a newer one", sealed[0], sealVersion)
	}
	k, err := gcm.Open(nil, nil, sealed[1:], place(of, in))
	if err != nil {
		return nil, ErrMaster
	}
	return k, nil
}

// gcm makes a nonce of its own for each key: there are so few that it never
// has the same twice.
func (m Master) gcm() (cipher.AEAD, error) {
	if len(m.secret) == 0 {
		return nil, ErrNoMaster
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

package sas

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"furrow/tables/schema"
)

// A SealingKey encrypts the keys of enrollments, so that access to the tables is not enough to
// impersonate a device. Users know it as the master key. It is never stored in the tables.
// The zero SealingKey fails with ErrNoSealingKey.
type SealingKey struct {
	secret []byte
	former [][]byte // secrets that were replaced, newest first; they open what they have sealed, and seal nothing
}

// formerWord precedes each former key in the text of a SealingKey.
const formerWord = "former"

// minSealingKey is the key length of AES-256 in bytes.
const minSealingKey = 32

// Reasons why a sealed key cannot be opened or used.
var (
	ErrOldKey = errors.New("an older sealed key was put back; give the enrollment new keys with furrow enrollment " +
		"rotate, twice if the old key has leaked")
	ErrNoSealingKey = errors.New("no master key is given")
	ErrSealingKey   = errors.New("it was sealed with another master key; use the one with which the enrollment was added")
)

// NewSealingKey returns a random SealingKey.
func NewSealingKey() SealingKey {
	secret := make([]byte, minSealingKey)
	rand.Read(secret) // never fails
	return SealingKey{secret: secret}
}

// ParseSealingKey parses base64 and ignores white space around it. The word "former" and a key that was replaced may
// follow, more than once. Its errors do not quote a key.
func ParseSealingKey(text string) (SealingKey, error) {
	var all [][]byte
	for part := range strings.SplitSeq(" "+strings.Join(strings.Fields(text), " ")+" ", " "+formerWord+" ") {
		secret, err := parseSecret(part)
		if err != nil {
			return SealingKey{}, err
		}
		all = append(all, secret)
	}
	return SealingKey{secret: all[0], former: all[1:]}, nil
}

// parseSecret ignores spaces: openssl wraps long keys.
func parseSecret(text string) ([]byte, error) {
	secret, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		return nil, errors.New("the master key is not in base64; copy all of it, with the = signs at its end")
	}
	if len(secret) < minSealingKey {
		return nil, fmt.Errorf("the master key has %d bytes, and at least %d are needed: "+
			"openssl rand -base64 %d generates one", len(secret), minSealingKey, minSealingKey)
	}
	return secret, nil
}

// Base64 returns the form that ParseSealingKey parses.
func (m SealingKey) Base64() string {
	text := base64.StdEncoding.EncodeToString(m.secret)
	for _, secret := range m.former {
		text += " " + formerWord + " " + base64.StdEncoding.EncodeToString(secret)
	}
	return text
}

// WithoutFormer returns the SealingKey that opens only what it has sealed itself.
func (m SealingKey) WithoutFormer() SealingKey { return SealingKey{secret: m.secret} }

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

// The first byte of a sealed key is its version. In version 2, the counter follows in 8 bytes. The
// rest is a nonce and the AES-256-GCM ciphertext.
const (
	sealedOnce    = 1 // without a counter
	sealedCounted = 2
	sealedHeader  = 1 + 8
)

// Seal encrypts a key for one enrollment and rank, so that it cannot be moved to another row. The
// counter is authenticated too: it tells an older sealed key from a newer one.
func (m SealingKey) Seal(k Key, of schema.EnrollmentID, in Rank, counter int64) ([]byte, error) {
	gcm, err := gcmOf(m.secret)
	if err != nil {
		return nil, err
	}
	header := binary.BigEndian.AppendUint64([]byte{sealedCounted}, uint64(counter))
	return gcm.Seal(header, nil, k, append(place(of, in), header...)), nil
}

// Open decrypts a key that Seal sealed. It fails with ErrSealingKey if it was sealed by another
// SealingKey or for another row, or was modified: these cases cannot be distinguished.
func (m SealingKey) Open(sealed []byte, of schema.EnrollmentID, in Rank) (Key, error) {
	k, err := openWith(m.secret, sealed, of, in)
	for _, secret := range m.former {
		if !errors.Is(err, ErrSealingKey) {
			break
		}
		k, err = openWith(secret, sealed, of, in)
	}
	return k, err
}

func openWith(secret, sealed []byte, of schema.EnrollmentID, in Rank) (Key, error) {
	gcm, err := gcmOf(secret)
	if err != nil {
		return nil, err
	}
	if len(sealed) == 0 {
		return nil, errors.New("there is no sealed key")
	}
	text, bound := sealed[1:], place(of, in)
	switch version := sealed[0]; {
	case version > sealedCounted || version < sealedOnce:
		return nil, fmt.Errorf("the sealed key has version %d, and this program supports versions up to %d: use a newer "+
			"program", version, sealedCounted)
	case version == sealedCounted && len(sealed) < sealedHeader:
		return nil, ErrSealingKey
	case version == sealedCounted:
		text, bound = sealed[sealedHeader:], append(bound, sealed[:sealedHeader]...)
	}
	k, err := gcm.Open(nil, nil, text, bound)
	if err != nil {
		return nil, ErrSealingKey
	}
	return k, nil
}

// counterOf returns the counter of a sealed key that was opened. Earlier versions have zero.
func counterOf(sealed []byte) int64 {
	if len(sealed) < sealedHeader || sealed[0] != sealedCounted {
		return 0
	}
	return int64(binary.BigEndian.Uint64(sealed[1:]))
}

// gcmOf uses random nonces: there are too few keys for a collision.
func gcmOf(secret []byte) (cipher.AEAD, error) {
	if len(secret) == 0 {
		return nil, ErrNoSealingKey
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "furrow enrollment keys", 32)
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

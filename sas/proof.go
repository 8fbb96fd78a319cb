package sas

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Proof is the Authorization header with which a device proves that it has its key, in the
// format of Azure's Device Provisioning Service. It is valid for one resource until it
// expires, and for at most a day: whoever intercepts it can get the device's tokens that long.
type Proof struct {
	Resource  string // e.g. furrow/registrations/pump-7
	Expiry    time.Time
	signed    string // the signed text as it was sent, because clients escape differently
	signature []byte
}

const proofScheme = "SharedAccessSignature "

// maxProof bounds the header, in bytes.
const maxProof = 2 << 10

// maxProofLife is a day, for a device whose clock is ahead by no more than ClockSkew. A device
// that does not know the time learns it from the refusal.
const maxProofLife = 24*time.Hour + ClockSkew

// Reasons why a proof is invalid.
var (
	ErrProof         = errors.New("the Authorization header is not a SharedAccessSignature with sr, sig and se")
	ErrProofExpired  = errors.New("the proof has expired")
	ErrProofTooLong  = errors.New("the proof is valid for more than a day")
	ErrProofWrong    = errors.New("the signature was not made with the device's key")
	ErrProofResource = errors.New("the signature is for another resource; sr must be ENROLLMENT/registrations/DEVICE")
)

// Prove returns the header.
func (k Key) Prove(resource string, expiry time.Time) string {
	sr, se := url.QueryEscape(resource), strconv.FormatInt(expiry.Unix(), 10)
	sig := base64.StdEncoding.EncodeToString(k.sign(sr + "\n" + se))
	return proofScheme + "sr=" + sr + "&sig=" + url.QueryEscape(sig) + "&se=" + se
}

// ParseProof parses the header. It ignores unknown members, such as skn of Azure's SDKs, and
// refuses repeated ones.
func ParseProof(header string) (Proof, error) {
	members, ok := strings.CutPrefix(header, proofScheme)
	if !ok || len(header) > maxProof {
		return Proof{}, ErrProof
	}
	found := map[string]string{}
	for member := range strings.SplitSeq(members, "&") {
		name, value, _ := strings.Cut(member, "=")
		if _, twice := found[name]; twice {
			return Proof{}, fmt.Errorf("%w: %s is repeated", ErrProof, strconv.Quote(name))
		}
		found[name] = value
	}
	resource, errSR := url.QueryUnescape(found["sr"])
	text, errSig := url.QueryUnescape(found["sig"])
	signature, errBase64 := base64.StdEncoding.DecodeString(text)
	seconds, errSE := strconv.ParseInt(found["se"], 10, 64)
	bad := errors.Join(errSR, errSig, errBase64, errSE) != nil
	if bad || resource == "" || len(signature) == 0 || seconds < 0 || seconds > maxSeconds {
		return Proof{}, ErrProof
	}
	signed := found["sr"] + "\n" + found["se"]
	return Proof{Resource: resource, Expiry: time.Unix(seconds, 0), signed: signed, signature: signature}, nil
}

// maxSeconds is the end of the year 9999.
const maxSeconds = 253402300799

// Verify returns why the proof is invalid now for all of the keys. A device may still have the
// key that a rotation made secondary.
func (p Proof) Verify(now time.Time, keys ...Key) error {
	right := false
	for _, k := range keys {
		right = hmac.Equal(k.sign(p.signed), p.signature) || right // in constant time
	}
	switch {
	case !right:
		return ErrProofWrong
	case !now.Before(p.Expiry):
		return ErrProofExpired
	case p.Expiry.After(now.Add(maxProofLife)):
		return ErrProofTooLong
	}
	return nil
}

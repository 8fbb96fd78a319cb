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

// A Proof is what a device sends to show that it has its key: the header
// Authorization of its request, as it is with Azure's Device Provisioning
// Service. It holds for one resource, until its expiry.
type Proof struct {
	Resource  string // for whose sake it was made, e.g. furrow/registrations/pump-7
	Expiry    time.Time
	signed    string // as it was sent: clients escape in ways of their own
	signature []byte
}

const proofScheme = "SharedAccessSignature "

// maxProof is how long the header may be, in bytes.
const maxProof = 2 << 10

// Why a proof does not hold.
var (
	ErrProof         = errors.New("the Authorization header is no SharedAccessSignature with sr, sig and se")
	ErrProofExpired  = errors.New("the proof has expired")
	ErrProofWrong    = errors.New("the signature is not that of the device's key")
	ErrProofResource = errors.New("the signature is for another resource; want sr to be ENROLLMENT/registrations/DEVICE")
)

// Prove makes the header.
func (k Key) Prove(resource string, expiry time.Time) string {
	sr, se := url.QueryEscape(resource), strconv.FormatInt(expiry.Unix(), 10)
	sig := base64.StdEncoding.EncodeToString(k.sign(sr + "\n" + se))
	return proofScheme + "sr=" + sr + "&sig=" + url.QueryEscape(sig) + "&se=" + se
}

// ParseProof reads the header. Members that it does not know are passed, such as
// the skn of Azure's SDKs; one that is there twice is refused.
func ParseProof(header string) (Proof, error) {
	members, ok := strings.CutPrefix(header, proofScheme)
	if !ok || len(header) > maxProof {
		return Proof{}, ErrProof
	}
	found := map[string]string{}
	for member := range strings.SplitSeq(members, "&") {
		name, value, _ := strings.Cut(member, "=")
		if _, twice := found[name]; twice {
			return Proof{}, fmt.Errorf("%w: %s is there twice", ErrProof, strconv.Quote(name))
		}
		found[name] = value
	}
	resource, errSR := url.QueryUnescape(found["sr"])
	text, errSig := url.QueryUnescape(found["sig"])
	signature, errBase64 := base64.StdEncoding.DecodeString(text)
	seconds, errSE := strconv.ParseInt(found["se"], 10, 64)
	if errSR != nil || errSig != nil || errBase64 != nil || errSE != nil || resource == "" || len(signature) == 0 || seconds < 0 || seconds > maxSeconds {
		return Proof{}, ErrProof
	}
	return Proof{Resource: resource, Expiry: time.Unix(seconds, 0), signed: found["sr"] + "\n" + found["se"], signature: signature}, nil
}

// maxSeconds is the end of the year 9999.
const maxSeconds = 253402300799

// Verify says why the proof does not hold now for any of the keys: a device may
// have the one that its enrollment is about to give up.
func (p Proof) Verify(now time.Time, keys ...Key) error {
	right := false
	for _, k := range keys {
		right = hmac.Equal(k.sign(p.signed), p.signature) || right // in the same time, whichever it is
	}
	switch {
	case !right:
		return ErrProofWrong
	case !now.Before(p.Expiry):
		return ErrProofExpired
	}
	return nil
}

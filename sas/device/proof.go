package device

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"time"
)

// proofLife is how long a proof is valid.
const proofLife = 10 * time.Minute

// prove returns the Authorization header that proves possession of the device's key, in the
// format of Azure's Device Provisioning Service.
// learn.microsoft.com: "Symmetric key attestation".
func (c *Client) prove(now time.Time) string {
	sr := url.QueryEscape(c.config.Enrollment + "/registrations/" + string(c.config.Device))
	se := strconv.FormatInt(max(now.Add(proofLife).Unix(), 0), 10)
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(sr + "\n" + se))
	sig := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return "SharedAccessSignature sr=" + sr + "&sig=" + url.QueryEscape(sig) + "&se=" + se
}

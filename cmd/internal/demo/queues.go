package demo

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// deleteQueue deletes a queue; that there is none is fine. It signs by itself: nothing
// else ever deletes one, so that the client of queues has no way to.
// learn.microsoft.com: "Delete Queue", "Authorize with Shared Key".
func (h *household) deleteQueue(ctx context.Context, name string) error {
	at, err := url.Parse(h.account.Queue + "/" + name)
	if err != nil {
		return err
	}
	key, err := base64.StdEncoding.DecodeString(h.account.Key)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, at.String(), nil)
	if err != nil {
		return err
	}
	date := time.Now().UTC().Format(http.TimeFormat)
	const version = "2019-02-02"
	request.Header.Set("x-ms-date", date)
	request.Header.Set("x-ms-version", version)
	const none = 11 // headers that are signed and empty
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "DELETE\n%sx-ms-date:%s\nx-ms-version:%s\n/%s%s", strings.Repeat("\n", none), date, version, h.account.Name, at.Path)
	request.Header.Set("Authorization", "SharedKey "+h.account.Name+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	answer, err := h.http.Do(request)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusNoContent && answer.StatusCode != http.StatusNotFound {
		err = fmt.Errorf("the queue %s could not be deleted: storage answers %s", name, answer.Status)
	}
	_ = answer.Body.Close() // it has been read as far as it matters
	return err
}

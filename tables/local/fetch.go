package local

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"furrow/tables/local/internal/wire"
)

// fetch sends a request that Azure does not have to the Blob service at url, signed with the account's key.
func fetch(ctx context.Context, client *http.Client, account, key, url, comp string) (io.ReadCloser, error) {
	secret, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, errors.New("the account's key is not base64")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/?comp="+comp, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("x-ms-date", wire.HTTPTime(time.Now()))
	r.Header.Set("x-ms-version", "2024-08-04")
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:%s\nx-ms-version:%s\n/%s%s\ncomp:%s",
		r.Header.Get("x-ms-date"), r.Header.Get("x-ms-version"), account, r.URL.EscapedPath(), comp)
	r.Header.Set("Authorization", "SharedKey "+account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	return nil, errors.Join(fmt.Errorf("%s: %s", answer.Status, text), err, answer.Body.Close())
}

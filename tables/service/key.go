package service

import "errors"

// ErrKey says that the key of an account cannot be one.
var ErrKey = errors.New("its key is not in base64; copy it whole, with the = signs at its end")

// SetKey replaces the key of a credential of one of Azure's SDKs.
func SetKey(credential interface{ SetAccountKey(string) error }, key string) error {
	if credential.SetAccountKey(key) != nil {
		return ErrKey // the SDK's error may quote the key
	}
	return nil
}

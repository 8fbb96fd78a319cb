package schema

import (
	"errors"
	"strings"
)

// ParseModel checks the name of a model.
func ParseModel(s string) (string, error) {
	const letters, others = "abcdefghijklmnopqrstuvwxyz", "0123456789-"
	if s == "" || len(s) > 40 || strings.Trim(s, letters+others) != "" || !strings.Contains(letters, s[:1]) {
		return "", errors.New("want 1 to 40 lowercase letters, digits and -, beginning with a letter")
	}
	return s, nil
}

package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// endpointFile, in a data directory, contains the URL of the token endpoint.
const endpointFile = "endpoint"

// WriteEndpoint stores the URL of the token endpoint in a data directory.
func WriteEndpoint(dir, url string) error {
	return writeFile(filepath.Join(dir, endpointFile), []byte(url+"\n"))
}

// Endpoint returns the URL that was stored last, if any.
func Endpoint(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, endpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// Authority returns the certificate file of a data directory's own authority, if it has one.
func Authority(dir string) string {
	file := filepath.Join(dir, TLSFolder, "ca.pem")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

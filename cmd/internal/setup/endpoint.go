package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// endpointFile, in a directory that is served, is the URL of the endpoint that gives
// tokens to its devices.
const endpointFile = "endpoint"

// WriteEndpoint leaves word in a data directory of where devices get their tokens.
func WriteEndpoint(dir, url string) error {
	return writeFile(filepath.Join(dir, endpointFile), []byte(url+"\n"))
}

// Endpoint is the URL that was left last, or none.
func Endpoint(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, endpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// Authority is the file of the authority that a data directory's servers have made
// for themselves, or none.
func Authority(dir string) string {
	file := filepath.Join(dir, "tls", "ca.pem")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

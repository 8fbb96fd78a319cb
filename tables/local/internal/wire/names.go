package wire

import (
	"net/http"
	"regexp"
	"strings"
)

var (
	resourceName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	metadataName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`) // a C# identifier, as far as a header can hold one
)

// CheckName applies Azure's rule for the names of queues and containers: 3 to 63
// lower-case letters, digits and single hyphens between them
// (learn.microsoft.com/rest/api/storageservices/naming-queues-and-metadata).
func CheckName(name string) error {
	switch {
	case len(name) < 3 || len(name) > 63:
		return ErrNameLength
	case !resourceName.MatchString(name):
		return ErrName
	}
	return nil
}

// maxMetadata bounds names and values together, in bytes
// (learn.microsoft.com/rest/api/storageservices/setting-and-retrieving-properties-and-metadata-for-blob-resources).
const maxMetadata = 8 << 10

var (
	errMetadataEmpty = &Error{http.StatusBadRequest, "EmptyMetadataKey",
		"The key for one of the metadata key-value pairs is empty.", nil}
	errMetadataName = &Error{http.StatusBadRequest, "InvalidMetadata",
		"The metadata specified is invalid. It has characters that are not permitted.", nil}
	errMetadataLarge = &Error{http.StatusBadRequest, "MetadataTooLarge",
		"The size of the specified metadata exceeds the maximum size permitted.", nil}
)

// ParseMetadata reads the x-ms-meta- headers; without any it returns nil. Names are in lower case.
func (r *Request) ParseMetadata() (map[string]string, error) {
	var metadata map[string]string
	size := 0
	for header, values := range r.Header {
		name, ok := strings.CutPrefix(strings.ToLower(header), "x-ms-meta-")
		if !ok {
			continue
		}
		value := strings.Join(values, ",")
		switch size += len(name) + len(value); {
		case name == "":
			return nil, errMetadataEmpty
		case !metadataName.MatchString(name) || !Printable(value):
			return nil, errMetadataName
		case size > maxMetadata:
			return nil, errMetadataLarge
		}
		if metadata == nil {
			metadata = map[string]string{}
		}
		metadata[name] = value
	}
	return metadata, nil
}

// SetMetadata sets the x-ms-meta- headers of an answer.
func SetMetadata(h http.Header, metadata map[string]string) {
	for name, value := range metadata {
		Set(h, "x-ms-meta-"+name, value)
	}
}

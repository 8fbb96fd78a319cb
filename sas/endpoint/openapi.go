package endpoint

import _ "embed"

// openAPI describes the API to authors of clients.
//
//go:embed openapi.json
var openAPI []byte

package endpoint

import _ "embed"

// openAPI describes the endpoint to those who write clients.
//
//go:embed openapi.json
var openAPI []byte

// Ogen calls every operation through a client that ogen has made.
package main

import "client/ogen"

func main() {
	callAll("", func(url, authorization string) (any, error) { return ogen.NewClient(url, secret(authorization)) })
}

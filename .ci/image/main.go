// Command image builds the container image of furrow for amd64 and arm64, without a daemon, as an OCI layout:
//
//	cd .ci/image && go run . -o ../../dist/image
//
// Push it with a tool that reads layouts: skopeo copy --all oci:dist/image docker://REGISTRY/furrow:1. The image has
// one program, no shell and no other user than 65532. The same commit gives the same digest, which it prints.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	out := flag.String("o", "", "`DIRECTORY` of the layout, which must not exist")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	digest, err := build(filepath.Join("..", ".."), *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

// build writes the layout of a checkout's image, and returns its digest.
func build(checkout, out string) (v1.Hash, error) {
	if _, err := os.Lstat(out); err == nil {
		return v1.Hash{}, fmt.Errorf("%s exists already: remove it, or choose another directory", out)
	}
	created, err := committed(checkout)
	if err != nil {
		return v1.Hash{}, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		program, err := compile(checkout, arch)
		if err != nil {
			return v1.Hash{}, err
		}
		image, err := imageOf(program, arch, created)
		if err != nil {
			return v1.Hash{}, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	if _, err := layout.Write(out, index); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}

// committed returns the time of the checkout's commit, which all files of the image have.
func committed(checkout string) (time.Time, error) {
	text, err := exec.Command("git", "-C", checkout, "log", "-1", "--format=%ct").Output()
	if err != nil {
		return time.Time{}, fmt.Errorf("git log: %w", err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// compile returns the program, with the flags of .ci/release.
func compile(checkout, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // a directory of its own
	file := filepath.Join(dir, "furrow")
	cmd := exec.Command("go", "build", "-trimpath", "-mod=readonly", "-ldflags", "-s -w", "-o", file, "./cmd/furrow")
	cmd.Dir = checkout
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOEXPERIMENT=", "GOWORK=off", "GOFLAGS=-buildvcs=true")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build for %s: %w: %s", arch, err, said)
	}
	return os.ReadFile(file)
}

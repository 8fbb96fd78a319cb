package main

import (
	"archive/tar"
	"bytes"
	"io"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	user    = 65532
	metrics = "127.0.0.1:10091"
)

// imageOf returns the image of a program for one architecture.
func imageOf(program []byte, arch string, created time.Time) (v1.Image, error) {
	files, err := archive(program, created)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer,
		History: v1.History{Created: v1.Time{Time: created}, CreatedBy: ".ci/image"}}); err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, configOf(image, arch, created))
}

// configOf says how the image is run. A role is ready when it is healthy: furrow health asks it where it serves
// metrics.
func configOf(image v1.Image, arch string, created time.Time) *v1.ConfigFile {
	has, err := image.ConfigFile()
	if err != nil {
		panic(err) // it was made here
	}
	has = has.DeepCopy()
	has.OS, has.Architecture, has.Created = "linux", arch, v1.Time{Time: created}
	has.Config = v1.Config{
		User:       strconv.Itoa(user) + ":" + strconv.Itoa(user),
		Entrypoint: []string{"/furrow"},
		WorkingDir: "/data",
		Volumes:    map[string]struct{}{"/data": {}},
		Env:        []string{"FURROW_METRICS=" + metrics},
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/furrow", "health", "http://" + metrics + "/readyz"},
			Interval: 10 * time.Second, Timeout: 6 * time.Second, StartPeriod: 30 * time.Second, Retries: 3},
	}
	return has
}

// archive returns a tar with the program and two directories that it writes to.
func archive(program []byte, created time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, file := range []tar.Header{
		{Name: "data/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: user, Gid: user},
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: "furrow", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(program))},
	} {
		file.ModTime, file.Format = created, tar.FormatUSTAR
		if err := w.WriteHeader(&file); err != nil {
			return nil, err
		}
	}
	if _, err := w.Write(program); err != nil { // of the last one
		return nil, err
	}
	return out.Bytes(), w.Close()
}

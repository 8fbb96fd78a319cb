package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// built returns the directory and the digest of the layout of this checkout.
func built(t *testing.T) (string, v1.Hash) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "image")
	digest, err := build(filepath.Join("..", ".."), dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, digest
}

// imagesIn returns the valid images of a layout by their architecture.
func imagesIn(t *testing.T, dir string) map[string]v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]v1.Image{}
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		images[m.Platform.Architecture] = image
	}
	return images
}

// unpack writes the files of an image into a directory, with their owners.
func unpack(t *testing.T, image v1.Image) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	files := mutate.Extract(image)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir, names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		to := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(to, 0o777)
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(to, content, 0o600)
			}
		}
		if err = errors.Join(err, os.Chown(to, h.Uid, h.Gid), os.Chmod(to, h.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	}
}

func TestImageHasTheSameDigestTwice(t *testing.T) {
	_, one := built(t)
	if _, another := built(t); one != another {
		t.Errorf("%v, and then %v", one, another)
	}
}

// TestImageRunsAlone unpacks it, and runs it in its root as its user, where there is nothing else.
func TestImageRunsAlone(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("chroot needs root")
	}
	dir, _ := built(t)
	images := imagesIn(t, dir)
	if len(images) != 2 || images["amd64"] == nil || images["arm64"] == nil {
		t.Fatalf("images for %v; want amd64 and arm64", images)
	}
	root, names := unpack(t, images[runtime.GOARCH])
	if slices.Sort(names); !slices.Equal(names, []string{"data", "furrow", "tmp"}) {
		t.Errorf("it has the files %q", names)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	config, err := images[runtime.GOARCH].ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(config.Config.Entrypoint[0], args...)
		cmd.Dir, cmd.Env = config.Config.WorkingDir, config.Config.Env
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("furrow %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	t.Logf("%s", run("version"))
	run("config", "init", "furrow.yaml") // into /data
	// A day in a zone needs its rules, and reaching Azure needs certificate authorities: neither is in the image.
	up := exec.Command(config.Config.Entrypoint[0], "up", "--listen", "127.0.0.1:0", "--storage-port", "0", "--dashboard",
		"127.0.0.1:0")
	up.Dir, up.Env = config.Config.WorkingDir, config.Config.Env
	up.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = up.Process.Kill(); _ = up.Wait() }()
	for try := 0; ; try++ {
		health := exec.Command(config.Config.Healthcheck.Test[1], config.Config.Healthcheck.Test[2:]...)
		health.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
		health.Dir = "/"
		out, err := health.CombinedOutput()
		if err == nil {
			break
		}
		if try == 60 {
			t.Fatalf("it never became healthy: %s", out)
		}
		_ = exec.Command("sleep", "0.5").Run()
	}
	if err := up.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := up.Wait(); err != nil {
		t.Errorf("it did not stop well: %v", err)
	}
}

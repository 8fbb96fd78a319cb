package local

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// checkpoints is the folder of the directory that has copies of the database while backups are written.
const checkpoints = "checkpoints"

// Backup writes a copy of the directory to w, as a tar archive, while the server goes on. It has every write that was
// acknowledged before the call; the time of its files is that of the call. Restored, it is as if the process had been
// killed at that moment. It includes the account's key.
func (s *Server) Backup(ctx context.Context, w io.Writer) (err error) {
	a := archive{ctx: ctx, server: s, time: time.Now(), tar: tar.NewWriter(w)}
	release := s.blob.Hold() // before the checkpoint: it refers to files
	defer release()
	name := filepath.Join(s.config.Dir, checkpoints, rand.Text())
	defer func() { err = errors.Join(err, s.fs.RemoveAll(name)) }()
	if err := s.store.Checkpoint(name); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	for _, file := range []string{formatFile, KeyFile} {
		text, err := os.ReadFile(filepath.Join(s.config.Dir, file))
		if err == nil {
			err = a.file(file, int64(len(text)), bytes.NewReader(text))
		}
		if err != nil {
			return err
		}
	}
	files, err := s.fs.List(name)
	if err == nil {
		err = a.folder("db", name, files)
	}
	if err != nil {
		return err
	}
	markers, err := store.Keys(s.fs, name, store.PrefixFile, s.config.Log)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := a.folder("blobs", filepath.Join(s.config.Dir, "blobs"), content.Files(markers)); err != nil {
		return err
	}
	return a.tar.Close()
}

// An archive is a backup that is being written.
type archive struct {
	ctx    context.Context
	server *Server
	time   time.Time
	tar    *tar.Writer
}

// folder adds files of a folder, whose name is another one in the archive.
func (a *archive) folder(as, dir string, names []string) error {
	for _, name := range names {
		if err := a.copy(as+"/"+name, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) copy(as, name string) (err error) {
	f, err := a.server.fs.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return a.file(as, info.Size(), f)
}

func (a *archive) file(name string, size int64, from io.Reader) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	head := &tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: a.time, Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(head); err != nil {
		return err
	}
	_, err := io.Copy(a.tar, from)
	return err
}

// FetchBackup has the server that serves the account's blobs at url write a backup, as Server.Backup does, and returns
// the archive. The caller closes it. If reading fails before io.EOF, the archive is incomplete.
func FetchBackup(ctx context.Context, client *http.Client, account, key, url string) (io.ReadCloser, error) {
	body, err := fetch(ctx, client, account, key, url, "backup")
	if err != nil {
		return nil, fmt.Errorf("no backup: %w", err)
	}
	return body, nil
}

// fetch sends a request that Azure does not have to the Blob service at url, signed with the account's key.
func fetch(ctx context.Context, client *http.Client, account, key, url, comp string) (io.ReadCloser, error) {
	secret, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, errors.New("the account's key is not base64")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/?comp="+comp, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("x-ms-date", wire.HTTPTime(time.Now()))
	r.Header.Set("x-ms-version", "2024-08-04")
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:%s\nx-ms-version:%s\n/%s%s\ncomp:%s",
		r.Header.Get("x-ms-date"), r.Header.Get("x-ms-version"), account, r.URL.EscapedPath(), comp)
	r.Header.Set("Authorization", "SharedKey "+account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	return nil, errors.Join(fmt.Errorf("%s: %s", answer.Status, text), err, answer.Body.Close())
}
